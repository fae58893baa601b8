//! A client for the REST interface of Confluent's schema registry, which others have too.

use super::inline;
use base64::Engine;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use ureq::Agent;
use ureq::config::RedirectAuthHeaders;
use ureq::http::{Request, Response};
use yardmaster_wire::topology::Registry;

/// Largest number of a schema: registries give positive 32-bit integers. A larger one in a record
/// is no number of a schema, and is not asked for.
pub(super) const ID_MAX: u32 = i32::MAX as u32;

/// How long one server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take to take a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// Longest answer that is read; bytes.
const ANSWER_MAX: u64 = 4 << 20;
/// The interface's media type.
const MEDIA: &str = "application/vnd.schemaregistry.v1+json";
/// Codes of the interface for what is not there: subject, version, schema.
const ABSENT: [i64; 3] = [40_401, 40_402, 40_403];

/// Error text about a server that answers 404 and is no registry.
const NOT_FOUND: &str = "404, and not as a registry answers it: is the path of the address right?";

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// No server answered as a registry does; asking again later may help.
    #[error("the schema registry cannot be asked: {0}")]
    Unanswered(String),
    /// It has a schema without what that refers to; asking again later may help.
    #[error("{0}")]
    Lacking(String),
    /// It answered, and will not do it.
    #[error("the schema registry refuses: {0}")]
    Refused(String),
    /// The topology's setting of it cannot be used.
    #[error("{0}")]
    Setting(String),
}

/// A schema under a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Its number in the registry.
    pub id: u32,
    /// Its version under the subject.
    pub version: u32,
    /// Its text, with everything it refers to in it.
    pub text: String,
}

/// Asks a registry; see [`Registry`]. The password is in no message.
pub struct RegistryClient {
    agent: Agent,
    urls: Vec<String>,
    /// The server that answered last: it is asked first.
    first: AtomicUsize,
    authorization: Option<String>,
}

/// One answer: the status and the text that came with it, as JSON.
struct Reply {
    url: String,
    status: u16,
    body: Value,
}

impl RegistryClient {
    /// A client by the topology; reads the password, does not connect yet.
    pub fn new(registry: &Registry) -> Result<RegistryClient, RegistryError> {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(TIMEOUT))
            .timeout_connect(Some(CONNECT))
            // A server may lead to another path of its own; no other host gets the password.
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            // What is reached is what the file has, whatever the environment holds.
            .proxy(None)
            .user_agent(concat!("yardmaster/", env!("CARGO_PKG_VERSION")));
        let agent = secure(agent, registry)?.build().new_agent();
        let authorization = match &registry.username {
            Some(user) => Some(authorization(user, &password(registry)?)),
            None => None,
        };
        Ok(RegistryClient {
            agent,
            urls: registry.urls.clone(),
            first: AtomicUsize::new(0),
            authorization,
        })
    }

    /// The schema of a number, whole; `None`: the registry has none, or the number
    /// is none that a registry gives.
    pub fn schema(&self, id: u32) -> Result<Option<String>, RegistryError> {
        if id > ID_MAX {
            return Ok(None);
        }
        let path = format!("/schemas/ids/{id}");
        let Some(reply) = self.get(&path)? else { return Ok(None) };
        self.text_of(&reply).map(Some)
    }

    /// Versions of the schemas under a subject; none when there is no such subject.
    pub fn versions(&self, subject: &str) -> Result<Vec<u32>, RegistryError> {
        let path = format!("/subjects/{}/versions", escape(subject));
        let Some(reply) = self.get(&path)? else { return Ok(Vec::new()) };
        let versions = reply.body.as_array().ok_or_else(|| reply.strange("a list of versions"))?;
        let version = |it: &Value| it.as_u64().and_then(|it| u32::try_from(it).ok());
        versions.iter().map(version).collect::<Option<_>>().ok_or_else(|| reply.strange("numbers"))
    }

    /// The newest schema under a subject.
    pub fn latest(&self, subject: &str) -> Result<Option<Schema>, RegistryError> {
        let path = format!("/subjects/{}/versions/latest", escape(subject));
        let Some(reply) = self.get(&path)? else { return Ok(None) };
        let (id, version) = (reply.number("id")?, reply.number("version")?);
        Ok(Some(Schema { id, version, text: self.text_of(&reply)? }))
    }

    /// The number of a schema, if it is under the subject.
    pub fn find(&self, subject: &str, schema: &str) -> Result<Option<u32>, RegistryError> {
        let path = format!("/subjects/{}", escape(subject));
        let Some(reply) = self.post(&path, schema)? else { return Ok(None) };
        reply.number("id").map(Some)
    }

    /// Puts a schema under a subject, unless it is there; gives its number.
    pub fn register(&self, subject: &str, schema: &str) -> Result<u32, RegistryError> {
        let path = format!("/subjects/{}/versions", escape(subject));
        match self.post(&path, schema)? {
            Some(reply) => reply.number("id"),
            None => Err(RegistryError::Refused(format!("it will not make subject {subject}"))),
        }
    }

    /// Why the registry would not take a schema after the newest under a subject; `None`: it
    /// would.
    pub fn objection(&self, subject: &str, schema: &str) -> Result<Option<String>, RegistryError> {
        let path =
            format!("/compatibility/subjects/{}/versions/latest?verbose=true", escape(subject));
        let Some(reply) = self.post(&path, schema)? else { return Ok(None) };
        match reply.body["is_compatible"].as_bool() {
            Some(true) => Ok(None),
            Some(false) => {
                let why = [&reply.body["messages"], &reply.body["reason"]];
                let why = why.into_iter().find(|why| !why.is_null()).map(Value::to_string);
                Ok(Some(why.unwrap_or_else(|| "no reason given".to_owned())))
            }
            None => Err(reply.strange("is_compatible")),
        }
    }

    /// The text of a schema in a reply, whole. What is no Avro is given as it is: it cannot be
    /// resolved, and its records become dead letters.
    fn text_of(&self, reply: &Reply) -> Result<String, RegistryError> {
        let text = reply.body["schema"].as_str().ok_or_else(|| reply.strange("schema"))?;
        if let Some(kind) = reply.body["schemaType"].as_str().filter(|kind| *kind != "AVRO") {
            return Ok(format!("a schema of type {kind}, not Avro"));
        }
        let mut others = Vec::new();
        self.gather(&reply.body["references"], inline::DEPTH, &mut others)?;
        Ok(if others.is_empty() { text.to_owned() } else { inline::inline(text, &others) })
    }

    /// Texts of what a schema refers to, and of what those refer to; what is referred to comes
    /// first.
    fn gather(
        &self,
        references: &Value,
        depth: usize,
        others: &mut Vec<String>,
    ) -> Result<(), RegistryError> {
        for reference in references.as_array().into_iter().flatten() {
            let subject = reference["subject"].as_str().unwrap_or_default();
            // What others refer to can be removed from a subject and still be given.
            let version = &reference["version"];
            let path = format!("/subjects/{}/versions/{version}?deleted=true", escape(subject));
            let Some(reply) = self.get(&path)? else {
                return Err(RegistryError::Lacking(format!(
                    "it refers to version {version} of subject {subject}, which the registry does \
                     not have: register that again"
                )));
            };
            if depth > 0 {
                self.gather(&reply.body["references"], depth - 1, others)?;
            }
            let text = reply.body["schema"].as_str().ok_or_else(|| reply.strange("schema"))?;
            others.push(text.to_owned());
        }
        Ok(())
    }

    /// Whether there is a registry at an address: it gives the list of types of schemas.
    fn is_registry(&self, url: &str) -> bool {
        let request = self.request("GET", &format!("{url}/schemas/types")).body(());
        let answer = request.map_err(ureq::Error::from).and_then(|it| self.agent.run(it));
        let reply = answer.map_err(|error| error.to_string()).and_then(|it| read(url, it));
        reply.is_ok_and(|reply| reply.status == 200 && reply.body.is_array())
    }

    fn get(&self, path: &str) -> Result<Option<Reply>, RegistryError> {
        self.ask(|url| {
            let request = self.request("GET", &format!("{url}{path}"));
            self.agent.run(request.body(())?)
        })
    }

    fn post(&self, path: &str, schema: &str) -> Result<Option<Reply>, RegistryError> {
        let body = json!({ "schema": schema }).to_string();
        self.ask(|url| {
            let request = self.request("POST", &format!("{url}{path}"));
            self.agent.run(request.header("Content-Type", MEDIA).body(body.as_str())?)
        })
    }

    fn request(&self, method: &str, url: &str) -> ureq::http::request::Builder {
        let request = Request::builder().method(method).uri(url).header("Accept", MEDIA);
        match &self.authorization {
            Some(authorization) => request.header("Authorization", authorization),
            None => request,
        }
    }

    /// Asks server after server until one answers as a registry does. `None`: it answered that
    /// what was asked for is not there.
    fn ask(
        &self,
        call: impl Fn(&str) -> Result<Response<ureq::Body>, ureq::Error>,
    ) -> Result<Option<Reply>, RegistryError> {
        let first = self.first.load(Ordering::Relaxed);
        let (mut failed, mut is_absent) = (String::new(), false);
        for turn in 0..self.urls.len() {
            let at = (first + turn) % self.urls.len();
            let url = &self.urls[at];
            let why =
                match call(url).map_err(|error| error.to_string()).and_then(|it| read(url, it)) {
                    Ok(reply) => match reply.judge() {
                        Judged::Answer => {
                            self.first.store(at, Ordering::Relaxed);
                            return Ok(Some(reply));
                        }
                        // A server that has not caught up yet may answer so: the others are asked
                        // too.
                        Judged::Absent => {
                            is_absent = true;
                            continue;
                        }
                        Judged::NotFound if self.is_registry(url) => {
                            is_absent = true;
                            continue;
                        }
                        Judged::NotFound => NOT_FOUND.to_owned(),
                        Judged::Refused(why) => return Err(RegistryError::Refused(why)),
                        Judged::Trouble(why) => why,
                    },
                    Err(why) => why,
                };
            let separator = if failed.is_empty() { "" } else { "; " };
            // Writing to a string cannot fail.
            let _ = write!(failed, "{separator}{url}: {why}");
        }
        if is_absent { Ok(None) } else { Err(RegistryError::Unanswered(failed)) }
    }
}

/// Meaning of an answer.
enum Judged {
    Answer,
    Absent,
    /// 404, but not with a code for what is absent: the address may be wrong, or the registry gives
    /// no code.
    NotFound,
    Refused(String),
    Trouble(String),
}

impl Reply {
    fn judge(&self) -> Judged {
        let code = self.body["error_code"].as_i64();
        let text = self.body["message"].as_str().unwrap_or("no message").to_owned();
        match self.status {
            200..=299 if self.body.is_null() => {
                Judged::Trouble("its answer is no JSON: is the address that of a registry?".into())
            }
            200..=299 => Judged::Answer,
            404 if code.is_some_and(|code| ABSENT.contains(&code)) => Judged::Absent,
            404 => Judged::NotFound,
            401 | 403 => Judged::Trouble(format!(
                "{}: it does not let us in; look at username and password",
                self.status
            )),
            409 | 422 => Judged::Refused(format!("{} {}: {text}", self.url, self.status)),
            status => Judged::Trouble(format!("{status}: {text}")),
        }
    }

    fn number(&self, key: &str) -> Result<u32, RegistryError> {
        let number = self.body[key].as_u64().and_then(|it| u32::try_from(it).ok());
        number.ok_or_else(|| self.strange(key))
    }

    fn strange(&self, wanted: &str) -> RegistryError {
        RegistryError::Unanswered(format!("{}: the answer has no {wanted} in it", self.url))
    }
}

fn read(url: &str, response: Response<ureq::Body>) -> Result<Reply, String> {
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let text =
        body.with_config().limit(ANSWER_MAX).read_to_string().map_err(|it| it.to_string())?;
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Ok(Reply { url: url.to_owned(), status, body })
}

fn authorization(user: &str, password: &str) -> String {
    let pair = format!("{user}:{password}");
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}

/// The password, from where the topology has it.
fn password(registry: &Registry) -> Result<String, RegistryError> {
    let setting = |why: String| Err(RegistryError::Setting(why));
    match (&registry.password_file, &registry.password_env) {
        (Some(path), _) => match std::fs::read_to_string(path) {
            Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) => setting(format!(
                "registry.password_file {path:?}: {error}; name a file that this user can read"
            )),
        },
        (None, Some(name)) => match std::env::var(name) {
            Ok(text) => Ok(text),
            Err(_) => setting(format!(
                "registry.password_env {name:?}: there is no such variable; set it, or name a file \
                 with password_file"
            )),
        },
        (None, None) => Ok(String::new()),
    }
}

type Config = ureq::config::ConfigBuilder<ureq::typestate::AgentScope>;

#[cfg(feature = "tls")]
fn secure(agent: Config, registry: &Registry) -> Result<Config, RegistryError> {
    use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
    let roots = match &registry.ca_file {
        None => RootCerts::PlatformVerifier,
        Some(path) => {
            let wrong = |why: String| {
                let remedy = "name a file of PEM certificates";
                RegistryError::Setting(format!("registry.ca_file {path:?}: {why}; {remedy}"))
            };
            let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
            let mut found: Vec<Certificate<'static>> = Vec::new();
            for item in parse_pem(&pem) {
                let item = item.map_err(|error| wrong(error.to_string()))?;
                if let PemItem::Certificate(certificate) = item {
                    found.push(certificate);
                }
            }
            if found.is_empty() {
                return Err(wrong("no certificate in it".to_owned()));
            }
            RootCerts::from(found)
        }
    };
    let tls = TlsConfig::builder().provider(TlsProvider::NativeTls).root_certs(roots).build();
    Ok(agent.tls_config(tls))
}

#[cfg(not(feature = "tls"))]
fn secure(agent: Config, registry: &Registry) -> Result<Config, RegistryError> {
    let secure = registry.urls.iter().find(|url| url.starts_with("https://"));
    match (secure, &registry.ca_file) {
        (None, None) => Ok(agent),
        (Some(url), _) => Err(RegistryError::Setting(format!(
            "registry.urls {url}: this program is built without TLS; build it with --features tls"
        ))),
        (None, Some(path)) => Err(RegistryError::Setting(format!(
            "registry.ca_file {path:?}: this program is built without TLS; build it with \
             --features tls"
        ))),
    }
}

/// A subject as a part of a path.
fn escape(subject: &str) -> String {
    let mut escaped = String::new();
    for byte in subject.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_passwords_encoded() {
        assert_eq!(escape("a.b_c-D/e:1"), "a.b_c-D%2Fe%3A1");
        assert_eq!(authorization("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }
}
