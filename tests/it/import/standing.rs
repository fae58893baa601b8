//! Facts that refresh themselves: sources on the web are read again and again, and the log has what
//! they have.

use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use yardmaster::core::cut::Topic;
use yardmaster::drive::port::Log;
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, Mode};
use yardmaster::wire::topology::{ATLAS, Topology};

/// A web server with one page, that also lets itself be used as a proxy for any host.
pub(super) struct Web {
    address: SocketAddr,
    page: Arc<Mutex<(u16, String)>>,
    /// First lines and headers of the requests.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Web {
    pub(super) fn start(body: &str) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let page = Arc::new(Mutex::new((200, body.to_owned())));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (shown, noted) = (page.clone(), asked.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shown, noted) = (shown.clone(), noted.clone());
                std::thread::spawn(move || answer(stream, &shown, &noted));
            }
        });
        Web { address, page, asked }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/facts.json?token=hush", self.address)
    }

    pub(super) fn show(&self, status: u16, body: &str) {
        *self.page.lock().unwrap() = (status, body.to_owned());
    }

    fn asked(&self) -> String {
        self.asked.lock().unwrap().concat()
    }
}

fn answer(mut stream: TcpStream, page: &Mutex<(u16, String)>, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while reader.read_line(&mut head).is_ok_and(|count| count > 2) {}
        if head.is_empty() {
            return;
        }
        asked.lock().unwrap().push(head.clone());
        if head.starts_with("CONNECT") {
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
            continue;
        }
        let (status, body) = page.lock().unwrap().clone();
        let length = body.len();
        let _ = write!(stream, "HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n\r\n{body}");
    }
}

/// Quotas of accounts at one place.
fn quotas(limits: &[(&str, u64)]) -> String {
    let row = |(account, limit): &(&str, u64)| json!({"account": account, "rse_expression": "SCRATCH", "bytes_limit": limit});
    json!(limits.iter().map(row).collect::<Vec<_>>()).to_string()
}

pub(super) fn topics() -> Vec<DirTopic> {
    let topology = Topology::parse("atlas.toml", ATLAS).unwrap();
    Topic::read()
        .map(|topic| {
            let settings = topology.topic(topic);
            DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
        })
        .collect()
}

/// The newest record of each key on a topic: whether it has a value.
pub(super) fn held(dir: &Path, topic: Topic) -> BTreeMap<String, bool> {
    let mut log = DirLog::open(dir, Mode::Read, &topics(), DirOptions::default()).unwrap();
    let mut held = BTreeMap::new();
    for span in log.lanes().unwrap().into_iter().filter(|span| span.lane.topic == topic) {
        log.scan(span.lane, 0, span.stable_end, &mut |record| {
            let key = String::from_utf8(record.key.unwrap().to_vec()).unwrap();
            held.insert(key, record.value.is_some());
            Ok(())
        })
        .unwrap();
    }
    held
}

/// A verb without proxies of the machine's own.
pub(super) fn verb(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_yardmaster"));
    command.args(args).env_remove("YARDMASTER_LOG");
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_uppercase());
    }
    command
}

pub(super) fn printed(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// An import that goes on, ended with this.
pub(super) struct Standing {
    child: Child,
    logged: Arc<Mutex<String>>,
}

impl Standing {
    pub(super) fn start(args: &[&str]) -> Standing {
        let mut child = verb(args).stderr(Stdio::piped()).spawn().unwrap();
        let logged = Arc::new(Mutex::new(String::new()));
        let (mut stderr, sink) = (BufReader::new(child.stderr.take().unwrap()), logged.clone());
        std::thread::spawn(move || {
            let mut line = String::new();
            while stderr.read_line(&mut line).is_ok_and(|count| count > 0) {
                sink.lock().unwrap().push_str(&std::mem::take(&mut line));
            }
        });
        Standing { child, logged }
    }

    /// Waits until something is logged after what was so far.
    pub(super) fn wait(&self, text: &str) -> String {
        let begun = Instant::now();
        loop {
            let logged = self.logged.lock().unwrap().clone();
            if let Some(at) = logged.find(text) {
                self.logged.lock().unwrap().drain(..at + text.len());
                return logged[..at + text.len()].to_owned();
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no {text:?} in {logged}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and body of a page of the process.
pub(super) fn page(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[test]
fn the_log_follows_a_source_and_stays_as_it_is_while_that_fails() {
    let (place, web) = (TempDir::new().unwrap(), Web::start(&quotas(&[("ann", 1), ("bob", 2)])));
    let (dir, token) = (place.path().join("yard"), place.path().join("token"));
    std::fs::write(&token, "open sesame\n").unwrap();
    let (url, header) = (web.url(), format!("X-Auth: ${{file:{}}}", token.display()));
    let dir_text = dir.to_str().unwrap();
    let log = ["--dir", dir_text, "--every", "1s", "--http", "127.0.0.1:0"];
    let standing =
        Standing::start(&[&["import", "quotas", &url, "--header", &header], &log[..]].concat());
    standing.wait("serving metrics on http://");
    standing.wait("quota: 2 written, 0 removed, 0 unchanged");
    standing.wait("quota: 0 written, 0 removed, 2 unchanged");
    assert!(web.asked().contains("open sesame"), "{}", web.asked());

    // One is other, one gone, one new; another's record is not touched.
    let other = place.path().join("other.json");
    std::fs::write(&other, quotas(&[("zoe", 9)])).unwrap();
    let other = other.to_str().unwrap();
    let args = ["import", "quotas", other, "--dir", dir_text, "--name", "by hand", "--prune"];
    let (code, out, errors) = printed(&verb(&args).output().unwrap());
    assert_eq!(
        (code, out.lines().next()),
        (Some(0), Some("quota: 1 written, 0 removed, 0 unchanged")),
        "{errors}"
    );
    web.show(200, &quotas(&[("ann", 5), ("cat", 3)]));
    standing.wait("quota: 2 written, 1 removed, 0 unchanged");
    let quota = |account: &str| format!("user/{account} SCRATCH");
    let now = held(&dir, Topic::Quota);
    let expected = [("ann", true), ("bob", false), ("cat", true), ("zoe", true)];
    let expected = BTreeMap::from(expected.map(|(name, is_there)| (quota(name), is_there)));
    assert_eq!(now, expected);
    assert!(held(&dir, Topic::Parameter).contains_key("yardmaster/import/quota/atlas"));

    // Trouble of any kind: what was published stays, and no secret is shown.
    for (status, body, why) in [
        (503, "", "the server answers 503"),
        (200, "<html>", "not JSON"),
        (200, "[]", "0 records where 2 were published before"),
        (200, "[{\"account\": 7}]", "nothing in it can be used"),
    ] {
        web.show(status, body);
        let logged = standing.wait(why);
        assert!(!logged.contains("hush") && !logged.contains("open sesame"), "{logged}");
        standing.wait("what was published last stays");
    }
    assert_eq!(held(&dir, Topic::Quota), expected);
    web.show(200, &quotas(&[("ann", 5), ("cat", 3)]));
    standing.wait("quota: 0 written, 0 removed, 2 unchanged");
}

/// The records of a log, appended to another so many days ago.
fn aged(from: &Path, to: &Path, days: i64) {
    const DAY: i64 = 86_400_000;
    let at = crate::kill::bus::now() - days * DAY;
    let mut from = DirLog::open(from, Mode::Read, &topics(), DirOptions::default()).unwrap();
    let to = DirLog::open(to, Mode::Write, &topics(), DirOptions::default()).unwrap();
    let mut writer = to.writer().unwrap();
    for span in from.lanes().unwrap() {
        from.scan(span.lane, 0, span.stable_end, &mut |record| {
            writer.append(span.lane, record.key, record.value, record.headers, at).map(drop)
        })
        .unwrap();
    }
    writer.flush().unwrap();
}

/// Where data lies is forgotten after `replica_lifetime_d`, 30, and what a thing of a domain asked by
/// its record after `request_lifetime_d`, 14: what did not change is published again before that.
#[test]
fn what_stays_as_it_is_is_published_again_before_it_is_forgotten() {
    let place = TempDir::new().unwrap();
    let (replicas, things) =
        (place.path().join("replicas.json"), place.path().join("things.jsonl"));
    let row = json!([{"scope": "mc", "name": "mc.AOD", "rse": "CERN", "length": 2,
                      "available_length": 2, "state": "AVAILABLE"}]);
    std::fs::write(&replicas, row.to_string()).unwrap();
    std::fs::write(&things, json!({"kind": "job", "name": "1"}).to_string()).unwrap();
    let own = place.path().join("own.toml");
    let table = "[topics.domain-record]\npartitions = 1\ncleanup = \"compact\"\n";
    std::fs::write(&own, format!("{ATLAS}\n{table}")).unwrap();
    for (kind, topic, file, [kept, again]) in [
        ("replicas", "replica", &replicas, [14, 16]),
        ("domain-records", "domain-record", &things, [6, 8]),
    ] {
        let import = |dir: &Path| {
            let [file, own, dir] = [file, &own, dir].map(|path| path.to_str().unwrap());
            let args = ["import", kind, file, "--topology", own, "--dir", dir, "--prune"];
            let (code, out, errors) = printed(&verb(&args).output().unwrap());
            assert_eq!(code, Some(0), "{errors}");
            out.lines().next().unwrap().to_owned()
        };
        let first = place.path().join(kind);
        assert_eq!(import(&first), format!("{topic}: 1 written, 0 removed, 0 unchanged"));
        assert_eq!(import(&first), format!("{topic}: 0 written, 0 removed, 1 unchanged"));
        let later = |days: i64| {
            let dir = place.path().join(format!("{kind}-{days}"));
            aged(&first, &dir, days);
            import(&dir)
        };
        assert_eq!(later(kept), format!("{topic}: 0 written, 0 removed, 1 unchanged"));
        assert_eq!(later(again), format!("{topic}: 1 written, 0 removed, 0 unchanged"));
    }
}

/// Things of a domain of a program's own, from stdin; only into a log of a topology that has them.
#[test]
fn things_of_a_domain_are_taken_from_stdin() {
    let place = TempDir::new().unwrap();
    let (dir, file) = (place.path().join("yard"), place.path().join("own.toml"));
    let table = "[topics.domain-record]\npartitions = 1\ncleanup = \"compact\"\n";
    std::fs::write(&file, format!("{ATLAS}\n{table}")).unwrap();
    let import = |topology: &str, text: &str| {
        let args = ["import", "domain-records", "/dev/stdin", "--topology", topology, "--dir"];
        let mut command = verb(&[&args[..], &[dir.to_str().unwrap()]].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A process that refuses its flags reads nothing.
        let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
        printed(&child.wait_with_output().unwrap())
    };
    let job = |name: &str| format!("{}\n", json!({"kind": "job", "name": name}));
    let (code, _, errors) = import("atlas", &job("1"));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("the topology has no [topics.domain-record]"), "{errors}");
    let (code, out, errors) = import(file.to_str().unwrap(), &(job("1") + &job("2")));
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.starts_with("domain-record: 2 records published"), "{out}");
    let held: Vec<String> = held(&dir, Topic::DomainRecord).into_keys().collect();
    assert_eq!(held, ["job|1", "job|2"]);
}

#[test]
fn its_age_and_its_failures_are_shown() {
    let (place, web) = (TempDir::new().unwrap(), Web::start(&quotas(&[("ann", 1)])));
    let dir = place.path().join("yard");
    let (url, dir) = (web.url(), dir.to_str().unwrap());
    let mut standing = Standing::start(&[
        "import",
        "quotas",
        &url,
        "--dir",
        dir,
        "--every",
        "1s",
        "--http",
        "127.0.0.1:0",
    ]);
    standing.wait("serving metrics on http://");
    let logged = standing.wait("quota: 1 written");
    let address = logged.lines().next().unwrap().trim().to_owned();
    assert!(page(&address, "/readyz").0.contains("200"));
    web.show(500, "");
    standing.wait("tried again");
    let (head, body) = page(&address, "/readyz");
    assert!(head.contains("503") && body.contains("the server answers 500"), "{head} {body}");
    let (_, metrics) = page(&address, "/metrics");
    for part in [
        "yardmaster_import_age_seconds{domain=\"atlas\",import=\"quotas\"} ",
        "yardmaster_import_records_total{domain=\"atlas\",import=\"quotas\",outcome=\"written\"} 1",
        "yardmaster_import_reads_total{domain=\"atlas\",import=\"quotas\",outcome=\"failed\"} ",
    ] {
        assert!(metrics.contains(part), "{metrics}");
    }
    web.show(200, &quotas(&[("ann", 1)]));
    standing.wait("1 unchanged");
    assert!(page(&address, "/readyz").0.contains("200"));
    let pid = i32::try_from(standing.child.id()).unwrap();
    // SAFETY: a signal to a child that was not waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
    assert_eq!(standing.child.wait().unwrap().code(), Some(0));
}

#[test]
fn proxies_and_authorities_are_those_of_the_environment() {
    let (place, web) = (TempDir::new().unwrap(), Web::start(&quotas(&[("ann", 1)])));
    let dir = place.path().join("yard");
    let dir = dir.to_str().unwrap();
    let url = "http://quotas.example.org/facts.json";
    let proxy = format!("http://{}", web.address);
    let args = ["import", "quotas", url, "--dir", dir];
    let (code, out, errors) = printed(&verb(&args).env("http_proxy", &proxy).output().unwrap());
    assert_eq!(
        (code, out.lines().next()),
        (Some(0), Some("quota: 1 records published")),
        "{errors}"
    );
    assert!(web.asked().starts_with("CONNECT quotas.example.org:80"), "{}", web.asked());
    // It is asked for nothing when the environment keeps the host out of it.
    let asked = web.asked();
    let out = verb(&args).env("http_proxy", &proxy).env("no_proxy", ".example.org").output();
    let (code, _, errors) = printed(&out.unwrap());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("http://quotas.example.org/facts.json"), "{errors}");
    assert_eq!(web.asked(), asked);

    #[cfg(feature = "tls")]
    if let Some(server) = crate::registry::client::Secure::of("q", &quotas(&[("ann", 2)])) {
        let url = format!("{}/q", server.url);
        let args = ["import", "quotas", &url, "--dir", dir];
        let ask = |authority: &str| {
            let file = server.dir.path().join(authority);
            printed(&verb(&args).env("SSL_CERT_FILE", file).output().unwrap())
        };
        let (code, _, errors) = ask("other-ca.pem");
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.to_lowercase().contains("certificate"), "{errors}");
        let (code, _, errors) = ask("ca.pem");
        assert_eq!(code, Some(0), "{errors}");
    }
}

#[test]
fn wrong_use_is_refused() {
    let refused = |args: &[&str], why: &str| {
        let args = [&["import", "quotas", "facts.json"], args].concat();
        let (code, _, errors) = printed(&verb(&args).output().unwrap());
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(why), "{errors}");
    };
    refused(&["--every", "1s"], "no log");
    refused(&["--dir", "yard", "--every", "soon"], "30s or 10m");
    refused(&["--dir", "yard", "--every", "0s"], "at least 1s");
    refused(&["--dir", "yard", "--every", "1s", "--dry-run"], "--dry-run");
    refused(&["--dir", "yard", "--http", "127.0.0.1:0"], "--every");
    refused(&["--dir", "yard", "--header", "X-Rucio-Auth-Token: hush"], "${file:PATH}");
    refused(&["--dir", "yard", "--header", "what"], "NAME: VALUE");
}
