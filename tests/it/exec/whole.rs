//! From a job that is overdue to a command that is carried out and known to be.

use super::{Follower, LONG, wait_for};
use crate::drive::yard;
use crate::kill::bus::{Bus, now, parts, text};
use crate::kill::hasty;
use crate::kill::process::{Process, wait_until};
use std::os::unix::fs::PermissionsExt;
use toml::{Table, Value};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{JobState, OutcomeKind, Status};
use yardmaster::wire::record;

/// Rule T1 is on, and what was overdue before the start is commanded at once.
fn strict(file: &mut Table) {
    parts(file, hasty);
    file["topics"]["job-state"].as_table_mut().unwrap().remove("silence_limit_s");
    let Value::Array(rules) = &mut file["rule"] else { panic!("rules are a list") };
    let rule = rules.iter_mut().find(|rule| rule["name"].as_str() == Some("T1")).expect("T1");
    rule.as_table_mut().unwrap().insert("mode".into(), "on".into());
}

#[test]
fn a_command_of_a_leader_is_carried_out_and_the_leader_knows() {
    let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
        println!("left out: YARDMASTER_TEST_KAFKA names no broker");
        return;
    };
    let bus = Bus::on(&bootstrap, &[], strict);
    bus.queue("QUEUE_00", 1, 10);
    let at = now();
    let job = yard::job("4711", "QUEUE_00", "", Status::Pending, at);
    let job = JobState { created_at: at - 2 * 3_600_000, ..job };
    bus.publish(Topic::JobState, "4711", |out| record::write(out, &job));
    bus.flush();
    let script = bus.path("obey.sh");
    std::fs::write(&script, "#!/bin/sh\ncat > $0.got\necho ended $YARDMASTER_COMMAND_KIND\n")
        .unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let executor = Follower::start(&bus, "executor", &["--exec", text(&script)]);
    let leader = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    let outcome = wait_for(&bus, &executor, "4711", 1);
    assert_eq!((outcome.kind, outcome.reason.as_str()), (OutcomeKind::Accepted, "ended kill"));
    let got = std::fs::read_to_string(bus.path("obey.sh.got")).unwrap();
    let got: serde_json::Value = serde_json::from_str(&got).expect("one JSON object");
    assert_eq!((&got["rule"], &got["jobs"]), (&"T1".into(), &serde_json::json!(["4711"])));

    let done = bus.verb("commands", 0, &["--state", "done"]);
    assert!(done.contains("4711") && done.contains("ended kill"), "{done}");
    assert!(bus.verb("commands", 0, &[]).contains("0 commands"), "none is open");
    // The leader has folded it as what became of a command that it knows.
    let labels = format!("domain=\"{}\",topic=\"outcome\",outcome=\"folded\"", bus.domain);
    let folded = format!("yardmaster_folded_events_total{{{labels}}} 1\n");
    let is_known = || leader.page("/metrics").is_some_and(|page| page.contains(&folded));
    wait_until(LONG, || leader.logged(), is_known);
    assert_eq!(leader.stop().code(), Some(0));
}
