//! From when on a person is wanted: thresholds by which the process points at queues, shares,
//! requests. They are settings of looking: no decision reads them, and they are not published.

use super::read::{Reader, Value};
use yardmaster_core::unit::{HOUR, Millis};

macro_rules! thresholds {
    ($($(#[$about:meta])+ $field:ident: $default:literal in $least:literal..=$most:literal,)+) => {
        /// Thresholds, each in the unit of its name.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct AttentionSettings {
            $($(#[$about])+ pub $field: i64,)+
        }

        impl Default for AttentionSettings {
            fn default() -> AttentionSettings {
                AttentionSettings { $($field: $default,)+ }
            }
        }

        /// Their keys.
        const KEYS: &[&str] = &[$(stringify!($field)),+];

        impl AttentionSettings {
            fn set(&mut self, reader: &mut Reader, key: &str, value: &Value<'_>) {
                let at = format!("attention.{key}");
                $(if key == stringify!($field) {
                    if let Some(number) = reader.int(value, &at, $least..=$most) {
                        self.$field = number;
                    }
                })+
            }
        }
    };
}

thresholds! {
    /// A queue is looked at by its jobs only if so many are queued.
    queued_min: 20 in 1..=1_000_000,
    /// No job started at a queue for so long: it is to be watched.
    no_start_watch_h: 3 in 1..=720,
    /// No job started there for so long: somebody has to act.
    no_start_act_h: 6 in 1..=720,
    /// No pilot reported at a queue for so long.
    no_pilot_h: 2 in 1..=720,
    /// A queue is crowded only if so many jobs are queued.
    crowded_min: 150 in 1..=1_000_000,
    /// A queue is crowded if so many times as many jobs are queued as run.
    crowded_ratio: 8 in 1..=10_000,
    /// Jobs that ended within this span are looked at for failures.
    failing_h: 3 in 1..=24,
    /// A queue fails only if so many ended.
    failing_min: 12 in 1..=1_000_000,
    /// This part of them failed: it is to be watched.
    failing_watch_percent: 25 in 1..=100,
    /// This part of them failed: somebody has to act.
    failing_act_percent: 75 in 1..=100,
    /// A request waits for so long.
    request_h: 24 in 1..=8_760,
    /// The use of a share is so far from its target.
    share_points: 3 in 1..=100,
    /// It is so for so long.
    share_h: 1 in 1..=720,
    /// Jobs of a task were taken back from queues so often.
    circle_times: 3 in 1..=1_000,
    /// Jobs of a workflow of a pool wait, and none of it got slots for so long.
    workflow_h: 4 in 1..=720,
}

/// A number of hours.
pub fn hours(number: i64) -> Millis {
    number.saturating_mul(HOUR)
}

/// Reads the table; every mistake is a complaint.
pub(super) fn attention(reader: &mut Reader, value: Option<&Value<'_>>) -> AttentionSettings {
    let mut settings = AttentionSettings::default();
    let Some(table) = value.and_then(|value| reader.table(value, "attention")) else {
        return settings;
    };
    reader.only(table, "[attention]", KEYS);
    for (key, value) in table {
        settings.set(reader, key.get_ref(), value);
    }
    for (watch, act, what) in [
        (settings.no_start_watch_h, settings.no_start_act_h, "no_start"),
        (settings.failing_watch_percent, settings.failing_act_percent, "failing"),
    ] {
        if watch > act
            && let Some(value) = value
        {
            let line = reader.line(&value.span());
            let found = format!("attention: the watch threshold of {what} is {watch}, act {act}");
            reader.complain(line, found, "watch no higher than act");
        }
    }
    settings
}
