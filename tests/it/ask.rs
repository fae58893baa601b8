//! `examples/python/ask.py`, run against a real broker and the program: it asks, and prints the
//! decision. `YARDMASTER_TEST_PYTHON` is a Python that has what its requirements name.

use crate::drive::yard;
use crate::kill::bus::{Bus, now};
use crate::kill::hasty;
use crate::kill::process::{Process, wait_until};
use crate::kill::witness::{decisions, glance};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Queue, QueueStatus};
use yardmaster::wire::record;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/python")
}

pub fn python() -> Option<OsString> {
    let python = std::env::var_os("YARDMASTER_TEST_PYTHON");
    if python.is_none() {
        println!("left out: YARDMASTER_TEST_PYTHON names no Python with confluent-kafka, fastavro");
    }
    python
}

fn ask(python: &OsString, bus: &Bus, more: &[&str]) -> Output {
    Command::new(python)
        .arg("-B")
        .arg(folder().join("ask.py"))
        .args(["--bootstrap-server", &bus.bootstrap, "--domain", &bus.domain])
        .args(["--topics", &format!("{}.", bus.domain)])
        .args(more)
        .output()
        .expect("Python")
}

#[test]
fn a_program_in_python_asks_and_reads_its_decision() {
    let Some(python) = python() else { return };
    let Some(bus) = Bus::real(hasty) else { return };
    bus.queue("QUEUE_00", 1, 20);
    bus.flush();
    let silent = ask(&python, &bus, &["1/1", "--wait", "1"]);
    assert_eq!(silent.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&silent.stderr);
    assert!(errors.contains("no decision about 1/1 within 1 s"), "{errors}");

    let process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    wait_until(Duration::from_secs(60), || process.logged(), || process.leads());
    let asked_at = now();
    let output = ask(&python, &bus, &["2/1", "--nucleus", "NORTH", "--jobs", "3"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}{}", process.logged());
    let read: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let published = decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)));
    let ours = published.iter().find(|it| it.subject == "2/1").expect("our decision");
    assert!(ours.outcome.is_final() && ours.now >= asked_at - 5_000, "{ours:?}");
    assert_eq!(read["subject"], "2/1");
    assert_eq!(read["outcome"], "assign");
    assert_eq!(read["ranked"][0]["queue"], "QUEUE_00");
    assert_eq!(read["ranked"][0]["jobs"], 3);
    assert_eq!(read["policy"], "production-job");

    // The only queue goes offline: deferred, and that is no assignment.
    let closed = Queue { status: QueueStatus::Offline, ..yard::queue("QUEUE_00", now()) };
    bus.publish(Topic::Queue, "QUEUE_00", |out| record::write(out, &closed));
    bus.flush();
    let output = ask(&python, &bus, &["3/1", "--nucleus", "NORTH"]);
    let read: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &read["outcome"]), (Some(1), &Value::from("defer")));
    assert_eq!(process.stop().code(), Some(0));
}

#[test]
fn the_example_fits_a_screen_and_pins_what_it_needs() {
    let text = std::fs::read_to_string(folder().join("ask.py")).unwrap();
    assert!(text.lines().count() <= 60, "{} lines", text.lines().count());
    let wanted = std::fs::read_to_string(folder().join("requirements.txt")).unwrap();
    let killer = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/killer/requirements.txt");
    assert!(wanted.lines().all(|line| line.contains("==")), "{wanted}");
    assert_eq!(wanted, std::fs::read_to_string(killer).unwrap(), "one Python serves both");
}
