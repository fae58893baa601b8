//! TLS of the client: the authority it trusts, and the certificate it shows.

use super::Bytes;
use std::net::TcpStream;
use std::path::PathBuf;

/// How a process that encrypts is known, and what is shown to it: PEM files.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// The authority of the process's certificate.
    pub ca: PathBuf,
    /// The client's certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl ClientTls {
    /// Encrypts a connection. The certificate must be the authority's, and of the name `host` where
    /// that is a name.
    #[cfg(feature = "tls")]
    pub(super) fn connect(
        &self,
        stream: TcpStream,
        host: &str,
        has_name: bool,
    ) -> anyhow::Result<Box<dyn Bytes>> {
        use anyhow::Context;
        use openssl::ssl::{HandshakeError, SslConnector, SslFiletype, SslMethod};
        let mut builder = SslConnector::builder(SslMethod::tls_client())?;
        let ca = self.ca.display();
        builder
            .set_ca_file(&self.ca)
            .with_context(|| format!("--http-ca {ca}: name a readable PEM file"))?;
        if let Some((cert, key)) = &self.identity {
            builder.set_certificate_chain_file(cert).with_context(|| {
                format!("--http-cert {}: name a readable PEM file", cert.display())
            })?;
            builder
                .set_private_key_file(key, SslFiletype::PEM)
                .and_then(|()| builder.check_private_key())
                .with_context(|| {
                    format!("--http-key {}: name the key of --http-cert", key.display())
                })?;
        }
        let configured = builder.build().configure()?.verify_hostname(has_name);
        match configured.connect(host, stream) {
            Ok(stream) => Ok(Box::new(stream)),
            Err(HandshakeError::Failure(stream)) => Err(anyhow::anyhow!(
                "the TLS handshake failed: {}; is {ca} the authority of its certificate?",
                stream.error()
            )),
            Err(error) => Err(anyhow::anyhow!("the TLS handshake failed: {error}")),
        }
    }

    /// There is none without the feature.
    #[cfg(not(feature = "tls"))]
    pub(super) fn connect(&self, _: TcpStream, _: &str, _: bool) -> anyhow::Result<Box<dyn Bytes>> {
        let ca = self.ca.display();
        anyhow::bail!(
            "--http-ca {ca}: this program is built without TLS; build it with --features tls"
        )
    }
}
