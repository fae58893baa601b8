//! Each field of each dialect, and what is wrong with one reported so that a person can mend it.

use super::{events, fresh, says};
use serde_json::{Value, json};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{DataKind, Status, TransferStatus};
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::{Records, Taken};
use yardmaster::wire::dialect::{
    Dialect, Foreign, JobMessage, ReplicaMessage, TaskMessage, TransferMessage, Worker, Workers,
    read,
};
use yardmaster::wire::record;

/// Two of the six messages of lsst-dm/ctrl_ingestd, as they went over Kafka.
const RUCIO: &str = include_str!("../../fixtures/rucio_transfer_done.ndjson");

fn job() -> Value {
    json!({
        "msg_type": "job_status", "jobid": 6543210001u64, "taskid": 45123456, "status": "running",
        "timestamp": 1760000000, "computingsite": "CERN", "inputs": ["a.root", "b.root"],
        "piloterrorcode": 0, "piloterrordiag": null, "something": {"new": [1, 2]},
    })
}

/// A message with one field changed; `None` takes it away.
fn with(mut message: Value, field: &str, value: Option<Value>) -> String {
    let mut place = &mut message;
    let (path, last) = field.rsplit_once('/').map_or(("", field), |(path, last)| (path, last));
    for part in path.split('/').filter(|part| !part.is_empty()) {
        place = match part.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[part],
        };
    }
    let map = place.as_object_mut().expect("an object");
    match value {
        Some(value) => drop(map.insert(last.to_owned(), value)),
        None => drop(map.remove(last)),
    }
    message.to_string()
}

#[track_caller]
fn reason(dialect: Dialect, text: &str, parts: &[&str]) {
    let why = read(dialect, text.as_bytes()).expect_err(text);
    for part in [dialect.name()].iter().chain(parts) {
        assert!(why.contains(part), "{part:?} is not in {why:?}");
    }
}

#[test]
fn a_panda_job_is_read_field_by_field() {
    let published = |text: &str| match read(Dialect::Panda, text.as_bytes()) {
        Ok(Foreign::Job(job)) => {
            let JobMessage { job, task, status, at, queue } = job;
            (job, task, status, at, queue.into_owned())
        }
        other => panic!("{text}: {other:?}"),
    };
    let usual = (6_543_210_001, 45_123_456, Status::Running, 1_760_000_000_000, "CERN".to_owned());
    assert_eq!(published(&job().to_string()), usual);
    let as_text = with(job(), "jobid", Some("6543210001".into()));
    assert_eq!(published(&as_text), usual, "PanDA's numbers may come as text");
    let fraction = published(&with(job(), "timestamp", Some(1_760_000_000.25.into())));
    assert_eq!(fraction.3, 1_760_000_000_250);
    for nothing in [None, Some(Value::Null), Some(0.into())] {
        assert_eq!(published(&with(job(), "taskid", nothing)).1, 0);
    }
    assert_eq!(published(&with(job(), "computingsite", Some("NULL".into()))).4, "");
    assert_eq!(published(&with(job(), "computingsite", Some("A\n\"B".into()))).4, "A\n\"B");
    for status in Status::ALL {
        assert_eq!(published(&with(job(), "status", Some(status.name().into()))).2, status);
    }
}

#[test]
fn what_is_wrong_with_a_panda_message_is_named() {
    let panda = |field: &str, value: Option<Value>, parts: &[&str]| {
        reason(Dialect::Panda, &with(job(), field, value), parts);
    };
    panda("jobid", None, &["`jobid`", "missing"]);
    panda("jobid", Some("x7".into()), &["`jobid`", "\"x7\"", "whole number"]);
    panda("jobid", Some((-3).into()), &["`jobid`", "-3"]);
    panda("jobid", Some(1.5.into()), &["`jobid`", "1.5"]);
    panda("jobid", Some(json!([1])), &["`jobid`", "a list"]);
    panda("taskid", Some("t".into()), &["`taskid`", "\"t\""]);
    panda("status", Some("asleep".into()), &["`status`", "asleep", "PanDA job"]);
    panda("status", None, &["`status`", "missing"]);
    panda("timestamp", None, &["`timestamp`", "missing"]);
    panda("timestamp", Some("soon".into()), &["`timestamp`", "soon", "seconds since 1970"]);
    panda("timestamp", Some(1e300.into()), &["`timestamp`"]);
    panda("computingsite", Some(json!({})), &["`computingsite`", "an object", "text"]);
    panda("msg_type", None, &["`msg_type`", "missing"]);
    for text in ["", "{", "[1]", "7", "{} {}", "{\"msg_type\": \"job_status\", \"jobid\": }"] {
        reason(Dialect::Panda, text, &["JSON"]);
    }
    assert!(read(Dialect::Panda, b"{\"msg_type\": \"\xff\"}").is_err());
    let other = with(job(), "msg_type", Some("file_status".into()));
    assert_eq!(read(Dialect::Panda, other.as_bytes()), Ok(Foreign::Other));
}

#[test]
fn a_panda_task_ends_or_goes_on() {
    let task = json!({
        "msg_type": "task_status", "taskid": 45123456, "status": "done", "timestamp": 1760000000,
    });
    let published = |status: &str| {
        read(Dialect::Panda, with(task.clone(), "status", Some(status.into())).as_bytes()).map(
            |published| match published {
                Foreign::Task(TaskMessage { task: 45_123_456, ended, at: 1_760_000_000_000 }) => {
                    ended
                }
                other => panic!("{other:?}"),
            },
        )
    };
    for status in
        ["done", "finished", "failed", "aborted", "broken", "tobroken", "exhausted", "passed"]
    {
        assert_eq!(published(status), Ok(true), "{status}");
    }
    for status in ["registered", "ready", "running", "paused", "finishing"] {
        assert_eq!(published(status), Ok(false), "{status}");
    }
    reason(Dialect::Panda, &with(task.clone(), "taskid", None), &["`taskid`"]);
}

#[test]
fn real_rucio_messages_are_read() {
    let texts: Vec<&str> = RUCIO.lines().map(str::trim).collect();
    let published: Vec<TransferMessage<'_>> = texts
        .iter()
        .map(|text| match read(Dialect::Rucio, text.as_bytes()) {
            Ok(Foreign::Transfer(published)) => published,
            other => panic!("{other:?}"),
        })
        .collect();
    let first = TransferMessage {
        request: "a0eab3e04e494c7fafb4ec4f7a8a6d48".into(),
        state: TransferStatus::Done,
        at: 1_742_501_709_000,
        activity: "User Subscriptions".into(),
        source: "XRD1".into(),
        destination: "XRD5".into(),
        bytes: 14_912_640,
        error: "".into(),
        replica: "test:something/AT_O_20250113_000004_R00_S00.fits|XRD5".into(),
        arrived: Some(ReplicaMessage {
            name: "test:something/AT_O_20250113_000004_R00_S00.fits".into(),
            kind: DataKind::File,
            dataset: "test:rubin_dataset".into(),
            endpoint: "XRD5".into(),
            at: 1_742_501_709_000,
            bytes: 14_912_640,
            tape: false,
            is_there: true,
        }),
    };
    assert_eq!(published[0], first);
    assert_eq!(
        (&*published[1].request, published[1].at),
        ("70fef00b6ea94eefba5e76d31adcef16", 1_742_417_926_000)
    );
}

/// Of the six messages of lsst-dm/ctrl_ingestd two pairs share a `request-id`: in one the second is a
/// repetition with less beside it, in the other it names another file of the same size, checksum and
/// times. A request of Rucio's is one row of its table, and so one file on its way: each pair is one
/// transfer, published twice with the same bytes, and whichever is left after compaction says all.
#[test]
fn messages_of_one_request_are_one_transfer() {
    let texts: Vec<&str> = RUCIO.lines().map(str::trim).collect();
    let again = |text: &str, changes: &[(&str, Value)]| {
        changes.iter().fold(text.to_owned(), |text, (field, value)| {
            with(serde_json::from_str(&text).unwrap(), field, Some(value.clone()))
        })
    };
    let other_file = again(
        texts[0],
        &[
            ("payload/name", "something/prep.yaml".into()),
            ("payload/dst-url", "root://xrd5:1098//rucio/prep.yaml".into()),
            ("payload/rubin_butler", "dim_file".into()),
            ("payload/rubin_sidecar", "".into()),
        ],
    );
    let objects = again(
        texts[1],
        &[
            ("payload/rubin_butler", 1.into()),
            ("payload/rubin_sidecar", json!({"dataId": {"dataId": {"visit": 330}}})),
            ("payload/dataset", "None".into()),
            ("payload/checksum-md5", "None".into()),
        ],
    );
    let mut intake = fresh(&Limits::default());
    let published: Vec<_> = [texts[0], &other_file, texts[1], &objects]
        .iter()
        .flat_map(|text| says(&mut intake, Dialect::Rucio, text))
        .filter(|(topic, ..)| *topic == Topic::Transfer)
        .collect();
    assert_eq!(published.len(), 4, "each message is published");
    let but_for_the_file = |at: usize| published[at].2.split(", replica: ").next();
    assert_eq!(but_for_the_file(0), but_for_the_file(1));
    assert_eq!(published[2], published[3], "in the same bytes");
    let requests: Vec<&str> = published.iter().map(|it| it.1.as_str()).collect();
    let [one, two] = ["a0eab3e04e494c7fafb4ec4f7a8a6d48", "70fef00b6ea94eefba5e76d31adcef16"];
    assert_eq!(requests, [one, one, two, two], "by request, never by transfer-id");
}

fn transfer(kind: &str) -> Value {
    json!({"event_type": format!("transfer-{kind}"), "created_at": "2025-03-20 20:15:43.153695",
    "payload": {
        "request-id": "r1", "activity": "Express", "src-rse": "XRD1", "dst-rse": "XRD5",
        "bytes": 5, "file-size": 6, "reason": "[FTS] no", "transfer-id": "fts-1",
        "created_at": "2025-03-20 20:14:31.396678", "queued_at": "2025-03-20 20:14:40",
        "submitted_at": "2025-03-20 20:14:56.715866", "transferred_at": "2025-03-20 20:15:09",
    }})
}

#[test]
fn each_state_of_a_rucio_transfer_has_its_own_stamp() {
    let published = |text: &str| match read(Dialect::Rucio, text.as_bytes()) {
        Ok(Foreign::Transfer(published)) => {
            (published.state, published.at, published.error.into_owned(), published.bytes)
        }
        other => panic!("{text}: {other:?}"),
    };
    let base = 1_742_501_640_000; // 20:14:00
    use TransferStatus::{Done, Failed, Queued, Submitted};
    for (kind, state, at, error) in [
        ("queued", Queued, base + 40_000, ""),
        ("submitted", Submitted, base + 56_715, ""),
        ("done", Done, base + 69_000, ""),
        ("failed", Failed, base + 69_000, "[FTS] no"),
        ("preparing", Queued, base + 40_000, ""),
        ("waiting", Queued, base + 40_000, ""),
        ("lost", Failed, base + 69_000, "[FTS] no"),
        ("submission_failed", Failed, base + 69_000, "[FTS] no"),
        ("no_sources", Failed, base + 69_000, "[FTS] no"),
    ] {
        let wanted = (state, at, error.to_owned(), 5);
        assert_eq!(published(&transfer(kind).to_string()), wanted);
    }
    // Where the stamp is not stated, that of the message; a queued one has a second of its own.
    let none = |kind, field| published(&with(transfer(kind), field, Some("None".into()))).1;
    assert_eq!(none("failed", "payload/transferred_at"), base + 103_153);
    assert_eq!(none("queued", "payload/queued_at"), base + 31_396);
    assert_eq!(published(&with(transfer("done"), "payload/bytes", None)).3, 6);
}

#[test]
fn what_is_wrong_with_a_rucio_message_is_named() {
    let rucio = |field: &str, value: Option<Value>, parts: &[&str]| {
        reason(Dialect::Rucio, &with(transfer("done"), field, value), parts);
    };
    rucio("payload/request-id", None, &["`request-id`", "missing"]);
    rucio("payload/request-id", Some("None".into()), &["`request-id`"]);
    rucio("payload/dst-rse", None, &["`dst-rse`"]);
    rucio("payload/bytes", Some("many".into()), &["`bytes`", "many"]);
    rucio("payload/transferred_at", Some("2025-13-20 20:15:09".into()), &["`transferred_at`"]);
    rucio("payload", None, &["`payload`"]);
    rucio("event_type", None, &["`event_type`"]);
    let no_stamp = with(transfer("done"), "payload/transferred_at", None);
    let no_stamp = with(serde_json::from_str(&no_stamp).unwrap(), "created_at", None);
    reason(Dialect::Rucio, &no_stamp, &["`transferred_at`", "`created_at`"]);
    for kind in ["deletion-failed", "transfer-dreaming", "upload-done", "RULE_OK"] {
        let text = json!({"event_type": kind, "payload": "anything"}).to_string();
        assert_eq!(read(Dialect::Rucio, text.as_bytes()), Ok(Foreign::Other), "{kind}");
    }
}

#[test]
fn an_rse_is_its_site_by_the_topology_else_by_the_storage_facts_else_itself() {
    let mut intake = fresh(&Limits::default());
    let mut bytes = Vec::new();
    for (name, site) in [("XRD1", "OVERRULED"), ("XRD5", "FIVE")] {
        let storage = crate::drive::yard::storage(name, site, 1);
        bytes.clear();
        record::write(&mut bytes, &storage);
        intake.learn(Topic::Storage, Some(name.as_bytes()), Some(&bytes), &mut Records::default());
    }
    let sites = |intake: &mut _, text: &str| {
        let published = says(intake, Dialect::Rucio, text);
        assert_eq!(
            (published[0].0, published[0].1.as_str(), published.len()),
            (Topic::Transfer, "r1", 1)
        );
        let of = |field: &str| {
            let from = published[0].2.find(&format!("{field}: \"")).unwrap() + field.len() + 3;
            published[0].2[from..].split('"').next().unwrap().to_owned()
        };
        (of("source"), of("destination"))
    };
    let text = transfer("done").to_string();
    assert_eq!(sites(&mut intake, &text), ("ONE".into(), "FIVE".into()));
    let elsewhere = with(transfer("done"), "payload/src-rse", Some("XRD9".into()));
    assert_eq!(sites(&mut intake, &elsewhere).0, "XRD9");
    intake.learn(Topic::Storage, Some(b"XRD5"), None, &mut Records::default());
    assert_eq!(sites(&mut intake, &text).1, "XRD5");
}

fn statistics() -> Value {
    json!({"method": "report_worker_statistics", "harvester_id": "cern_central",
    "panda_queue": "CERN", "timestamp": 1760000000,
    "statistics": {
        "user": {"SCORE": {"running": 3, "submitted": 1}},
        "managed": {"SCORE": {"running": 4}, "MCORE": {"running": 5, "submitted": 2, "idle": 9}},
    }})
}

#[test]
fn worker_statistics_become_counts_of_a_queue() {
    let mut intake = fresh(&Limits::default());
    let published = says(&mut intake, Dialect::Harvester, &statistics().to_string());
    let keys: Vec<&str> = published.iter().map(|it| it.1.as_str()).collect();
    assert_eq!(keys, ["CERN/cern_central"]);
    assert!(published[0].2.contains("submitted: 3, running: 12"), "{}", published[0].2);
    assert!(published[0].2.contains("at: 1760000000000"), "{}", published[0].2);
    // What a report does not name is not there any more; what is no resource type never was.
    for (statistics_then, counts) in [
        (json!({"managed": {"MCORE": {"running": 6}}}), "submitted: 0, running: 6"),
        (json!({}), "submitted: 0, running: 0"),
        (
            json!({"managed": {"Undefined": {"running": 70}, "SCORE": {"running": -1, "submitted": 3}},
                "ANY": {"ANY": {"submitted": 9}}}),
            "submitted: 3, running: 0",
        ),
    ] {
        let text = with(statistics(), "statistics", Some(statistics_then));
        let then = says(&mut intake, Dialect::Harvester, &text);
        assert_eq!((then.len(), then[0].1.as_str()), (1, "CERN/cern_central"));
        assert!(then[0].2.contains(counts), "{text}: {}", then[0].2);
    }
    let as_text = statistics()["statistics"].to_string();
    let text = with(statistics(), "statistics", Some(as_text.into()));
    assert_eq!(says(&mut intake, Dialect::Harvester, &text), published);
    let unstamped = with(statistics(), "timestamp", None);
    let published = says(&mut intake, Dialect::Harvester, &unstamped);
    assert!(published[0].2.contains("at: 1760000000123"), "the broker's stamp: {}", published[0].2);
    for (field, value, part) in [
        ("panda_queue", None, "`panda_queue`"),
        ("harvester_id", None, "`harvester_id`"),
        ("statistics", Some(json!("x")), "`statistics`"),
        ("statistics/user", Some(json!(7)), "`statistics.user`"),
        ("statistics/user/SCORE", Some(json!(7)), "`statistics.user.SCORE`"),
        ("statistics/user/SCORE/running", Some(json!("x")), "`statistics.user.SCORE.running`"),
        ("method", None, "`method`"),
    ] {
        reason(Dialect::Harvester, &with(statistics(), field, value), &[part]);
    }
}

#[test]
fn workers_that_run_are_nodes_that_work() {
    let message = json!({"method": "update_workers", "harvester_id": "h", "timestamp": 1760000000.5,
    "workers": [
        {"workerID": 1, "computingSite": "CERN", "queueName": "CERN-own", "status": "running",
         "nodeID": "n1", "nCore": 8, "pandaid_list": [1, 2]},
        {"workerID": 2, "queueName": "BNL", "status": "running", "nodeID": "n2"},
        {"workerID": 3, "computingSite": "CERN", "status": "submitted", "nodeID": null},
        {"workerID": 4, "computingSite": "CERN", "status": "running", "nodeID": null},
    ]});
    let worker =
        |queue: &'static str, node: &'static str| Worker { queue: queue.into(), node: node.into() };
    let running = vec![worker("CERN", "n1"), worker("BNL", "n2")];
    let workers = Workers { at: Some(1_760_000_000_500), running };
    let text = message.to_string();
    assert_eq!(read(Dialect::Harvester, text.as_bytes()), Ok(Foreign::Workers(workers)));
    let published = says(&mut fresh(&Limits::default()), Dialect::Harvester, &text);
    let keys: Vec<&str> = published.iter().map(|it| it.1.as_str()).collect();
    assert_eq!(keys, ["CERN/job/n1", "BNL/job/n2"]);
    reason(Dialect::Harvester, &with(message.clone(), "workers", None), &["`workers`"]);
    reason(Dialect::Harvester, &with(message, "workers/0/status", None), &["`workers.status`"]);
}

#[test]
fn what_cannot_be_read_is_a_dead_letter_with_its_place_and_its_reason() {
    let limits = Limits { dead_letter_bytes: 12, max_record_bytes: 2_048, ..Limits::default() };
    let mut intake = fresh(&limits);
    let published = says(&mut intake, Dialect::Panda, "{\"msg_type\": 7, \"jobid\": true}");
    assert_eq!(
        (published.len(), published[0].0, published[0].1.as_str()),
        (1, Topic::DeadLetter, "key")
    );
    for part in [
        "(\"topic\", \"panda.jobs\")",
        "(\"partition\", \"2\")",
        "(\"offset\", \"7\")",
        "(\"reason\", \"malformed\")",
        "(\"length\", \"30\")",
        "(\"cut_to\", \"12\")",
        "(\"dialect\", \"panda\")",
    ] {
        assert!(published[0].2.contains(part), "{part} is not in {}", published[0].2);
    }
    assert!(published[0].2.ends_with("] {\"msg_type\":"), "{}", published[0].2);
    let long = format!("{{\"msg_type\": \"{}\"}}", "x".repeat(3_000));
    let published = says(&mut intake, Dialect::Panda, &long);
    assert!(published[0].2.contains("max_record_bytes of 2048"), "{}", published[0].2);
    let named = with(job(), "computingsite", Some("q".repeat(1_025).into()));
    let published = says(&mut intake, Dialect::Panda, &named);
    assert!(published[0].2.contains("a name of 1025 bytes"), "{}", published[0].2);
    let mut words = Records::default();
    intake.meet(Dialect::Panda, super::ORIGIN, Some(&[b'k'; 3_000]), Some(b"x"), &mut words);
    let letter = words.iter().next().unwrap();
    assert_eq!(letter.key.len(), limits.name_bytes);
    let header = |wanted: &str| {
        let found = letter.headers.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    assert_eq!((header("key_cut_to"), header("key_length")), (Some("1024"), Some("3000")));
    let mut words = Records::default();
    intake.meet(Dialect::Panda, super::ORIGIN, None, None, &mut words);
    assert!(events(&words).is_empty(), "a null is nothing");
    let counts = intake.take_counts();
    assert_eq!(counts.of(Dialect::Panda, Taken::DeadLetter), 4);
    assert_eq!(counts.of(Dialect::Panda, Taken::Ignored), 1);
}

#[test]
fn the_dead_letter_of_a_decoded_message_holds_what_its_topic_holds() {
    let (mut intake, mut words) = (super::fresh(&Limits::default()), Records::default());
    let decoded = (Some(b"{}".as_slice()), Some(br#"{"msg_type": 7}"#.as_slice()));
    let raw = (Some(b"\0\0\0\0\x01k".as_slice()), Some(b"\0\0\0\0\x02v".as_slice()));
    intake.meet_decoded(Dialect::Panda, super::ORIGIN, decoded, raw, &mut words);
    let letter = words.iter().next().expect("a dead letter");
    assert_eq!(letter.topic, Topic::DeadLetter);
    assert_eq!((Some(letter.key), Some(letter.value)), raw);
    assert!(letter.headers.contains(&("length", "6".to_owned())), "{:?}", letter.headers);
}

/// One of Rucio's messages on a file or dataset.
fn moved(event_type: &str, payload: Value) -> String {
    let created_at = "2025-03-20 20:15:43.153695";
    json!({"event_type": event_type, "created_at": created_at, "payload": payload}).to_string()
}

#[test]
fn copies_that_come_and_go_become_replica_records_of_one_endpoint() {
    let file = json!({"scope": "mc", "name": "f1", "rse": "XRD1", "bytes": 7, "dataset": "set",
        "datasetScope": "mc"});
    let set = json!({"scope": "mc", "name": "set", "rse": "XRD1", "rule_id": "7"});
    for (kind, payload, key, parts) in [
        ("add-replicas", &file, "mc:f1|XRD1", ["dataset: \"mc:set\"", "files: 1", "kind: File"]),
        ("deletion-done", &file, "mc:f1|XRD1", ["locations: []", "kind: File", "bytes: 7"]),
        ("deletion-not-found", &file, "mc:f1|XRD1", ["locations: []", "kind: File", "bytes: 7"]),
        (
            "DATASETLOCK_OK",
            &set,
            "mc:set|XRD1",
            ["complete: true", "kind: Dataset", "dataset: \"\""],
        ),
        ("datasetlock_ok", &set, "mc:set|XRD1", ["complete: true", "kind: Dataset", "files: 0"]),
    ] {
        let mut intake = fresh(&Limits::default());
        let published = says(&mut intake, Dialect::Rucio, &moved(kind, payload.clone()));
        let [(Topic::Replica, found, event)] = published.as_slice() else {
            panic!("{kind}: {published:?}")
        };
        assert_eq!(found, key, "{kind}");
        for part in parts {
            assert!(event.contains(part), "{kind}: {part} is not in {event}");
        }
    }
    let mut intake = fresh(&Limits::default());
    let done = RUCIO.lines().next().expect("a message");
    let published = says(&mut intake, Dialect::Rucio, done);
    let topics: Vec<Topic> = published.iter().map(|(topic, ..)| *topic).collect();
    assert_eq!(topics, [Topic::Transfer, Topic::Replica]);
    for (field, parts) in [
        ("payload/rse", ["field `rse` is missing", "wants a word"]),
        ("payload/name", ["field `name` is missing", "wants a word"]),
        ("created_at", ["field `created_at` is missing", "wants a time"]),
    ] {
        let message = json!({"event_type": "deletion-done", "created_at": 5, "payload": file});
        reason(Dialect::Rucio, &with(message, field, None), &parts);
    }
}
