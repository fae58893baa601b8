//! A Kafka copied to a directory: killed on the way and begun again, it is the same log.

use crate::kill::bus::{Bus, text};
use crate::kill::process::{Process, wait_until, yardmaster};
use crate::kill::witness::glance;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::Outcome;
use yardmaster::wire::avro::Codec;
use yardmaster::wire::record;

const MINUTE: Duration = Duration::from_secs(60);

/// The bytes of all files below a directory.
fn bytes_in(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => bytes_in(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

/// A line of `replay` that begins so.
fn line<'a>(report: &'a str, begin: &str) -> &'a str {
    report
        .lines()
        .find(|line| line.starts_with(begin))
        .unwrap_or_else(|| panic!("{begin}: {report}"))
}

fn replay(bus: &Bus, dir: &Path) -> String {
    let topology = bus.topology.to_str().unwrap();
    let args = ["replay", "--dir", text(dir), "--topology", topology, "--verify"];
    let output = yardmaster(&args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn lead_and_answer(bus: &Bus, asked: std::ops::Range<u32>) {
    let process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    wait_until(2 * MINUTE, || process.logged(), || process.leads());
    for at in asked {
        bus.ask(&format!("{at}/1"), 1, 500);
        bus.flush();
    }
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(process.stop().code(), Some(0));
}

/// Without any cycle, records of inputs show that a directory holds another log.
#[test]
fn a_directory_with_the_log_of_another_kafka_is_refused() {
    let (Some(first), Some(second)) = (Bus::real(|_, _| {}), Bus::real(|_, _| {})) else { return };
    first.queue("QUEUE_1", 1, 20);
    second.queue("QUEUE_2", 1, 20);
    let dir = first.path("archive");
    let archive = |bus: &Bus, part: &str| {
        bus.flush();
        let output = yardmaster(&[&["archive"], &bus.place()[..], &["--dir", text(&dir)]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(part), "{error}");
        output.status.code()
    };
    assert_eq!(archive(&first, ""), Some(0));
    assert_eq!(archive(&first, ""), Some(0));
    let before = bytes_in(&dir);
    assert_eq!(archive(&second, "neither empty nor a log"), Some(2));
    // As if topics of the same names were on two Kafkas.
    for topic in Topic::ALL {
        let from = dir.join(first.topic(*topic));
        if from.is_dir() {
            std::fs::rename(from, dir.join(second.topic(*topic))).unwrap();
        }
    }
    assert_eq!(archive(&second, "holds another log"), Some(2));
    assert_eq!(bytes_in(&dir), before);
}

#[test]
fn killed_half_way_and_begun_again_it_is_the_same_log() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    for at in 0..4 {
        bus.queue(&format!("QUEUE_{at}"), 1, 20_000);
    }
    bus.write(Topic::Task, "what", Some(b"nobody can read this"));
    bus.flush();
    lead_and_answer(&bus, 0..40);
    let dir = bus.path("archive");
    let args = |verb| [&[verb], &bus.place()[..], &["--dir", text(&dir)]].concat();
    let mut kills = 0;
    for wanted in [1, 300_000, 3_000_000] {
        let mut archive = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
            .args(args("archive"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(
            MINUTE,
            || format!("{} bytes", bytes_in(&dir)),
            || bytes_in(&dir) >= wanted || archive.try_wait().unwrap().is_some(),
        );
        let ended = archive.try_wait().unwrap();
        archive.kill().unwrap();
        archive.wait().unwrap();
        println!("killed at {} bytes, ended before: {ended:?}", bytes_in(&dir));
        kills += u32::from(ended.is_none());
        if ended.is_none() {
            assert_eq!(line(&replay(&bus, &dir), "cycles"), "cycles 0", "nothing half is seen");
        }
    }
    assert!(kills >= 2, "the archive was over before it was killed");
    let archived = |more: &str| {
        let output = yardmaster(&args("archive"));
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{more}: {report}{error}");
        println!("{more}: {}", report.replace('\n', ", "));
        report
    };
    let same = || {
        let (theirs, ours) = (bus.verb("replay", 0, &["--verify"]), replay(&bus, &dir));
        for begin in ["cycles", "events", "decisions", "digest", "verified"] {
            println!("{} | {}", line(&theirs, begin), line(&ours, begin));
            if begin != "events" {
                assert_eq!(line(&theirs, begin), line(&ours, begin));
            }
        }
        assert!(line(&ours, "verified").contains(" 0 different, 0 not verifiable"), "{ours}");
        assert_ne!(line(&ours, "decisions"), "decisions 0");
    };
    archived("the rest");
    same();
    assert_eq!(line(&archived("again"), "records "), "records 0");
    lead_and_answer(&bus, 40..60);
    archived("what came since");
    same();
}

/// Garbage, copies and an invention on own topics: `explain` shows each decision once and says how
/// many it passed over, `audit` and `replay` are clean, and so they are on a copy of the log.
#[test]
fn strays_are_passed_over_by_every_verb_and_in_an_archive() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    bus.queue("QUEUE_1", 1, 20);
    bus.flush();
    let process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    wait_until(2 * MINUTE, || process.logged(), || process.leads());
    bus.ask("1/1", 1, 500);
    bus.flush();
    let decisions = || glance(&bus.bootstrap, &bus.topic(Topic::Decision));
    wait_until(MINUTE, || process.logged(), || !decisions().is_empty());
    let (key, value) = decisions().pop().unwrap();
    assert_eq!(process.stop().code(), Some(0));
    let codec = Codec::default();
    let Ok(Output::Decision(mut invented)) = codec.read_output(Topic::Decision, &value) else {
        panic!("no decision");
    };
    invented.outcome = Outcome::Reject { reason: "invented".into() };
    let mut other = Vec::new();
    record::write(&mut other, &invented);
    for partition in 0..2 {
        for stray in [&value[..], &other[..], b"x"] {
            bus.write_in(Topic::Decision, partition, &key, Some(stray));
        }
    }
    bus.write(Topic::Progress, "x", Some(b"x"));
    bus.flush();
    let dir = bus.path("archive");
    let topology = bus.topology.to_str().unwrap();
    let check = |place: &[&str]| {
        let verb = |args: &[&str]| {
            let output = yardmaster(&[args, place].concat());
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (report, error) = (text(&output.stdout), text(&output.stderr));
            assert!(output.status.success(), "{args:?}: {report}{error}");
            (report, error)
        };
        let (report, error) = verb(&["explain", "1/1", "--all"]);
        assert_eq!(report.matches("1/1").count(), 1, "{report}");
        assert!(!report.contains("invented"), "{report}");
        assert!(error.contains("passed over 4 records that are copies"), "{error}");
        let missing = bus.path("no store");
        let (report, _) = verb(&["audit", "--store", text(&missing)]);
        assert!(report.contains("strays 7") && report.contains(" 0 drifted"), "{report}");
        let (report, _) = verb(&["replay", "--verify"]);
        assert_eq!(line(&report, "strays"), "strays 7");
        assert!(line(&report, "verified").contains(" 0 different, 0 not verifiable"), "{report}");
        line(&report, "digest").to_owned()
    };
    let theirs = check(&bus.place());
    bus.verb("archive", 0, &["--dir", text(&dir)]);
    assert_eq!(check(&["--dir", text(&dir), "--topology", topology]), theirs);
}
