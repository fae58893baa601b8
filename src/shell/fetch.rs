//! Text from a file, or from a web server that is reached as the environment states: proxies by
//! `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, in small or capital letters,
//! certificate authorities by `SSL_CERT_FILE` and `SSL_CERT_DIR`. A proxy is asked for a tunnel
//! (CONNECT), for plain HTTP too.

use flate2::read::MultiGzDecoder;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use ureq::{Agent, Proxy};

/// How long a server may take to answer whole.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How long it may take to take a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Longest answer that is read; bytes.
const ANSWER_MAX: u64 = 1 << 30;

/// Where text is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// A web server.
    Url(String),
}

impl From<&str> for Source {
    fn from(text: &str) -> Source {
        match text.starts_with("http://") || text.starts_with("https://") {
            true => Source::Url(text.to_owned()),
            false => Source::File(PathBuf::from(text)),
        }
    }
}

impl fmt::Display for Source {
    /// Without what may be secret in an address: user, password, and all behind `?`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => path.display().fmt(out),
            Source::Url(url) => {
                let url = url.split(['?', '#']).next().unwrap_or(url);
                let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
                let host = rest.find('/').unwrap_or(rest.len());
                let at = rest[..host].rfind('@').map_or(0, |at| at + 1);
                write!(out, "{scheme}://{}", &rest[at..])
            }
        }
    }
}

/// How web servers are asked.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// How long one may take to answer whole.
    pub timeout: Duration,
    /// Longest answer that is read; bytes.
    pub answer_max: u64,
    /// Authorities that may have signed a server's certificate beside the system's, texts in PEM;
    /// `None`: those of the environment or the system alone.
    pub authorities: Option<Vec<String>>,
}

/// Reads sources.
pub struct Fetch {
    plain: Agent,
    secure: Agent,
    answer_max: u64,
}

impl Default for Fetch {
    fn default() -> Fetch {
        let (timeout, answer_max) = (TIMEOUT, ANSWER_MAX);
        let options = FetchOptions { timeout, answer_max, authorities: None };
        Fetch::with(&options)
    }
}

impl Fetch {
    /// One that asks web servers so.
    pub fn with(options: &FetchOptions) -> Fetch {
        let agent = |variables: [&str; 2]| {
            let is_set = |name: &str| {
                [name.to_owned(), name.to_uppercase()]
                    .iter()
                    .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
            };
            let proxy = variables.iter().any(|name| is_set(name)).then(Proxy::try_from_env);
            let config = Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(options.timeout))
                .timeout_connect(Some(CONNECT.min(options.timeout)))
                .proxy(proxy.flatten())
                .user_agent(concat!("yardmaster/", env!("CARGO_PKG_VERSION")));
            trusting(config, options.authorities.as_deref()).build().new_agent()
        };
        Fetch {
            plain: agent(["http_proxy", "all_proxy"]),
            secure: agent(["https_proxy", "all_proxy"]),
            answer_max: options.answer_max,
        }
    }

    /// The text of a source; `headers` are sent to web servers.
    ///
    /// # Errors
    /// The source cannot be read; the text states the cause without the source's name.
    pub fn text(&self, source: &Source, headers: &[(String, String)]) -> Result<String, String> {
        match source {
            Source::File(path) => file(path),
            Source::Url(url) => self.ask(url, "application/json, */*;q=0.5", headers),
        }
    }

    /// The text at an address, of a kind that is wanted.
    ///
    /// # Errors
    /// It cannot be read; the text states the cause without the address.
    pub fn get(&self, url: &str, accept: &str) -> Result<String, String> {
        self.ask(url, accept, &[])
    }

    fn ask(&self, url: &str, accept: &str, headers: &[(String, String)]) -> Result<String, String> {
        if cfg!(not(feature = "tls")) && url.starts_with("https://") {
            return Err("this program is built without TLS; build it with --features tls".into());
        }
        let agent = if url.starts_with("https://") { &self.secure } else { &self.plain };
        let mut request = agent.get(url).header("Accept", accept);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.call().map_err(|error| error.to_string())?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("the server answers {status}"));
        }
        let mut body = response.into_body();
        let bytes = body.with_config().limit(self.answer_max).read_to_vec();
        let bytes = bytes.map_err(|error| format!("the answer breaks off: {error}"))?;
        text(bytes, self.answer_max)
    }
}

/// The text of a file.
///
/// # Errors
/// It cannot be read; the text states the cause without the file's name.
pub fn file(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{error}; name a readable file"))?;
    text(bytes, ANSWER_MAX)
}

/// Text of bytes, which may be packed by gzip; of more than `most` bytes the rest is cut off.
fn text(bytes: Vec<u8>, most: u64) -> Result<String, String> {
    const GZIP: &[u8] = &[0x1f, 0x8b];
    let mut unpacked = Vec::new();
    if bytes.starts_with(GZIP) {
        let mut packed = MultiGzDecoder::new(bytes.as_slice()).take(most);
        packed.read_to_end(&mut unpacked).map_err(|error| format!("gzip: {error}"))?;
    } else {
        unpacked = bytes;
    }
    String::from_utf8(unpacked).map_err(|error| format!("no UTF-8 text: {error}"))
}

type Config = ureq::config::ConfigBuilder<ureq::typestate::AgentScope>;

/// With what certificates are checked by: authorities of the environment or the system.
pub(crate) fn secure(agent: Config) -> Config {
    trusting(agent, None)
}

/// The same with authorities beside the system's, texts in PEM; none: see [`secure`]. One that is
/// none is passed over.
#[cfg(feature = "tls")]
pub(crate) fn trusting(agent: Config, authorities: Option<&[String]>) -> Config {
    use ureq::tls::{PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
    let roots = authorities.map(|texts| {
        let system = openssl_probe::probe().cert_file.and_then(|path| file(&path).ok());
        let items = texts.iter().chain(&system).flat_map(|text| parse_pem(text.as_bytes()));
        let certificates = items.filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        });
        RootCerts::from(certificates.collect::<Vec<_>>())
    });
    let roots = roots.unwrap_or(RootCerts::PlatformVerifier);
    agent
        .tls_config(TlsConfig::builder().provider(TlsProvider::NativeTls).root_certs(roots).build())
}

/// See the other.
#[cfg(not(feature = "tls"))]
pub(crate) fn trusting(agent: Config, _: Option<&[String]>) -> Config {
    agent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        let shown = |text: &str| Source::from(text).to_string();
        assert_eq!(shown("https://me:hush@cric/api/q/?json&key=1"), "https://cric/api/q/");
        assert_eq!(shown("http://cric"), "http://cric");
        assert_eq!(shown("http://cric/a@b"), "http://cric/a@b");
        assert_eq!(shown("dumps/queues.json"), "dumps/queues.json");
    }
}
