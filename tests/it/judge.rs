//! `judge` as a user calls it: what is printed, what is refused, and that nothing is written.

use crate::other_rules::{files, simulated};
use crate::verbs::{printed, yardmaster};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

struct Log {
    dir: TempDir,
    log: String,
}

impl Log {
    fn judge(&self, request: &str, more: &[&str]) -> (Option<i32>, String, String) {
        let file = self.dir.path().join("task.json").to_str().unwrap().to_owned();
        std::fs::write(&file, request).unwrap();
        let args = ["judge", &file, "--dir", &self.log, "--log", "error"];
        printed(&yardmaster(&[&args[..], more].concat()))
    }

    /// The decisions on requests, as JSON.
    fn decisions(&self, request: &str, more: &[&str]) -> Vec<Value> {
        let more = [&["--format", "json"], more].concat();
        let (code, lines, errors) = self.judge(request, &more);
        assert_eq!(code, Some(0), "{errors}");
        assert!(errors.contains("nothing was published"), "{errors}");
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn refused(&self, request: &str, more: &[&str]) -> String {
        let (code, lines, errors) = self.judge(request, more);
        assert_eq!((code, lines.as_str()), (Some(2), ""), "{errors}");
        errors
    }
}

const REQUEST: &str =
    r#"{"subject": "77/1", "policy": "production-job", "jobs": 10, "nucleus": "WEST-T1"}"#;

#[test]
fn a_request_is_judged_and_no_byte_is_written() {
    let dir = TempDir::new().unwrap();
    let log = simulated(dir.path(), "atlas", "1", "0.005");
    let log = Log { log, dir };
    let before = files(Path::new(&log.log));
    is_judged(&log);
    is_judged_otherwise(&log);
    is_judged_in_numbers(&log);
    is_refused(&log);
    assert_eq!(files(Path::new(&log.log)), before);
}

fn is_judged(log: &Log) {
    let (code, text, errors) = log.judge(REQUEST, &["--fates"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(text.contains("77/1") && text.contains("not chosen:"), "{text}");
    assert!(errors.contains("as of cycle 362, 2025-10-14T01:00"), "{errors}");
    let decisions = log.decisions(REQUEST, &[]);
    assert_eq!(decisions.len(), 1);
    let decision = &decisions[0];
    assert_eq!((&decision["subject"], &decision["outcome"]), (&json!("77/1"), &json!("assign")));
    let jobs = decision["ranked"].as_array().unwrap().iter().map(|it| it["jobs"].as_u64().unwrap());
    assert_eq!(jobs.sum::<u64>(), 10, "{decision}");
    assert_eq!(log.decisions(REQUEST, &[])[0], *decision, "the same again");
}

/// The answer changes with other fields, another moment, other rules.
fn is_judged_otherwise(log: &Log) {
    let first = |more: &[&str]| log.decisions(REQUEST, more).remove(0);
    let queues = |decision: &Value| -> Vec<String> {
        let ranked = decision["ranked"].as_array().unwrap().iter();
        ranked.map(|it| it["queue"].as_str().unwrap().to_owned()).collect()
    };
    assert!(queues(&first(&[])).iter().all(|queue| queue.contains("/SCORE")));
    let multi_core = queues(&first(&["--set", "core_count=8", "--set", "options={}"]));
    assert!(multi_core.iter().all(|queue| !queue.contains("/SCORE")), "{multi_core:?}");
    let huge = first(&["--set", "ram_count_mb=9000000", "--set", "options.t1_weight=1"]);
    assert_eq!((&huge["outcome"], &huge["ranked"]), (&json!("defer"), &json!([])));
    assert!(huge["counts"].as_array().unwrap().iter().any(|it| it["filter"] == "memory"));
    let before = first(&["--at", "2025-10-14T00:30:00Z"]);
    assert!(before["now"].as_u64() < first(&[])["now"].as_u64());
    let unknown = first(&["--set", "policy=none-such"]);
    let reason = unknown["reason"].as_str().unwrap();
    assert!(reason.starts_with("unknown_policy \"none-such\""), "{reason}");
}

/// A list, lines, and stdin; each request by itself.
fn is_judged_in_numbers(log: &Log) {
    let other = REQUEST.replace("77/1", "77/2");
    let list = log.decisions(&format!("[{REQUEST}, {other}]"), &[]);
    let lines = log.decisions(&format!("{REQUEST}\n{other}\n"), &[]);
    assert_eq!((list.len(), &list), (2, &lines));
    assert_eq!(list[1], log.decisions(&other, &[])[0], "no request counts for another");
    let mut child = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args(["judge", "-", "--dir", &log.log, "--format", "json", "--log", "error"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(REQUEST.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), list[0]);
}

fn is_refused(log: &Log) {
    let wrong = log.refused(REQUEST, &["--set", "core_count=many"]);
    assert!(wrong.contains("field core_count: found \"many\""), "{wrong}");
    let unknown = log.refused(REQUEST, &["--set", "cores=8"]);
    assert!(unknown.contains("field cores: there is no such field"), "{unknown}");
    let second = log.refused(&format!("{REQUEST}\n{{\"subject\": \"1\"}}"), &[]);
    assert!(second.contains("request 2: field policy"), "{second}");
    assert!(log.refused("{", &[]).contains("no JSON"));
    assert!(log.refused(" \n", &[]).contains("it has no request"));
    let domain = log.refused(REQUEST, &["--set", "domain=cms"]);
    assert!(domain.contains("field domain"), "{domain}");
    let ended = log.refused(REQUEST, &["--set", "phase=ended"]);
    assert!(ended.contains("phase is ended"), "{ended}");
    let pool = log.refused(REQUEST, &["--topology", "cms"]);
    assert!(pool.contains("offers of slots") && pool.contains("explain"), "{pool}");
    assert!(log.refused(REQUEST, &["--set", "core_count"]).contains("NAME=VALUE"));
    let late = log.refused(REQUEST, &["--at", "2031-01-01T00:00:00Z"]);
    assert!(late.contains("after the last cycle"), "{late}");
    let none = printed(&yardmaster(&["judge", "/nowhere/task.json", "--dir", &log.log]));
    assert_eq!(none.0, Some(2));
    assert!(none.2.contains("/nowhere/task.json") && none.2.contains("readable"), "{}", none.2);
}
