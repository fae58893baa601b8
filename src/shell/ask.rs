//! Asks a running process over HTTP, as the program's own verbs do.

mod reply;
mod tls;

pub use reply::Reply;
pub use tls::ClientTls;

use crate::store::SledStore;
use crate::when::When;
use anyhow::Context;
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;
use yardmaster_core::unit::Millis;

/// How long the process may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Token that the client shows, and TLS settings by which it recognises the process.
#[derive(Clone, Default)]
pub struct Proof {
    /// A token of the process.
    pub token: Option<String>,
    /// How the process is known if it encrypts.
    pub tls: Option<ClientTls>,
}

/// A process that can be asked.
#[derive(Clone)]
pub struct Ask {
    /// Host and port.
    address: String,
    /// The domain that is asked about; `None`: the first of the process.
    domain: Option<String>,
    is_encrypted: bool,
    proof: Proof,
}

/// A connection, encrypted or not.
trait Bytes: Read + Write {}

impl<T: Read + Write> Bytes for T {}

impl Ask {
    /// The process at an address: `HOST:PORT`, perhaps with `http://` or `https://` before it and
    /// with `/?domain=DOMAIN` after it, as the page has it, for one of its domains.
    pub fn new(address: &str, proof: Proof) -> Ask {
        let (is_encrypted, rest) = match address.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, address.strip_prefix("http://").unwrap_or(address)),
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let domain = path.strip_prefix("?domain=").map(str::to_owned);
        Ask { address: host.to_owned(), domain, is_encrypted, proof }
    }

    /// The same process, asked about a domain if one is given.
    pub fn about(self, domain: Option<&str>) -> Ask {
        let domain = domain.map(str::to_owned).or(self.domain);
        Ask { domain, ..self }
    }

    /// The process that holds a store; `None` if none wrote there where it can be asked.
    pub fn of_store(store: &Path, proof: Proof) -> Option<Ask> {
        SledStore::read_address(store).map(|address| Ask::new(&address, proof))
    }

    /// The process's address, with `http://` or `https://`.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.is_encrypted { "https" } else { "http" }, self.address)
    }

    /// Why nothing answered there, as a sentence: its host has no address, or nothing listens.
    pub fn absent(&self) -> String {
        match self.address.to_socket_addrs() {
            Ok(_) => format!("nothing listens at {}", self.url()),
            Err(error) => format!(
                "{}: the host has no address ({error}); correct it, and state HOST:PORT",
                self.url()
            ),
        }
    }

    /// The answer to `GET`, whatever its status; `None` if nothing listens at the address. `path`
    /// begins with `/`, and may have a query whose values are encoded by [`in_query`].
    ///
    /// # Errors
    /// The connection breaks off, or is refused for want of a proof; the text names the remedy.
    pub fn get(&self, path: &str) -> anyhow::Result<Option<Reply>> {
        let domain = self.domain.as_ref().map(|domain| {
            let mark = if path.contains('?') { '&' } else { '?' };
            format!("{mark}domain={}", in_query(domain))
        });
        let path = &format!("{path}{}", domain.unwrap_or_default());
        let Ok(stream) = TcpStream::connect(&self.address) else { return Ok(None) };
        let asking = || format!("asking {}{path}", self.url());
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.set_write_timeout(Some(SILENCE_MAX))?;
        let mut stream: Box<dyn Bytes> = match self.is_encrypted {
            false => Box::new(stream),
            true => self.encrypt(stream)?,
        };
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        if let Some(token) = &self.proof.token {
            request.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        request.push_str("Connection: close\r\n\r\n");
        let mut bytes = Vec::new();
        let written = stream.write_all(request.as_bytes());
        match written.and_then(|()| stream.read_to_end(&mut bytes)) {
            Ok(_) => {}
            // Some end an encrypted answer without the closing record; its length tells whether
            // it is whole.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && !bytes.is_empty() => {}
            // A certificate that the process refuses, or misses, shows only here.
            Err(error) if self.is_encrypted && bytes.is_empty() => {
                let remedy = "if it demands a certificate, give --http-cert FILE and --http-key \
                              FILE with one that its --http-client-ca signed";
                return Err(anyhow::Error::from(error).context(remedy).context(asking()));
            }
            Err(error) => return Err(anyhow::Error::from(error).context(asking())),
        }
        Reply::parse(&bytes).with_context(asking).map(Some)
    }

    /// The text of an answer with status 200; `None` if nothing listens at the address.
    ///
    /// # Errors
    /// As [`Ask::get`], and any other status; the text names it, and the remedy.
    pub fn text(&self, path: &str) -> anyhow::Result<Option<String>> {
        let Some(reply) = self.get(path)? else { return Ok(None) };
        match reply.status {
            200 => Ok(Some(reply.text())),
            _ => Err(self.refused(path, &reply)),
        }
    }

    /// An answer in JSON.
    ///
    /// # Errors
    /// As [`Ask::text`]; nothing listens at the address; it is none.
    pub fn json(&self, path: &str) -> anyhow::Result<Value> {
        let text = self.text(path)?.with_context(|| self.absent())?;
        serde_json::from_str(&text).context("the answer of the process")
    }

    /// An answer in JSON about something that there may not be: null where there is none; `None` if
    /// nothing listens at the address.
    ///
    /// # Errors
    /// As [`Ask::text`].
    pub fn known(&self, path: &str) -> anyhow::Result<Option<Value>> {
        let Some(reply) = self.get(path)? else { return Ok(None) };
        match reply.status {
            200 => Ok(Some(serde_json::from_str(&reply.text())?)),
            404 => Ok(Some(Value::Null)),
            _ => Err(self.refused(path, &reply)),
        }
    }

    /// Moments; an age is one before the process's last cycle, for which it is asked once.
    ///
    /// # Errors
    /// As [`Ask::json`]; there is an age, and the process shows no cycle yet.
    pub fn moments<const N: usize>(
        &self,
        whens: [Option<When>; N],
    ) -> anyhow::Result<[Option<Millis>; N]> {
        let now = match whens.iter().flatten().any(|it| matches!(it, When::Ago(_))) {
            false => 0,
            true => {
                let now = self.json("/api/v1/status")?["now"].as_i64().filter(|now| *now > 0);
                now.with_context(|| {
                    format!(
                        "the process at {} shows no cycle yet that an age could be before: give a \
                         moment (2026-05-01T12:00:00Z), or ask later",
                        self.url()
                    )
                })?
            }
        };
        Ok(whens.map(|when| when.map(|it| it.before(now))))
    }

    /// Error text of an answer that is a refusal.
    pub fn refused(&self, path: &str, reply: &Reply) -> anyhow::Error {
        let (url, status) = (self.url(), reply.status);
        if status == 401 {
            return match self.proof.token {
                None => anyhow::anyhow!(
                    "{url} answers only to a token: give --http-token-file FILE, the one that the \
                     process was started with"
                ),
                Some(_) => anyhow::anyhow!(
                    "{url} does not know the token of --http-token-file: give the file that the \
                     process was started with"
                ),
            };
        }
        let text = reply.text();
        let problem: Value = serde_json::from_str(&text).unwrap_or_default();
        match (problem["error"].as_str(), problem["remedy"].as_str()) {
            (Some(error), Some(remedy)) => {
                anyhow::anyhow!("{url} answered {status} to {path}: {error}; {remedy}")
            }
            _ => anyhow::anyhow!("{url} answered {status} to {path}: {}", text.trim()),
        }
    }

    fn encrypt(&self, stream: TcpStream) -> anyhow::Result<Box<dyn Bytes>> {
        let url = self.url();
        let tls = self.proof.tls.as_ref().with_context(|| {
            format!(
                "{url} is encrypted: give --http-ca FILE, the authority of its certificate (and \
                 --http-cert FILE, --http-key FILE if it demands a certificate)"
            )
        })?;
        let port = self.address.rfind(':').unwrap_or(self.address.len());
        let host = self.address[..port].trim_matches(['[', ']']);
        // An address comes from a store, and few certificates have one; a name is to be the right
        // one.
        let has_name = host.parse::<IpAddr>().is_err();
        tls.connect(stream, host, has_name).with_context(|| format!("asking {url}"))
    }
}

/// A name as it stands in a query.
pub fn in_query(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_an_address_is_not_one_where_nothing_listens() {
        let absent = |address: &str| Ask::new(address, Proof::default()).absent();
        assert_eq!(absent("127.0.0.1:1"), "nothing listens at http://127.0.0.1:1");
        assert!(absent("no-such-host.invalid:1").contains("the host has no address"));
        assert!(absent("127.0.0.1").contains("state HOST:PORT"));
    }

    #[test]
    fn an_address_may_have_a_scheme() {
        let url = |address: &str| Ask::new(address, Proof::default()).url();
        assert_eq!(url("127.0.0.1:9187"), "http://127.0.0.1:9187");
        assert_eq!(url("http://leader:9187/"), "http://leader:9187");
        assert_eq!(url("https://[::1]:9187/metrics"), "https://[::1]:9187");
        assert_eq!(url("leader:9187/?domain=cms"), "http://leader:9187");
        let ask = Ask::new("leader:9187/?domain=cms", Proof::default());
        assert_eq!(ask.clone().about(None).domain.as_deref(), Some("cms"));
        assert_eq!(ask.about(Some("atlas")).domain.as_deref(), Some("atlas"));
        assert_eq!(in_query("Jürgen & co"), "J%C3%BCrgen%20%26%20co");
    }
}
