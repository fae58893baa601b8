//! PanDA's other tables through the connector: rows of configuration become the records that the
//! imports make of the same facts, reports of workers and counts of nodes are published by queue, and
//! so is the end of a task.

use super::live::Place;
use super::servers::{Connect, Postgres};
use super::writer::Writer;
use crate::drive::yard;
use crate::import::tables::network;
use crate::import::{CRIC, ENDPOINTS};
use crate::kill::bus::now;
use crate::kill::process::{Process, wait_until};
use crate::kill::witness::in_order;
use crate::kill::{SECOND, hasty};
use postgres::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use toml::Table;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Configuration, Event, Pilot, TaskPhase};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::import::{Imported, Sites, cric, gdpconfig, netmetrics, nuclei, shares};
use yardmaster::wire::record;

const TABLES: [&str; 12] = [
    "harvester_worker_stats",
    "jedi_tasks",
    "schedconfig_json",
    "panda_site",
    "panda_ddm_relation",
    "site",
    "ddm_endpoint",
    "global_shares",
    "config",
    "network_matrix_kv",
    "resource_types",
    "doma_pandameta.sitedata",
];

/// Writes rows as JSON has them.
fn insert(client: &mut Client, table: &str, rows: &Value) {
    let insert = format!(
        "INSERT INTO {table} SELECT * FROM json_populate_recordset(NULL::{table}, $1::text::json)"
    );
    client
        .execute(&insert, &[&rows.to_string()])
        .unwrap_or_else(|error| panic!("{table}: {error}"));
}

fn queues() -> Value {
    let queues: Value = serde_json::from_str(CRIC).unwrap();
    let seen = "2026-01-01 00:00:00";
    let row = |(name, data): (&String, &Value)| json!({"panda_queue": name, "data": data, "last_update": seen});
    queues.as_object().unwrap().iter().map(row).collect()
}

fn endpoints() -> Value {
    let endpoints: Value = serde_json::from_str(ENDPOINTS).unwrap();
    let row = |(name, known): (&String, &Value)| {
        json!({"ddm_endpoint_name": name, "site_name": known["rc_site"], "type": known["type"],
            "is_tape": if known["is_tape"] == true { "Y" } else { "N" }})
    };
    endpoints.as_object().unwrap().iter().map(row).collect()
}

fn tree() -> Value {
    json!([
        {"name": "Production", "value": 80, "parent": null, "queue_id": 1, "throttled": null},
        {"name": "Analysis", "value": 20, "parent": null, "queue_id": 2, "throttled": "N"},
        {"name": "MC", "value": 60, "parent": "Production", "queue_id": 3, "throttled": "Y",
         "prodsourcelabel": "managed", "workinggroup": "(?!(GP_|SOFT)).*"},
    ])
}

fn parameters() -> Value {
    json!([
        {"app": "jedi", "component": "prod", "key": "LIMIT", "value": "10", "type": "integer",
         "vo": "atlas", "descr": "of jobs"},
        {"app": "jedi", "component": "prod", "key": "RATE", "value": "0.5", "type": "float",
         "vo": "atlas"},
    ])
}

/// The configuration records on a topic as they stand, without when they changed.
fn standing(place: &Place, topic: Topic) -> BTreeMap<String, Configuration> {
    let codec = Codec::default();
    let mut found = BTreeMap::new();
    for (key, value) in in_order(&place.bus.bootstrap, &place.bus.topic(topic)) {
        let name = String::from_utf8(key).unwrap();
        if value.is_empty() {
            found.remove(&name);
            continue;
        }
        let mut arena = Arena::default();
        match codec.read(topic, Some(name.as_bytes()), Some(&value), &mut arena) {
            Event::Configuration(it) => found.insert(name, it.changed(0)),
            other => panic!("no configuration: {other:?}"),
        };
    }
    // When facts were last confirmed is a parameter too.
    found.retain(|_, it| !matches!(it, Configuration::Parameter(it) if it.app == "yardmaster"));
    found
}

fn imported(imported: Imported) -> BTreeMap<String, Configuration> {
    let records = imported.records.iter().map(|it| (it.name(), it.changed(0)));
    let records: BTreeMap<String, Configuration> = records.collect();
    assert!(!records.is_empty());
    records
}

/// Waits until the records of a topic are these.
#[track_caller]
fn settle(place: &Place, topic: Topic, wants: &BTreeMap<String, Configuration>) {
    let differ = |found: &BTreeMap<String, Configuration>| {
        let names = wants.keys().chain(found.keys());
        let name = names.into_iter().find(|name| wants.get(*name) != found.get(*name));
        name.map(|name| format!("{name}: {:?}, not {:?}", found.get(name), wants.get(name)))
    };
    let what = || format!("{}: {:?}", topic.name(), differ(&standing(place, topic)));
    wait_until(90 * SECOND, what, || standing(place, topic) == *wants);
}

/// The newest report of workers of a harvester at a queue: submitted and running by resource type.
fn workers(place: &Place, at_queue: &str) -> BTreeMap<String, (u32, u32)> {
    let codec = Codec::default();
    let mut found = BTreeMap::new();
    for (key, value) in in_order(&place.bus.bootstrap, &place.bus.topic(Topic::Pilot)) {
        let mut arena = Arena::default();
        let event = codec.read(Topic::Pilot, Some(&key), Some(&value), &mut arena);
        if let Event::Pilot(Pilot::Workers { queue, resource_type, submitted, running, .. }) = event
            && queue == at_queue
        {
            found.insert(resource_type.to_owned(), (submitted, running));
        }
    }
    found
}

/// The newest count of nodes of a queue: that asked for a job, and that updated one.
fn nodes(place: &Place, at_queue: &str) -> Option<(u32, u32)> {
    let codec = Codec::default();
    let records = in_order(&place.bus.bootstrap, &place.bus.topic(Topic::Pilot));
    let mut counts = records.iter().filter_map(|(key, value)| {
        let mut arena = Arena::default();
        match codec.read(Topic::Pilot, Some(key), Some(value), &mut arena) {
            Event::Pilot(Pilot::Nodes { queue, nodes_asked, nodes_updated, .. }) => {
                (queue == at_queue).then_some((nodes_asked, nodes_updated))
            }
            _ => None,
        }
    });
    counts.next_back()
}

fn ended(place: &Place, subject: &str) -> bool {
    let codec = Codec::default();
    in_order(&place.bus.bootstrap, &place.bus.topic(Topic::Task)).iter().any(|(key, value)| {
        let mut arena = Arena::default();
        let event = codec.read(Topic::Task, Some(key), Some(value), &mut arena);
        matches!(event, Event::Task(it) if it.subject == subject && it.phase == TaskPhase::Ended)
    })
}

/// Records that the imports make of the same facts.
fn wanted(without: &str) -> [(Topic, BTreeMap<String, Configuration>); 5] {
    let mut known = Sites::new();
    [&network().0, ENDPOINTS].into_iter().for_each(|text| known.learn(text).unwrap());
    let mut queues: Value = serde_json::from_str(CRIC).unwrap();
    queues.as_object_mut().unwrap().remove(without);
    [
        (Topic::Queue, imported(cric(&queues.to_string(), 1, &known).unwrap())),
        (Topic::Link, imported(netmetrics(&network().0, 1).unwrap())),
        (Topic::Share, imported(shares(&tree().to_string(), 1).unwrap())),
        (Topic::Parameter, imported(gdpconfig(&parameters().to_string(), 1).unwrap())),
        (Topic::Site, nucleus("CERN_B")),
    ]
}

fn nucleus(output: &str) -> BTreeMap<String, Configuration> {
    let nucleus = json!([{"name": "CERN", "tier": 0, "active": true, "output_endpoint": output}]);
    imported(nuclei(&nucleus.to_string(), 1).unwrap())
}

fn quick(limits: &mut Table, policy: &mut Table) {
    hasty(limits, policy);
    limits.insert("intake_settle_ms".into(), 2_000.into());
}

#[test]
fn configuration_workers_and_ends_of_tasks_come_through_the_connector() {
    let Some(postgres) = Postgres::panda(&[]) else { return };
    let Some(place) = Place::with(&TABLES, quick) else { return };
    let (mut owner, mut writer) = (postgres.owner(), Writer::new(postgres.owner()));
    // In the snapshot, and after it.
    insert(&mut owner, "schedconfig_json", &queues());
    insert(&mut owner, "ddm_endpoint", &endpoints());
    let sites = json!([{"site_name": "CERN", "role": "nucleus", "tier_level": 0}]);
    insert(&mut owner, "site", &sites);
    writer.report_workers("h1", "SYNTH_ALPHA", &[("SCORE", "running", 7)], now());
    let Some(connect) = Connect::start(&postgres, &place.bus.bootstrap, &place.prefix) else {
        return;
    };
    let process = Process::start(&place.bus.bootstrap, &place.topology, &place.store);
    insert(&mut owner, "network_matrix_kv", &Value::Array(network().1));
    insert(&mut owner, "global_shares", &tree());
    insert(&mut owner, "config", &parameters());
    let of_queues = json!([{"panda_site_name": "Q1", "storage_site_name": "CERN",
        "site_name": "X", "default_ddm_endpoint": "CERN_B"}]);
    insert(&mut owner, "panda_site", &of_queues);
    for (topic, wants) in wanted("") {
        settle(&place, topic, &wants);
    }
    // Once relations are there, they say where output goes.
    let in_nucleus = json!([{"panda_site_name": "Q2", "site_name": "CERN"}]);
    insert(&mut owner, "panda_site", &in_nucleus);
    let relation = json!([{"panda_site_name": "Q2", "ddm_endpoint_name": "CERN_D", "scope": "default",
        "roles": "read_lan,write_lan", "default_write": "Y"}]);
    insert(&mut owner, "panda_ddm_relation", &relation);
    settle(&place, Topic::Site, &nucleus("CERN_D"));
    // A queue that is deleted is deleted everywhere, and no other.
    owner.execute("DELETE FROM schedconfig_json WHERE panda_queue = 'AGLT2'", &[]).unwrap();
    settle(&place, Topic::Queue, &wanted("AGLT2")[0].1);

    // Nodes of three hours, as PanDA's brokers read them, and their next count.
    let counted = |flag: &str, hours: u32, asked: u32| {
        json!({"site": "SYNTH_ALPHA", "flag": flag, "hours": hours, "getjob": asked, "updatejob": 5,
            "running": 0, "lastmod": "2026-01-01 00:00:00"})
    };
    let rows = json!([counted("production", 3, 40), counted("production", 12, 90)]);
    insert(&mut owner, "doma_pandameta.sitedata", &rows);
    let found = || nodes(&place, "SYNTH_ALPHA");
    wait_until(60 * SECOND, || format!("{:?}", found()), || found() == Some((40, 5)));
    let update = "UPDATE doma_pandameta.sitedata SET getjob = getjob + 1, lastmod = now()";
    owner.execute(update, &[]).unwrap();
    wait_until(60 * SECOND, || format!("{:?}", found()), || found() == Some((41, 5)));

    // A report replaces the one before, in one transaction, which is whole when another follows.
    let report = [("SCORE", "running", 9), ("SCORE", "submitted", 4), ("MCORE", "running", 2)];
    writer.report_workers("h1", "SYNTH_ALPHA", &report, now());
    // The end of a task whose request is known.
    let task = yard::task("45000007", 2, now());
    place.bus.publish(Topic::Task, "45000007", |out| record::write(out, &task));
    writer.task(45_000_007, "user-1", now());
    writer.task_status(45_000_007, "done", now());
    let logged = || format!("{} {}", connect.prefix, process.logged());
    wait_until(60 * SECOND, logged, || ended(&place, "45000007"));
    let wants = BTreeMap::from([("SCORE".to_owned(), (4, 9)), ("MCORE".to_owned(), (0, 2))]);
    let found = || workers(&place, "SYNTH_ALPHA");
    wait_until(60 * SECOND, || format!("{:?}", found()), || found() == wants);
}
