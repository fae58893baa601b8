//! Imports that go on, into a real Kafka: what was published before is read back from it.

use super::SECOND;
use super::bus::{Bus, text};
use super::process::{Ending, wait_until};
use serde_json::json;
use std::fs::File;
use std::process::{Command, Stdio};

#[test]
fn only_what_changed_is_written_and_what_is_gone_is_removed() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("facts.json");
    let import = |kind: &str, facts: &serde_json::Value| {
        std::fs::write(&file, facts.to_string()).unwrap();
        let printed = bus.verb("import", 0, &[kind, text(&file), "--prune"]);
        printed.lines().next().unwrap().to_owned()
    };
    let quota = |account: &str, limit: u64| json!({"account": account, "rse_expression": "SCRATCH", "bytes_limit": limit});
    let both = json!([quota("ann", 1), quota("bob", 2)]);
    assert_eq!(import("quotas", &both), "quota: 2 written, 0 removed, 0 unchanged");
    assert_eq!(import("quotas", &both), "quota: 0 written, 0 removed, 2 unchanged");
    let other = json!([quota("ann", 5)]);
    assert_eq!(import("quotas", &other), "quota: 1 written, 1 removed, 0 unchanged");

    // A slot figure is taken back by one that is ignored, once.
    let slots = |queue: &str| json!({"pandaqueuename": queue, "numslots": 100});
    let both = json!([slots("AGLT2"), slots("BNL")]);
    assert_eq!(import("slots", &both), "pilot: 2 written, 0 removed, 0 unchanged");
    let one = json!([slots("BNL")]);
    assert_eq!(import("slots", &one), "pilot: 0 written, 1 removed, 1 unchanged");
    assert_eq!(import("slots", &one), "pilot: 0 written, 0 removed, 1 unchanged");

    // From round to round it reads on where it was.
    std::fs::write(&file, both.to_string()).unwrap();
    let log = dir.path().join("log");
    let child = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args(["import", "slots", text(&file), "--every", "1s", "--topology"])
        .args([text(&bus.topology), "--bootstrap-server", &bus.bootstrap])
        .stdin(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let _ending = Ending(child);
    let logged = || std::fs::read_to_string(&log).unwrap_or_default();
    let waits = |text: &str| wait_until(60 * SECOND, logged, || logged().contains(text));
    waits("pilot: 1 written, 0 removed, 1 unchanged");
    waits("pilot: 0 written, 0 removed, 2 unchanged");
    std::fs::write(&file, one.to_string()).unwrap();
    waits("pilot: 0 written, 1 removed, 1 unchanged");
    waits("pilot: 0 written, 0 removed, 1 unchanged");
}
