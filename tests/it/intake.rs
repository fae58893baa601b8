//! Intake: what others say as JSON becomes records of ours, whatever the order it comes in.

mod again;
mod changes;
mod dialects;
mod drift;
mod joins;
mod places;

use yardmaster::core::cut::Topic;
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::{Intake, Origin, Records};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::dialect::Dialect;

pub const ORIGIN: Origin<'_> =
    Origin { topic: "panda.jobs", partition: 2, offset: 7, appended_at: 1_760_000_000_123 };

/// A stage that has nothing to read back.
pub fn fresh(limits: &Limits) -> Intake {
    let mut intake = Intake::new("atlas", [("XRD1".into(), "ONE".into())].into(), limits);
    intake.caught_up();
    intake
}

/// Records that it publishes of one message: topic, key, and the event as text.
pub fn says(intake: &mut Intake, dialect: Dialect, json: &str) -> Vec<(Topic, String, String)> {
    let mut words = Records::default();
    intake.meet(dialect, ORIGIN, Some(b"key"), Some(json.as_bytes()), &mut words);
    events(&words)
}

/// The same of what is about to be published.
pub fn events(words: &Records) -> Vec<(Topic, String, String)> {
    let (codec, mut arena) = (Codec::default(), Arena::default());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    words
        .iter()
        .map(|word| {
            let event = match word.topic {
                Topic::DeadLetter => format!("{:?} {}", word.headers, text(word.value)),
                topic => {
                    format!("{:?}", codec.read(topic, Some(word.key), Some(word.value), &mut arena))
                }
            };
            (word.topic, text(word.key), event)
        })
        .collect()
}
