//! Other rules over a Kafka's log, and a request that is judged without being asked: what they say,
//! and that no record is written.

use super::bus::{Bus, text, topics_of};
use super::process::{Process, yardmaster};
use super::witness::in_order;
use super::{hasty, wait_for_answers};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use toml::Table;
use yardmaster::core::cut::Topic;

/// How many records each topic has.
fn records(bus: &Bus) -> BTreeMap<&'static str, usize> {
    let mut file: Table = std::fs::read_to_string(&bus.topology).unwrap().parse().unwrap();
    let of = |topic: Topic| (topic.name(), in_order(&bus.bootstrap, &bus.topic(topic)).len());
    topics_of(&mut file).into_iter().map(of).collect()
}

/// The report of a replay with other rules.
fn compared(bus: &Bus, rules: &str, code: i32, most: &str) -> Value {
    let more = ["--with-topology", rules, "--format", "json", "--max-changed", most];
    let report = bus.verb("replay", code, &more);
    serde_json::from_str(&report).unwrap_or_else(|error| panic!("{error}: {report}"))
}

/// A queue of production must have more free space than there is.
fn no_space(file: &mut Table) {
    let policies = file["policy"].as_array_mut().unwrap().iter_mut();
    let policies = policies.map(|it| it.as_table_mut().unwrap());
    for policy in policies.filter(|it| it["name"].as_str() == Some("production-job")) {
        let filters = policy["filters"].as_array_mut().unwrap().iter_mut();
        for filter in filters.filter(|it| it.as_str() == Some("storage")) {
            *filter = Table::from_iter([
                ("name".to_owned(), "storage".into()),
                ("STORAGE_MIN_FREE_SIZE".to_owned(), 1_000_000.into()),
            ])
            .into();
        }
    }
}

#[test]
fn a_kafka_is_read_with_other_rules_and_nothing_is_written() {
    let Some(bus) = Bus::real(hasty) else { return };
    bus.queue("QUEUE_00", 1, 3);
    bus.queue("QUEUE_01", 1, 3);
    let subjects: BTreeSet<String> = (0..12).map(|at| format!("{at}/0")).collect();
    for subject in &subjects {
        bus.ask(subject, 1, 500);
    }
    bus.flush();
    let process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    wait_for_answers(&bus, &subjects, &mut [process]);
    let before = records(&bus);
    assert!(before["decision"] >= subjects.len(), "{before:?}");

    let same = compared(&bus, text(&bus.topology), 0, "0");
    assert_eq!(same["requests"]["compared"], subjects.len(), "{same:#}");
    assert_eq!(same["requests"]["by_change"]["same"], subjects.len(), "{same:#}");

    let mut file: Table = std::fs::read_to_string(&bus.topology).unwrap().parse().unwrap();
    no_space(&mut file);
    let other = bus.path("other.toml");
    std::fs::write(&other, file.to_string()).unwrap();
    let changed = compared(&bus, text(&other), 1, "0");
    assert!(changed["changed_percent"].as_f64().unwrap() > 0.0, "{changed:#}");
    let space = changed["filters"].as_array().unwrap().iter().find(|it| it["filter"] == "storage");
    assert!(space.is_some_and(|it| it["recorded"] == 0 && it["other"] != 0), "{changed:#}");

    let request = bus.path("task.json");
    let asked = json!({"subject": "77/0", "policy": "production-job", "jobs": 3});
    std::fs::write(&request, asked.to_string()).unwrap();
    let place = bus.place();
    let judged = yardmaster(&[&["judge", text(&request), "--format", "json"], &place[..]].concat());
    let errors = String::from_utf8_lossy(&judged.stderr);
    assert_eq!(judged.status.code(), Some(0), "{errors}");
    let decision: Value = serde_json::from_slice(&judged.stdout).unwrap();
    assert_eq!((&decision["subject"], &decision["outcome"]), (&json!("77/0"), &json!("assign")));
    assert_eq!(records(&bus), before);
}
