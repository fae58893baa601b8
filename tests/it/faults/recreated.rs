//! A topic that was deleted and created again under its name, and has as many records as before: offsets
//! mean something else there.

use super::{admin, bus, must_stop, publish};
use crate::kill::SECOND;
use crate::kill::bus::Bus;
use crate::kill::process::{Process, wait_until};
use rdkafka::admin::{NewTopic, TopicReplication};
use yardmaster::core::cut::Topic;

const SAYS: [&str; 3] = [
    "topic job-state was deleted and created again",
    "new names in the topology",
    "topology apply",
];

fn create_again(bus: &Bus) {
    let name = bus.topic(Topic::JobState);
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
    create_again(&bus);
    // More than before, so that every offset that was reached is there.
    publish(&bus, 0..200);
    must_stop(process, &SAYS);
    must_stop(start(), &SAYS);
    std::fs::remove_dir_all(&store).unwrap();
    must_stop(start(), &SAYS);
}
