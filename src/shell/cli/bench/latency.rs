//! Event to committed decision, on a real Kafka: records are produced at a steady rate, requests
//! among them; a read_committed consumer sees the answers come.

use super::Figures;
use super::world::{facts_of, request};
use crate::cli::import::encode;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::progress::Bar;
use crate::clock;
use crate::kafka::{KafkaAdmin, KafkaConf, KafkaLog, KafkaWriter, NewTopicSpec};
use crate::ports::{AnyLog, AnyStore};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use yardmaster_core::cut::{Cut, Topic};
use yardmaster_core::event::Event;
use yardmaster_core::output::Output;
use yardmaster_drive::port::{Batch, Log};
use yardmaster_drive::{Config, Drive};
use yardmaster_sim::load::Load;
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::record;

/// Requests a second among the records.
const ASKS: u32 = 20;
/// Time at the beginning that is not measured, while the broker warms up.
const WARM: Duration = Duration::from_secs(3);

/// Measures with `rate` records a second for `seconds`.
pub fn measure(
    log_args: &LogArgs,
    read: &Read,
    rate: u32,
    seconds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let conf = conf(log_args, read)?;
    let stop = Arc::new(AtomicBool::new(false));
    let leader = spawn_leader(conf.clone(), read, Arc::clone(&stop))?;
    let watcher = spawn_watcher(conf.clone(), Arc::clone(&stop));
    let sent = produce(&conf, read, rate, seconds)?;
    std::thread::sleep(Duration::from_secs(2));
    stop.store(true, Ordering::Relaxed);
    leader.join().map_err(|_| anyhow::anyhow!("the leader's thread panicked"))??;
    let seen: BTreeMap<String, u64> = watcher.iter().collect();
    let warm = sent.values().min().copied().unwrap_or(0) + WARM.as_nanos() as u64;
    let mut spans: Vec<f64> = sent
        .iter()
        .filter(|(_, at)| **at >= warm)
        .filter_map(|(subject, at)| seen.get(subject).map(|seen| seen.saturating_sub(*at)))
        .map(|ns| ns as f64 / 1e6)
        .collect();
    spans.sort_by(f64::total_cmp);
    let at = |part: f64| spans.get((spans.len() as f64 * part) as usize).copied().unwrap_or(0.0);
    figures.insert("latency_requests".into(), spans.len() as f64);
    figures.insert("latency_unanswered".into(), (sent.len() - seen.len().min(sent.len())) as f64);
    figures.insert("latency_events_per_second".into(), f64::from(rate));
    figures.insert("latency_p50_ms".into(), at(0.50));
    figures.insert("latency_p99_ms".into(), at(0.99));
    Ok(())
}

/// Topics of our own, so that no other process is disturbed.
fn conf(log_args: &LogArgs, read: &Read) -> anyhow::Result<KafkaConf> {
    let mut conf = log_args.kafka(&read.topology)?;
    let prefix = format!("bench.{}", std::process::id());
    conf.transactional_id = prefix.clone();
    for topic in &mut conf.topics {
        topic.name = format!("{prefix}.{}", topic.topic.name());
    }
    let config = |topic: Topic| match topic {
        Topic::Progress => vec![("message.timestamp.type".to_owned(), "LogAppendTime".to_owned())],
        _ => Vec::new(),
    };
    let specs: Vec<NewTopicSpec> = Topic::read()
        .map(|topic| NewTopicSpec {
            name: format!("{prefix}.{}", topic.name()),
            partitions: if topic == Topic::Progress { 1 } else { 2 },
            replication: -1,
            configs: config(topic),
        })
        .collect();
    KafkaAdmin::open(&conf)?.create(&specs)?;
    // A topic that was just made has no leader for a moment.
    let mut tries = 0;
    while let Err(error) = KafkaLog::open(conf.clone()).and_then(|mut log| log.lanes()) {
        tries += 1;
        anyhow::ensure!(tries < 20, "the topics made for this have no leader: {error}");
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(conf)
}

type Thread = std::thread::JoinHandle<anyhow::Result<()>>;

fn spawn_leader(conf: KafkaConf, read: &Read, stop: Arc<AtomicBool>) -> anyhow::Result<Thread> {
    let epoch_config = read.epoch_config()?;
    Ok(std::thread::spawn(move || {
        let log = AnyLog::Kafka(Box::new(KafkaLog::open(conf)?));
        let config = Config {
            instance: "bench".to_owned(),
            epoch_config,
            stopwatch: clock::stopwatch,
            verify: false,
            keeps: false,
            store_not_before: 0,
            uptime: None,
            counters: None,
        };
        let mut drive = Drive::start(log, AnyStore::Nothing, config)?;
        while !stop.load(Ordering::Relaxed) {
            let rest = if drive.leads() { drive.rest(clock::now()).clamp(1, 5) } else { 5 };
            drive.pump(Duration::from_millis(rest as u64))?;
            if drive.leads() {
                drive.lead(clock::now())?;
            } else {
                drive.follow()?;
                if drive.may_lead(clock::now(), clock::now(), 0) {
                    drive.take_lead(clock::now())?;
                }
            }
            drive.take_report();
        }
        Ok(drive.finish(clock::now())?)
    }))
}

/// Subjects of decisions with when they were seen, as they become visible to a committed reader.
fn spawn_watcher(conf: KafkaConf, stop: Arc<AtomicBool>) -> Receiver<(String, u64)> {
    let (seen, all) = channel();
    std::thread::spawn(move || -> anyhow::Result<()> {
        let mut log = KafkaLog::open(conf)?;
        let mut cut = Cut::default();
        for span in log.lanes()?.iter().filter(|span| span.lane.topic == Topic::Decision) {
            cut.advance(span.lane, span.first);
        }
        log.assign(&cut)?;
        let codec = Codec::default();
        let mut batch = Batch::default();
        while !stop.load(Ordering::Relaxed) {
            batch.clear();
            log.take(&mut batch, 1000, Duration::from_millis(50))?;
            let now = clock::stopwatch();
            for raw in &batch.records {
                let mut arena = Arena::default();
                let value = batch.value(raw);
                if let Event::Output(Output::Decision(decision)) =
                    codec.read(Topic::Decision, None, value, &mut arena)
                    && decision.ordinal == 1
                {
                    seen.send((decision.subject.clone(), now))?;
                }
            }
        }
        Ok(())
    });
    all
}

fn produce(
    conf: &KafkaConf,
    read: &Read,
    rate: u32,
    seconds: u32,
) -> anyhow::Result<BTreeMap<String, u64>> {
    let writer = KafkaWriter::open(conf)?;
    let name = |topic: Topic| {
        let found = conf.topics.iter().find(|map| map.topic == topic);
        found.map_or("", |map| map.name.as_str())
    };
    for event in facts_of(clock::now()) {
        let (topic, key, bytes) = encode(&event);
        writer.append(name(topic), None, Some(key.as_bytes()), Some(&bytes), &[], None)?;
    }
    writer.flush()?;
    let mut sent = BTreeMap::new();
    let mut load = Load::new(9, 200_000, clock::now());
    let ticks = seconds * ASKS;
    let each = (rate / ASKS).max(1) as usize;
    let began = clock::stopwatch();
    let mut bar = Bar::new("publishing", "s", seconds.into());
    for tick in 0..ticks {
        bar.at(u64::from(tick / ASKS));
        let batch = load.mixed(each);
        for raw in &batch.records {
            let (key, value) = (batch.key(raw), batch.value(raw));
            writer.append(name(raw.lane.topic), None, key, value, &[], None)?;
        }
        let task = request(&read.topology.domain, u64::from(tick), clock::now());
        let mut bytes = Vec::new();
        record::write(&mut bytes, &task);
        sent.insert(task.subject.clone(), clock::stopwatch());
        let key = Some(task.subject.as_bytes());
        writer.append(name(Topic::Task), None, key, Some(&bytes), &[], None)?;
        let due = began + u64::from(tick + 1) * 1_000_000_000 / u64::from(ASKS);
        let left = due.saturating_sub(clock::stopwatch());
        std::thread::sleep(Duration::from_nanos(left));
    }
    writer.flush()?;
    Ok(sent)
}
