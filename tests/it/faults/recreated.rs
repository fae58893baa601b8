//! A topic that was deleted and created again under its name, and has as many records as before: offsets
//! mean something else there.

use super::{admin, bus, must_stop, publish, says};
use crate::kill::SECOND;
use crate::kill::bus::{Bus, now};
use crate::kill::intake::{Place, Stage};
use crate::kill::process::{Process, wait_until};
use crate::kill::witness::glance;
use rdkafka::admin::{NewTopic, TopicReplication};
use std::ops::Range;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Status;
use yardmaster::shell::kafka::{KafkaConf, KafkaWriter};

const SAYS: [&str; 3] = [
    "topic job-state was deleted and created again",
    "new names in the topology",
    "topology apply",
];

fn create_again(bus: &Bus, name: &str) {
    let name = name.to_owned();
    let deleted = admin(bus, |client, options| {
        let names: &'static [&'static str] = Box::leak(Box::new([&*name.clone().leak()]));
        async move { client.delete_topics(names, &options).await }
    });
    assert!(deleted.iter().all(Result::is_ok), "{deleted:?}");
    // The broker forgets it a moment after it has answered.
    wait_until(
        30 * SECOND,
        || name.clone(),
        || {
            let made = admin(bus, |client, options| {
                let name: &'static str = name.clone().leak();
                async move {
                    let topic = NewTopic::new(name, 2, TopicReplication::Fixed(1));
                    let topic = topic.set("message.timestamp.type", "LogAppendTime");
                    client.create_topics([&topic], &options).await
                }
            });
            made.iter().all(Result::is_ok)
        },
    );
}

#[test]
fn a_topic_that_was_created_again_is_refused_running_restarted_and_without_a_store() {
    let Some(bus) = bus() else { return };
    bus.queue("QUEUE_00", 1, 0);
    publish(&bus, 0..100);
    let store = bus.path("store");
    let start = || Process::start(&bus.bootstrap, &bus.topology, &store);
    let process = start();
    let folded = |process: &Process| {
        let counters = process.page("/api/v1/counters").unwrap_or_default();
        counters.contains("QUEUE_00")
    };
    wait_until(60 * SECOND, || process.logged(), || process.leads() && folded(&process));
    create_again(&bus, &bus.topic(Topic::JobState));
    // More than before, so that every offset that was reached is there.
    publish(&bus, 1..200);
    must_stop(process, &SAYS);
    must_stop(start(), &SAYS);
    std::fs::remove_dir_all(&store).unwrap();
    must_stop(start(), &SAYS);
}

fn tell(place: &Place, jobs: Range<u64>) {
    jobs.for_each(|job| place.job(job, Status::Running, now() / 1_000));
    place.writer.flush().unwrap();
}

/// Whether intake has published states of all these jobs.
fn has(place: &Place, mut jobs: Range<u64>) -> bool {
    let found = glance(&place.bus.bootstrap, &place.bus.topic(Topic::JobState));
    jobs.all(|job| found.iter().any(|(key, _)| *key == job.to_string().into_bytes()))
}

/// Waits for its end with an error; the end of its log.
fn refused(mut stage: Stage) -> String {
    let mut code = None;
    let mut has_ended = || {
        code = stage.child.try_wait().unwrap();
        code.is_some()
    };
    wait_until(60 * SECOND, || "intake goes on".to_owned(), &mut has_ended);
    assert_eq!(code.and_then(|code| code.code()), Some(1), "{}", stage.logged());
    stage.logged()
}

/// A source of intake, of which the group keeps the offsets.
#[test]
fn a_source_that_was_created_again_stops_intake_and_is_read_from_its_beginning_on_demand() {
    let Some(mut place) = Place::with(2, "", |_| ()) else { return };
    let stage = place.start_with(&[]);
    tell(&place, 1..20);
    wait_until(60 * SECOND, || stage.logged(), || has(&place, 1..20));
    create_again(&place.bus, &place.foreign);
    // By a client that knows of no topic before; so many that every offset that was reached is there.
    let conf = KafkaConf::new(&place.bus.bootstrap, &place.bus.domain, Vec::new());
    place.writer = KafkaWriter::open(&conf).unwrap();
    tell(&place, 100..160);
    // Running it may have looked just when there was none. It is known
    // by its id, or by the offsets where the broker has forgotten them by then.
    let text = refused(stage);
    assert!(text.contains("created again") || text.contains("no topic of this name"), "{text}");
    let parts = [&place.foreign, "was deleted and created again", "--skip-lost", "import jobs"];
    says(&refused(place.start_with(&[])), &parts);

    let stage = place.start_with(&["--skip-lost"]);
    wait_until(60 * SECOND, || stage.logged(), || has(&place, 100..160));
    stage.kill();
    // What was committed since is of the new topic.
    let stage = place.start_with(&[]);
    tell(&place, 200..201);
    wait_until(60 * SECOND, || stage.logged(), || has(&place, 200..201));
}
