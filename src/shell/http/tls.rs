//! TLS of the server: its certificate, and the authority of its clients' certificates.

use super::reread::Reread;
use super::stream::Bytes;
use std::path::{Path, PathBuf};
use tokio::net::TcpStream;

#[cfg(feature = "tls")]
use super::reread::warn_if_public;
#[cfg(feature = "tls")]
use openssl::ssl::{
    Ssl, SslAcceptor, SslFiletype, SslMethod, SslOptions, SslSessionCacheMode, SslVerifyMode,
};
#[cfg(feature = "tls")]
use openssl::x509::X509Name;

/// First byte of a connection that is encrypted: the type of a handshake's first record.
const HANDSHAKE: u8 = 22;

/// The server's side of an encrypted connection.
#[cfg(feature = "tls")]
type Acceptor = SslAcceptor;
/// There is none without the feature.
#[cfg(not(feature = "tls"))]
type Acceptor = std::convert::Infallible;

/// The server's side of TLS. Its files are read again when they change.
#[derive(Debug)]
pub struct Tls {
    acceptor: Reread<Acceptor>,
    asks_for_certificate: bool,
}

/// Why a connection is not encrypted.
pub(super) enum Refusal {
    /// The client does not encrypt.
    Plain(TcpStream),
    /// The handshake failed, or the client left.
    Failed,
}

impl Tls {
    /// From PEM files: the certificate with those that lead to its authority, its key, and the
    /// authority whose certificates clients must show, if they must.
    ///
    /// # Errors
    /// A file that is of no use, or a program that is built without TLS.
    pub fn open(cert: &Path, key: &Path, client_ca: Option<&Path>) -> Result<Tls, String> {
        let paths = [Some(cert), Some(key), client_ca];
        let paths: Vec<PathBuf> = paths.into_iter().flatten().map(Path::to_owned).collect();
        let acceptor = Reread::new(paths, Box::new(acceptor))?;
        Ok(Tls { acceptor, asks_for_certificate: client_ca.is_some() })
    }

    /// Whether clients must show a certificate.
    pub fn asks_for_certificate(&self) -> bool {
        self.asks_for_certificate
    }

    /// Encrypts a connection.
    pub(super) async fn accept(&self, stream: TcpStream) -> Result<Box<dyn Bytes>, Refusal> {
        let mut first = [0];
        match stream.peek(&mut first).await {
            Ok(1) if first[0] == HANDSHAKE => encrypt(&self.acceptor.get(), stream).await,
            Ok(1) => Err(Refusal::Plain(stream)),
            Ok(_) | Err(_) => Err(Refusal::Failed),
        }
    }
}

#[cfg(feature = "tls")]
fn acceptor(paths: &[PathBuf]) -> Result<Acceptor, String> {
    let [cert, key, client_ca @ ..] = paths else { return Err("no certificate".to_owned()) };
    let library = |error: openssl::error::ErrorStack| format!("TLS: {error}");
    let mut builder =
        SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).map_err(library)?;
    builder.set_certificate_chain_file(cert).map_err(bad(
        "--http-cert",
        cert,
        "the certificate and those that lead to its authority",
    ))?;
    builder.set_private_key_file(key, SslFiletype::PEM).map_err(bad(
        "--http-key",
        key,
        "the key of the certificate, without a password",
    ))?;
    builder.check_private_key().map_err(bad(
        "--http-key",
        key,
        "the key of the certificate of --http-cert",
    ))?;
    warn_if_public(key);
    if let [ca, ..] = client_ca {
        let what = "the authority of the clients' certificates";
        builder.set_ca_file(ca).map_err(bad("--http-client-ca", ca, what))?;
        let names = X509Name::load_client_ca_file(ca).map_err(bad("--http-client-ca", ca, what))?;
        builder.set_client_ca_list(names);
        builder.set_verify(SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT);
    }
    // Each connection proves itself: none is taken up again by what an earlier one left.
    builder.set_session_cache_mode(SslSessionCacheMode::OFF);
    builder.set_options(SslOptions::NO_TICKET);
    Ok(builder.build())
}

/// Error text about a file that the library refuses, with the remedy.
#[cfg(feature = "tls")]
fn bad<'a>(
    flag: &'a str,
    path: &'a Path,
    what: &'a str,
) -> impl FnOnce(openssl::error::ErrorStack) -> String + 'a {
    move |error| {
        let (path, why) = (path.display(), why(&error));
        format!("{flag} {path}: {why}; name a readable PEM file with {what}")
    }
}

/// The last reason that the library names, which is the plainest.
#[cfg(feature = "tls")]
fn why(error: &openssl::error::ErrorStack) -> String {
    let mut reasons = error.errors().iter().filter_map(|error| error.reason());
    reasons.next_back().map_or_else(|| "it is of no use".to_owned(), str::to_owned)
}

#[cfg(feature = "tls")]
async fn encrypt(acceptor: &Acceptor, stream: TcpStream) -> Result<Box<dyn Bytes>, Refusal> {
    let ssl = Ssl::new(acceptor.context()).map_err(|_| Refusal::Failed)?;
    let stream = tokio_openssl::SslStream::new(ssl, stream);
    let mut stream = Box::new(stream.map_err(|_| Refusal::Failed)?);
    std::pin::Pin::new(&mut *stream).accept().await.map_err(|error| {
        // What anybody can cause is no warning.
        tracing::debug!("http: a TLS handshake failed: {error}");
        Refusal::Failed
    })?;
    Ok(stream)
}

#[cfg(not(feature = "tls"))]
fn acceptor(_: &[PathBuf]) -> Result<Acceptor, String> {
    Err("--http-cert: this program is built without TLS; build it with --features tls".to_owned())
}

#[cfg(not(feature = "tls"))]
async fn encrypt(acceptor: &Acceptor, _: TcpStream) -> Result<Box<dyn Bytes>, Refusal> {
    match *acceptor {}
}
