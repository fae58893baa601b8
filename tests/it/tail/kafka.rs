//! `tail` on a real Kafka (`YARDMASTER_TEST_KAFKA=host:port`).

use crate::exec::leader::{Leader, command};
use crate::kill::bus::{Bus, now};
use crate::kill::process::wait_until;
use serde_json::Value;
use std::time::Duration;

/// Subjects that are shown, and what is on stderr.
fn shown(bus: &Bus, more: &[&str]) -> Vec<String> {
    let lines = bus.verb("tail", 0, &[&["--no-follow", "--json"], more].concat());
    let subject = |line: &str| {
        let record: Value = serde_json::from_str(line).expect(line);
        assert_eq!(record["topic"], bus.topic(yardmaster::core::cut::Topic::Command).as_str());
        record["subject"].as_str().unwrap().to_owned()
    };
    lines.lines().map(subject).collect()
}

#[test]
fn what_a_cycle_lists_is_shown_from_the_last_ones_or_from_a_moment_on() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    let mut leader = Leader::new(&bus);
    let of = |subject: &str| command(&bus, subject);
    leader.publish(&[of("one"), of("two")]);
    leader.forge(of("forged"));
    leader.publish(&[of("three")]);
    let between = now() + 1;
    wait_until(Duration::from_secs(60), String::new, || now() > between);
    leader.publish(&[of("four")]);
    assert_eq!(shown(&bus, &[]), ["one", "two", "three", "four"]);
    assert_eq!(shown(&bus, &["-n", "2", "--kind", "command"]), ["three", "four"]);
    let between = between.to_string();
    assert_eq!(shown(&bus, &["--from", &between]), ["four"]);
    assert_eq!(shown(&bus, &["--from", "1h"]), ["one", "two", "three", "four"]);
    let later = (now() + 3_600_000).to_string();
    assert!(shown(&bus, &["--from", &later]).is_empty());
    assert!(shown(&bus, &["--kind", "decision,throttle"]).is_empty());
}
