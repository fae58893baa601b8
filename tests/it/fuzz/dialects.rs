//! Other systems' JSON on its way through intake: each message is read or becomes a dead letter, and
//! what is published can be read again.

use super::feed;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Event;
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::{Intake, Origin, Records, Taken};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::dialect::Dialect;

const PANDA: [&str; 2] = [
    r#"{"msg_type": "job_status", "jobid": 6543210001, "taskid": 45, "status": "running",
        "timestamp": 1760000000, "computingsite": "CERN", "inputs": ["a"], "new": {"x": [1.5]}}"#,
    r#"{"msg_type": "task_status", "taskid": "45", "status": "done", "timestamp": 1760000000.5}"#,
];
const HARVESTER: [&str; 2] = [
    r#"{"method": "report_worker_statistics", "harvester_id": "h", "panda_queue": "CERN",
        "timestamp": 1760000000, "statistics": {"user": {"SCORE": {"running": 3, "submitted": 1}}}}"#,
    r#"{"method": "update_workers", "harvester_id": "h", "timestamp": "2025-03-20 20:15:43",
        "workers": [{"computingSite": "CERN", "status": "running", "nodeID": "n1"}]}"#,
];
const RUCIO: &str = include_str!("../../fixtures/rucio_transfer_done.ndjson");

const PANDA_CDC: [&str; 5] = [
    r#"{"before": null, "after": {"pandaid": 7, "jeditaskid": 45, "jobstatus": "running", "statechangetime": 1760000000000000,
        "modificationtime": 1760000000000000, "attemptnr": 0, "computingsite": "CERN", "cpuconsumptiontime": 1800.0, "maxpss": 14020,
        "modificationhost": "slot1@wn0", "currentpriority": 999, "gshare": "User Analysis", "corecount": 1}, "op": "u",
        "source": {"table": "jobsactive4", "snapshot": "false", "ts_ms": 1760000000100, "lsn": 46433576, "txId": 70610, "sequence": "["46433336","46433576"]"}}"#,
    r#"{"before": {"pandaid": 7, "jobstatus": "activated"}, "after": null, "op": "d", "source": {"table": "jobsactive4",
        "snapshot": "false", "ts_ms": 1760000000200, "lsn": 46433676, "txId": 70611, "sequence": "["46433436","46433676"]"}}"#,
    r#"{"before": null, "after": {"PANDAID": "8", "JOBSTATUS": "defined", "STATECHANGETIME": 1760000000000}, "op": "r",
        "source": {"table": "JOBSDEFINED4", "snapshot": "last", "ts_ms": 1760000000300, "scn": "46433676"}}"#,
    r#"{"before": null, "after": {"harvester_id": "h", "computingsite": "CERN", "resourcetype": "SCORE", "status": "running", "jobtype": "user",
        "n_workers": 3, "lastupdate": 1760000000000000}, "op": "c", "source": {"table": "harvester_worker_stats", "snapshot": "false",
        "ts_ms": 1760000000400, "lsn": 46434676, "txId": 70612}}"#,
    r#"{"before": null, "after": {"jeditaskid": 45, "status": "done", "statechangetime": 1760000000000000}, "op": "u",
        "source": {"table": "jedi_tasks", "snapshot": "false", "ts_ms": 1760000000500, "lsn": 46435676, "txId": 70613}}"#,
];

/// Values that somebody might put where another is expected.
pub(super) const WORST: [&str; 22] = [
    "null",
    "true",
    "-0",
    "-1",
    "1e308",
    "1e999",
    "-1e-999",
    "0.1",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "123456789012345678901234567890123456789012345678901234567890",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\\udc00\\ud800\"",
    "\"\u{0}\"",
    "\"\u{feff}\u{202e}\"",
    "\"NaN\"",
    "[]",
    "{}",
    "[[[[{\"a\": [1, {}]}]]]]",
];

/// Whether a message could be read; it must be a dead letter otherwise, and nothing else.
fn takes(intake: &mut Intake, dialect: Dialect, bytes: &[u8]) -> bool {
    let origin = Origin { topic: "foreign", partition: 0, offset: 0, appended_at: 1 };
    let (mut words, codec, mut arena) = (Records::default(), Codec::default(), Arena::default());
    intake.meet(dialect, origin, None, Some(bytes), &mut words);
    intake.publish_again(usize::MAX, &mut words);
    for word in words.iter().filter(|word| word.topic != Topic::DeadLetter) {
        let event = codec.read(word.topic, Some(word.key), Some(word.value), &mut arena);
        assert!(!matches!(event, Event::Garbled(_)), "what we say ourselves: {event:?}");
    }
    let letters = words.iter().filter(|word| word.topic == Topic::DeadLetter).count();
    let counts = intake.take_counts();
    let counted: u64 = Taken::ALL.iter().map(|taken| counts.of(dialect, *taken)).sum();
    assert_eq!(counted, 1, "each is counted once");
    assert_eq!(letters as u64, counts.of(dialect, Taken::DeadLetter));
    assert!(letters == 0 || words.len() == 1, "a dead letter comes alone");
    letters == 0
}

fn fresh() -> Intake {
    let mut intake = Intake::new("atlas", Default::default(), &Limits::default());
    intake.caught_up();
    intake
}

fn corpus(dialect: Dialect) -> Vec<Vec<u8>> {
    let texts: Vec<&str> = match dialect {
        Dialect::Panda => PANDA.to_vec(),
        Dialect::Harvester => HARVESTER.to_vec(),
        Dialect::Rucio => RUCIO.lines().collect(),
        Dialect::PandaCdc => PANDA_CDC.to_vec(),
    };
    texts.into_iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn a_foreign_message_is_read_or_a_dead_letter() {
    let mut inputs = 0;
    for dialect in Dialect::ALL {
        let mut intake = fresh();
        inputs += feed(&format!("dialect {}", dialect.name()), 1, &corpus(dialect), |bytes| {
            takes(&mut intake, dialect, bytes)
        });
    }
    println!("fuzz dialects: {inputs} inputs in all");
}

/// Every value of every message in turn is replaced by the worst there is.
#[test]
fn the_worst_value_in_any_field_is_read_or_a_dead_letter() {
    let deep = ["[", "{\"a\":"].map(|open| open.repeat(100_000));
    let worst = WORST.into_iter().chain(deep.iter().map(String::as_str));
    let long = format!("\"{}\"", "9".repeat(100_000));
    let worst: Vec<&str> = worst.chain([long.as_str()]).collect();
    let (mut inputs, mut could) = (0, 0);
    for dialect in Dialect::ALL {
        let mut intake = fresh();
        for bytes in corpus(dialect) {
            let text = String::from_utf8(bytes).unwrap();
            for (at, _) in text.match_indices(": ") {
                let (before, after) = text.split_at(at + 2);
                let whole: serde_json::StreamDeserializer<'_, _, serde_json::Value> =
                    serde_json::Deserializer::from_str(after).into_iter();
                let mut whole = whole;
                // A colon within a text begins no value of its own.
                if !matches!(whole.next(), Some(Ok(_))) {
                    continue;
                }
                let rest = &after[whole.byte_offset()..];
                for value in &worst {
                    let mangled = format!("{before}{value}{rest}");
                    could += u64::from(takes(&mut intake, dialect, mangled.as_bytes()));
                    inputs += 1;
                }
                for bytes in [&b"\"\xff\xfe\""[..], b"\"\xc3\"", b"\"\xed\xa0\x80\""] {
                    let mangled = [before.as_bytes(), bytes, rest.as_bytes()].concat();
                    could += u64::from(takes(&mut intake, dialect, &mangled));
                    inputs += 1;
                }
            }
        }
    }
    assert!(inputs > 1_000, "{inputs}");
    println!("fuzz worst values: {inputs} inputs, {could} read");
}
