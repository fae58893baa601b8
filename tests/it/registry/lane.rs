//! Records wait for the registry, lane by lane, and nothing is lost by it.

use super::*;
use crate::drive::yard::{lead, task};
use std::collections::BTreeMap;
use tempfile::TempDir;
use yardmaster::core::cut::Cut;
use yardmaster::core::event::{Event, Garbled};
use yardmaster::core::state::digest::digest;
use yardmaster::drive::port::{Batch, LogError};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::avro::{Arena, Codec, Writer, number_of, schema_text};
use yardmaster::wire::record;

fn start(yard: &Yard, topology: &Topology, instance: &str) -> Drive<Framed, PaperStore> {
    let url = &topology.registry.as_ref().unwrap().urls[0];
    Drive::start(framed(yard, topology), PaperStore::default(), config_of(instance, url)).unwrap()
}

fn stubs<S: Store>(drive: &Drive<Framed, S>) -> usize {
    drive.state().stubs.len()
}

#[test]
fn a_registry_that_is_down_means_waiting_and_no_dead_letter() {
    let registry = registry();
    let (theirs, topology) = (registry.put(FOREIGN), topology(&[&registry.url]));
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = start(&yard, &topology, "one");
    lead_until(&mut yard, &mut drive, |_, drive| drive.has_published());
    registry.books().is_down = true;
    append(&yard, Topic::Heartbeat, "7", &beat(theirs, "7"));
    append(&yard, Topic::Heartbeat, "8", &beat(theirs, "8"));
    // Others in the same lane wait behind them; those of other topics go on.
    yard.publish(Topic::Heartbeat, "9", |out| {
        record::write(out, &crate::drive::yard::heartbeat("9"));
    });
    yard.ask(&task("1/1", 10, yard.now));
    let cycle = drive.state().number;
    let unanswered = |drive: &mut Drive<Framed, PaperStore>| {
        drive.log().waiting_for_registry().filter(|(_, why)| why.contains("cannot be asked"))
    };
    lead_until(&mut yard, &mut drive, |yard, drive| {
        !published(yard).is_empty() && unanswered(drive).is_some()
    });
    let (count, why) = unanswered(&mut drive).unwrap();
    assert!(count >= 2, "{count}");
    assert!(why.contains("heartbeat") && why.contains(&format!("schema {theirs}")), "{why}");
    lead(&mut yard, &mut drive, 60).unwrap();
    assert!(drive.state().number > cycle, "cycles go on");
    assert_eq!((stubs(&drive), dead_letters(&yard)), (usize::from(count == 2), Vec::new()));
    registry.books().is_down = false;
    lead_until(&mut yard, &mut drive, |_, drive| stubs(drive) == 3);
    assert_eq!((drive.log().waiting_for_registry(), dead_letters(&yard)), (None, Vec::new()));
}

/// Numbers of the decisions' and cycles' headers, where they have one.
fn published(yard: &Yard) -> Vec<Option<u32>> {
    let lanes = (0..2).map(|partition| Lane::new(Topic::Decision, partition));
    let notes = lanes.flat_map(|lane| yard.paper.records(lane));
    notes.map(|note| number_of(&note.value.unwrap())).collect()
}

#[test]
fn a_lane_that_waits_for_long_is_unreadable_until_it_goes_on() {
    let registry = registry();
    let (theirs, mut topology) = (registry.put(FOREIGN), topology(&[&registry.url]));
    topology.limits.lane_unreadable_ms = 100;
    let yard = Yard::new();
    let lane = Lane::new(Topic::Heartbeat, 0);
    let mut log = framed(&yard, &topology);
    let mut cut = Cut::default();
    cut.advance(lane, 0);
    log.assign(&cut).unwrap();
    let mut taken = Batch::default();
    let mut until = |log: &mut Framed, is_so: &dyn Fn(&Batch) -> bool| {
        let began = Instant::now();
        taken.clear();
        while !is_so(&taken) {
            assert!(began.elapsed() < Duration::from_secs(10), "{:?}", taken.marks);
            log.take(&mut taken, 1, Duration::from_millis(5)).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        taken.clone()
    };
    until(&mut log, &|it| it.marks.iter().any(|mark| mark.flags.at_end));
    registry.books().is_down = true;
    for job in ["7", "8", "9"] {
        append(&yard, Topic::Heartbeat, job, &beat(theirs, job));
    }
    let reported = until(&mut log, &|it| it.marks.iter().any(|mark| mark.flags.unreadable));
    assert!(reported.records.is_empty() && reported.writers.is_empty());
    assert!(reported.marks.iter().all(|mark| mark.position == 0 && !mark.flags.at_end));
    // The caller's own wish to hold the lane is kept beyond the wait.
    log.set_paused(&[lane], true).unwrap();
    log.set_paused(&[lane], false).unwrap();
    registry.books().is_down = false;
    let reported = until(&mut log, &|it| it.marks.last().is_some_and(|mark| mark.flags.at_end));
    assert_eq!(reported.records.iter().map(|raw| raw.offset).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(reported.writers.len(), 1);
    assert_eq!((reported.writers[0].id, reported.marks.last().unwrap().position), (theirs, 3));
}

#[test]
fn a_number_the_registry_does_not_know_and_a_schema_that_cannot_be_read_are_dead_letters() {
    let registry = registry();
    let topology = topology(&[&registry.url]);
    let other = registry.put(r#"{"type":"record","name":"Other","fields":[]}"#);
    let json = registry.books().add(serde_json::json!({ "schema": "{}", "schemaType": "JSON" }));
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = start(&yard, &topology, "one");
    lead_until(&mut yard, &mut drive, |_, drive| drive.has_published());
    for id in [999, other, json] {
        append(&yard, Topic::Heartbeat, "7", &beat(id, "7"));
    }
    // Not in Confluent framing: nobody is asked what the number might be.
    append(&yard, Topic::Storage, "x", &raw(998, b"x"));
    lead_until(&mut yard, &mut drive, |yard, _| dead_letters(yard).len() == 4);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    dead_letters(&yard).into_iter().for_each(|why| *reasons.entry(why).or_default() += 1);
    let wrong = Garbled::WrongSchema.name().to_owned();
    let (unknown, framing) = (Garbled::UnknownSchema.name(), Garbled::Framing.name());
    let wanted = BTreeMap::from([(wrong, 2), (unknown.to_owned(), 1), (framing.to_owned(), 1)]);
    assert_eq!(reasons, wanted);
    let asked = registry.books().asked.clone();
    assert!(asked.iter().any(|it| it.ends_with("ids/999")), "{asked:?}");
    assert!(!asked.iter().any(|it| it.ends_with("ids/998")), "{asked:?}");
}

#[test]
fn with_a_store_a_restart_needs_no_registry() {
    let registry = registry();
    let (theirs, topology) = (registry.put(FOREIGN), topology(&[&registry.url]));
    let mut yard = Yard::new();
    yard.build(2);
    append(&yard, Topic::Heartbeat, "7", &beat(theirs, "7"));
    yard.ask(&task("1/1", 10, yard.now));
    let mut drive = start(&yard, &topology, "one");
    lead_until(&mut yard, &mut drive, |yard, drive| {
        stubs(drive) == 1 && !published(yard).is_empty()
    });
    drive.finish(yard.now).unwrap();
    assert!(published(&yard).iter().all(Option::is_some), "we say in the topic's framing");
    let reached = digest(drive.state());
    let (_, store) = drive.into_ports();
    registry.books().is_down = true;
    let decided = published(&yard).len();
    let begin = |yard: &Yard, store: PaperStore, instance: &str| {
        let config = config_of(instance, &registry.url);
        Drive::start(framed(yard, &topology), store, config)
    };
    let mut drive = begin(&yard, store, "two").unwrap();
    assert_eq!(digest(drive.state()), reached);
    // Of the same writer, and a new request: read, answered and published without asking anybody.
    append(&yard, Topic::Heartbeat, "8", &beat(theirs, "8"));
    yard.ask(&task("1/2", 10, yard.now));
    lead_until(&mut yard, &mut drive, |yard, drive| {
        stubs(drive) == 2 && published(yard).len() > decided
    });
    assert_eq!(
        (published(&yard).iter().all(Option::is_some), dead_letters(&yard)),
        (true, Vec::new())
    );
    drive.finish(yard.now).unwrap();
    let reached = digest(drive.state());
    drop(drive);
    // Without the store no cycle can be read. It says what it waits for, and starts again.
    let begin = || begin(&yard, PaperStore::default(), "three");
    let Err(Halt::Log(LogError::Unanswered(why))) = begin() else { panic!("it began") };
    assert!(why.contains("of progress[0]") && why.contains("cannot be asked"), "{why}");
    registry.books().is_down = false;
    let mut drive = begin().unwrap();
    let began = Instant::now();
    while digest(drive.state()) != reached {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            drive.log().waiting_for_registry()
        );
        drive.pump(Duration::ZERO).unwrap();
        drive.follow().unwrap();
    }
}

#[test]
fn outputs_in_a_framing_are_made_again_byte_for_byte() {
    let registry = registry();
    let topology = topology(&[&registry.url]);
    let mut yard = Yard::new();
    yard.build(3);
    let mut drive = start(&yard, &topology, "one");
    for round in 0..5 {
        let request = task(&format!("1/{round}"), 10, yard.now);
        let id = registry_number(&registry, Topic::Task);
        append(&yard, Topic::Task, "1", &numbered(id, |out| record::write(out, &request)));
        lead_until(&mut yard, &mut drive, |yard, _| published(yard).len() == round + 1);
    }
    drive.finish(yard.now).unwrap();
    let config = Config { verify: true, ..config_of("two", &registry.url) };
    let mut again = Drive::start(framed(&yard, &topology), PaperStore::default(), config).unwrap();
    let began = Instant::now();
    while again.state().number < drive.state().number {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "{:?}",
            again.log().waiting_for_registry()
        );
        again.pump(Duration::ZERO).unwrap();
        again.follow().unwrap();
    }
    assert_eq!(again.take_report().verified, [5, 0, 0]);
    assert_eq!(digest(again.state()), digest(drive.state()));
}

fn registry_number(registry: &Registry, topic: Topic) -> u32 {
    registry.books().subjects[&format!("t.{}-value", topic.name())][0]
}

#[test]
fn no_process_leads_while_its_schemas_are_not_registered() {
    let registry = Registry::start();
    let topology = topology(&[&registry.url]);
    let yard = Yard::new();
    let mut log = framed(&yard, &topology);
    let missing = log.lead();
    let Err(LogError::Stop(why)) = missing else { panic!("{missing:?}") };
    assert!(why.contains("t.decision-value") && why.contains("topology apply"), "{why}");
    registry.books().is_down = true;
    let unanswered = log.lead();
    assert!(matches!(unanswered, Err(LogError::Unanswered(_))), "{unanswered:?}");
}

#[test]
fn beside_a_directory_the_schemas_lie_as_files() {
    let registry = registry();
    let (theirs, topology) = (registry.put(FOREIGN), topology(&[&registry.url]));
    let dir = TempDir::new().unwrap();
    let yard = Yard::new();
    append(&yard, Topic::Heartbeat, "7", &beat(theirs, "7"));
    let read = || {
        let framing = Framing::of(&topology).unwrap().unwrap().beside(dir.path(), true);
        let mut log = FramedLog::new(yard.log(), framing).unwrap();
        let mut cut = Cut::default();
        cut.advance(Lane::new(Topic::Heartbeat, 0), 0);
        log.assign(&cut).unwrap();
        let mut batch = Batch::default();
        let began = Instant::now();
        while batch.records.is_empty() && began.elapsed() < Duration::from_secs(5) {
            log.take(&mut batch, 10, Duration::from_millis(5)).unwrap();
        }
        assert_eq!((batch.records.len(), batch.writers.len()), (1, 1));
        batch.writers[0].clone()
    };
    let writer = read();
    let file = dir.path().join(format!("schemas/{theirs}.avsc"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), FOREIGN);
    registry.books().is_down = true;
    assert_eq!(read(), writer);
    // A file that was cut is no schema: the registry is asked, and the file written again.
    std::fs::write(&file, &FOREIGN[..40]).unwrap();
    registry.books().is_down = false;
    assert_eq!(read(), writer);
}

#[test]
fn a_codec_reads_schema_numbers_of_a_topic_once_they_are_known() {
    let mut codec = Codec::default();
    let mut arena = Arena::default();
    let topic = Topic::Heartbeat;
    let mut read =
        |codec: &Codec, value: &[u8]| match codec.read(topic, None, Some(value), &mut arena) {
            Event::Heartbeat(beat) => Ok(beat.job.to_owned()),
            Event::Garbled(why) => Err(why),
            other => panic!("{other:?}"),
        };
    let ours = numbered(5, |out| {
        record::write(out, &crate::drive::yard::heartbeat("42"));
    });
    assert_eq!(read(&codec, &ours), Err(Garbled::Framing), "the topic is not framed so");
    let writer = |id, text: Option<&str>| Writer { topic, id, schema: text.map(Into::into) };
    assert!(codec.learn_number(&writer(6, None)).is_err());
    assert_eq!(read(&codec, &ours), Err(Garbled::UnknownSchema));
    codec.learn_number(&writer(5, Some(schema_text(topic)))).unwrap();
    codec.learn_number(&writer(0x0102_0304, Some(FOREIGN))).unwrap();
    assert_eq!(read(&codec, &ours), Ok("42".into()));
    assert_eq!(read(&codec, &beat(0x0102_0304, "43")), Ok("43".into()));
    assert_eq!(read(&codec, &beat(6, "44")), Err(Garbled::UnknownSchema));
    for cut in 0..5 {
        assert_eq!(read(&codec, &ours[..cut]), Err(Garbled::Framing), "{cut} bytes");
    }
    assert_eq!(read(&codec, &ours[..7]), Err(Garbled::Malformed));
    let mut plain = Vec::new();
    record::write(&mut plain, &crate::drive::yard::heartbeat("45"));
    assert_eq!(read(&codec, &plain), Ok("45".into()), "as it was framed before");
}
