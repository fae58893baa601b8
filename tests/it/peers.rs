//! `bench --only peers`, the fold that other stream engines are measured by: 200,000 records of the
//! foreign schema on a real Kafka, with the shipped topology; what it publishes is compared with a
//! recount that knows nothing of ours. Among them are records that come again late, and jobs that
//! move to another queue.

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use yardmaster::core::id::stir;
use yardmaster::shell::kafka::{KafkaAdmin, KafkaConf, KafkaWriter, NewTopicSpec};
use yardmaster::wire::avro::Sink;

const RECORDS: u64 = 200_000;
const PARTITIONS: u32 = 8;
const MINUTE: Duration = Duration::from_secs(60);

/// States of the foreign schema, in its order.
const STATES: [&str; 15] = [
    "pending",
    "defined",
    "assigned",
    "throttled",
    "activated",
    "sent",
    "starting",
    "running",
    "holding",
    "merging",
    "transferring",
    "finished",
    "failed",
    "cancelled",
    "closed",
];
const TYPES: [&str; 4] = ["SCORE", "MCORE", "SCORE_HIMEM", "MCORE_HIMEM"];

#[derive(Clone)]
struct Job {
    number: i64,
    state: usize,
    queue: u64,
    seq: i32,
}

impl Job {
    fn user(&self) -> String {
        format!("user-{}", stir(self.number as u64 / 50) % 400)
    }

    fn share(&self) -> String {
        format!("share-{}", stir(self.number as u64 / 50 + 1) % 20)
    }

    fn resource_type(&self) -> usize {
        (stir(self.number as u64 / 50 + 2) % 4) as usize
    }

    fn cores(&self) -> i32 {
        if self.resource_type().is_multiple_of(2) { 1 } else { 8 }
    }

    fn record(&self) -> Vec<u8> {
        let mut bytes = vec![0xC3, 0x01, 0x7A, 0xB0, 0xFE, 0x79, 0xC1, 0xAF, 0x9F, 0x3C];
        let mut sink = Sink { out: &mut bytes };
        sink.long(self.number);
        sink.long(self.number / 50);
        sink.int(1);
        sink.index(self.state);
        sink.string(&format!("QUEUE_{}", self.queue));
        sink.string(&self.user());
        sink.option((self.number % 3 == 0).then_some("AP_TOP"), |sink, text| sink.string(text));
        sink.string(&self.share());
        sink.index(self.resource_type());
        sink.int(self.cores());
        sink.int(500);
        sink.option((self.number % 2 == 0).then_some("CERN"), |sink, text| sink.string(text));
        sink.long(1 << 30);
        sink.long(1_790_000_000_000 + i64::from(self.seq));
        sink.int(self.seq);
        bytes
    }
}

/// All records in order, and the counters that they leave.
fn written() -> (Vec<Job>, BTreeMap<String, [u64; 2]>) {
    let (mut records, mut newest): (Vec<Job>, HashMap<i64, Job>) = Default::default();
    let (mut live, mut next, mut dice): (Vec<Job>, i64, u64) = (Vec::new(), 1, 7);
    let mut draw = |sides: usize| {
        dice = stir(dice.wrapping_add(0x9E37_79B9_7F4A_7C15));
        (dice % sides as u64) as usize
    };
    while (records.len() as u64) < RECORDS {
        if live.len() < 5_000 {
            live.push(Job { number: next, state: 0, queue: stir(next as u64 / 10) % 227, seq: 0 });
            next += 1;
        }
        let at = draw(live.len());
        let job = &mut live[at];
        job.seq += 1;
        job.state = (job.state + 1 + draw(2)).min(STATES.len() - 1);
        if draw(30) == 0 {
            job.queue = (job.queue + 1) % 227;
        }
        records.push(job.clone());
        newest.insert(job.number, job.clone());
        if job.state >= 11 {
            live.swap_remove(at);
        }
        if draw(100) == 0 && records.len() > 50 {
            let again = records[records.len() - 1 - draw(40)].clone();
            records.push(again);
        }
    }
    let mut counters: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for job in newest.values() {
        let (queue, state) = (format!("QUEUE_{}", job.queue), STATES[job.state]);
        let of_queue = format!("Q|{queue}|{}|{}|{state}", job.share(), TYPES[job.resource_type()]);
        for key in [of_queue, format!("U|{}|{queue}|{state}", job.user())] {
            let [jobs, cores] = counters.entry(key.clone()).or_default();
            *jobs += 1;
            *cores += if key.starts_with('Q') { job.cores() as u64 } else { 0 };
        }
    }
    (records, counters)
}

/// The program, ended when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_counters_that_rivals_publish_too_are_those_of_a_recount() {
    let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
        println!("no broker: YARDMASTER_TEST_KAFKA is not set");
        return;
    };
    let id = format!("peers-{}", std::process::id());
    let (input, output) = (format!("{id}-in"), format!("{id}-out"));
    let conf = KafkaConf::new(&bootstrap, &id, Vec::new());
    let spec = |name: &String| NewTopicSpec {
        name: name.clone(),
        partitions: PARTITIONS,
        replication: -1,
        configs: Vec::new(),
    };
    KafkaAdmin::open(&conf).unwrap().create(&[spec(&input), spec(&output)]).unwrap();
    let (records, expected) = written();
    let writer = KafkaWriter::open(&conf).unwrap();
    let mut ends = [0u64; PARTITIONS as usize];
    for job in &records {
        let partition = (job.number % i64::from(PARTITIONS)) as u32;
        let key = job.number.to_be_bytes();
        let value = job.record();
        writer.append(&input, Some(partition), Some(&key), Some(&value), &[], None).unwrap();
        ends[partition as usize] += 1;
    }
    writer.flush().unwrap();
    let state = TempDir::new().unwrap();
    let ends = ends.map(|end| end.to_string()).join(",");
    let program = Command::new(env!("CARGO_BIN_EXE_yardmaster"))
        .args(["bench", "--only", "peers"])
        .env("PEER_BOOTSTRAP", &bootstrap)
        .env("PEER_TOPIC", &input)
        .env("PEER_OUT", &output)
        .env("PEER_ID", &id)
        .env("PEER_END", ends)
        .env("PEER_STATE", state.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running(program);
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap().starts_with("LAST ")),
        "it ended before its last record"
    );
    let found = read_until(&bootstrap, &output, &expected);
    let differ = expected.iter().filter(|(key, count)| found.get(*key) != Some(count));
    let shown: Vec<_> = differ.map(|it| (it, found.get(it.0))).take(5).collect();
    assert!(shown.is_empty(), "{shown:?}");
    assert_eq!(found.len(), expected.len(), "counters of which nothing is left");
}

/// The newest value of each counter that is not 0, once they are those that are expected, or after
/// a minute.
fn read_until(
    bootstrap: &str,
    topic: &str,
    expected: &BTreeMap<String, [u64; 2]>,
) -> BTreeMap<String, [u64; 2]> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", topic)
        .set("isolation.level", "read_committed")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    let mut from = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        from.add_partition_offset(topic, partition as i32, Offset::Beginning).unwrap();
    }
    consumer.assign(&from).unwrap();
    let mut found = BTreeMap::new();
    let start = Instant::now();
    while start.elapsed() < MINUTE {
        let Some(message) = consumer.poll(Duration::from_millis(200)) else {
            // All that is there was read.
            if found == *expected { break } else { continue }
        };
        let message = message.unwrap();
        let key = String::from_utf8(message.key().unwrap().to_vec()).unwrap();
        let value = message.payload().unwrap_or_default();
        let part = |at: usize| {
            value.get(at..at + 8).map_or(0, |it| u64::from_be_bytes(it.try_into().unwrap()))
        };
        match [part(0), part(8)] {
            [0, 0] => found.remove(&key),
            count => found.insert(key, count),
        };
    }
    found
}
