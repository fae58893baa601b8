//! What a source states otherwise without another time holds: the record that is published is later
//! than the one that it replaces, so that what is known is what compaction leaves.

use super::standing::{printed, topics, verb};
use serde_json::{Value, json};
use tempfile::TempDir;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Configuration, Event, is_newer};
use yardmaster::core::state::{Setting, State};
use yardmaster::drive::port::Log;
use yardmaster::shell::dirlog::{DirLog, DirOptions, Mode};
use yardmaster::wire::avro::{Arena, Codec};

const STATED: i64 = 1_760_000_000_000;

fn link(queued: u64) -> Value {
    json!({"A:B": {"src": "A", "dst": "B", "closeness": {"latest": 3},
        "files": {"queued": {"total": {"latest": queued, "timestamp": "2025-10-09T08:53:20"}}}}})
}

/// The last record of the topic, and what a state knows of it that read all of them.
fn last(dir: &std::path::Path, topic: Topic) -> (Configuration, Configuration) {
    let mut log = DirLog::open(dir, Mode::Read, &topics(), DirOptions::default()).unwrap();
    let mut state = State::new(Setting { domain: "atlas".into(), ..Setting::default() });
    let (codec, mut arena, mut last) = (Codec::default(), Arena::default(), None);
    for span in log.lanes().unwrap().into_iter().filter(|span| span.lane.topic == topic) {
        let mut offset = 0;
        log.scan(span.lane, 0, span.stable_end, &mut |record| {
            let event = codec.read(topic, record.key, record.value, &mut arena);
            state.fold(Lane::new(topic, 0), offset, record.timestamp, &event);
            offset += 1;
            if let Event::Configuration(record) = event {
                last = Some(*record);
            }
            arena.clear();
            Ok(())
        })
        .unwrap();
    }
    let last = last.expect("a record");
    let known = state.facts.links.of(&last.name()).unwrap().current(is_newer).unwrap().clone();
    (last, known.into())
}

#[test]
fn what_is_stated_otherwise_without_another_time_holds() {
    let place = TempDir::new().unwrap();
    let (file, dir) = (place.path().join("links.json"), place.path().join("yard"));
    for (flags, name) in [(&["--prune"][..], "first"), (&[], "second"), (&["--prune"], "third")] {
        for queued in [7, 9, 7, 2, 9] {
            std::fs::write(&file, link(queued).to_string()).unwrap();
            let to = ["--dir", dir.to_str().unwrap(), "--name", name];
            let words =
                [&["import", "netmetrics", file.to_str().unwrap()], &to[..], flags].concat();
            let (code, out, errors) = printed(&verb(&words).output().unwrap());
            assert_eq!(code, Some(0), "{out}{errors}");
            let (last, known) = last(&dir, Topic::Link);
            assert_eq!(known, last, "{name}: {queued}");
            let Configuration::Link(link) = last else { panic!("{last:?}") };
            let now: Vec<u64> = link.queued.iter().map(|it| it.files).collect();
            assert_eq!(now, [queued], "{name}");
            assert!(link.changed_at >= STATED && link.changed_at < STATED + 86_400_000, "{link:?}");
        }
    }
}
