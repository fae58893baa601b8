//! A broker that forgets the offsets of a group after a minute: intake finds out, stops with the
//! remedy, and reads nothing again by itself.

use crate::broker::{Broker, is_possible};
use crate::kill::bus::Bus;
use crate::kill::intake::{Place, Stage};
use crate::kill::process::wait_until;
use crate::kill::witness::{committed, glance};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use std::collections::BTreeSet;
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, Status};
use yardmaster::drive::intake::Records;
use yardmaster::shell::kafka::{KafkaConf, KafkaIntake, TopicMap};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::topology::Topology;

const SECOND: Duration = Duration::from_secs(1);
const FORGETFUL: &str = "offsets.retention.minutes=1\noffsets.retention.check.interval.ms=1000\n";
const PARTITIONS: u32 = 2;
const T0: i64 = 1_760_000_000;

/// The group that intake keeps the offsets of its sources under.
fn intake_id(bus: &Bus) -> String {
    let text = std::fs::read_to_string(&bus.topology).unwrap();
    Topology::parse("topology", &text).unwrap().intake_id()
}

/// Offset and metadata that intake's group has committed for each partition of its source.
fn offsets(place: &Place) -> Vec<Option<(i64, String)>> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &place.bus.bootstrap);
    config.set("group.id", intake_id(&place.bus));
    let client: BaseConsumer = config.create().unwrap();
    let mut asked = TopicPartitionList::new();
    asked.add_partition_range(&place.foreign, 0, PARTITIONS as i32 - 1);
    let answer = client.committed_offsets(asked, 10 * SECOND).unwrap();
    let found = answer.elements().into_iter().map(|it| match it.offset() {
        Offset::Offset(at) => Some((at, it.metadata().to_owned())),
        _ => None,
    });
    found.collect()
}

/// How many records are there of jobs' states, and of what could not be read.
fn published(place: &Place) -> (usize, usize) {
    let count = |topic| glance(&place.bus.bootstrap, &place.bus.topic(topic)).len();
    (count(Topic::JobState), count(Topic::DeadLetter))
}

/// Waits until intake ends by itself; its last line.
fn last_line(mut stage: Stage) -> String {
    let mut code = None;
    let reported = stage.logged();
    wait_until(
        60 * SECOND,
        || reported.clone(),
        || {
            code = stage.child.try_wait().unwrap();
            code.is_some()
        },
    );
    assert_eq!(code.and_then(|code| code.code()), Some(1), "{}", stage.logged());
    stage.logged().lines().last().unwrap_or_default().to_owned()
}

/// Job and state of every record.
fn states(place: &Place) -> Vec<(String, Status)> {
    let (codec, mut found) = (Codec::default(), Vec::new());
    for (_, value) in committed(&place.bus.bootstrap, &place.bus.topic(Topic::JobState)) {
        let mut arena = Arena::default();
        let event = codec.read(Topic::JobState, None, Some(&value), &mut arena);
        let Event::JobState(job) = event else { panic!("{event:?}") };
        found.push((job.job.to_owned(), job.status));
    }
    found
}

#[test]
fn intake_stops_when_the_broker_has_forgotten_its_offsets_and_reads_nothing_twice() {
    if !is_possible() {
        return;
    }
    let broker = Broker::with(FORGETFUL);
    let place = Place::on(Bus::on(&broker.address(), &[], |_| ()), PARTITIONS, "");
    // One key, one partition: the other stays idle, and is committed all the same.
    place.job(1, Status::Running, T0);
    place.writer.flush().unwrap();
    let stage = place.start_with(&[]);
    wait_until(60 * SECOND, || stage.logged(), || published(&place) == (1, 0));
    let known = format!("{}={PARTITIONS}", place.foreign);
    let all_known = || {
        let found = offsets(&place);
        let is_whole = |it: &Option<(i64, String)>| {
            it.as_ref().is_some_and(|it| it.1.split(' ').nth(1) == Some(&known))
        };
        found.iter().all(is_whole) && found.iter().flatten().map(|it| it.0).sum::<i64>() == 1
    };
    wait_until(20 * SECOND, || format!("{:?}", offsets(&place)), all_known);
    place.put("1", "{\"msg_type\": \"job_status\"}");
    place.writer.flush().unwrap();
    wait_until(60 * SECOND, || stage.logged(), || published(&place) == (1, 1));
    stage.kill();

    let all_gone = || offsets(&place).iter().all(Option::is_none);
    wait_until(180 * SECOND, || format!("{:?}", offsets(&place)), all_gone);
    let last = last_line(place.start_with(&[]));
    println!("{last}");
    let group = intake_id(&place.bus);
    for part in [&place.foreign, &group, "--skip-lost", "import jobs", "offsets.retention.minutes"]
    {
        assert!(last.contains(part), "{part:?} is not in {last:?}");
    }
    assert_eq!(published(&place), (1, 1), "it stopped, and published all the same");

    place.job(1, Status::Finished, T0 + 60);
    place.writer.flush().unwrap();
    let mut stage = place.start_with(&["--skip-lost"]);
    wait_until(60 * SECOND, || stage.logged(), || published(&place).0 == 2);
    stage.must_live();
    // What intake published it knows: a job's state is not published again. A dead letter is.
    let found = states(&place);
    assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 2, "{found:?}");
    assert_eq!(published(&place), (2, 2));
}

/// Offsets that did not move are committed at the start, and again when it is time to.
#[test]
fn intake_commits_the_offsets_of_all_partitions_at_its_start_and_after_each_interval() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    let source = bus.topic(Topic::Heartbeat);
    for (interval, offset) in [(Duration::from_secs(86_400), 7), (Duration::ZERO, 0)] {
        let group = format!("{}-{offset}", bus.domain);
        let published_topic = TopicMap { topic: Topic::JobState, name: bus.topic(Topic::JobState) };
        let mut conf = KafkaConf::new(&bus.bootstrap, &group, vec![published_topic]);
        conf.commit_all_after = interval;
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &bus.bootstrap).set("group.id", &group);
        let client: BaseConsumer = config.create().unwrap();
        let of_all = |offset: i64| {
            let mut list = TopicPartitionList::new();
            for partition in 0..2 {
                list.add_partition_offset(&source, partition, Offset::Offset(offset)).unwrap();
            }
            list
        };
        let committed = || {
            let answer = client.committed_offsets(of_all(0), 10 * SECOND).unwrap();
            answer.elements().iter().map(|it| it.offset()).collect::<Vec<_>>()
        };
        // A topic that was just made may have no leader yet.
        let mut begun = None;
        wait_until(
            60 * SECOND,
            || format!("{source} cannot be read"),
            || {
                let mut intake = KafkaIntake::lead(&conf).unwrap();
                let is_read = intake.read(&[(&source, false)], false, false).is_ok();
                begun = is_read.then_some(intake);
                is_read
            },
        );
        let mut intake = begun.unwrap();
        intake.publish(&Records::default(), &|_, _| None).unwrap();
        assert_eq!(committed(), [Offset::Offset(0); 2]);
        // Somebody else changes them, as a broker that forgets them does.
        client.commit(&of_all(7), CommitMode::Sync).unwrap();
        intake.publish(&Records::default(), &|_, _| None).unwrap();
        assert_eq!(committed(), [Offset::Offset(offset); 2], "{interval:?}");
    }
}
