//! What a source states otherwise without another time holds: the record that is published is later
//! than the one that it replaces, so that what is known is what compaction leaves.

use super::kept::{Case, cases, import};
use super::standing::{printed, topics, verb};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Configuration, Event, Pilot, is_newer};
use yardmaster::core::state::digest::records_digest;
use yardmaster::core::state::{Setting, State};
use yardmaster::drive::port::Log;
use yardmaster::shell::dirlog::{DirLog, DirOptions, Mode};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::record;

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

/// A record as it was read: key, value, and the log's stamp, which bounds the times that it states.
type Read = (String, Option<Vec<u8>>, i64);

/// All records of a topic, in their order.
fn read(dir: &Path, topic: Topic) -> Vec<Read> {
    let mut log = DirLog::open(dir, Mode::Read, &topics(), DirOptions::default()).unwrap();
    let mut read = Vec::new();
    for span in log.lanes().unwrap().into_iter().filter(|span| span.lane.topic == topic) {
        log.scan(span.lane, 0, span.stable_end, &mut |record| {
            let key = String::from_utf8(record.key.unwrap().to_vec()).unwrap();
            read.push((key, record.value.map(<[u8]>::to_vec), record.timestamp));
            Ok(())
        })
        .unwrap();
    }
    read
}

/// The digest of what a state knows that read these records and no others.
fn known(topic: Topic, records: &[Read]) -> String {
    let mut state = State::new(Setting { domain: "atlas".into(), ..Setting::default() });
    let (codec, mut arena) = (Codec::default(), Arena::default());
    for (offset, (key, value, at)) in records.iter().enumerate() {
        let event = codec.read(topic, Some(key.as_bytes()), value.as_deref(), &mut arena);
        state.fold(Lane::new(topic, 0), offset as u64, *at, &event);
        arena.clear();
    }
    records_digest(&state)
}

/// A record with its time moved on, and its content without one.
fn moved(topic: Topic, key: &str, value: &[u8], by: i64) -> (Vec<u8>, String) {
    let (codec, mut arena) = (Codec::default(), Arena::default());
    let mut bytes = Vec::new();
    let content = match codec.read(topic, Some(key.as_bytes()), Some(value), &mut arena) {
        Event::Configuration(it) => {
            record::write_configuration(&mut bytes, &it.changed(it.changed_at() + by));
            format!("{:?}", it.changed(0))
        }
        Event::Pilot(Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at }) => {
            let at = at + by;
            let moved = Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at };
            record::write(&mut bytes, &moved);
            format!("{queue} {gshare} {resource_type} {slots} {expires_at}")
        }
        other => panic!("{other:?}"),
    };
    (bytes, content)
}

/// Records as text.
fn texts(topic: Topic, records: &[Read]) -> Vec<String> {
    let (codec, mut arena) = (Codec::default(), Arena::default());
    let text = |(key, value, _): &Read| {
        format!("{:?}", codec.read(topic, Some(key.as_bytes()), value.as_deref(), &mut arena))
    };
    records.iter().map(text).collect()
}

/// What compaction leaves of a topic, and its content without times. Its fold is that of all.
fn left(case: &Case, place: &Path) -> BTreeMap<String, String> {
    let all = read(&place.join(case.kind), case.topic);
    let last: BTreeMap<String, Read> = all.iter().map(|it| (it.0.clone(), it.clone())).collect();
    // That all was confirmed is published as a parameter, as of each import.
    let is_fact = |key: &str| !key.starts_with("yardmaster/import/");
    let all: Vec<Read> = all.into_iter().filter(|(key, ..)| is_fact(key)).collect();
    let last = last.into_values().filter(|(key, value, _)| value.is_some() && is_fact(key));
    let last: Vec<Read> = last.collect();
    let (folded, compacted) = (known(case.topic, &all), known(case.topic, &last));
    assert_eq!(folded, compacted, "{}: {:?}", case.kind, texts(case.topic, &all));
    let content = |(key, value, _): Read| {
        let (_, content) = moved(case.topic, &key, &value.unwrap(), 0);
        (key, content)
    };
    // A slot figure is taken back by a negative one, which is ignored.
    let stands = |(_, content): &(String, String)| !content.contains(" -1 ");
    last.into_iter().map(content).filter(stands).collect()
}

/// The source with each of its values changed alone, and with each of its things left out.
fn variants(of: &Value) -> Vec<Value> {
    match of {
        Value::Array(items) => changed(
            items.len(),
            |at| &items[at],
            |at, it| {
                let mut items = items.clone();
                match it {
                    Some(it) => items[at] = it,
                    None => drop(items.remove(at)),
                }
                Value::Array(items)
            },
        ),
        Value::Object(map) => {
            let keys: Vec<&String> = map.keys().collect();
            changed(
                keys.len(),
                |at| &map[keys[at]],
                |at, it| {
                    let mut map = map.clone();
                    match it {
                        Some(it) => drop(map.insert(keys[at].clone(), it)),
                        None => drop(map.remove(keys[at])),
                    }
                    Value::Object(map)
                },
            )
        }
        Value::Number(number) => vec![json!(number.as_f64().unwrap() as i64 + 1)],
        Value::Bool(flag) => vec![json!(!flag)],
        Value::String(text) => vec![json!(format!("{text}1"))],
        Value::Null => vec![json!(3)],
    }
}

fn changed<'v>(
    count: usize,
    item: impl Fn(usize) -> &'v Value,
    with: impl Fn(usize, Option<Value>) -> Value,
) -> Vec<Value> {
    let of = |at: usize| {
        let each = variants(item(at)).into_iter().map(Some).chain([None]);
        each.map(|it| with(at, it)).collect::<Vec<_>>()
    };
    (0..count).flat_map(of).collect()
}

/// What an import reads of a queue is in few of its columns.
fn few(mut case: Case) -> Case {
    if case.kind == "cric" {
        let queue = case.first["C"].clone();
        let columns = [
            "name",
            "siteid",
            "status",
            "type",
            "cloud",
            "corecount",
            "maxrss",
            "maxtime",
            "capability",
            "atlas_site",
            "transferringlimit",
            "wnconnectivity",
            "astorages",
        ];
        let kept = columns.map(|it| (it.to_owned(), queue[it].clone()));
        case.first = json!({"C": Value::Object(kept.into_iter().collect())});
    }
    case
}

/// Most variants of one source.
const VARIANTS: usize = 12;

/// The law, over all importers: whatever changes alone, back and again, also where the records on
/// the topic are of a host whose clock was ahead, by less than the fold takes for a wrong one.
#[test]
fn whatever_changes_alone_the_last_record_is_what_is_known() {
    let place = TempDir::new().unwrap();
    for case in cases().into_iter().map(few) {
        let kind = case.kind;
        let first = case.first.to_string();
        let (code, out, errors) = import(&case, place.path(), &first);
        assert_eq!(code, Some(0), "{kind}: {out}{errors}");
        let begun = left(&case, place.path());
        ahead(&case, place.path());
        let mut differed = 0;
        let variants = variants(&case.first);
        let step = variants.len().div_ceil(VARIANTS);
        for variant in variants.into_iter().step_by(step) {
            let (_, out, errors) = import(&case, place.path(), &variant.to_string());
            differed += u32::from(left(&case, place.path()) != begun);
            import(&case, place.path(), &first);
            assert_eq!(left(&case, place.path()), begun, "{kind}: {variant}: {out}{errors}");
        }
        assert!(differed > 2, "{kind}: {differed}");
    }
}

/// By how much a clock was ahead; ms.
const AHEAD: i64 = 250_000;

/// Each record again, of a clock that is ahead, as the import that published it would.
fn ahead(case: &Case, place: &Path) {
    let (dir, mut last) = (place.join(case.kind), BTreeMap::new());
    let mut log = DirLog::open(&dir, Mode::Write, &topics(), DirOptions::default()).unwrap();
    for span in log.lanes().unwrap().into_iter().filter(|span| span.lane.topic == case.topic) {
        log.scan(span.lane, 0, span.stable_end, &mut |record| {
            let key = String::from_utf8(record.key.unwrap().to_vec()).unwrap();
            let headers: Vec<(String, Vec<u8>)> = record
                .headers
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_vec()))
                .collect();
            let (value, _) = moved(case.topic, &key, record.value.unwrap(), AHEAD);
            last.insert(key, (span.lane, value, headers, record.timestamp));
            Ok(())
        })
        .unwrap();
    }
    let mut writer = log.writer().unwrap();
    for (key, (lane, value, headers, at)) in last {
        writer.append(lane, Some(key.as_bytes()), Some(&value), &headers, at).unwrap();
    }
    writer.flush().unwrap();
}
