//! `tail`: what is shown of a log, first as it stands and then as it grows.

mod kafka;

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use yardmaster::core::cut::{Cut, Lane, Topic};
use yardmaster::core::id::hash;
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::output::progress::Progress;
use yardmaster::drive::port::{Batch, Log, OutputRecord};
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, Mode};
use yardmaster::wire::avro::{Codec, unframed};
use yardmaster::wire::record;
use yardmaster::wire::topology::{ATLAS, Topology};

/// The number of the signal that ends a program whose output nobody reads.
pub(crate) const SIGPIPE: i32 = 13;

const PROGRAM: &str = env!("CARGO_BIN_EXE_yardmaster");

fn run(args: &[&str]) -> Output {
    Command::new(PROGRAM).args(args).env_remove("YARDMASTER_LOG").output().unwrap()
}

/// Lines of `tail --no-follow`.
fn tail(dir: &str, more: &[&str]) -> Vec<String> {
    let output = run(&[&["tail", "--dir", dir, "--no-follow"], more].concat());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.status.code(), Some(0), "{more:?}: {}", text(&output.stderr));
    text(&output.stdout).lines().map(str::to_owned).collect()
}

fn json(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// A leader that follows the one of the demo, and publishes what it is given.
struct Leader {
    log: DirLog,
    cycle: u64,
    now: i64,
}

impl Leader {
    fn open(dir: &Path, now: i64) -> Leader {
        let topology = Topology::parse("atlas", ATLAS).unwrap();
        let topic = |topic: Topic| {
            let settings = topology.topic(topic);
            DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
        };
        let topics: Vec<DirTopic> = Topic::read().map(topic).collect();
        let mut log = DirLog::open(dir, Mode::Write, &topics, DirOptions::default()).unwrap();
        let cycle = Leader::newest(&mut log);
        log.lead().unwrap();
        Leader { log, cycle, now }
    }

    /// The number of the last cycle in the log.
    fn newest(log: &mut DirLog) -> u64 {
        const CYCLES: Lane = Lane::new(Topic::Progress, 0);
        let spans = log.lanes().unwrap();
        let span = spans.iter().find(|span| span.lane == CYCLES).unwrap();
        let mut from = Cut::default();
        from.advance(CYCLES, span.stable_end - 1);
        log.assign(&from).unwrap();
        let mut batch = Batch::default();
        log.take(&mut batch, 1, Duration::from_secs(10)).unwrap();
        let value = batch.value(&batch.records[0]).unwrap();
        Codec::default().read_record::<Progress>(value).unwrap().number
    }

    fn decision(&self, subject: &str) -> Decision {
        let outcome = Outcome::Reject { reason: "of_the_test".to_owned() };
        Decision {
            epoch: 99,
            cycle: self.cycle + 1,
            now: self.now + 1,
            ..Decision::new("atlas", subject, 0, 1, outcome)
        }
    }

    /// A cycle with decisions of which the first `listed` are listed.
    fn publish(&mut self, decisions: &[Decision], listed: usize) {
        const LANE: Lane = Lane::new(Topic::Decision, 0);
        self.cycle += 1;
        let values = decisions.iter().map(|decision| {
            let mut value = Vec::new();
            record::write(&mut value, decision);
            value
        });
        let values: Vec<Vec<u8>> = values.collect();
        let progress = Progress {
            domain: "atlas".to_owned(),
            epoch: 99,
            number: self.cycle,
            now: self.now + 1,
            instance: "a test".to_owned(),
            full: true,
            policies: Some(String::new()),
            outputs: vec![(LANE, listed as u32)],
            output_hashes: values[..listed].iter().map(|value| hash(unframed(value))).collect(),
            ..Progress::default()
        };
        let mut cycle = Vec::new();
        record::write(&mut cycle, &progress);
        let record = |lane, value: Vec<u8>| OutputRecord {
            lane,
            key: "atlas".into(),
            value: Some(value.into()),
            headers: Vec::new(),
        };
        let outputs = values.into_iter().map(|value| record(LANE, value)).collect();
        self.log.publish(outputs, record(Lane::new(Topic::Progress, 0), cycle)).unwrap();
        self.log.settle().unwrap();
    }
}

struct Following(Child);

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follow(dir: &str, more: &[&str]) -> Following {
    let child = Command::new(PROGRAM)
        .args([&["tail", "--dir", dir], more].concat())
        .env_remove("YARDMASTER_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    Following(child.unwrap())
}

#[test]
fn the_last_outputs_come_in_order_and_what_follows_as_it_is_published() {
    let temporary = TempDir::new().unwrap();
    let place = temporary.path().join("demo");
    let dir = place.to_str().unwrap();
    let demo = ["demo", "--dir", dir, "--hours", "2", "--scale", "0.02", "--commands", "on"];
    assert_eq!(run(&demo).status.code(), Some(0));

    let all = tail(dir, &["-n", "100000", "--json"]);
    let records = json(&all);
    assert!(records.len() > 50, "{}", records.len());
    let cycle = |it: &Value| it["cycle"].as_u64().unwrap();
    assert!(records.is_sorted_by_key(cycle), "cycle by cycle");
    let place_of = |it: &Value| format!("{}/{}/{}", it["topic"], it["partition"], it["offset"]);
    let places: BTreeSet<String> = records.iter().map(place_of).collect();
    assert_eq!(places.len(), records.len(), "each once");
    assert!(records.iter().all(|it| it["topic"].as_str().unwrap().starts_with("yardmaster.")));
    let is_whole = |it: &&Value| {
        it["outcome"] == "assign" && it["fates"].as_array().is_some_and(|fates| !fates.is_empty())
    };
    assert!(records.iter().any(|it| is_whole(&it)), "a final decision has its fates");

    a_part_is_shown(dir, &all, &records);
    the_reader_may_go_away(dir);

    // A leader goes on; an invention, a copy and an altered record stand beside what it publishes.
    let last = records.last().unwrap();
    let mut leader = Leader::open(&place, last["now"].as_i64().unwrap());
    let mut following = follow(dir, &["-n", "1", "--json"]);
    let mut lines = BufReader::new(following.0.stdout.take().unwrap()).lines();
    let mut next = || lines.next().map(|line| line.unwrap());
    assert_eq!(next().as_ref(), all.last());
    let (right, forged) = (leader.decision("right/1"), leader.decision("forged/1"));
    let altered = Decision { ordinal: 2, ..leader.decision("altered/1") };
    leader.publish(&[right.clone(), right, forged, altered], 1);
    let second = leader.decision("second/1");
    leader.publish(&[second], 1);
    for subject in ["right/1", "second/1"] {
        let line: Value = serde_json::from_str(&next().unwrap()).unwrap();
        assert_eq!((&line["subject"], &line["reason"]), (&subject.into(), &"of_the_test".into()));
    }
    let pid = following.0.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    assert_eq!(next(), None, "nothing else was shown");
    assert_eq!(following.0.wait().unwrap().code(), Some(0));
    let mut errors = String::new();
    following.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(errors.contains("passed over 3 records"), "{errors}");
    assert!(errors.contains("forged/1") && !errors.contains("second/1"), "{errors}");

    // What was there before is passed over as well.
    let again = tail(dir, &["-n", "2", "--json"]);
    let subjects: Vec<Value> = json(&again).iter().map(|it| it["subject"].clone()).collect();
    assert_eq!(subjects, ["right/1", "second/1"]);
}

fn a_part_is_shown(dir: &str, all: &[String], records: &[Value]) {
    // Wherever it begins: between two outputs of a cycle too, of which the later lies in a lower
    // partition.
    let is_within = |at: &usize| {
        let [before, after] = [&records[*at - 1], &records[*at]];
        let same = |what: &str| before[what] == after[what];
        same("cycle") && same("topic") && before["partition"].as_u64() > after["partition"].as_u64()
    };
    let within: Vec<usize> = (1..records.len()).filter(is_within).collect();
    assert!(!within.is_empty(), "no cycle has outputs in several partitions");
    for count in within.iter().rev().take(5).map(|at| all.len() - at).chain([1, 7]) {
        let last = tail(dir, &["-n", &count.to_string(), "--json"]);
        assert_eq!(last, all[all.len() - count..], "the last {count}");
    }
    assert_eq!(tail(dir, &["--json"]).len(), 10);
    assert!(tail(dir, &["-n", "0"]).is_empty());
    let picked = |is: &dyn Fn(&Value) -> bool| -> Vec<String> {
        all.iter().zip(records).filter(|(_, it)| is(it)).map(|(line, _)| line.clone()).collect()
    };
    let deferred = picked(&|it| it["outcome"] == "defer");
    assert!(!deferred.is_empty() && deferred.len() < all.len());
    assert_eq!(tail(dir, &["-n", "100000", "--json", "--what", "defer"]), deferred);
    let user = records.iter().filter_map(|it| it["user"].as_str()).next().unwrap();
    let of_user = picked(&|it| it["user"] == user || it["subject"] == user);
    assert_eq!(tail(dir, &["-n", "100000", "--json", "--user", user]), of_user);
    let since = records[records.len() / 2]["now"].as_i64().unwrap();
    let since_then = picked(&|it| it["now"].as_i64().unwrap() >= since);
    assert_eq!(tail(dir, &["--from", &since.to_string(), "--json"]), since_then);
    // An age is one before the last cycle.
    let lately = tail(dir, &["--from", "5m", "--json"]);
    assert!(all.ends_with(&lately) && (1..all.len()).contains(&lately.len()), "{}", lately.len());
    assert_eq!(tail(dir, &["--from", "3000d", "--json"]), all);
    let text = tail(dir, &["-n", "100000"]);
    assert_eq!(text.len(), all.len());
    assert!(text.iter().any(|line| line.contains(" queues; asked again by 20")), "{}", text[0]);
    for (args, why) in [
        (["--kind", "throttle", "--what", "assign"], "leave nothing"),
        (["--from", "yesterday", "--json", "--no-follow"], "give an age"),
    ] {
        let output = run(&[&["tail", "--dir", dir], &args[..]].concat());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(why), "{errors}");
    }
}

fn the_reader_may_go_away(dir: &str) {
    let mut following = follow(dir, &["-n", "100000", "--json"]);
    let mut out = BufReader::new(following.0.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    drop(out);
    let status = following.0.wait().unwrap();
    assert_eq!(status.signal(), Some(SIGPIPE), "{status:?}");
    let mut errors = String::new();
    following.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
}
