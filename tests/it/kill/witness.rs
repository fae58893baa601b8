//! View of an outsider: the decision topic as read by programs that are not ours, committed records
//! only, and whether every request got what it was reserved.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Event;
use yardmaster::core::output::Output;
use yardmaster::core::output::command::{Command as Published, CommandId};
use yardmaster::core::output::decision::{Decision, DecisionId};
use yardmaster::wire::avro::{Arena, Codec};

/// How long a broker may be out of reach.
const PATIENCE: Duration = Duration::from_secs(60);

/// Key and value of a record.
pub type Record = (Vec<u8>, Vec<u8>);

/// The committed records of a topic, in no order: from kcat if it is there, and from Kafka's own
/// console consumer if its jars are; both must agree. The console consumer ends without an error
/// when a busy broker does not answer it in time, so a difference counts only if it stays.
pub fn committed(bootstrap: &str, topic: &str) -> Vec<Record> {
    let start = Instant::now();
    loop {
        match (kcat(bootstrap, topic), console(bootstrap, topic)) {
            (Some(kcat), Some(console)) => {
                let (left, right) = (kcat.len(), console.len());
                if kcat == console {
                    return kcat;
                }
                let late = start.elapsed() > PATIENCE;
                assert!(!late, "kcat reads {left} records, Kafka's console consumer {right}");
                println!("again: kcat reads {left} records, Kafka's console consumer {right}");
            }
            (Some(only), None) | (None, Some(only)) => return only,
            (None, None) => panic!("neither kcat nor YARDMASTER_TEST_KAFKA_JARS: nobody to ask"),
        }
    }
}

/// The same from the quicker of the two, for looking again and again.
pub fn glance(bootstrap: &str, topic: &str) -> Vec<Record> {
    kcat(bootstrap, topic).or_else(|| console(bootstrap, topic)).expect("somebody to ask")
}

/// The same with the records of each key in their order.
pub fn in_order(bootstrap: &str, topic: &str) -> Vec<Record> {
    kcat_in_order(bootstrap, topic).expect("kcat")
}

fn kcat(bootstrap: &str, topic: &str) -> Option<Vec<Record>> {
    let mut records = kcat_in_order(bootstrap, topic)?;
    records.sort();
    Some(records)
}

fn kcat_in_order(bootstrap: &str, topic: &str) -> Option<Vec<Record>> {
    let format = "%K %S\n%k%s\n";
    let committed = "isolation.level=read_committed";
    let start = Instant::now();
    let output = loop {
        let output = Command::new("kcat")
            .args(["-C", "-b", bootstrap, "-t", topic, "-X", committed])
            .args(["-o", "beginning", "-e", "-q", "-f", format])
            .output()
            .ok()?;
        if output.status.success() {
            break output;
        }
        // A broker with much to do may not answer at once.
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(start.elapsed() < PATIENCE, "kcat: {error}");
        println!("kcat again: {error}");
        std::thread::sleep(Duration::from_secs(1));
    };
    let mut rest = output.stdout.as_slice();
    let mut records = Vec::new();
    while !rest.is_empty() {
        let line = rest.iter().position(|byte| *byte == b'\n').expect("a line of lengths");
        let lengths = std::str::from_utf8(&rest[..line]).expect("text");
        let (key, value) = lengths.split_once(' ').expect("two lengths");
        // A null has length -1 and no bytes.
        let length = |text: &str| text.parse::<i64>().expect("a length").max(0) as usize;
        let (key, value) = (length(key), length(value));
        rest = &rest[line + 1..];
        records.push((rest[..key].to_vec(), rest[key..key + value].to_vec()));
        rest = &rest[key + value + 1..];
    }
    Some(records)
}

fn console(bootstrap: &str, topic: &str) -> Option<Vec<Record>> {
    let jars = std::env::var("YARDMASTER_TEST_KAFKA_JARS").ok()?;
    let bytes = "org.apache.kafka.common.serialization.BytesDeserializer";
    let mut command = Command::new("java");
    // Classes that `broker.sh archive` kept are not loaded again.
    let kept = format!("{jars}.jsa");
    if Path::new(&kept).exists() {
        command.arg(format!("-XX:SharedArchiveFile={kept}"));
    }
    command
        .args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
        .args(["-Xmx256m", "-cp", &format!("{jars}/*")])
        .arg("org.apache.kafka.tools.consumer.ConsoleConsumer")
        .args(["--bootstrap-server", bootstrap, "--topic", topic, "--from-beginning"])
        .args(["--isolation-level", "read_committed", "--timeout-ms", "15000"]);
    let key = format!("key.deserializer={bytes}");
    let value = format!("value.deserializer={bytes}");
    for property in ["print.partition=true", "print.key=true", &key, &value] {
        command.args(["--formatter-property", property]);
    }
    let output = command.output().expect("java");
    if !output.status.success() {
        println!("the console consumer: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout).expect("escaped text");
    // Its log may come between.
    let lines = text.lines().filter(|line| line.starts_with("Partition:"));
    let mut records: Vec<Record> = lines
        .map(|line| {
            let mut parts = line.split('\t').skip(1);
            let mut part = || unescape(parts.next().expect("a key and a value"));
            (part(), part())
        })
        .collect();
    records.sort();
    Some(records)
}

/// Kafka's `Bytes.toString`: what is not plain ASCII is `\xHH`, a backslash too.
fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            out.push(u8::from_str_radix(&text[at + 2..at + 4], 16).expect("two hex digits"));
            at += 4;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}

/// Records of the decision topic as decisions; the key must be the subject.
pub fn decisions(records: &[Record]) -> Vec<Decision> {
    let codec = Codec::default();
    let read = |(key, value): &Record| {
        let mut arena = Arena::default();
        match codec.read(Topic::Decision, None, Some(value), &mut arena) {
            Event::Output(Output::Decision(decision)) => {
                assert_eq!(decision.subject.as_bytes(), key, "the key is the subject");
                *decision
            }
            other => panic!("no decision: {other:?}"),
        }
    };
    records.iter().map(read).collect()
}

/// Mistakes in the answers that were given to these subjects: none, if each has exactly one final
/// answer, its last, and its answers are numbered from 1 without gap, each under the name that
/// follows from its number.
pub fn complaints(
    domain: &str,
    subjects: &BTreeSet<String>,
    published: &[Decision],
) -> Vec<String> {
    let mut by_subject: BTreeMap<&str, Vec<&Decision>> = BTreeMap::new();
    for decision in published {
        by_subject.entry(&decision.subject).or_default().push(decision);
    }
    let mut found = Vec::new();
    for subject in by_subject.keys().filter(|subject| !subjects.contains(**subject)) {
        found.push(format!("{subject}: answered, and nobody asked"));
    }
    for subject in subjects {
        let mut answers = by_subject.remove(subject.as_str()).unwrap_or_default();
        answers.sort_by_key(|decision| decision.ordinal);
        let ordinals: Vec<u32> = answers.iter().map(|decision| decision.ordinal).collect();
        let wanted: Vec<u32> = (1..=answers.len() as u32).collect();
        if ordinals != wanted {
            found.push(format!("{subject}: answers are numbered {ordinals:?}"));
        }
        let is_final: Vec<bool> = answers.iter().map(|it| it.outcome.is_final()).collect();
        match is_final.iter().filter(|is_final| **is_final).count() {
            0 => found.push(format!("{subject}: no final answer")),
            1 if is_final.last() == Some(&true) => {}
            1 => found.push(format!("{subject}: the final answer is not the last")),
            finals => found.push(format!("{subject}: {finals} final answers")),
        }
        for answer in answers {
            let name = DecisionId::derive(domain, subject, answer.attempt, answer.ordinal);
            if answer.id != name {
                found.push(format!("{subject}: answer {} is not named {name}", answer.ordinal));
            }
        }
    }
    found
}

/// Records of the command topic as commands.
pub fn commands(records: &[Record]) -> Vec<Published> {
    let codec = Codec::default();
    records.iter().map(|(_, value)| codec.read_record(value).expect("a command")).collect()
}

/// Mistakes in the commands that were given about these jobs by a rule: none, if each was given
/// once, under the id that follows from it, and its repeats are numbered without gap.
pub fn command_complaints(
    domain: &str,
    rule: &str,
    jobs: &BTreeSet<String>,
    published: &[Published],
) -> Vec<String> {
    let mut found = Vec::new();
    let mut by_job: BTreeMap<&str, Vec<&Published>> = BTreeMap::new();
    for command in published.iter().filter(|it| it.rule == rule && it.held_back().is_none()) {
        by_job.entry(&command.subject).or_default().push(command);
    }
    for job in by_job.keys().filter(|job| !jobs.contains(**job)) {
        found.push(format!("{job}: commanded for no reason"));
    }
    for job in jobs {
        let mut records = by_job.remove(job.as_str()).unwrap_or_default();
        records.sort_by_key(|command| command.repeat);
        let numbers: Vec<u32> = records.iter().map(|command| command.repeat).collect();
        if numbers.is_empty() || numbers != (0..numbers.len() as u32).collect::<Vec<u32>>() {
            found.push(format!("{job}: its commands are numbered {numbers:?}"));
        }
        for command in records {
            let Published { attempt, clock_at, .. } = *command;
            let id = CommandId::derive(domain, rule, job, attempt, clock_at);
            if command.id != id {
                found.push(format!("{job}: a command is not named {id}"));
            }
        }
    }
    found
}

/// The log in one line, for a reader of the test's output.
pub fn summary(published: &[Decision]) -> String {
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    let epochs: BTreeSet<u64> = published.iter().map(|decision| decision.epoch).collect();
    for decision in published {
        *outcomes.entry(decision.outcome.name()).or_default() += 1;
    }
    format!("{} decisions {outcomes:?} published in {} epochs", published.len(), epochs.len())
}

// --- The witness itself, seen to object ---------------------------------------------------------

fn answers() -> (BTreeSet<String>, Vec<Decision>) {
    use yardmaster::core::output::decision::Outcome;
    let plain = |subject: &str, ordinal, outcome| Decision {
        task: "1".into(),
        epoch: 1,
        cycle: u64::from(ordinal),
        policy: "production-job".into(),
        ..Decision::new("yard", subject, 0, ordinal, outcome)
    };
    let published = vec![
        plain("1/1", 1, Outcome::Assign(Vec::new())),
        plain("1/2", 1, Outcome::Defer { until: 5 }),
        plain("1/2", 2, Outcome::Defer { until: 9 }),
        plain("1/2", 3, Outcome::Reject { reason: "late".into() }),
    ];
    (["1/1".to_owned(), "1/2".to_owned()].into(), published)
}

#[track_caller]
fn objects(change: impl FnOnce(&mut BTreeSet<String>, &mut Vec<Decision>), expected: &str) {
    let (mut subjects, mut published) = answers();
    change(&mut subjects, &mut published);
    let found = complaints("yard", &subjects, &published);
    assert!(found.iter().any(|it| it.contains(expected)), "{expected:?}: {found:?}");
}

#[test]
fn the_witness_reports_what_is_lost_or_published_twice() {
    let (subjects, published) = answers();
    assert_eq!(complaints("yard", &subjects, &published), Vec::<String>::new());
    objects(|_, published| published.push(published[0].clone()), "1/1: 2 final answers");
    objects(
        |_, published| published.push(published[1].clone()),
        "1/2: answers are numbered [1, 1, 2, 3]",
    );
    objects(|_, published| drop(published.remove(1)), "1/2: answers are numbered [2, 3]");
    objects(|_, published| drop(published.pop()), "1/2: no final answer");
    objects(|_, published| published[3].ordinal = 1, "1/2: answers are numbered [1, 1, 2]");
    objects(|_, published| published.swap_remove(0).ordinal = 0, "1/1: no final answer");
    objects(|subjects, _| drop(subjects.pop_first()), "1/1: answered, and nobody asked");
    objects(|_, published| published[0].id.0[0] ^= 1, "1/1: answer 1 is not named");
    objects(
        |_, published| (published[1].ordinal, published[3].ordinal) = (3, 1),
        "the final answer is not",
    );
}

#[test]
fn the_witness_reports_commands_that_are_lost_or_given_twice() {
    let command =
        |job: &str, repeat| Published { repeat, ..Published::new("yard", "T8", job, 0, Some(7)) };
    let jobs: BTreeSet<String> = ["1".to_owned(), "2".to_owned()].into();
    let right = vec![command("1", 0), command("2", 0), command("2", 1)];
    let found = |published: &[Published]| command_complaints("yard", "T8", &jobs, published);
    assert_eq!(found(&right), Vec::<String>::new());
    let twice = [&right[..], &right[..1]].concat();
    assert_eq!(found(&twice), ["1: its commands are numbered [0, 0]"]);
    assert_eq!(found(&right[1..]), ["1: its commands are numbered []"]);
    assert_eq!(found(&right[..1]), ["2: its commands are numbered []"]);
    let other = [&right[..], &[command("3", 0)]].concat();
    assert_eq!(found(&other), ["3: commanded for no reason"]);
    let mut wrong = right;
    wrong[0].id.0[0] ^= 1;
    assert!(found(&wrong)[0].starts_with("1: a command is not named "));
}

#[test]
fn the_console_consumers_escapes_are_undone() {
    assert_eq!(unescape("a\\x5C\\x00\\xFFb"), b"a\\\x00\xffb");
}
