//! Topics in Confluent framing, with a registry in a thread and, where
//! `YARDMASTER_TEST_REGISTRY=http://host:port/path` names one, with a real one.

pub mod client;
pub mod desk;
mod foreign;
mod lane;
mod missing;
mod real;

use crate::drive::yard::{T0, Yard, config};
use desk::Registry;
use std::time::{Duration, Instant};
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::drive::port::{Log, Store};
use yardmaster::drive::{Config, Drive, Halt};
use yardmaster::shell::registry::{FramedLog, Framing};
use yardmaster::sim::paper::PaperLog;
use yardmaster::wire::avro::{HEADER_BYTES, MAGIC};
use yardmaster::wire::topology::{ATLAS, Topology};

/// Topics in Confluent framing: two that others write, two of our own.
pub const FRAMED: [Topic; 4] = [Topic::Heartbeat, Topic::Task, Topic::Decision, Topic::Progress];

/// A heartbeat of another writer: our fields in another order, and one more.
pub const FOREIGN: &str = r#"{"type":"record","name":"Heartbeat","namespace":"elsewhere","fields":[
    {"name":"host","type":"string"},
    {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
    {"name":"job","type":"string"},
    {"name":"rss_mb","type":"int"}]}"#;

/// The topology of ATLAS with some topics in Confluent framing, their names with a prefix.
pub fn topology_text(urls: &[&str], prefix: &str) -> String {
    let mut text = ATLAS.to_owned();
    for topic in FRAMED {
        let word = topic.name();
        let table = format!("[topics.{word}]\n");
        assert!(text.contains(&table));
        let name = format!("{table}name = \"{prefix}{word}\"\nframing = \"confluent\"\n");
        text = text.replace(&table, &name);
    }
    let urls: Vec<String> = urls.iter().map(|url| format!("{url:?}")).collect();
    format!("{text}\n[registry]\nurls = [{}]\n", urls.join(", "))
}

pub fn topology(urls: &[&str]) -> Topology {
    Topology::parse("test.toml", &topology_text(urls, "t.")).unwrap()
}

pub type Framed = FramedLog<PaperLog>;

pub fn framed(yard: &Yard, topology: &Topology) -> Framed {
    let mut topology = topology.clone();
    topology.limits.backoff_max_ms = 200;
    FramedLog::new(yard.log(), Framing::of(&topology).unwrap().unwrap()).unwrap()
}

pub fn config_of(instance: &str, url: &str) -> Config {
    let epoch_config = EpochConfig::of("test.toml", &topology_text(&[url], "t.")).unwrap();
    Config { epoch_config, ..config(instance) }
}

/// A record of a number: as our own writers make it, in Confluent framing.
pub fn numbered(id: u32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut value = Vec::new();
    write(&mut value);
    raw(id, &value[HEADER_BYTES..])
}

pub fn raw(id: u32, datum: &[u8]) -> Vec<u8> {
    [&[MAGIC][..], &id.to_be_bytes(), datum].concat()
}

/// A foreign heartbeat of a job, at the yard's first moment.
pub fn beat(id: u32, job: &str) -> Vec<u8> {
    let mut datum = vec![8];
    datum.extend_from_slice(b"node");
    let mut zigzag = (T0 as u64) << 1;
    while zigzag >= 0x80 {
        datum.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    datum.push(zigzag as u8);
    datum.push((job.len() as u8) << 1);
    datum.extend_from_slice(job.as_bytes());
    datum.push(10);
    raw(id, &datum)
}

pub fn append(yard: &Yard, topic: Topic, key: &str, value: &[u8]) {
    yard.paper.append(Lane::new(topic, 0), Some(key.as_bytes()), Some(value), &[], None);
}

pub fn dead_letters(yard: &Yard) -> Vec<String> {
    let lanes = (0..2).map(|partition| Lane::new(Topic::DeadLetter, partition));
    let notes = lanes.flat_map(|lane| yard.paper.records(lane));
    let reason = |headers: &[(String, Vec<u8>)]| {
        let (_, reason) = headers.iter().find(|(name, _)| name == "reason").unwrap();
        String::from_utf8(reason.clone()).unwrap()
    };
    notes.map(|note| reason(&note.headers)).collect()
}

/// Leads until something is so, or fails after ten seconds.
#[track_caller]
pub fn lead_until<S: Store>(
    yard: &mut Yard,
    drive: &mut Drive<Framed, S>,
    mut is_so: impl FnMut(&Yard, &mut Drive<Framed, S>) -> bool,
) {
    let began = Instant::now();
    loop {
        crate::drive::yard::lead(yard, drive, 3).unwrap();
        if is_so(yard, drive) {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            drive.log().waiting_for_registry()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A registry in a thread that holds our own schemas.
pub fn registry() -> Registry {
    let registry = Registry::start();
    let topology = topology(&[&registry.url]);
    register_all(&topology);
    registry
}

/// Registers our schemas of all topics that are framed so.
pub fn register_all(topology: &Topology) {
    use yardmaster::shell::registry::{RegistryClient, examine, register};
    let client = RegistryClient::new(topology.registry.as_ref().unwrap()).unwrap();
    for (topic, subject, _) in examine(&client, topology).unwrap() {
        register(&client, topic, &subject).unwrap();
    }
}
