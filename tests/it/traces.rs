//! `run --otlp-endpoint` and `--log-format json`: what a collector of traces and one of logs get,
//! against the decisions in the log.

use crate::kill::process::PROGRAM;
use crate::other_rules::simulated;
use crate::verbs::{printed, yardmaster};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

/// A collector, and the bodies that it gets.
fn collector() -> (String, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (put, got) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut text, mut bytes) = (stream.unwrap(), Vec::new(), [0; 65_536]);
            // One request a connection: it is asked for by the answer.
            let body = loop {
                let Ok(count @ 1..) = stream.read(&mut bytes) else { break None };
                text.extend_from_slice(&bytes[..count]);
                let head = text.windows(4).position(|it| it == b"\r\n\r\n");
                let body = head.and_then(|at| serde_json::from_slice(&text[at + 4..]).ok());
                if body.is_some() {
                    break body;
                }
            };
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(answer);
            if let Some(body) = body {
                let _ = put.send(body);
            }
        }
    });
    (format!("http://{address}"), got)
}

fn spans(body: &Value) -> Vec<Value> {
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

fn attribute(span: &Value, name: &str) -> String {
    let mut all = span["attributes"].as_array().unwrap().iter();
    let found = all.find(|it| it["key"] == name).unwrap_or_else(|| panic!("{name}: {span}"));
    found["value"]["stringValue"].as_str().unwrap().to_owned()
}

#[test]
fn every_decision_in_the_log_is_a_trace_and_every_message_an_object() {
    let dir = TempDir::new().unwrap();
    let log = simulated(dir.path(), "atlas", "1", "0.005");
    let file = dir.path().join("task.json");
    let request = r#"{"subject": "77/1", "policy": "production-job", "jobs": 1, "nucleus": "X"}"#;
    std::fs::write(&file, request).unwrap();
    let (endpoint, got) = collector();
    let run = |args: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(args).args(["--dir", &log]).env_remove("YARDMASTER_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let asked = run(&["publish", "task", "--json", file.to_str().unwrap()]).output().unwrap();
    assert!(asked.status.success(), "{asked:?}");
    let args = ["run", "--http", "127.0.0.1:0", "--log-format", "json"];
    let mut process =
        run(&args).env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint).spawn().expect("the program");
    let mut traced: BTreeMap<String, Value> = BTreeMap::new();
    let is_asked = |span: &Value| attribute(span, "yardmaster.subject") == "77/1";
    let mut steps = 0;
    while !traced.values().any(is_asked) {
        let body = got.recv_timeout(Duration::from_secs(60)).expect("traces");
        for span in spans(&body) {
            match span["name"].as_str() {
                Some("answer") => {
                    drop(traced.insert(attribute(&span, "yardmaster.decision"), span));
                }
                _ => steps += 1,
            }
        }
    }
    let pid = process.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    let mut lines = String::new();
    process.stderr.take().unwrap().read_to_string(&mut lines).unwrap();
    assert!(process.wait().unwrap().success(), "{lines}");
    // What an end in order sends.
    for body in got.try_iter() {
        let answers = spans(&body).into_iter().filter(|span| span["name"] == "answer");
        traced.extend(answers.map(|it| (attribute(&it, "yardmaster.decision"), it)));
    }
    assert!(steps >= 3);
    messages_are_objects(&lines);
    let tail = ["tail", "--no-follow", "-n", "100000", "--kind", "decision", "--json"];
    let tail = [&tail[..], &["--dir", &log]].concat();
    let (code, shown, errors) = printed(&yardmaster(&tail));
    assert_eq!(code, Some(0), "{errors}");
    let decisions = shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (mut of_run, mut asked) = (0, 0);
    for decision in decisions.filter(|it| it["epoch"] == 2) {
        of_run += 1;
        let span = &traced[decision["id"].as_str().unwrap()];
        assert_eq!(attribute(span, "yardmaster.outcome"), decision["outcome"].as_str().unwrap());
        asked += usize::from(is_asked(span));
    }
    assert_eq!((traced.len(), asked > 0), (of_run, true));
}

fn messages_are_objects(lines: &str) {
    let all: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let of = |text: &str| all.iter().any(|it| it["message"].as_str().unwrap().contains(text));
    assert!(of("leading epoch 2") && of("asked to stop"), "{lines}");
    assert!(all.iter().all(|it| it["timestamp"].is_string() && it["level"].is_string()));
}
