//! The same against a real registry, and the program itself beside it.

use super::*;
use crate::drive::yard::task;
use crate::kill::process::yardmaster;
use ::yardmaster::sim::paper::store::PaperStore;
use ::yardmaster::wire::avro::number_of;
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// The address of the real registry, and a word that no other test has used.
fn real() -> Option<(String, String)> {
    let Ok(url) = std::env::var("YARDMASTER_TEST_REGISTRY") else {
        println!("left out: YARDMASTER_TEST_REGISTRY names no schema registry");
        return None;
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Some((url, format!("test-{}.", since.as_micros())))
}

#[test]
fn schemas_are_checked_and_registered_by_the_program_and_read_by_their_numbers() {
    let Some((url, prefix)) = real() else { return };
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("topology.toml");
    let text = topology_text(&[&url], &prefix);
    std::fs::write(&file, &text).unwrap();
    let place = ["--topology", file.to_str().unwrap(), "--dir", dir.path().to_str().unwrap()];
    let verb = |verb: &[&str], code: i32, part: &str| {
        let output = yardmaster(&[verb, &place].concat());
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{verb:?}: {report}{error}");
        assert!(report.contains(part), "{verb:?}: {report}{error}");
    };
    verb(&["topology", "check"], 1, "no schema of ours under subject");
    verb(&["topology", "apply", "--dry-run"], 0, "would register our schema of");
    verb(&["topology", "check"], 1, "4 schemas");
    verb(&["topology", "apply"], 0, "registered under subject");
    verb(&["topology", "apply"], 0, "is there already under subject");
    verb(&["topology", "check"], 0, "under subject");

    let topology = Topology::parse("real.toml", &text).unwrap();
    let registry = topology.registry.clone().unwrap();
    let client = ::yardmaster::shell::registry::RegistryClient::new(&registry).unwrap();
    let theirs = client.register(&format!("{prefix}theirs"), FOREIGN).unwrap();
    assert_eq!(client.versions(&format!("{prefix}theirs")), Ok(vec![1]));
    assert_eq!(client.schema(u32::MAX >> 1), Ok(None));
    let mut yard = Yard::new();
    yard.build(2);
    append(&yard, Topic::Heartbeat, "7", &beat(theirs, "7"));
    append(&yard, Topic::Heartbeat, "8", &beat(u32::MAX >> 1, "8"));
    yard.ask(&task("1/1", 10, yard.now));
    let config = Config {
        epoch_config: EpochConfig::of("real.toml", &text).unwrap(),
        ..crate::drive::yard::config("one")
    };
    let mut drive = Drive::start(framed(&yard, &topology), PaperStore::default(), config).unwrap();
    lead_until(&mut yard, &mut drive, |yard, drive| {
        drive.state().stubs.len() == 1 && dead_letters(yard).len() == 1
    });
    lead_until(&mut yard, &mut drive, |yard, _| {
        let lanes = (0..2).map(|partition| Lane::new(Topic::Decision, partition));
        let mut notes = lanes.flat_map(|lane| yard.paper.records(lane));
        notes.any(|note| note.value.as_deref().and_then(number_of).is_some())
    });
    assert_eq!(dead_letters(&yard), ["unknown_schema"]);
}
