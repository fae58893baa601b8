//! The client: in turn, with a password, and telling "absent" from "out of reach".

use super::{FOREIGN, FRAMED, Registry, topology, topology_text};
use serde_json::json;
use std::net::TcpListener;
use yardmaster::core::cut::Topic;
use yardmaster::shell::registry::{
    Finding, Ours, RegistryClient, RegistryError, examine, register,
};
use yardmaster::wire::avro::{Codec, Writer, schema_text};
use yardmaster::wire::record;
use yardmaster::wire::topology::{Registry as Setting, Topology};

fn setting(urls: &[&str]) -> Setting {
    topology(urls).registry.unwrap()
}

/// An address where nobody listens.
fn nobody() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("http://127.0.0.1:{port}")
}

#[test]
fn servers_are_asked_in_turn_and_the_one_that_answers_first_of_all() {
    let registry = Registry::start();
    let id = registry.put(FOREIGN);
    let client = RegistryClient::new(&setting(&[&nobody(), &registry.url])).unwrap();
    assert_eq!(client.schema(id).unwrap().as_deref(), Some(FOREIGN));
    assert_eq!(client.schema(id).unwrap().as_deref(), Some(FOREIGN));
    assert_eq!(registry.books().asked, ["GET /base/schemas/ids/1"; 2]);
}

#[test]
fn absent_is_distinguished_from_out_of_reach_and_from_a_wrong_path() {
    let registry = Registry::start();
    let client = RegistryClient::new(&setting(&[&registry.url])).unwrap();
    assert_eq!(client.schema(7), Ok(None));
    assert_eq!(client.versions("t-value"), Ok(Vec::new()));
    registry.books().has_no_codes = true;
    assert_eq!(client.schema(7), Ok(None));
    let asked = registry.books().asked.len();
    assert_eq!(client.schema(1 << 31), Ok(None));
    assert_eq!(registry.books().asked.len(), asked, "no registry gives such a number");
    let out_of_reach = |urls: &[&str], part: &str| {
        let answer = RegistryClient::new(&setting(urls)).unwrap().schema(7);
        let Err(RegistryError::Unanswered(why)) = answer else { panic!("{answer:?}") };
        assert!(why.contains(part), "{why}");
    };
    out_of_reach(&[&nobody()], "efused");
    out_of_reach(&[registry.url.trim_end_matches("/base")], "path of the address");
    registry.books().authorization = Some("Basic eWFyZDpzZWNyZXQ=".into());
    out_of_reach(&[&registry.url], "username and password");
    registry.books().is_down = true;
    out_of_reach(&[&registry.url, &nobody()], "; http");
}

#[test]
fn the_password_comes_from_its_file_and_goes_nowhere_else() {
    let registry = Registry::start();
    let id = registry.put(FOREIGN);
    registry.books().authorization = Some("Basic eWFyZDpzZWNyZXQ=".into());
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("password");
    std::fs::write(&path, "secret\n").unwrap();
    let file = path.to_str().unwrap().to_owned();
    let with = |file: &str| Setting {
        username: Some("yard".into()),
        password_file: Some(file.to_owned()),
        ..setting(&[&registry.url])
    };
    let client = RegistryClient::new(&with(&file)).unwrap();
    assert_eq!(client.schema(id).unwrap().as_deref(), Some(FOREIGN));
    registry.books().is_down = true;
    let why = client.schema(id).unwrap_err().to_string();
    assert!(!why.contains("secret") && !why.contains("c2VjcmV0"), "{why}");
    let why = RegistryClient::new(&with("/no/such")).err().unwrap().to_string();
    assert!(why.contains("password_file \"/no/such\""), "{why}");
}

#[cfg(not(feature = "tls"))]
#[test]
fn https_needs_a_program_that_is_built_with_it() {
    let why = RegistryClient::new(&setting(&["https://registry"])).err().unwrap().to_string();
    assert!(why.contains("https://registry") && why.contains("--features tls"), "{why}");
}

#[cfg(feature = "tls")]
#[test]
fn with_tls_a_plain_server_is_no_https_server() {
    let registry = Registry::start();
    let url = registry.url.replace("http:", "https:");
    let answer = RegistryClient::new(&setting(&[&url])).unwrap().schema(1);
    assert!(matches!(answer, Err(RegistryError::Unanswered(_))), "{answer:?}");
}

/// A server that speaks TLS, and no more of HTTP than a file to give out.
#[cfg(feature = "tls")]
pub struct Secure {
    pub dir: tempfile::TempDir,
    server: std::process::Child,
    pub url: String,
}

#[cfg(feature = "tls")]
impl Secure {
    /// Gives out a schema under number 7; `None` where there is no OpenSSL.
    fn start(schema: &str) -> Option<Secure> {
        Secure::of("schemas/ids/7", &json!({ "schema": schema }).to_string())
    }

    /// Gives out JSON under a path; `None` where there is no OpenSSL.
    pub fn of(path: &str, body: &str) -> Option<Secure> {
        use std::process::{Command, Stdio};
        let dir = tempfile::TempDir::new().unwrap();
        let made = Command::new(crate::broker::script("certificates.sh")).arg(dir.path()).status();
        if !made.is_ok_and(|made| made.success()) {
            eprintln!("there is no openssl: left out");
            return None;
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
        let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        let file = dir.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, answer).unwrap();
        let address = nobody().replace("http://", "");
        let server = Command::new("openssl")
            .args(["s_server", "-HTTP", "-accept", &address, "-cert", "broker.pem", "-key"])
            .arg("broker.key")
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let secure = Secure { dir, server, url: format!("https://{address}") };
        let begun = std::time::Instant::now();
        while std::net::TcpStream::connect(&address).is_err() {
            assert!(begun.elapsed().as_secs() < 60, "openssl does not listen");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Some(secure)
    }

    fn client(&self, authority: Option<&str>) -> RegistryClient {
        let path = |name: &str| self.dir.path().join(name).to_str().unwrap().to_owned();
        let ca_file = authority.map(path);
        RegistryClient::new(&Setting { ca_file, ..setting(&[&self.url]) }).unwrap()
    }
}

#[cfg(feature = "tls")]
impl Drop for Secure {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[cfg(feature = "tls")]
#[test]
fn over_tls_only_a_server_that_our_authority_signed_is_believed() {
    let Some(server) = Secure::start(FOREIGN) else { return };
    let ours = server.client(Some("ca.pem"));
    assert_eq!(ours.schema(7).unwrap().as_deref(), Some(FOREIGN));
    for authority in [Some("other-ca.pem"), None] {
        let answer = server.client(authority).schema(7);
        let Err(RegistryError::Unanswered(why)) = answer else { panic!("{answer:?}") };
        assert!(why.to_lowercase().contains("certificate"), "{why}");
    }
}

#[test]
fn what_a_schema_refers_to_comes_with_it() {
    let registry = Registry::start();
    let (id, writer) = {
        let mut books = registry.books();
        let host = r#"{"type":"record","name":"a.Host","fields":[{"name":"n","type":"string"}]}"#;
        let host = books.add(json!({ "schema": host }));
        books.subjects.insert("host".into(), vec![host]);
        let text = FOREIGN.replacen("\"string\"", "\"a.Host\"", 1);
        let references = json!([{ "name": "a.Host", "subject": "host", "version": 1 }]);
        let id = books.add(json!({ "schema": text, "references": references }));
        (id, text)
    };
    assert!(apache_avro::Schema::parse_str(&writer).is_err(), "it needs what it refers to");
    let client = RegistryClient::new(&setting(&[&registry.url])).unwrap();
    // A server that does not know it yet, or no more: half a schema is none.
    let host = registry.books().subjects.remove("host").unwrap();
    let lacking = client.schema(id);
    let Err(RegistryError::Lacking(why)) = lacking else { panic!("{lacking:?}") };
    assert!(why.contains("version 1 of subject host"), "{why}");
    // One that answers without the text of it.
    let textless = registry.books().add(json!({}));
    registry.books().subjects.insert("host".into(), vec![textless]);
    let unanswered = client.schema(id);
    let Err(RegistryError::Unanswered(why)) = unanswered else { panic!("{unanswered:?}") };
    assert!(why.contains("no schema in it"), "{why}");
    registry.books().subjects.insert("host".into(), host);
    let schema = client.schema(id).unwrap().map(Into::into);
    let writer = Writer { topic: Topic::Heartbeat, id, schema };
    assert_eq!(Codec::default().learn_number(&writer), Ok(()));
}

#[test]
fn the_topology_and_the_registry_are_compared_and_ours_put_in() {
    let registry = Registry::start();
    let topology = topology(&[&registry.url]);
    let client = RegistryClient::new(topology.registry.as_ref().unwrap()).unwrap();
    let found = |topic: Topic| {
        let all = examine(&client, &topology).unwrap();
        assert_eq!(all.iter().map(|(topic, ..)| *topic).collect::<Vec<_>>(), FRAMED);
        let found = all.into_iter().find(|(it, ..)| *it == topic).unwrap();
        assert_eq!(found.1, format!("t.{}-value", topic.name()));
        found.2
    };
    assert_eq!(found(Topic::Decision), Finding::Absent);
    let missing = Ours::find(&topology, &[Topic::Decision]).err().unwrap().to_string();
    assert!(missing.contains("topology apply"), "{missing}");
    let id = register(&client, Topic::Decision, "t.decision-value").unwrap();
    assert_eq!(found(Topic::Decision), Finding::Registered(id));
    assert_eq!(client.versions("t.decision-value"), Ok(vec![1]));

    let put = |subject: &str, schema: &str| {
        let id = registry.put(schema);
        registry.books().subjects.entry(subject.into()).or_default().push(id);
        id
    };
    let id = put("t.heartbeat-value", FOREIGN);
    let theirs = Finding::Theirs { id, version: 1, unreadable: None };
    assert_eq!(found(Topic::Heartbeat), theirs);
    put("t.heartbeat-value", r#"{"type":"record","name":"Other","fields":[]}"#);
    let Finding::Theirs { unreadable: Some(why), .. } = found(Topic::Heartbeat) else {
        panic!("it cannot be read");
    };
    assert!(why.contains("heartbeat"), "{why}");
    put("t.progress-value", FOREIGN);
    assert_eq!(found(Topic::Progress), Finding::Absent, "compatible, as this registry says");
    registry.books().refuses = true;
    let Finding::Incompatible(why) = found(Topic::Progress) else { panic!("refused") };
    assert!(why.contains("too different"), "{why}");
    let refused = register(&client, Topic::Progress, "t.progress-value");
    assert!(matches!(refused, Err(RegistryError::Refused(_))), "{refused:?}");
}

#[test]
fn our_records_are_framed_as_their_topics_are_configured() {
    let registry = super::registry();
    let topology = topology(&[&registry.url]);
    let ours = Ours::find(&topology, &[Topic::Heartbeat, Topic::JobState]).unwrap();
    let mut plain = Vec::new();
    record::write(&mut plain, &crate::drive::yard::heartbeat("7"));
    assert_eq!(ours.frame(Topic::JobState, plain.clone()), plain);
    let framed = ours.frame(Topic::Heartbeat, plain.clone());
    let subject = "t.heartbeat-value";
    let client = RegistryClient::new(topology.registry.as_ref().unwrap()).unwrap();
    let id = client.find(subject, schema_text(Topic::Heartbeat)).unwrap().unwrap();
    assert_eq!(framed[..5], [&[0][..], &id.to_be_bytes()].concat());
    assert_eq!(framed[5..], plain[10..]);
}

#[test]
fn wrong_registries_in_a_topology_are_named_and_passwords_are_not() {
    let right = topology_text(&["http://registry:8081/apis"], "");
    let wrong = |from: &str, to: &str, parts: &[&str]| {
        assert!(right.contains(from));
        let complaints = Topology::parse("t.toml", &right.replace(from, to)).unwrap_err();
        let text: String = complaints.iter().map(ToString::to_string).collect();
        for part in parts {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
        assert!(!text.contains("hush"), "{text}");
    };
    let urls = "urls = [\"http://registry:8081/apis\"]";
    wrong(urls, "", &["no `urls`"]);
    wrong(urls, "urls = []", &["at least one"]);
    wrong(urls, "urls = [\"http://me:hush@registry\"]", &["`@`", "password_file"]);
    wrong(urls, &format!("{urls}\nstrategy = \"TopicName\""), &["TopicNameStrategy"]);
    wrong(urls, &format!("{urls}\nusername = \"me\""), &["passwords 0"]);
    wrong(urls, &format!("{urls}\npassword = \"x\""), &["`password` in [registry]"]);
    wrong(urls, &format!("{urls}\npassword_file = \"p\""), &["username not given"]);
    wrong("framing = \"confluent\"", "framing = \"json\"", &["confluent", "single-object"]);
    let letters = "[topics.dead-letter]\nframing = \"confluent\"";
    wrong("[topics.dead-letter]", letters, &["dead letters are bytes"]);
}
