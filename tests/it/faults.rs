//! Faults of a real Kafka and of the disk, done to the built program: nothing is lost, nothing is
//! published twice, and a message names the remedy.
//!
//! Leaders that are killed or paused are in `kill`; what compaction leaves is in `retention`.

mod disk;
mod lanes;
mod nodes;
mod phases;
mod proxy;
mod recreated;
mod restarts;
mod settings;
mod truncated;

use crate::drive::yard;
use crate::kill::bus::{Bus, now, parts};
use crate::kill::process::{Process, wait_until};
use crate::kill::witness::{decisions, glance};
use crate::kill::{SECOND, hasty};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::DefaultClientContext;
use std::collections::BTreeSet;
use std::future::Future;
use std::ops::Range;
use toml::Table;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Status;
use yardmaster::shell::kafka::{KafkaConf, KafkaWriter};
use yardmaster::wire::record;

/// Quick takeovers, and deferrals that are repeated soon.
fn quick(file: &mut Table) {
    parts(file, hasty);
}

/// The broker that all tests share, with topics of this test's own.
fn bus() -> Option<Bus> {
    Bus::real(hasty)
}

/// Does something with Kafka's admin client.
fn admin<T, E: std::fmt::Debug, F: Future<Output = Result<T, E>>>(
    bus: &Bus,
    work: impl FnOnce(&'static AdminClient<DefaultClientContext>, AdminOptions) -> F,
) -> T {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &bus.bootstrap);
    // It lives as long as the test binary; there are few.
    let client = Box::leak(Box::new(config.create().expect("an admin client")));
    let options = AdminOptions::new().operation_timeout(Some(20 * SECOND));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work(client, options)).expect("the broker does it")
}

/// Jobs that run, by a client that knows of nothing that was written before; each in a batch of its own.
fn publish(bus: &Bus, jobs: Range<u32>) {
    let writer =
        KafkaWriter::open(&KafkaConf::new(&bus.bootstrap, &bus.domain, Vec::new())).unwrap();
    for number in jobs {
        let (id, mut value) = (number.to_string(), Vec::new());
        let job = yard::job(&id, "QUEUE_00", "", Status::Running, now());
        record::write(&mut value, &job);
        let (topic, key) = (bus.topic(Topic::JobState), Some(id.as_bytes()));
        writer.append(&topic, None, key, Some(&value), &[], None).unwrap();
        writer.flush().unwrap();
    }
}

/// Whether there is time for all that a fault can do.
fn is_long() -> bool {
    std::env::var_os("YARDMASTER_LONG").is_some()
}

/// Subjects with a final answer, as somebody else reads them.
fn answered(bus: &Bus) -> BTreeSet<String> {
    let published = decisions(&glance(&bus.bootstrap, &bus.topic(Topic::Decision)));
    published.into_iter().filter(|it| it.outcome.is_final()).map(|it| it.subject).collect()
}

/// Waits until just these have a final answer.
#[track_caller]
fn wait_for_just(bus: &Bus, subjects: &BTreeSet<String>, process: &mut Process) {
    let what =
        |process: &Process| format!("{:?} of {subjects:?}\n{}", answered(bus), process.logged());
    wait_until(60 * SECOND, || what(process), || answered(bus).is_superset(subjects));
    process.must_live();
    assert_eq!(&answered(bus), subjects, "{}", process.logged());
}

/// It must end by itself, with exit code 1, and say all of this.
#[track_caller]
fn must_stop(mut process: Process, parts: &[&str]) -> String {
    let code = process.end(60 * SECOND).code();
    let reported = process.logged();
    assert_eq!(code, Some(1), "{reported}");
    says(&reported, parts);
    reported
}

#[track_caller]
fn says(reported: &str, parts: &[&str]) {
    for part in parts {
        assert!(reported.contains(part), "it does not say {part:?}:\n{reported}");
    }
}
