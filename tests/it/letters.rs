//! Dead letters: listed, shown, and published again once, from a directory and from a real Kafka.

use crate::kill::bus::{Bus, text};
use crate::kill::intake::Place;
use crate::kill::process::{Process, wait_until, yardmaster};
use crate::kill::witness::{committed, glance};
use crate::registry::desk::Registry;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::Site;
use yardmaster::core::output::progress::Progress;
use yardmaster::shell::dirlog::envelope::{Envelope, Stamp};
use yardmaster::shell::dirlog::{DirOptions, DirTopic, DirWriter};
use yardmaster::wire::avro::MAGIC;
use yardmaster::wire::record;
use yardmaster::wire::topology::ATLAS;

const SITES: Lane = Lane::new(Topic::Site, 0);
const LETTERS: Lane = Lane::new(Topic::DeadLetter, 0);
const PROGRESS: Lane = Lane::new(Topic::Progress, 0);

/// A site that any version can read.
fn site(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (name, output_endpoint) = (name.to_owned(), String::new());
    let changed_at = 1_760_000_000_000;
    let (nucleus, active, tier) = (true, true, 1);
    let (cluster, slot_quota) = (None, None);
    let site =
        Site { name, changed_at, nucleus, active, tier, output_endpoint, cluster, slot_quota };
    record::write(&mut bytes, &site);
    bytes
}

/// Headers that a leader would give a record of [`SITES`].
fn headers(offset: u64, reason: &str, length: usize, kept: usize) -> Vec<(String, Vec<u8>)> {
    let pair = |name: &str, value: String| (name.to_owned(), value.into_bytes());
    let mut headers = vec![
        pair("topic", "site".into()),
        pair("partition", "0".into()),
        pair("offset", offset.to_string()),
        pair("reason", reason.into()),
        pair("length", length.to_string()),
    ];
    if kept < length {
        headers.push(pair("cut_to", kept.to_string()));
    }
    headers
}

/// A record, and its headers.
type Put<'a> = ((Lane, u64, &'a str, &'a [u8]), &'a [(String, Vec<u8>)]);

/// A directory with these records.
fn write_directory(dir: &Path, records: &[Put<'_>]) {
    let topic = |topic: Topic| DirTopic {
        topic,
        name: format!("yardmaster.{}", topic.name()),
        partitions: 1,
    };
    let topics = [topic(Topic::Site), topic(Topic::DeadLetter), topic(Topic::Progress)];
    let mut writer = DirWriter::archive(dir, &topics, DirOptions::default()).unwrap();
    // The last cycle is an hour after all.
    let now = 1_760_003_600_000;
    let mut cycle = Vec::new();
    record::write(&mut cycle, &Progress { domain: "atlas".into(), now, ..Progress::default() });
    let last = (PROGRESS, 0, "atlas", &cycle[..]);
    for ((lane, offset, key, value), headers) in records.iter().chain([&(last, &[][..])]) {
        let (offset, key, value) = (*offset, Some(key.as_bytes()), Some(*value));
        let (timestamp, stamp) = (1_760_000_000_000, Stamp::Append);
        writer.put(*lane, &Envelope { offset, timestamp, stamp, key, value, headers }).unwrap();
    }
    writer.flush().unwrap();
}

/// A directory with letters: 10 that can be read by now, 11 that cannot, 12 cut and still at its
/// origin, 5 cut and gone there.
fn directory() -> TempDir {
    let dir = TempDir::new().unwrap();
    let (ash, elm) = (site("ASH"), site("ELM"));
    let no_record = &b"no record"[..];
    let unknown = |offset, length, kept| headers(offset, "unknown_schema", length, kept);
    write_directory(
        dir.path(),
        &[
            ((SITES, 10, "ASH", &ash), &[]),
            ((SITES, 11, "OAK", no_record), &[]),
            ((SITES, 12, "ELM", &elm), &[]),
            ((LETTERS, 0, "ASH", &ash), &unknown(10, ash.len(), ash.len())),
            ((LETTERS, 1, "OAK", no_record), &headers(11, "framing", 9, 9)),
            ((LETTERS, 2, "ELM", &elm[..4]), &unknown(12, elm.len(), 4)),
            ((LETTERS, 3, "FIR", &elm[..4]), &headers(5, "oversized", 2_000_000, 4)),
        ],
    );
    dir
}

/// A topology with sites in Confluent framing, beside a registry.
fn framed_sites(dir: &Path, registry: &Registry) -> PathBuf {
    let table = "[topics.site]\n";
    let framed = ATLAS.replace(table, &format!("{table}framing = \"confluent\"\n"));
    let file = dir.join("sites.toml");
    std::fs::write(&file, format!("{framed}\n[registry]\nurls = [{:?}]\n", registry.url)).unwrap();
    file
}

/// Exit code, stdout and stderr of `dead-letters`.
fn letters(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let mut all = vec!["dead-letters"];
    let verb = args.first().is_some_and(|first| !first.starts_with('-'));
    all.extend(&args[..usize::from(verb)]);
    all.extend(["--dir", text(dir)]);
    all.extend(&args[usize::from(verb)..]);
    let output = yardmaster(&all);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn they_are_listed_with_the_figures_of_their_headers() {
    let dir = directory();
    let (code, table, _) = letters(dir.path(), &[]);
    assert_eq!(code, 0);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 6, "{table}");
    assert!(lines[1].starts_with("2025-10-09T08:53:20Z"), "{table}");
    for part in ["site/0/10", "unknown_schema", "ASH"] {
        assert!(lines[1].contains(part), "{table}");
    }
    assert!(lines[4].contains("2.00 MB (cut to 4 B)"), "{table}");
    assert_eq!(lines[5], "4 dead letters: 1 framing, 1 oversized, 2 unknown_schema");
    let (_, json, _) = letters(dir.path(), &["--reason", "framing", "--json"]);
    let one: Value = serde_json::from_str(&json).expect("one object");
    assert_eq!((&one["offset"], &one["key"]), (&Value::from(11), &Value::from("OAK")));
    for (args, count) in [
        (["--topic", "site"], 4),
        (["--topic", "yardmaster.site"], 4),
        (["--topic", "task"], 0),
        (["--since", "1h"], 4),
        (["--since", "59m"], 0),
        (["--since", "2025-10-09T08:53:20.000Z"], 4),
    ] {
        let (_, table, _) = letters(dir.path(), &args);
        assert!(table.contains(&format!("{count} dead letters")), "{args:?}: {table}");
    }
    let (code, _, error) = letters(dir.path(), &["--reason", "bad luck"]);
    assert!(code == 2 && error.contains("unknown_schema"), "{error}");
}

#[test]
fn one_is_shown_as_far_as_it_can_be_read() {
    let dir = directory();
    let (code, shown, _) = letters(dir.path(), &["show", "site/0/10"]);
    assert_eq!(code, 0);
    for part in [
        "unknown_schema",
        "name: \"ASH\"",
        "schema of site (current)",
        "00000000  c3 01",
        "65536 bytes (limits.dead_letter_bytes",
        "can be read: redrive it",
    ] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    let (_, shown, _) = letters(dir.path(), &["show", "site/0/11", "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["framing"], "not single-object; it is text");
    assert_eq!(shown["now"], "still unreadable: framing");
    let (code, _, error) = letters(dir.path(), &["show", "site/0/99"]);
    assert!(code == 2 && error.contains("site/0/99: no dead letter of it"), "{error}");
}

#[test]
fn a_letter_that_can_be_read_by_now_is_published_again_once() {
    let dir = directory();
    let all = ["redrive", "site/0/10", "site/0/11", "site/0/12", "site/0/5"];
    let (code, dry, _) = letters(dir.path(), &[&all[..], &["--dry-run"]].concat());
    assert!(code == 1 && dry.contains("4 chosen, 2 would be redriven, 0 were before, 2 not"));
    let (code, report, error) = letters(dir.path(), &all);
    assert_eq!(code, 1, "{report}{error}");
    assert!(
        report.contains("4 chosen, 2 redriven and read back, 0 were before, 2 not"),
        "{report}"
    );
    assert!(error.contains("site/0/11: still unreadable"), "{error}");
    assert!(error.contains("site/0/5: the letter kept 4 of 2000000 bytes"), "{error}");
    let (_, report, _) = letters(dir.path(), &all);
    assert!(
        report.contains("4 chosen, 0 redriven and read back, 2 were before, 2 not"),
        "{report}"
    );
    let (code, report, _) = letters(dir.path(), &["redrive", "--reason", "unknown_schema"]);
    assert!(code == 0 && report.contains("2 chosen, 0 redriven"), "{report}");
    let (code, report, _) = letters(dir.path(), &["redrive", "site/0/10", "--again"]);
    assert!(code == 0 && report.contains("1 redriven and read back"), "{report}");
    let (code, _, error) = letters(dir.path(), &["redrive"]);
    assert!(code == 2 && error.contains("TOPIC/PARTITION/OFFSET"), "{error}");
}

/// Too long for the leader, then for nobody: its letter is cut, and all of it comes from its origin.
#[test]
fn a_letter_in_confluent_framing_is_read_by_what_the_registry_knows_today() {
    let dir = TempDir::new().unwrap();
    let (lacks, mended) = (Registry::start(), Registry::start());
    let id = mended.put(include_str!("../../schemas/site.avsc"));
    let value = [&[MAGIC][..], &id.to_be_bytes(), &site("ASH")[10..]].concat();
    let letter = (LETTERS, 0, "ASH", &value[..]);
    let headers = headers(10, "unknown_schema", value.len(), value.len());
    write_directory(dir.path(), &[((SITES, 10, "ASH", &value), &[]), (letter, &headers)]);
    let of = |registry: &Registry, verb: &[&str]| {
        let topology = framed_sites(dir.path(), registry);
        letters(dir.path(), &[verb, &["--topology", text(&topology)]].concat())
    };
    let (_, shown, _) = of(&lacks, &["show", "site/0/10"]);
    assert!(shown.contains("still unreadable: unknown_schema"), "{shown}");
    let (code, _, error) = of(&lacks, &["redrive", "site/0/10"]);
    assert!(code == 1 && error.contains("unknown_schema"), "{error}");
    let (_, shown, _) = of(&mended, &["show", "site/0/10"]);
    assert!(shown.contains("can be read: redrive it"), "{shown}");
    let (code, report, error) = of(&mended, &["redrive", "site/0/10"]);
    assert!(code == 0 && report.contains("1 redriven and read back"), "{report}{error}");
}

#[test]
fn on_a_real_kafka_a_record_that_was_too_long_comes_back_whole() {
    let small = |limits: &mut toml::Table, _: &mut toml::Table| {
        limits.insert("max_record_bytes".into(), 2_048.into());
        limits.insert("dead_letter_bytes".into(), 100.into());
        limits.insert("name_bytes".into(), 4_096.into());
    };
    let Some(bus) = Bus::real(small) else { return };
    bus.write(Topic::Site, "long", Some(&site(&"LONG".repeat(800))));
    bus.write(Topic::Task, "1/1", None);
    let process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    let listed = |more: &[&str]| bus.verb("dead-letters", 0, more);
    let two = || listed(&["--json"]).lines().count() == 2;
    wait_until(Duration::from_secs(90), || process.logged(), two);
    let table = listed(&["--topic", "site"]);
    assert!(table.contains("site/0/0") && table.contains("(cut to 100 B)"), "{table}");
    assert_eq!(process.stop().code(), Some(0));

    let topology = std::fs::read_to_string(&bus.topology).unwrap();
    let mended = topology.replace("max_record_bytes = 2048", "max_record_bytes = 20480");
    assert_ne!(topology, mended);
    let verb = |code, more: &[&str]| {
        let args: Vec<&str> =
            ["dead-letters", "redrive"].iter().chain(&bus.place()).chain(more).copied().collect();
        let output = yardmaster(&args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{error}");
        String::from_utf8_lossy(&output.stdout).into_owned() + &error
    };
    assert!(verb(1, &["--reason", "oversized"]).contains("still unreadable"));
    std::fs::write(&bus.topology, mended).unwrap();
    let report = verb(0, &["--reason", "oversized"]);
    assert!(report.contains("1 redriven and read back"), "{report}");
    assert!(verb(0, &["site/0/0"]).contains("0 redriven and read back, 1 were before"));
    assert!(verb(1, &["--reason", "null"]).contains("still unreadable"));

    let process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    wait_until(Duration::from_secs(90), || process.logged(), || process.leads());
    assert_eq!(process.stop().code(), Some(0));
    assert_eq!(listed(&["--json"]).lines().count(), 2, "nothing new is unreadable");
}

/// `dead-letters` with intake's topology: what it printed; it must exit with `code`.
#[track_caller]
fn of_intake(place: &Place, code: i32, verb: &[&str], more: &[&str]) -> String {
    let flags = ["--bootstrap-server", &place.bus.bootstrap, "--topology", text(&place.topology)];
    let output = yardmaster(&[&["dead-letters"], verb, &flags[..], more].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let printed = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{verb:?} {more:?}: {printed}");
    printed
}

/// One message too long for the topology, which is mended then, and one that nobody can read.
#[test]
fn on_a_real_kafka_a_dead_letter_of_intake_is_redriven_to_its_source() {
    let small = |limits: &mut toml::Table| {
        limits.insert("max_record_bytes".into(), 2_048.into());
        limits.insert("dead_letter_bytes".into(), 100.into());
    };
    let Some(place) = Place::with(2, "", small) else { return };
    let long = format!(
        "{{\"msg_type\": \"job_status\", \"jobid\": 7, \"taskid\": 4, \"status\": \"running\", \
         \"timestamp\": 1760000000, \"computingsite\": \"CERN\", \"pad\": \"{}\"}}",
        "x".repeat(3_000)
    );
    place.put("7", &long);
    place.put("bad", "{\"msg_type\": \"job_status\"}");
    place.writer.flush().unwrap();
    let stage = place.start_with(&[]);
    let listed = || of_intake(&place, 0, &[], &["--json", "--topic", &place.foreign]);
    let is_listed = |count| listed().lines().count() == count;
    wait_until(Duration::from_secs(90), || stage.logged(), || is_listed(2));
    stage.kill();
    let letters: Vec<Value> =
        listed().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let home = |key: &str| {
        let found = letters.iter().find(|it| it["key"] == key).expect(key);
        format!("{}/{}", place.foreign, found["partition"])
    };
    let origin = |key: &str| {
        let found = letters.iter().find(|it| it["key"] == key).expect(key);
        format!("{}/{}", home(key), found["offset"])
    };
    let shown = of_intake(&place, 0, &["show", &origin("bad")], &[]);
    for part in ["dialect: panda", "still unreadable: panda: ", "7b 22 6d 73"] {
        assert!(shown.contains(part), "no {part:?} in\n{shown}");
    }
    let redrive = ["redrive"];
    let all = ["--reason", "malformed"];
    let report = of_intake(&place, 1, &redrive, &all);
    assert!(report.contains("more than max_record_bytes of 2048"), "{report}");
    assert!(
        report.contains("2 chosen, 0 redriven and read back, 0 were before, 2 not"),
        "{report}"
    );

    let topology = std::fs::read_to_string(&place.topology).unwrap();
    let mended = topology.replace("max_record_bytes = 2048", "max_record_bytes = 20480");
    assert_ne!(topology, mended);
    std::fs::write(&place.topology, mended).unwrap();
    let report = of_intake(&place, 1, &redrive, &all);
    assert!(
        report.contains("2 chosen, 1 redriven and read back, 0 were before, 1 not"),
        "{report}"
    );
    assert!(report.contains(&format!("{}: 1 redriven", home("7"))), "{report}");
    let report = of_intake(&place, 0, &redrive, &[&origin("7")]);
    assert!(report.contains("0 redriven and read back, 1 were before"), "{report}");
    let report = of_intake(&place, 0, &redrive, &[&origin("bad"), "--even-unreadable"]);
    assert!(report.contains("1 redriven and read back"), "{report}");
    let messages = committed(&place.bus.bootstrap, &place.foreign);
    let same = messages.iter().filter(|(key, value)| key == b"7" && value == long.as_bytes());
    assert_eq!((messages.len(), same.count()), (4, 2));

    let stage = place.start_with(&[]);
    let states = || glance(&place.bus.bootstrap, &place.bus.topic(Topic::JobState)).len();
    wait_until(Duration::from_secs(90), || stage.logged(), || states() == 1 && is_listed(3));
}
