//! `top --once`, as scripts call it: against answers of the HTTP API that are written down here, and
//! of a process that runs.

mod pool;
mod process;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread::JoinHandle;
use tempfile::TempDir;

/// Status and answer by path.
type Answers = BTreeMap<&'static str, (u16, Value)>;

/// Answers so many requests.
fn serve(answers: Answers, requests: usize) -> (SocketAddr, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let answered = |stream: std::io::Result<TcpStream>| answer(stream.unwrap(), &answers);
        listener.incoming().take(requests).map(answered).collect()
    };
    (address, std::thread::spawn(serve))
}

/// Answers a request; gives its path and query.
fn answer(mut stream: TcpStream, answers: &Answers) -> String {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    assert!(lines.by_ref().any(|line| line.is_empty()), "the head ends");
    let asked = first.split(' ').nth(1).unwrap().to_owned();
    let path = asked.split('?').next().unwrap();
    let (status, body) = answers.get(path).cloned().unwrap_or((404, json!({})));
    let body = body.to_string();
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
    asked
}

fn status(ready: bool, reason: Value) -> Value {
    json!({
        "domain": "atlas", "version": "0.1.0", "ready": ready, "reason": reason, "leading": true,
        "epoch": 1, "cycle": 123, "now": 1_760_529_600_000_i64, "requests_open": 17, "state": {},
        "history": {"from": null, "to": null, "interval_s": 60, "gaps": []}
    })
}

fn queue(name: &str, running: u64) -> Value {
    json!({
        "queue": name, "site": name, "status": "online", "running": running, "queued": 40,
        "transferring": 3, "running_cores": 960, "queued_cores": 320, "pilots_running": 110,
        "pilots_submitted": 12, "slots": null, "reserved": 5, "last_pilot_at": null,
        "last_start_at": 1_760_529_000_000_i64
    })
}

fn answers() -> Answers {
    let event = json!({
        "sequence": 7, "kind": "decision", "what": "assign", "at": 1_760_529_590_000_i64,
        "subject": "12345/3", "task": "12345", "rule": "analysis-job", "gshare": "Group",
        "user": "ann", "queues": ["AGLT2"], "jobs": 120, "text": "120 jobs to AGLT2", "id": "00",
        "cycle": 122, "dry_run": false
    });
    let queues = json!({"now": 0, "cycle": 123, "queues": [queue("AGLT2", 7), queue("CERN", 120)]});
    let shares = json!({"now": 0, "shares": [{"gshare": "MC", "use": 0.31, "target": 0.35}]});
    let item = |severity, title| json!({"severity": severity, "kind": "queue", "title": title});
    let items = [item("act", "AGLT2 starts nothing"), item("watch", "CERN is crowded")];
    let attention = json!({"now": 0, "cycle": 123, "items": items, "more": 0});
    let decisions = json!({"items": [event], "last": 7, "more": false});
    BTreeMap::from([
        ("/api/v1/status", (200, status(true, Value::Null))),
        ("/api/v1/queues", (200, queues)),
        ("/api/v1/shares", (200, shares)),
        ("/api/v1/attention", (200, attention)),
        ("/api/v1/decisions", (200, decisions)),
    ])
}

/// Exit code, stdout, stderr.
fn top(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .arg("top")
        .args(args)
        .env_remove("YARDMASTER_LOG")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn one_frame_is_printed_as_text_without_a_terminal_as_with_once() {
    for once in [&["--once"][..], &[]] {
        let (address, served) = serve(answers(), 5);
        let address = address.to_string();
        let (code, frame, errors) = top(&[&["--http", &address], once].concat());
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        assert!(frame.starts_with("atlas  leading, ready  open requests 17  cycle 123"), "{frame}");
        assert!(!frame.contains('\u{1b}'), "no escapes: {frame}");
        let line = |name: &str| frame.lines().position(|line| line.starts_with(name)).unwrap();
        assert!(line("CERN") < line("AGLT2"), "the busiest first: {frame}");
        let needs = "needs a person: 1 act, 1 watch: AGLT2 starts nothing; CERN is crowded";
        for part in [needs, "10m", "MC", "31.0", "89 %", "11:59:50  assign", "120 jobs to AGLT2"] {
            assert!(frame.contains(part), "no {part:?} in {frame}");
        }
        let asked = served.join().unwrap();
        assert_eq!(asked.last().unwrap(), "/api/v1/decisions?limit=200");
    }
}

#[test]
fn a_process_that_has_nothing_yet_states_why_and_one_that_refuses_is_an_error() {
    let mut answers = answers();
    let why = json!("restoring: 40 % of the cycles are replayed");
    answers.insert("/api/v1/status", (200, status(false, why)));
    answers.insert("/api/v1/queues", (503, json!({"error": "no cycle yet", "remedy": "wait"})));
    let (address, served) = serve(answers.clone(), 2);
    let (code, frame, _) = top(&["--once", "--http", &address.to_string()]);
    served.join().unwrap();
    assert_eq!(code, Some(0));
    assert!(frame.contains("not ready: restoring: 40 %"), "{frame}");
    answers.insert("/api/v1/status", (200, status(true, Value::Null)));
    let (address, served) = serve(answers, 2);
    let (code, _, errors) = top(&["--once", "--http", &address.to_string()]);
    served.join().unwrap();
    assert_eq!(code, Some(1));
    assert!(errors.contains("answered 503") && errors.contains("no cycle yet"), "{errors}");
}

#[test]
fn where_nothing_listens_it_fails_and_names_the_address() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (code, frame, errors) = top(&["--once", "--http", &address]);
    assert_eq!((code, frame.as_str()), (Some(1), ""));
    assert!(errors.contains(&format!("nothing listens at http://{address}")), "{errors}");
    let dir = TempDir::new().unwrap();
    let store = dir.path().to_str().unwrap();
    let (code, _, errors) = top(&["--store", store]);
    assert_eq!(code, Some(1));
    assert!(errors.contains(store) && errors.contains("--http"), "{errors}");
}
