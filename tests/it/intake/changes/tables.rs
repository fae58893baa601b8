//! Rows of configuration tables: what changed is published, once all is read, and nothing else.

use super::super::fresh;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{Configuration, Event, is_newer};
use yardmaster::core::limits::Limits;
use yardmaster::core::state::{Setting, State};
use yardmaster::drive::intake::{Intake, Origin, Reach, Records, Taken};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::dialect::Dialect;

const TOPIC: &str = "panda-cdc.facts";

/// A stage that reads two partitions of facts.
struct Stage {
    intake: Intake,
    offset: u64,
}

impl Stage {
    fn new() -> Stage {
        Stage { intake: fresh(&Limits::default()), offset: 100 }
    }

    /// A change at `at`, ms since 1970, of the partition. `None`: deleted. What became of it.
    fn put(&mut self, at: i64, table: &str, key: Value, row: Option<Value>) -> Taken {
        let op = if row.is_some() { "u" } else { "d" };
        let value = json!({"before": null, "after": row, "op": op, "source": {"table": table,
            "lsn": at, "txId": at, "ts_ms": at, "snapshot": "false", "sequence": null}});
        let origin = Origin { topic: TOPIC, partition: 0, offset: self.offset, appended_at: at };
        self.offset += 1;
        let (key, value) = (key.to_string(), value.to_string());
        let (key, value) = (Some(key.as_bytes()), Some(value.as_bytes()));
        let mut records = Records::default();
        self.intake.meet(Dialect::PandaCdc, origin, key, value, &mut records);
        let counts = self.intake.take_counts();
        let is = |taken: &&Taken| counts.of(Dialect::PandaCdc, **taken) == 1;
        *Taken::ALL.iter().find(is).expect("one outcome")
    }

    fn parameter(&mut self, at: i64, name: &str, value: Option<&str>) -> Taken {
        let key = json!({"app": "jedi", "component": "prod", "key": name, "vo": "atlas"});
        let row = value.map(|value| {
            let mut row = key.clone();
            row["value"] = json!(value);
            row["type"] = json!("integer");
            row
        });
        self.put(at, "config", key, row)
    }

    /// Records that are published, by key: whether it is a record (else a removal). Confirmations
    /// are left out.
    fn settle(&mut self, is_at_end: [bool; 2]) -> BTreeMap<String, bool> {
        self.settle_of(Topic::Parameter, is_at_end)
    }

    fn settle_of(&mut self, topic: Topic, is_at_end: [bool; 2]) -> BTreeMap<String, bool> {
        let reach = [0, 1].map(|number| Reach {
            topic: TOPIC,
            partition: number,
            is_at_end: is_at_end[number as usize],
        });
        let mut records = Records::default();
        if self.intake.is_unsettled() {
            self.intake.settle(0, &reach, &mut records);
        }
        let published = records.iter().filter(|it| it.topic == topic);
        let by_key = published.map(|it| {
            let key = String::from_utf8(it.key.to_vec()).expect("text");
            (key, !it.value.is_empty())
        });
        by_key.filter(|(key, _)| !key.starts_with("yardmaster/")).collect()
    }
}

fn names(names: &[(&str, bool)]) -> BTreeMap<String, bool> {
    names.iter().map(|(name, is)| (format!("jedi/prod/{name}/atlas"), *is)).collect()
}

#[test]
fn what_changed_is_published_once_all_partitions_were_read_to_their_end() {
    let mut stage = Stage::new();
    assert_eq!(stage.parameter(1_000, "A", Some("1")), Taken::Published);
    stage.parameter(1_000, "B", Some("2"));
    assert_eq!(stage.settle([true, false]), names(&[]));
    assert_eq!(stage.settle([false, true]), names(&[("A", true), ("B", true)]));
    assert_eq!(stage.settle([true, true]), names(&[]), "nothing changed");
    // From then on whatever the other partitions do.
    stage.parameter(2_000, "A", Some("3"));
    assert_eq!(stage.settle([false, false]), names(&[("A", true)]));
    stage.parameter(3_000, "A", Some("3"));
    assert_eq!(stage.settle([true, true]), names(&[]), "equal but for its time");
    stage.parameter(4_000, "B", None);
    assert_eq!(stage.settle([true, true]), names(&[("B", false)]));
}

#[test]
fn what_is_sent_again_has_no_effect_and_what_is_wrong_is_a_dead_letter() {
    let mut stage = Stage::new();
    stage.parameter(1_000, "A", Some("1"));
    stage.parameter(2_000, "A", Some("2"));
    stage.parameter(2_000, "B", Some("1"));
    stage.parameter(3_000, "B", None);
    assert_eq!(stage.settle([true, true]), names(&[("A", true)]));
    for (at, name, value) in [(1_000, "A", Some("1")), (2_000, "B", Some("1"))] {
        assert_eq!(stage.parameter(at, name, value), Taken::Known);
    }
    assert_eq!(stage.settle([true, true]), names(&[]));
    assert_eq!(stage.parameter(4_000, "A", Some("much")), Taken::DeadLetter);
    assert_eq!(stage.settle([true, true]), names(&[]), "the value before stays");
}

/// The row of a share is there, though its parents lead nowhere for a moment.
#[test]
fn a_share_stays_while_its_parent_is_not_there() {
    let mut stage = Stage::new();
    let share = |name: &str, parent: Value| json!({"name": name, "parent": parent, "value": 1});
    let key = |name: &str| json!({ "name": name });
    stage.put(1_000, "global_shares", key("A"), Some(share("A", Value::Null)));
    stage.put(1_000, "global_shares", key("B"), Some(share("B", json!("A"))));
    let both = ["A", "B"].map(|name| (name.to_owned(), true));
    assert_eq!(stage.settle_of(Topic::Share, [true, true]), BTreeMap::from(both));
    stage.put(2_000, "global_shares", key("A"), None);
    let gone = BTreeMap::from([("A".to_owned(), false)]);
    assert_eq!(stage.settle_of(Topic::Share, [true, true]), gone);
    stage.put(3_000, "global_shares", key("B"), None);
    let gone = BTreeMap::from([("B".to_owned(), false)]);
    assert_eq!(stage.settle_of(Topic::Share, [true, true]), gone);
}

#[test]
fn the_committed_offset_stays_before_the_first_row() {
    let mut stage = Stage::new();
    assert_eq!(stage.intake.held(TOPIC, 0), None);
    stage.parameter(1_000, "A", Some("1"));
    stage.parameter(2_000, "A", Some("2"));
    stage.settle([true, true]);
    assert_eq!((stage.intake.held(TOPIC, 0), stage.intake.held(TOPIC, 1)), (Some(100), None));
}

#[test]
fn what_the_engine_would_not_read_is_not_published_and_the_record_before_stays() {
    let mut stage = Stage::new();
    let put = |stage: &mut Stage, at: i64, vo: &str| {
        let row = json!({"name": "A", "parent": null, "value": 1, "vo": vo});
        stage.put(at, "global_shares", json!({"name": "A"}), Some(row));
        stage.settle_of(Topic::Share, [true, true])
    };
    assert_eq!(put(&mut stage, 1_000, "atlas"), BTreeMap::from([("A".to_owned(), true)]));
    assert!(stage.intake.take_notices().is_empty());
    assert_eq!(put(&mut stage, 2_000, &"x".repeat(1_025)), BTreeMap::new());
    let notices = stage.intake.take_notices().join("\n");
    for part in [
        "share A: field `vo`: found \"xxx",
        "a name of 1025 bytes, more than name_bytes of 1024",
        "shorten it at its source",
    ] {
        assert!(notices.contains(part), "no {part:?} in {notices}");
    }
    assert_eq!(put(&mut stage, 3_000, "atlas"), BTreeMap::new(), "it is as it was published");
    assert_eq!(put(&mut stage, 4_000, &"x".repeat(1_024)).len(), 1);
}

/// A topic of storage, and what is known of it.
struct Storages {
    records: Vec<(Vec<u8>, Vec<u8>)>,
    state: State,
}

impl Storages {
    /// Publishes what a stage has settled; how many records.
    fn publish(&mut self, stage: &mut Stage, at: i64) -> usize {
        let mut records = Records::default();
        let reach = [0, 1].map(|partition| Reach { topic: TOPIC, partition, is_at_end: true });
        stage.intake.settle(0, &reach, &mut records);
        let before = self.records.len();
        for it in records.iter().filter(|it| it.topic == Topic::Storage) {
            let (codec, mut arena) = (Codec::default(), Arena::default());
            let event = codec.read(Topic::Storage, Some(it.key), Some(it.value), &mut arena);
            let (lane, offset) = (Lane::new(Topic::Storage, 0), self.records.len() as u64);
            self.state.fold(lane, offset, at + 60_000, &event);
            // What compaction leaves is what is known.
            let Event::Configuration(written) = event else { panic!("{event:?}") };
            let known = self.state.facts.storages.of(&written.name()).unwrap();
            let known = known.current(is_newer).unwrap().clone();
            assert_eq!(Configuration::from(known), *written);
            self.records.push((it.key.to_vec(), it.value.to_vec()));
        }
        self.records.len() - before
    }
}

/// Neither the time of the measurement nor that of the commit moves: each column alone, back, and
/// again, and a process that starts in between.
#[test]
fn of_an_endpoint_the_row_that_was_written_last_holds_whatever_its_time() {
    let (at, key) = (1_000, json!({"ddm_endpoint_name": "A_DATADISK"}));
    let row = json!({"ddm_endpoint_name": "A_DATADISK", "site_name": "A", "type": "DATADISK",
        "is_tape": "N", "space_total": 100, "space_free": 40, "space_expired": 1,
        "space_min_free": 2, "space_unavailable": 3, "blacklisted": "N", "blacklisted_read": "N",
        "space_timestamp": 500_000});
    let others = json!({"site_name": "B", "type": "SCRATCHDISK", "is_tape": "Y", "space_total": 90,
        "space_free": 50, "space_expired": 0, "space_min_free": 1, "space_unavailable": 9,
        "blacklisted": "Y", "blacklisted_read": "Y"});
    let state = State::new(Setting { domain: "atlas".into(), ..Setting::default() });
    let mut storages = Storages { records: Vec::new(), state };
    let mut stage = Stage::new();
    stage.put(at, "ddm_endpoint", key.clone(), Some(row.clone()));
    assert_eq!(storages.publish(&mut stage, at), 1);
    for (column, other) in others.as_object().unwrap() {
        let mut changed = row.clone();
        changed[column] = other.clone();
        for now in [&changed, &row, &changed, &row] {
            stage.put(at, "ddm_endpoint", key.clone(), Some(now.clone()));
            assert_eq!(storages.publish(&mut stage, at), 1, "{column}");
        }
        // Another process reads what there is, and the row.
        let intake = Intake::new("atlas", BTreeMap::new(), &Limits::default());
        stage = Stage { intake, offset: 100 };
        for (key, value) in &storages.records {
            let records = &mut Records::default();
            stage.intake.learn(Topic::Storage, Some(key), Some(value), records);
        }
        stage.intake.caught_up();
        stage.put(at, "ddm_endpoint", key.clone(), Some(row.clone()));
        assert_eq!(storages.publish(&mut stage, at), 0, "{column}: it is there");
    }
}
