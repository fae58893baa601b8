//! Our schemas: the current one of each topic, and every version ever released.
//!
//! A released version is never changed. To change a schema: edit `schemas/<topic>.avsc` so that it
//! still reads all released ones (a test says so), and copy it to the next number at a release.

use super::{canonical_form, rabin};
use crate::core::cut::Topic;
use apache_avro::Schema;
use std::sync::LazyLock;

/// Schema of one record of the directory log.
pub const ENVELOPE: &str = include_str!("../../../schemas/envelope.avsc");

/// The current schema of a topic, as text.
pub const fn schema_text(topic: Topic) -> &'static str {
    match topic {
        Topic::JobState => include_str!("../../../schemas/job-state.avsc"),
        Topic::Heartbeat => include_str!("../../../schemas/heartbeat.avsc"),
        Topic::Transfer => include_str!("../../../schemas/transfer.avsc"),
        Topic::Pilot => include_str!("../../../schemas/pilot.avsc"),
        Topic::Task => include_str!("../../../schemas/task.avsc"),
        Topic::Outcome => include_str!("../../../schemas/outcome.avsc"),
        Topic::Queue => include_str!("../../../schemas/queue.avsc"),
        Topic::Site => include_str!("../../../schemas/site.avsc"),
        Topic::Storage => include_str!("../../../schemas/storage.avsc"),
        Topic::Link => include_str!("../../../schemas/link.avsc"),
        Topic::Release => include_str!("../../../schemas/release.avsc"),
        Topic::Replica => include_str!("../../../schemas/replica.avsc"),
        Topic::Share => include_str!("../../../schemas/share.avsc"),
        Topic::Quota => include_str!("../../../schemas/quota.avsc"),
        Topic::User => include_str!("../../../schemas/user.avsc"),
        Topic::Parameter => include_str!("../../../schemas/parameter.avsc"),
        Topic::Decision => include_str!("../../../schemas/decision.avsc"),
        Topic::Throttle => include_str!("../../../schemas/throttle.avsc"),
        Topic::Command => include_str!("../../../schemas/command.avsc"),
        Topic::Progress => include_str!("../../../schemas/progress.avsc"),
        Topic::Counter => include_str!("../../../schemas/counter.avsc"),
        Topic::DeadLetter => include_str!("../../../schemas/dead-letter.avsc"),
    }
}

/// Every released version of a topic's schema, as text, oldest first.
pub const fn released(topic: Topic) -> &'static [&'static str] {
    macro_rules! versions {
        ($($number:literal)* of $name:literal) => {
            &[$(include_str!(
                concat!("../../../schemas/released/", $number, "/", $name, ".avsc")
            ),)*]
        };
    }
    match topic {
        Topic::JobState => versions!("1" of "job-state"),
        Topic::Heartbeat => versions!("1" of "heartbeat"),
        Topic::Transfer => versions!("1" of "transfer"),
        Topic::Pilot => versions!("1" of "pilot"),
        Topic::Task => versions!("1" of "task"),
        Topic::Outcome => versions!("1" of "outcome"),
        Topic::Queue => versions!("1" of "queue"),
        Topic::Site => versions!("1" of "site"),
        Topic::Storage => versions!("1" of "storage"),
        Topic::Link => versions!("1" of "link"),
        Topic::Release => versions!("1" of "release"),
        Topic::Replica => versions!("1" of "replica"),
        Topic::Share => versions!("1" of "share"),
        Topic::Quota => versions!("1" of "quota"),
        Topic::User => versions!("1" of "user"),
        Topic::Parameter => versions!("1" of "parameter"),
        Topic::Decision => versions!("1" of "decision"),
        Topic::Throttle => versions!("1" of "throttle"),
        Topic::Command => versions!("1" of "command"),
        Topic::Progress => versions!("1" of "progress"),
        Topic::Counter => versions!("1" of "counter"),
        Topic::DeadLetter => versions!("1" of "dead-letter"),
    }
}

/// The current schema of a topic, parsed once.
pub fn schema(topic: Topic) -> &'static Schema {
    &OURS[topic as usize].0
}

/// The fingerprint of a topic's current schema.
pub fn fingerprint(topic: Topic) -> u64 {
    OURS[topic as usize].1
}

static OURS: LazyLock<Vec<(Schema, u64)>> = LazyLock::new(|| {
    Topic::ALL
        .iter()
        .map(|topic| {
            // cannot fail: they are compiled in, and a test parses every one.
            let schema = Schema::parse_str(schema_text(*topic)).expect("our schemas parse");
            let fingerprint = rabin(canonical_form(&schema).as_bytes());
            (schema, fingerprint)
        })
        .collect()
});
