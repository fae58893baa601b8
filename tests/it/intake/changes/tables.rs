//! Rows of configuration tables: what changed is published, once all is read, and nothing else.

use super::super::fresh;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::limits::Limits;
use yardmaster::core::state::digest::records_digest;
use yardmaster::core::state::{Setting, State};
use yardmaster::drive::intake::{Intake, Origin, Reach, Records, Taken};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::dialect::Dialect;

const TOPIC: &str = "panda-cdc.facts";

/// A stage that reads two partitions of facts.
struct Stage {
    intake: Intake,
    offset: u64,
    now: i64,
}

impl Stage {
    fn new() -> Stage {
        Stage { intake: fresh(&Limits::default()), offset: 100, now: 0 }
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
        // Once when the rows have just come, once when they have rested.
        for _ in 0..2 {
            if self.intake.is_unsettled() {
                self.intake.settle(self.now, &reach, &mut records);
            }
            self.now += Limits::default().intake_settle_ms / 10;
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
    assert_eq!(stage.settle([false, true]), names(&[]), "in the middle of the first");
    assert_eq!(stage.settle([true, false]), names(&[("A", true), ("B", true)]), "both ended once");
    assert_eq!(stage.settle([true, true]), names(&[]), "nothing changed");
    // From then on whatever partitions without rows do; where rows are, not in their middle: all
    // of a table may be deleted and written again in one transaction.
    stage.parameter(2_000, "A", None);
    assert_eq!(stage.settle([false, true]), names(&[]));
    stage.parameter(2_000, "A", Some("1"));
    assert_eq!(stage.settle([true, true]), names(&[]));
    stage.parameter(2_500, "A", Some("3"));
    assert_eq!(stage.settle([true, false]), names(&[("A", true)]));
    stage.parameter(3_000, "A", Some("3"));
    assert_eq!(stage.settle([true, true]), names(&[]), "equal but for its time");
    stage.parameter(4_000, "B", None);
    assert_eq!(stage.settle([true, true]), names(&[("B", false)]));
}

/// PanDA deletes all rows of a table and writes them again in one transaction, which a connector
/// sends in parts: a partition may end between them.
#[test]
fn half_of_a_transaction_is_not_published_where_a_partition_ends_in_it() {
    const NONE: [bool; 0] = [];
    let (mut stage, patience) = (Stage::new(), Limits::default().intake_settle_ms);
    let look = |stage: &mut Stage, after: i64| {
        let reach = [0, 1].map(|partition| Reach { topic: TOPIC, partition, is_at_end: true });
        let mut records = Records::default();
        stage.now += after;
        stage.intake.settle(stage.now, &reach, &mut records);
        let facts = records.iter().filter(|it| !it.key.starts_with(b"yardmaster/"));
        facts.map(|it| !it.value.is_empty()).collect::<Vec<_>>()
    };
    stage.parameter(1_000, "A", Some("1"));
    assert_eq!(look(&mut stage, 0), NONE);
    assert_eq!(look(&mut stage, patience / 10), [true]);
    stage.parameter(2_000, "A", None);
    assert_eq!(look(&mut stage, 0), NONE);
    assert_eq!(look(&mut stage, patience / 20), NONE);
    stage.parameter(2_000, "A", Some("1"));
    assert_eq!(look(&mut stage, patience / 20), NONE);
    assert_eq!(look(&mut stage, patience), NONE, "nothing has changed");
    // Rows that never rest are published all the same.
    let mut found = Vec::new();
    for at in 0..=20 {
        stage.parameter(3_000 + at, "A", Some(if at % 2 == 0 { "2" } else { "3" }));
        found.extend(look(&mut stage, patience / 20));
    }
    assert_eq!(found, [true]);
}

/// The value of a column that is gone is not read as that there is none, in the life before nor in
/// the next.
#[test]
fn a_fact_of_which_a_column_is_gone_stays_as_it_was_published() {
    let endpoint = |without: &str, free: i64, read: &str| {
        let mut row = json!({"ddm_endpoint_name": "A_DISK", "type": "DATADISK", "is_tape": "N",
            "site_name": "A", "space_total": 9, "space_min_free": 0, "space_unavailable": 0, "space_free": free, "space_expired": 0,
            "space_timestamp": 1, "blacklisted": "N", "blacklisted_read": read,
            "blacklisted_write": "Y"});
        row.as_object_mut().expect("a row").remove(without);
        row
    };
    let key = json!({"ddm_endpoint_name": "A_DISK"});
    let mut published = Published { records: Vec::new() };
    let mut stage = published.read_back();
    stage.put(1_000, "ddm_endpoint", key.clone(), Some(endpoint("", 5, "N")));
    assert_eq!(published.add(&mut stage), 1);
    // In this life it is known that nothing is to be written there.
    stage.put(2_000, "ddm_endpoint", key.clone(), Some(endpoint("blacklisted_write", 4, "N")));
    assert_eq!(published.add(&mut stage), 1);
    let mut stage = published.read_back();
    stage.put(3_000, "ddm_endpoint", key.clone(), Some(endpoint("blacklisted_write", 3, "N")));
    assert_eq!(published.add(&mut stage), 0, "it would be open for writing");
    stage.put(4_000, "ddm_endpoint", key, Some(endpoint("", 3, "N")));
    assert_eq!(published.add(&mut stage), 1);
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
        let row = json!({"name": "A", "parent": null, "value": 1, "vo": vo, "queue_id": 1,
            "prodsourcelabel": null, "workinggroup": null, "campaign": null, "processingtype": null,
            "throttled": null, "transpath": null, "rtype": null});
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

/// What intake has published, and what a state knows that read all of it.
struct Published {
    records: Vec<(Topic, Vec<u8>, Vec<u8>)>,
}

impl Published {
    /// Publishes what a stage has settled; how many records. What compaction leaves must be what is
    /// known.
    fn add(&mut self, stage: &mut Stage) -> usize {
        let mut records = Records::default();
        let reach = [0, 1].map(|partition| Reach { topic: TOPIC, partition, is_at_end: true });
        for _ in 0..2 {
            stage.intake.settle(stage.now, &reach, &mut records);
            stage.now += Limits::default().intake_settle_ms / 10;
        }
        let before = self.records.len();
        // Confirmations state a time alone.
        let facts = records.iter().filter(|it| !it.key.starts_with(b"yardmaster/"));
        self.records.extend(facts.map(|it| (it.topic, it.key.to_vec(), it.value.to_vec())));
        let last: BTreeMap<_, _> =
            self.records.iter().map(|it| ((it.0, it.1.clone()), it.clone())).collect();
        let last: Vec<_> = last.into_values().filter(|it| !it.2.is_empty()).collect();
        assert_eq!(known(&self.records), known(&last));
        self.records.len() - before
    }

    /// Another process, that read them.
    fn read_back(&self) -> Stage {
        let mut stage = Stage {
            intake: Intake::new("atlas", BTreeMap::new(), &Limits::default()),
            offset: 100,
            now: 0,
        };
        for (topic, key, value) in &self.records {
            let (value, records) =
                ((!value.is_empty()).then_some(&**value), &mut Records::default());
            stage.intake.learn(*topic, Some(key), value, records);
        }
        stage.intake.caught_up();
        stage
    }
}

/// The digest of what a state knows that read these records.
fn known(records: &[(Topic, Vec<u8>, Vec<u8>)]) -> String {
    let mut state = State::new(Setting { domain: "atlas".into(), ..Setting::default() });
    let (codec, mut arena) = (Codec::default(), Arena::default());
    for (offset, (topic, key, value)) in records.iter().enumerate() {
        let value = (!value.is_empty()).then_some(&**value);
        let event = codec.read(*topic, Some(key), value, &mut arena);
        state.fold(Lane::new(*topic, 0), offset as u64, 60_000, &event);
        arena.clear();
    }
    records_digest(&state)
}

/// A table: its key, a row beside that, and another value of each column that is read.
type Table = (&'static str, Value, Value, Value);

fn tables() -> Vec<Table> {
    let dump: Value = serde_json::from_str(include_str!("../../../fixtures/cric.json")).unwrap();
    let queue = |status: &str| {
        let mut queue = dump["AGLT2"].clone();
        queue["status"] = json!(status);
        queue.to_string()
    };
    vec![
        (
            "site",
            json!({"site_name": "A"}),
            json!({"role": "nucleus", "tier_level": 1, "state": "ACTIVE"}),
            json!({"role": "satellite", "tier_level": 2, "state": "DOWN"}),
        ),
        (
            "panda_site",
            json!({"panda_site_name": "Q"}),
            json!({"site_name": "A", "storage_site_name": "A", "default_ddm_endpoint": "A_DATADISK"}),
            json!({"site_name": "B"}),
        ),
        (
            "panda_ddm_relation",
            json!({"panda_site_name": "Q", "ddm_endpoint_name": "A_SCRATCH", "scope": "default"}),
            json!({"roles": "read_lan,write_lan", "default_write": "Y"}),
            json!({"roles": "read_lan", "default_write": "N"}),
        ),
        (
            "schedconfig_json",
            json!({"panda_queue": "AGLT2"}),
            json!({"data": queue("online")}),
            json!({"data": queue("offline")}),
        ),
        (
            "resource_types",
            json!({"resource_name": "SCORE"}),
            json!({"mincore": 1, "maxcore": 1, "minrampercore": 0, "maxrampercore": 2000}),
            json!({"mincore": 8, "maxrampercore": 3000}),
        ),
        (
            "ddm_endpoint",
            json!({"ddm_endpoint_name": "A_DATADISK"}),
            json!({"site_name": "A", "type": "DATADISK", "is_tape": "N", "space_total": 100,
                "space_free": 40, "space_expired": 1, "space_min_free": 2, "space_unavailable": 3,
                "blacklisted": "N", "blacklisted_read": "N", "blacklisted_write": "N",
                "space_timestamp": 500_000}),
            json!({"site_name": "B", "type": "SCRATCHDISK", "is_tape": "Y", "space_total": 90,
                "space_free": 50, "space_expired": 0, "space_min_free": 1, "space_unavailable": 9,
                "blacklisted": "Y", "blacklisted_read": "Y", "blacklisted_write": "Y"}),
        ),
        (
            "global_shares",
            json!({"name": "MC"}),
            json!({"parent": null, "value": 60, "queue_id": 3, "throttled": "N", "vo": "atlas"}),
            json!({"value": 40, "throttled": "Y", "vo": "other"}),
        ),
        (
            "config",
            json!({"app": "jedi", "component": "prod", "key": "A", "vo": "atlas"}),
            json!({"type": "integer", "value": "5"}),
            json!({"value": "7"}),
        ),
        (
            "network_matrix_kv",
            json!({"src": "A", "dst": "B", "key": "AGIS_closeness"}),
            json!({"value": 3, "ts": 500_000}),
            json!({"value": 5}),
        ),
    ]
}

fn joined(key: &Value, row: &Value) -> Value {
    let (mut all, key) = (row.clone(), key.as_object().unwrap().clone());
    all.as_object_mut().unwrap().extend(key);
    all
}

/// The law, over all tables: neither the time that a row states nor that of the commit moves. Each
/// column alone, back, and again, and a process that starts in between; and the row gone and back.
#[test]
fn of_each_table_the_row_that_was_written_last_holds_whatever_its_time() {
    let at = 1_000;
    let mut published = Published { records: Vec::new() };
    let mut stage = Stage::new();
    let put_all = |stage: &mut Stage| {
        for (table, key, row, _) in tables() {
            stage.put(at, table, key.clone(), Some(joined(&key, &row)));
        }
    };
    put_all(&mut stage);
    assert!(published.add(&mut stage) > 5);
    for (table, key, row, others) in tables() {
        let row = joined(&key, &row);
        for (column, other) in others.as_object().unwrap() {
            let mut changed = row.clone();
            changed[column] = other.clone();
            for now in [&changed, &row, &changed, &row] {
                stage.put(at, table, key.clone(), Some(now.clone()));
                assert!(published.add(&mut stage) > 0, "{table} {column}");
            }
            stage = published.read_back();
            put_all(&mut stage);
            assert_eq!(published.add(&mut stage), 0, "{table} {column}: it is there");
        }
        stage.put(at, table, key.clone(), None);
        published.add(&mut stage);
        stage.put(at, table, key.clone(), Some(row));
        published.add(&mut stage);
        stage = published.read_back();
        put_all(&mut stage);
        assert_eq!(published.add(&mut stage), 0, "{table}: it is back");
    }
}
