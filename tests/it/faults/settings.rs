//! Topics with other settings than the topology needs, on a broker with Kafka's own defaults, which
//! makes each topic that is asked for.

use super::{admin, says};
use crate::drive::yard;
use crate::kill::bus::{Bus, now};
use crate::kill::process::{Process, wait_until, yardmaster};
use crate::kill::{SECOND, settle_accounts};
use rdkafka::admin::{NewTopic, TopicReplication};
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Status;
use yardmaster::shell::kafka::{KafkaAdmin, KafkaConf};
use yardmaster::wire::record;

/// Topics of a topology that the broker has.
fn there(bus: &Bus) -> usize {
    let conf = KafkaConf::new(&bus.bootstrap, &bus.domain, Vec::new());
    let admin = KafkaAdmin::open(&conf).unwrap();
    Topic::ALL.iter().filter(|it| admin.partitions(&bus.topic(**it)).unwrap().is_some()).count()
}

fn create(bus: &Bus, topic: Topic, settings: &'static [(&'static str, &'static str)]) {
    let name: &'static str = bus.topic(topic).leak();
    let made = admin(bus, |client, options| async move {
        let new = NewTopic::new(name, 2, TopicReplication::Fixed(1));
        let new = settings.iter().fold(new, |new, (key, value)| new.set(key, value));
        client.create_topics([&new], &options).await
    });
    assert!(made.iter().all(Result::is_ok), "{made:?}");
}

#[test]
fn looking_creates_no_topic_and_what_others_created_is_named_with_the_remedy() {
    let Some(bus) = Bus::without_topics() else { return };
    bus.verb("topology", 0, &["apply", "--dry-run"]);
    bus.verb("topology", 1, &["check"]);
    let args = [&["replay"][..], &bus.place()].concat();
    assert_eq!(yardmaster(&args).status.code(), Some(1));
    let mut run = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    assert_eq!(run.end(60 * SECOND).code(), Some(1));
    says(&run.logged(), &["topology apply"]);
    assert_eq!(there(&bus), 0, "topics that nobody asked for");

    // By the first record of somebody, with the broker's defaults.
    create(&bus, Topic::Queue, &[]);
    create(&bus, Topic::JobState, &[("cleanup.policy", "delete"), ("retention.ms", "604800000")]);
    let applied = bus.verb("topology", 1, &["apply"]);
    says(
        &applied,
        &[
            "queue: is there already",
            "cleanup.policy is delete",
            "cleanup.policy=[compact]",
            "retention.ms is 604800000",
            "retention.ms=[2678400000]",
            "message.timestamp.type=[LogAppendTime]",
            ".progress: made",
        ],
    );
}

#[test]
fn a_shipped_topology_is_found_right_once_it_is_applied() {
    let Some(bus) = Bus::without_topics() else { return };
    bus.verb("topology", 0, &["apply"]);
    bus.verb("topology", 0, &["apply"]);
    bus.verb("topology", 0, &["check", "--strict"]);
    let short = [("cleanup.policy", "compact"), ("delete.retention.ms", "1000")];
    bus.configure(Topic::Queue, &short);
    says(&bus.verb("topology", 1, &["check"]), &["delete.retention.ms is 1000"]);

    // A store that is older than that is rebuilt.
    let store = bus.path("store");
    let start = || Process::start(&bus.bootstrap, &bus.topology, &store);
    let process = start();
    wait_until(60 * SECOND, || process.logged(), || process.leads());
    assert_eq!(process.stop().code(), Some(0));
    std::thread::sleep(Duration::from_millis(1_100));
    let process = start();
    wait_until(60 * SECOND, || process.logged(), || process.leads());
    says(&process.all_logged(), &["delete.retention.ms", "rebuilt from the log"]);
}

/// The start names it, before cycles are missing.
#[test]
fn a_compacted_progress_is_refused_at_the_start() {
    let Some(bus) = super::bus() else { return };
    bus.configure(Topic::Progress, &[("cleanup.policy", "compact")]);
    let process = Process::start(&bus.bootstrap, &bus.topology, &bus.path("store"));
    super::must_stop(process, &["progress has cleanup.policy=compact", "cleanup.policy=delete"]);
}

/// With the codec that most clusters use, on what is read and on what is published.
#[test]
fn compressed_topics_are_read_and_published() {
    let Some(bus) = super::bus() else { return };
    for topic in [Topic::JobState, Topic::Decision, Topic::Progress] {
        let zstd = [("compression.type", "zstd"), ("message.timestamp.type", "LogAppendTime")];
        bus.configure(topic, &zstd);
    }
    bus.queue("QUEUE_00", 1, 40);
    let job = yard::job("1", "QUEUE_00", "", Status::Running, now());
    bus.publish(Topic::JobState, "1", |out| record::write(out, &job));
    bus.ask("1/1", 1, 500);
    bus.flush();
    let subjects = ["1/1".to_owned()].into();
    for store in ["one", "other"] {
        let mut process = Process::start(&bus.bootstrap, &bus.topology, &bus.path(store));
        super::wait_for_just(&bus, &subjects, &mut process);
        assert_eq!(process.stop().code(), Some(0));
    }
    println!("{}", settle_accounts(&bus, &subjects, &[&bus.path("one"), &bus.path("other")]));
}
