//! A record that the engine would not read, for its length or a name's, is refused by the import.

use super::standing::{Standing, Web, held, page, printed, topics, verb};
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Configuration, Garbled, JobState, Parameter, Queue};
use yardmaster::core::limits::Limits;
use yardmaster::core::state::{Setting, State};
use yardmaster::drive::fold::fold_batch;
use yardmaster::drive::port::{Batch, Log};
use yardmaster::shell::dirlog::{DirLog, DirOptions, Mode};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::oversize::oversize;
use yardmaster::wire::record;

/// Of a kind: what is well, the same with something too long, and how that is named.
struct Case {
    kind: &'static str,
    topic: Topic,
    well: Value,
    long: Value,
    key: &'static str,
    named: &'static [&'static str],
}

const BEYOND: &str = "a name of 1025 bytes, more than name_bytes of 1024";

fn cases() -> Vec<Case> {
    let (name, text) = ("x".repeat(1_025), "y".repeat(1_100_000));
    let queue = |cloud: &str| {
        let dump: Value = serde_json::from_str(super::CRIC).unwrap();
        let mut queue = dump["ALL"].clone();
        queue["cloud"] = json!(cloud);
        json!({"A": dump["ALL"], "B": queue})
    };
    let parameter = |value: &str| json!([{"app": "jedi", "component": "c", "key": "K", "type": "string", "value": value}]);
    let slots = |share: &str| json!([{"pandaqueuename": "A", "gshare": share, "numslots": 1}]);
    vec![
        Case {
            kind: "cric",
            topic: Topic::Queue,
            well: queue("US"),
            long: queue(&name),
            key: "B",
            named: &["queue B: field `cloud`: found \"xxx", BEYOND],
        },
        Case {
            kind: "gdpconfig",
            topic: Topic::Parameter,
            well: parameter("short"),
            long: parameter(&text),
            key: "jedi/c/K/",
            named: &["parameter jedi/c/K/: 11000", "bytes, more than max_record_bytes of 1048576"],
        },
        Case {
            kind: "slots",
            topic: Topic::Pilot,
            well: slots("Express"),
            long: slots(&name),
            key: "A/slots/Express/",
            named: &["pilot A/slots/xxx", "field `gshare`", BEYOND],
        },
    ]
}

/// The values of a key, in their order.
fn values(dir: &Path, topic: Topic, key: &str) -> Vec<Vec<u8>> {
    let mut log = DirLog::open(dir, Mode::Read, &topics(), DirOptions::default()).unwrap();
    let mut values = Vec::new();
    for span in log.lanes().unwrap().into_iter().filter(|span| span.lane.topic == topic) {
        log.scan(span.lane, 0, span.stable_end, &mut |record| {
            if record.key == Some(key.as_bytes()) {
                values.push(record.value.unwrap_or_default().to_vec());
            }
            Ok(())
        })
        .unwrap();
    }
    values
}

#[test]
fn what_the_engine_would_not_read_is_named_and_the_last_good_record_stays() {
    let place = TempDir::new().unwrap();
    for case in cases() {
        let (file, dir) = (place.path().join("source.json"), place.path().join(case.kind));
        let import = |text: &Value, more: &[&str]| {
            std::fs::write(&file, text.to_string()).unwrap();
            let to = ["import", case.kind, file.to_str().unwrap(), "--dir", dir.to_str().unwrap()];
            printed(&verb(&[&to[..], more].concat()).output().unwrap())
        };
        let prune = ["--prune", "--may-shrink"];
        let (code, out, errors) = import(&case.well, &prune);
        assert_eq!(code, Some(0), "{}: {out}{errors}", case.kind);
        let before = values(&dir, case.topic, case.key);
        for more in [&prune[..], &["--dry-run"], &[]] {
            let (code, out, errors) = import(&case.long, more);
            assert_eq!(code, Some(1), "{}: {out}{errors}", case.kind);
            let remedy = "shorten it at its source, or raise the limit in the topology; left out";
            for part in case.named.iter().chain(&[remedy]) {
                assert!(errors.contains(part), "{}: no {part:?} in {out}{errors}", case.kind);
            }
            let complaints = errors.lines().filter(|line| line.contains("left out")).count();
            assert_eq!(complaints, 1, "{}: {errors}", case.kind);
        }
        assert_eq!(before.len(), 1, "{}", case.kind);
        // A share of another name is another slot figure: the old one is gone from the source.
        if case.kind != "slots" {
            assert_eq!(values(&dir, case.topic, case.key), before, "{}", case.kind);
            assert_eq!(held(&dir, case.topic).get(case.key), Some(&true), "{}", case.kind);
        }
    }
}

#[test]
fn a_job_with_a_name_that_is_too_long_is_left_out() {
    let place = TempDir::new().unwrap();
    let (file, dir) = (place.path().join("jobs.json"), place.path().join("yard"));
    let row = |job: u64, user: &str| {
        json!({"PANDAID": job, "JOBSTATUS": "running", "STATECHANGETIME": "2025-03-20 20:15:43",
            "COMPUTINGSITE": "A", "PRODUSERNAME": user})
    };
    let lines = [row(1, "ann"), row(2, &"x".repeat(1_025))].map(|row| row.to_string());
    std::fs::write(&file, lines.join("\n")).unwrap();
    let args = ["import", "jobs", file.to_str().unwrap(), "--dir", dir.to_str().unwrap()];
    let (_, out, errors) = printed(&verb(&args).output().unwrap());
    assert!(out.contains("job-state: 1 records published"), "{out}{errors}");
    assert!(errors.contains("job-state 2: field `user`: found"), "{out}{errors}");
    assert_eq!(held(&dir, Topic::JobState).into_keys().collect::<Vec<_>>(), ["1"]);
}

#[test]
fn an_import_that_goes_on_counts_what_is_too_long_among_what_cannot_be_read() {
    let row = |place: &str| {
        json!([{"account": "ann", "rse_expression": "S", "bytes_limit": 9, "used_bytes": 1},
            {"account": "bob", "rse_expression": place, "bytes_limit": 9, "used_bytes": 1}])
    };
    let (place, web) = (TempDir::new().unwrap(), Web::start(&row(&"x".repeat(1_025)).to_string()));
    let (url, dir) = (web.url(), place.path().join("yard"));
    let log = ["--dir", dir.to_str().unwrap(), "--every", "1s", "--http", "127.0.0.1:0"];
    let standing = Standing::start(&[&["import", "quotas", &url], &log[..]].concat());
    let logged = standing.wait("WARN");
    let address = logged.split("metrics on http://").nth(1).unwrap().lines().next().unwrap();
    let logged = standing.wait("WARN");
    assert!(logged.contains("quota user/bob xxx") && logged.contains("left out"), "{logged}");
    let (_, metrics) = page(address, "/metrics");
    let count = metrics.split("import=\"quotas\",outcome=\"unreadable\"} ").nth(1);
    let count = count.and_then(|rest| rest.lines().next()?.parse::<u64>().ok());
    assert!(count.is_some_and(|count| count > 0), "{metrics}");
}

/// The import and the engine have one opinion of each record, at and beyond each bound.
#[test]
fn an_import_refuses_what_the_engine_refuses_and_nothing_else() {
    let limits = Limits { max_record_bytes: 2_048, name_bytes: 64, ..Limits::default() };
    for length in [1, 63, 64, 65, 500, 1_900, 2_100] {
        let text = "x".repeat(length);
        let queue = Queue { name: "A".into(), workflow: text.clone(), ..Queue::default() };
        let parameter = Parameter { key: "K".into(), value: text.clone(), ..Parameter::default() };
        let job = JobState { job: "1", user: &text, ..JobState::default() };
        let mut written = Vec::new();
        record::write(&mut written, &job);
        let mut all = vec![(Topic::JobState, written)];
        for it in [Configuration::from(queue), parameter.into()] {
            let mut written = Vec::new();
            record::write_configuration(&mut written, &it);
            all.push((it.topic(), written));
        }
        for (topic, value) in all {
            let setting = Setting { limits: limits.clone(), ..Setting::default() };
            let (mut state, codec) = (State::new(setting), Codec::new(limits.max_record_bytes));
            let (mut batch, mut garbled) = (Batch::default(), Vec::new());
            batch.push(Lane::new(topic, 0), 0, 1_000, None, Some(&value));
            let mut arena = Arena::default();
            fold_batch(&mut state, &codec, &mut arena, &batch, &batch.records, &mut garbled);
            let is_refused = garbled == [(0, Garbled::Oversized)];
            assert_eq!(is_refused, !garbled.is_empty(), "{topic:?} {length}: {garbled:?}");
            let why = oversize(topic, &value, &limits);
            assert_eq!(why.is_some(), is_refused, "{topic:?} {length}: {why:?}");
        }
    }
}
