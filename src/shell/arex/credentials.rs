//! How a user is known to clusters, and which authorities the clusters' certificates are checked
//! by: as ARC's own clients have it, and WLCG's token discovery.

use crate::authorities::GridAuthorities;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use openssl::asn1::Asn1Time;
use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslConnector, SslConnectorBuilder, SslMethod};
use openssl::x509::X509;
use serde_json::Value;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use yardmaster_core::unit::{DAY, Millis, SECOND};

/// Files that a user names; `None`: the usual places.
#[derive(Clone, Debug, Default)]
pub struct NamedCredentials {
    /// A proxy, or a certificate with its key.
    pub proxy: Option<PathBuf>,
    /// A token.
    pub token: Option<PathBuf>,
    /// Authorities: a file, or a folder of such files.
    pub ca: Option<PathBuf>,
}

/// A user's credentials. What is secret of them is never shown.
pub struct Credentials {
    identity: Identity,
    authorities: Option<GridAuthorities>,
}

enum Identity {
    Chain(UserChain),
    Token(String),
}

/// A user's certificate with those that lead to its authority, and its key.
#[derive(Clone)]
pub struct UserChain {
    /// The certificates, that of the key first.
    pub certificates: Vec<X509>,
    /// The key.
    pub key: PKey<Private>,
}

/// Why credentials are of no use; the text names the file, the cause and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoCredentials(String);

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("authorities", &self.authorities)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads credentials that hold at a moment.
    ///
    /// # Errors
    /// See [`NoCredentials`].
    pub fn read(named: &NamedCredentials, now: Millis) -> Result<Credentials, NoCredentials> {
        let identity = match (&named.proxy, &named.token) {
            (Some(proxy), _) => Identity::Chain(UserChain::read(proxy, now)?),
            (None, Some(token)) => Identity::Token(token_of(token, now)?),
            (None, None) => usual_identity(now)?,
        };
        let authorities = GridAuthorities::find(named.ca.as_deref()).map_err(NoCredentials)?;
        Ok(Credentials { identity, authorities })
    }

    /// The user's certificates; `None`: the user has a token.
    pub fn chain(&self) -> Option<&UserChain> {
        match &self.identity {
            Identity::Chain(chain) => Some(chain),
            Identity::Token(_) => None,
        }
    }

    /// Until when they hold, if that is known.
    pub fn until(&self) -> Option<Millis> {
        match &self.identity {
            Identity::Chain(chain) => chain.until(),
            Identity::Token(token) => expiry(token),
        }
    }

    /// The token; `None`: the user has certificates.
    pub(super) fn token(&self) -> Option<&str> {
        match &self.identity {
            Identity::Chain(_) => None,
            Identity::Token(token) => Some(token),
        }
    }

    /// Connections that show the certificates, and check those of clusters by the authorities and
    /// by the system's.
    ///
    /// # Errors
    /// A file that OpenSSL cannot use; the text names it.
    pub(super) fn connector(&self) -> Result<SslConnector, String> {
        let mut builder = SslConnector::builder(SslMethod::tls_client())
            .map_err(|error| format!("TLS: {error}"))?;
        for text in self.authorities.iter().flat_map(|it| &it.texts) {
            // One that cannot be read is an authority less, and the others are as good.
            for certificate in X509::stack_from_pem(text.as_bytes()).unwrap_or_default() {
                builder
                    .cert_store_mut()
                    .add_cert(certificate)
                    .map_err(|error| format!("an authority of clusters: {error}"))?;
            }
        }
        if let Identity::Chain(chain) = &self.identity {
            chain.show(&mut builder).map_err(|error| format!("the user's certificate: {error}"))?;
        }
        Ok(builder.build())
    }

    /// Where the authorities are that were named, for a message.
    pub(super) fn authorities(&self) -> String {
        GridAuthorities::shown(self.authorities.as_ref())
    }
}

impl UserChain {
    /// Reads a proxy, or a certificate with its key, from a PEM file.
    fn read(path: &Path, now: Millis) -> Result<UserChain, NoCredentials> {
        let shown = path.display();
        let wrong = |why: String| NoCredentials(format!("the proxy {shown}: {why}"));
        let pem = std::fs::read(path).map_err(|error| {
            wrong(format!("{error}; make one with `arcproxy`, or name another with --proxy FILE"))
        })?;
        let of_pem = "a PEM file with a certificate, those that lead to its authority, and its key";
        let mut certificates = X509::stack_from_pem(&pem)
            .ok()
            .filter(|found| !found.is_empty())
            .ok_or_else(|| wrong(format!("it has no certificate; name {of_pem}")))?;
        // The library would ask for a password on the terminal.
        let key = PKey::private_key_from_pem_callback(&pem, |_| Ok(0)).map_err(|_| {
            wrong(format!("it has no key that is readable without a password; name {of_pem}"))
        })?;
        let is_own = |it: &X509| it.public_key().is_ok_and(|public| public.public_eq(&key));
        let own = certificates.iter().position(is_own);
        let own = own.ok_or_else(|| {
            wrong(format!("its key is that of none of its certificates; name {of_pem}"))
        })?;
        let first = certificates.remove(own);
        certificates.insert(0, first);
        let chain = UserChain { certificates, key };
        match chain.expired(now) {
            Some(at) => Err(wrong(format!(
                "it expired on {at}; make a new one with `arcproxy`, or name another with --proxy \
                 FILE"
            ))),
            None => Ok(chain),
        }
    }

    /// When the first of its certificates expired, if one did.
    fn expired(&self, now: Millis) -> Option<String> {
        let now = Asn1Time::from_unix(now / SECOND).ok()?;
        let over = self.certificates.iter().find(|it| it.not_after() < now);
        over.map(|it| it.not_after().to_string())
    }

    /// When the first of its certificates expires.
    fn until(&self) -> Option<Millis> {
        let epoch = Asn1Time::from_unix(0).ok()?;
        let span = |it: &X509| {
            let span = epoch.diff(it.not_after()).ok()?;
            Some(Millis::from(span.days) * DAY + Millis::from(span.secs) * SECOND)
        };
        self.certificates.iter().filter_map(span).min()
    }

    fn show(&self, builder: &mut SslConnectorBuilder) -> Result<(), ErrorStack> {
        if let [first, rest @ ..] = self.certificates.as_slice() {
            builder.set_certificate(first)?;
            rest.iter().try_for_each(|it| builder.add_extra_chain_cert(it.clone()))?;
        }
        builder.set_private_key(&self.key)?;
        builder.check_private_key()
    }
}

/// A proxy that the environment names, a token that it names or holds, the usual file of a proxy,
/// those of a token; the first that is there.
fn usual_identity(now: Millis) -> Result<Identity, NoCredentials> {
    if let Some(proxy) = variable("X509_USER_PROXY") {
        return UserChain::read(Path::new(&proxy), now).map(Identity::Chain);
    }
    if let Some(token) = variable("BEARER_TOKEN") {
        return checked_token("BEARER_TOKEN", &token, now).map(Identity::Token);
    }
    if let Some(file) = variable("BEARER_TOKEN_FILE") {
        return token_of(Path::new(&file), now).map(Identity::Token);
    }
    let user = rustix::process::getuid().as_raw();
    let proxy = PathBuf::from(format!("/tmp/x509up_u{user}"));
    if proxy.exists() {
        return UserChain::read(&proxy, now).map(Identity::Chain);
    }
    let folders = variable("XDG_RUNTIME_DIR").into_iter().chain(["/tmp".to_owned()]);
    for file in folders.map(|folder| Path::new(&folder).join(format!("bt_u{user}"))) {
        if file.exists() {
            return token_of(&file, now).map(Identity::Token);
        }
    }
    Err(NoCredentials(format!(
        "no proxy and no token: none of --proxy, --token, X509_USER_PROXY, BEARER_TOKEN and \
         BEARER_TOKEN_FILE is given, and there is no {}; make a proxy with `arcproxy`, or give \
         --token FILE",
        proxy.display()
    )))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn token_of(path: &Path, now: Millis) -> Result<String, NoCredentials> {
    let shown = format!("the token {}", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|error| NoCredentials(format!("{shown}: {error}; name a readable file")))?;
    checked_token(&shown, &text, now)
}

/// A token that may stand in a header and, if it says until when it holds, still does.
fn checked_token(shown: &str, text: &str, now: Millis) -> Result<String, NoCredentials> {
    let token = text.trim();
    if token.is_empty() || token.bytes().any(|byte| !byte.is_ascii_graphic()) {
        return Err(NoCredentials(format!("{shown}: it is no token; name a file with one token")));
    }
    match expiry(token) {
        Some(until) if until <= now => {
            let at = yardmaster_core::explain::iso(until);
            Err(NoCredentials(format!("{shown}: it expired at {at}; get a new one")))
        }
        _ => Ok(token.to_owned()),
    }
}

/// Until when a token holds, if it says so.
fn expiry(token: &str) -> Option<Millis> {
    let payload = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    Some((claims["exp"].as_f64()? * 1_000.0) as Millis)
}
