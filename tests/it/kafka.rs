//! The contract on Kafka, and what only a broker can show. `YARDMASTER_TEST_KAFKA=host:port`
//! names a real one; without it they are left out, and say so.

use crate::broker::{Broker, is_possible};
use crate::contract::{
    DECISIONS, JOBS, MORE_JOBS, PROGRESS, Reading, World, all_from_start, contract, cut, keys,
    output, publish_cycle,
};
use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseRecord, Producer, ThreadedProducer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::drive::port::{Log, LogError, OutputRecord};
use yardmaster::shell::kafka::{
    Created, KafkaAdmin, KafkaConf, KafkaLog, KafkaWriter, NewTopicSpec, TopicMap,
};

/// Topics of one test on some broker.
struct OnKafka {
    conf: KafkaConf,
    writer: KafkaWriter,
}

/// A name that no other test has used, on this broker or ever.
fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!("test-{}-{}-{count}", since.as_micros(), std::process::id())
}

fn topics(prefix: &str) -> Vec<TopicMap> {
    let map = |topic: Topic| TopicMap { topic, name: format!("{prefix}-{}", topic.name()) };
    [Topic::JobState, Topic::Decision, Topic::Progress].map(map).to_vec()
}

fn partitions(topic: Topic) -> u32 {
    if topic == Topic::JobState { 2 } else { 1 }
}

impl OnKafka {
    /// The real broker; `None` when none is named.
    fn real() -> Option<OnKafka> {
        let Ok(bootstrap) = std::env::var("YARDMASTER_TEST_KAFKA") else {
            println!("no broker: YARDMASTER_TEST_KAFKA is not set");
            return None;
        };
        Some(OnKafka::at(&bootstrap))
    }

    /// New topics on a real broker.
    fn at(bootstrap: &str) -> OnKafka {
        OnKafka::at_with(bootstrap, &[])
    }

    /// The same with further settings.
    fn at_with(bootstrap: &str, more: &[(&str, &str)]) -> OnKafka {
        let prefix = unique();
        let own = [("message.timestamp.type", "LogAppendTime")];
        let configs =
            own.iter().chain(more).map(|(key, value)| (key.to_string(), value.to_string()));
        let configs: Vec<(String, String)> = configs.collect();
        let conf = KafkaConf::new(bootstrap, &prefix, topics(&prefix));
        let spec = |map: &TopicMap| NewTopicSpec {
            name: map.name.clone(),
            partitions: partitions(map.topic),
            replication: -1,
            configs: configs.clone(),
        };
        let specs: Vec<NewTopicSpec> = conf.topics.iter().map(spec).collect();
        KafkaAdmin::open(&conf).unwrap().create(&specs).unwrap();
        let writer = KafkaWriter::open(&conf).unwrap();
        OnKafka { conf, writer }
    }

    fn log(&self) -> KafkaLog {
        KafkaLog::open(self.conf.clone()).unwrap()
    }

    fn name(&self, lane: Lane) -> &str {
        &self.conf.topics.iter().find(|map| map.topic == lane.topic).unwrap().name
    }

    fn put(&self, lane: Lane, key: &[u8]) {
        let partition = Some(lane.partition);
        self.writer.append(self.name(lane), partition, Some(key), None, &[], None).unwrap();
    }

    /// A transaction of somebody else, not ended.
    fn foreign(&self, lane: Lane, key: &str) -> ThreadedProducer<Quiet> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.conf.bootstrap).set("transactional.id", unique());
        let producer: ThreadedProducer<Quiet> = config.create_with_context(Quiet).unwrap();
        retried(|| producer.init_transactions(Duration::from_secs(20)));
        producer.begin_transaction().unwrap();
        let record: BaseRecord<'_, str, str> = BaseRecord::to(self.name(lane));
        producer.send(record.key(key).partition(lane.partition as i32)).unwrap();
        producer.flush(Duration::from_secs(10)).unwrap();
        producer
    }
}

/// One step of a transaction, again while the client says that this may help.
fn retried(step: impl Fn() -> Result<(), KafkaError>) {
    let start = Instant::now();
    while let Err(error) = step() {
        let may_help = matches!(&error, KafkaError::Transaction(of) if of.is_retriable());
        assert!(may_help && start.elapsed() < MINUTE, "{error}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

struct Quiet;

impl rdkafka::ClientContext for Quiet {}

impl rdkafka::producer::ProducerContext for Quiet {
    type DeliveryOpaque = ();

    fn delivery(&self, _: &rdkafka::message::DeliveryResult<'_>, (): ()) {}
}

impl World for OnKafka {
    type L = KafkaLog;

    fn publisher(&mut self) -> KafkaLog {
        self.log()
    }

    fn reader(&mut self) -> KafkaLog {
        self.log()
    }

    fn append(&mut self, lane: Lane, key: Option<&[u8]>, value: Option<&[u8]>) {
        let name = self.name(lane).to_string();
        self.writer.append(&name, Some(lane.partition), key, value, &[], None).unwrap();
        self.writer.flush().unwrap();
    }
}

const MINUTE: Duration = Duration::from_secs(60);
/// How long a restarted broker may take until all goes on.
const RESTART_PATIENCE: Duration = Duration::from_secs(180);

#[test]
fn the_contract_holds_on_kafka() {
    let Some(mut world) = OnKafka::real() else { return };
    contract(&mut world);
}

#[test]
fn a_missing_topic_is_named_with_the_remedy() {
    let Some(world) = OnKafka::real() else { return };
    let mut conf = world.conf.clone();
    conf.topics.push(TopicMap { topic: Topic::Task, name: "not-there".into() });
    let error = KafkaLog::open(conf).unwrap().lanes().unwrap_err();
    assert!(matches!(error, LogError::Stop(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("not-there") && text.contains("topology apply"), "{text}");
}

#[test]
fn a_broker_that_is_away_is_unreachable() {
    let mut conf = KafkaConf::new("127.0.0.1:1", "nobody", topics("nothing"));
    (conf.patience, conf.persistence) = (Duration::from_millis(300), Duration::ZERO);
    let mut log = KafkaLog::open(conf).unwrap();
    let error = log.lanes().unwrap_err();
    assert!(matches!(error, LogError::Unreachable(_)), "{error:?}");
    let mut batch = Default::default();
    log.take(&mut batch, 10, Duration::ZERO).unwrap();
}

#[test]
fn a_topic_that_is_deleted_while_it_is_read_stops_with_the_remedy() {
    let Some(world) = OnKafka::real() else { return };
    let mut log = world.log();
    log.assign(&all_from_start()).unwrap();
    world.put(JOBS, b"1");
    world.writer.flush().unwrap();
    let mut reading = Reading::new();
    reading.until(&mut log, 100, |reading| reading.count(JOBS) == 1);
    let admin: rdkafka::admin::AdminClient<_> =
        ClientConfig::new().set("bootstrap.servers", &world.conf.bootstrap).create().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let name = world.name(JOBS);
    runtime.block_on(admin.delete_topics(&[name], &Default::default())).unwrap();
    let start = Instant::now();
    let error = loop {
        let mut batch = Default::default();
        if let Err(error) = log.take(&mut batch, 100, Duration::from_millis(50)) {
            break error;
        }
        assert!(start.elapsed() < MINUTE, "it waits for a topic that is gone");
    };
    assert!(matches!(error, LogError::Stop(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(name) && text.contains("topology apply"), "{text}");
    println!("noticed after {:?}", start.elapsed());
}

#[test]
fn a_partition_that_was_added_a_moment_ago_is_found_at_once() {
    let Some(world) = OnKafka::real() else { return };
    let mut log = world.log();
    let count = |log: &mut KafkaLog| {
        log.lanes().unwrap().iter().filter(|span| span.lane.topic == JOBS.topic).count()
    };
    let before = count(&mut log);
    let admin: rdkafka::admin::AdminClient<_> =
        ClientConfig::new().set("bootstrap.servers", &world.conf.bootstrap).create().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let wanted = rdkafka::admin::NewPartitions::new(world.name(JOBS), before + 1);
    runtime.block_on(admin.create_partitions([&wanted], &Default::default())).unwrap();
    // Until the broker lists it; the client that asks for its end has a list of its own.
    let start = Instant::now();
    while count(&mut log) == before {
        assert!(start.elapsed() < MINUTE, "the broker does not list it");
    }
    assert_eq!(count(&mut log), before + 1);
}

#[test]
fn a_commit_takes_milliseconds() {
    let Some(world) = OnKafka::real() else { return };
    let mut log = world.log();
    log.lead().unwrap();
    let mut times = Vec::new();
    for cycle in 0..300 {
        let start = Instant::now();
        publish_cycle(&mut log, &["a", "b", "c"], &cycle.to_string()).unwrap();
        times.push(start.elapsed());
    }
    let late = &mut times[150..];
    late.sort();
    println!("commit of 4 records: p50 {:?}, p95 {:?}", late[75], late[142]);
    assert!(late[75] < Duration::from_millis(90), "the client's own flush takes 100 ms");
}

#[test]
fn aborted_and_open_transactions_are_hidden() {
    let Some(world) = OnKafka::real() else { return };
    let mut log = world.log();
    log.assign(&all_from_start()).unwrap();
    let aborted = world.foreign(JOBS, "aborted");
    retried(|| aborted.abort_transaction(MINUTE));
    world.put(JOBS, b"1");
    world.writer.flush().unwrap();
    let open = world.foreign(JOBS, "open");
    world.put(JOBS, b"behind it");
    world.writer.flush().unwrap();
    let mut reading = Reading::new();
    reading.until(&mut log, 100, |reading| {
        reading.marks.get(&JOBS).is_some_and(|mark| mark.flags.blocked_at.is_some())
    });
    assert_eq!(keys(&reading.lanes[&JOBS]), ["1"]);
    let mark = reading.marks[&JOBS];
    assert_eq!(mark.flags.blocked_at, Some(reading.stamps[&JOBS][0]), "{mark:?}");
    assert!(!mark.flags.at_end);
    let spans = log.lanes().unwrap();
    let span = spans.iter().find(|span| span.lane == JOBS).unwrap();
    assert_eq!((span.stable_end, span.end), (3, 5), "aborted, marker, 1 | open, behind it");

    retried(|| open.commit_transaction(MINUTE));
    reading.until(&mut log, 100, |reading| reading.at_end(JOBS));
    assert_eq!(keys(&reading.lanes[&JOBS]), ["1", "open", "behind it"]);
    assert_eq!(reading.marks[&JOBS].position, 6, "the marker is passed too");
    assert_eq!(reading.marks[&JOBS].flags.blocked_at, None);

    // A lane that was at its end is not any more when somebody opens a transaction there.
    let open = world.foreign(JOBS, "open again");
    reading.until(&mut log, 100, |reading| {
        reading.marks[&JOBS].flags.blocked_at.is_some() && !reading.at_end(JOBS)
    });
    retried(|| open.abort_transaction(MINUTE));
    reading.until(&mut log, 100, |reading| reading.at_end(JOBS));
    assert_eq!(reading.count(JOBS), 3);
}

#[test]
fn the_last_leader_fences_the_others() {
    let Some(world) = OnKafka::real() else { return };
    let (mut old, mut new) = (world.log(), world.log());
    old.lead().unwrap();
    publish_cycle(&mut old, &["a"], "p1").unwrap();
    new.lead().unwrap();
    let fenced = publish_cycle(&mut old, &["b"], "p2").unwrap_err();
    assert!(matches!(fenced, LogError::Fenced(_)), "{fenced:?}");
    let after = publish_cycle(&mut old, &["b"], "p2").unwrap_err();
    assert!(matches!(after, LogError::Stop(_)), "its voice is gone: {after:?}");
    publish_cycle(&mut new, &["c"], "p2").unwrap();
    // The one that was fenced in the middle of its words leaves nothing of them.
    old.lead().unwrap();
    publish_cycle(&mut old, &["d"], "p3").unwrap();
    let mut reader = world.log();
    reader.assign(&all_from_start()).unwrap();
    let mut reading = Reading::new();
    reading.until(&mut reader, 100, |reading| {
        reading.at_end(DECISIONS) && reading.count(PROGRESS) == 3
    });
    assert_eq!(keys(&reading.lanes[&DECISIONS]), ["a", "c", "d"]);
    assert_eq!(keys(&reading.lanes[&PROGRESS]), ["p1", "p2", "p3"]);
}

#[test]
fn a_record_too_large_stops_with_the_remedy() {
    let Some(world) = OnKafka::real() else { return };
    let mut log = world.log();
    log.lead().unwrap();
    let huge = OutputRecord { value: Some(vec![0; 3 << 20].into()), ..output(DECISIONS, "huge") };
    log.publish(vec![huge], output(PROGRESS, "p1")).unwrap();
    let text = log.settle().unwrap_err().to_string();
    assert!(text.contains("max.message.bytes") && text.contains("decision[0]"), "{text}");
    log.lead().unwrap();
    publish_cycle(&mut log, &["small"], "p1").unwrap();
}

/// At the value that `topology check` asks for.
#[test]
fn a_batch_of_records_that_each_fit_is_taken() {
    let Some(OnKafka { conf, .. }) = OnKafka::real() else { return };
    let bytes = 20_000;
    let taken = (bytes + 4_096).to_string();
    let mut world = OnKafka::at_with(&conf.bootstrap, &[("max.message.bytes", &taken)]);
    world.conf.max_output_bytes = bytes;
    let mut log = world.log();
    log.lead().unwrap();
    let value = |length| Some(vec![0; length].into());
    let of = |length, key| OutputRecord { value: value(length), ..output(DECISIONS, key) };
    let many = (0..50).map(|_| of(2_000, "some")).chain([of(bytes, "the longest")]).collect();
    log.publish(many, output(PROGRESS, "p1")).unwrap();
    log.settle().unwrap();
    // What imports writes is not bounded so, but its batches are.
    world.conf.max_output_bytes = 16_384;
    let writer = KafkaWriter::open(&world.conf).unwrap();
    for _ in 0..50 {
        writer.append(world.name(JOBS), None, Some(b"k"), Some(&[0; 2_000]), &[], None).unwrap();
    }
    writer.flush().unwrap();
}

/// However many reports of failures there are: each of these records is a batch of its own, and
/// what is not reported counts as on its way.
#[test]
fn of_very_many_records_that_are_refused_the_first_is_named() {
    let Some(OnKafka { conf, .. }) = OnKafka::real() else { return };
    let mut world = OnKafka::at_with(&conf.bootstrap, &[("max.message.bytes", "500")]);
    world.conf.properties.insert("batch.num.messages".to_owned(), "1".to_owned());
    let writer = KafkaWriter::open(&world.conf).unwrap();
    for _ in 0..20_000 {
        writer.append(world.name(JOBS), None, Some(b"k"), Some(&[0; 600]), &[], None).unwrap();
    }
    let text = writer.flush().unwrap_err().to_string();
    assert!(text.contains("max.message.bytes"), "{text}");
}

#[test]
fn pausing_a_lane_at_its_end_loses_nothing() {
    let Some(world) = OnKafka::real() else { return };
    let mut log = world.log();
    log.assign(&cut(&[(JOBS, 0)])).unwrap();
    let mut reading = Reading::new();
    for round in 0..20u32 {
        reading.until(&mut log, 100, |reading| reading.at_end(JOBS));
        log.set_paused(&[JOBS], true).unwrap();
        for number in 0..round % 4 {
            world.put(JOBS, &(round * 10 + number).to_be_bytes());
        }
        world.writer.flush().unwrap();
        reading.take(&mut log, 100, Duration::from_millis(5));
        log.set_paused(&[JOBS], false).unwrap();
        world.put(JOBS, &(round * 10 + 9).to_be_bytes());
        world.writer.flush().unwrap();
        let wanted: usize = (0..=round).map(|round| round as usize % 4 + 1).sum();
        reading.until(&mut log, 100, |reading| reading.count(JOBS) >= wanted);
    }
    let offsets: Vec<u64> = reading.lanes[&JOBS].iter().map(|(offset, ..)| *offset).collect();
    assert_eq!(offsets, (0..50).collect::<Vec<u64>>());
}

#[test]
fn retention_is_noticed() {
    let Some(world) = OnKafka::real() else { return };
    for number in 0..10u32 {
        world.put(JOBS, &number.to_be_bytes());
    }
    world.writer.flush().unwrap();
    let admin: rdkafka::admin::AdminClient<_> =
        ClientConfig::new().set("bootstrap.servers", &world.conf.bootstrap).create().unwrap();
    let mut gone = rdkafka::TopicPartitionList::new();
    gone.add_partition_offset(world.name(JOBS), 0, rdkafka::Offset::Offset(6)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(admin.delete_records(&gone, &Default::default())).unwrap();
    let mut log = world.log();
    let lost = log.assign(&cut(&[(JOBS, 5)])).unwrap_err();
    assert!(matches!(lost, LogError::OutOfRange { wanted: 5, first: 6, .. }), "{lost:?}");
    log.assign(&cut(&[(JOBS, 6)])).unwrap();
    let mut reading = Reading::new();
    reading.until(&mut log, 100, |reading| reading.at_end(JOBS));
    assert_eq!(reading.count(JOBS), 4);
}

#[test]
fn topics_are_made_and_described() {
    let Some(world) = OnKafka::real() else { return };
    let admin = KafkaAdmin::open(&world.conf).unwrap();
    let name = unique();
    let spec = NewTopicSpec {
        name: name.clone(),
        partitions: 3,
        replication: 1,
        configs: vec![("cleanup.policy".into(), "compact".into())],
    };
    let made = admin.create(std::slice::from_ref(&spec)).unwrap();
    assert_eq!(made, [(name.clone(), Created::Made)]);
    assert_eq!(admin.create(&[spec]).unwrap(), [(name.clone(), Created::Exists)]);
    let found = admin.describe(&[name.clone(), "not-there".into()]).unwrap();
    let topic = found[&name].as_ref().unwrap();
    assert_eq!(topic.partitions, 3);
    assert_eq!(topic.configs["cleanup.policy"], "compact");
    assert!(topic.configs.contains_key("retention.ms"));
    assert_eq!(found["not-there"], None);
    let bad = NewTopicSpec { name: "a b".into(), partitions: 1, replication: 1, configs: vec![] };
    assert!(matches!(admin.create(&[bad]), Err(LogError::Stop(_))));
}

/// Kafka's Java client puts these keys there (murmur2, as in its own tests).
#[test]
fn keys_go_where_kafka_puts_them() {
    let Some(world) = OnKafka::real() else { return };
    let name = world.name(JOBS).to_string();
    let even = ["21", "foobar", "a-little-bit-long-string"];
    let long = "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8";
    let odd = ["a-little-bit-longer-string", long, "abc"];
    for key in even.iter().chain(&odd) {
        world.writer.append(&name, None, Some(key.as_bytes()), None, &[], Some(5)).unwrap();
    }
    world.writer.flush().unwrap();
    let mut log = world.log();
    log.assign(&all_from_start()).unwrap();
    let mut reading = Reading::new();
    let all = |reading: &Reading| reading.lanes.values().map(Vec::len).sum::<usize>() == 6;
    reading.until(&mut log, 100, all);
    assert_eq!(keys(&reading.lanes[&JOBS]), even);
    assert_eq!(keys(&reading.lanes[&MORE_JOBS]), odd);
}

/// Where a lane ends now. A broker that has just started may not answer for a while.
fn stable_end(log: &mut impl Log, lane: Lane) -> u64 {
    let start = Instant::now();
    loop {
        match log.lanes() {
            Ok(spans) => return spans.iter().find(|span| span.lane == lane).unwrap().stable_end,
            Err(error) => {
                println!("the lanes do not answer: {error}");
                assert!(start.elapsed() < RESTART_PATIENCE, "{error}");
            }
        }
    }
}

/// Takes the lead. A broker that has just started may not know yet who leads its partitions.
fn lead(log: &mut impl Log) {
    let start = Instant::now();
    while let Err(error) = log.lead() {
        println!("{:?}, leading: {error}", start.elapsed());
        assert!(start.elapsed() < RESTART_PATIENCE, "{error}");
    }
}

#[test]
fn the_broker_may_restart() {
    if !is_possible() {
        return;
    }
    let broker = Arc::new(Broker::with(""));
    let world = OnKafka::at(&broker.address());
    let mut log = world.log();
    log.assign(&all_from_start()).unwrap();
    lead(&mut log);
    publish_cycle(&mut log, &["a"], "p1").unwrap();
    world.put(JOBS, b"1");
    world.writer.flush().unwrap();
    let mut reading = Reading::new();
    reading.until(&mut log, 100, |reading| reading.count(PROGRESS) == 1);
    let restarted = broker.clone();
    let child = std::thread::spawn(move || {
        restarted.kill();
        restarted.start_again();
    });
    let start = Instant::now();
    let mut seen = Duration::ZERO;
    while !child.is_finished() {
        reading.take(&mut log, 100, Duration::from_millis(50));
        seen = seen.max(log.unreachable().unwrap_or_default());
    }
    child.join().unwrap();
    println!("the restart took {:?}, the broker was missed for {seen:?}", start.elapsed());
    // The leader goes on, or must start again; then it goes on, from what is published: a commit
    // whose answer was lost may have been carried out.
    let back = Instant::now();
    while let Err(error) = publish_cycle(&mut log, &["b"], "p2") {
        println!("{:?} after the restart: {error}", back.elapsed());
        assert!(back.elapsed() < RESTART_PATIENCE, "{error}");
        lead(&mut log);
        let end = stable_end(&mut log, PROGRESS);
        reading.until(&mut log, 100, |reading| {
            reading.marks.get(&PROGRESS).is_some_and(|mark| mark.position >= end)
        });
        if reading.count(PROGRESS) == 2 {
            println!("the commit had been carried out");
            break;
        }
    }
    world.put(JOBS, b"2");
    world.writer.flush().unwrap();
    let end = stable_end(&mut log, DECISIONS);
    reading.until(&mut log, 100, |reading| {
        let has_all = reading.marks.get(&DECISIONS).is_some_and(|mark| mark.position >= end);
        reading.count(JOBS) == 2 && reading.count(PROGRESS) == 2 && has_all
    });
    assert_eq!(keys(&reading.lanes[&DECISIONS]), ["a", "b"]);
    // It is asked every few seconds only.
    let back = Instant::now();
    while log.unreachable().is_some() {
        assert!(back.elapsed() < RESTART_PATIENCE, "{:?}", log.unreachable());
        reading.take(&mut log, 100, Duration::from_millis(50));
    }
}
