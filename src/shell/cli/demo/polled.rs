//! The same line as a broker that polls a database sees it: it decides once a minute, on counts of
//! a minute ago, and what it defers waits for its timer. It leaves each queue as much work as PanDA
//! does, since it cannot come back as soon as there is room. What it is worth to know at once shows
//! beside it: same seed, same grid, same tasks.

use super::commands::changed;
use crate::cli::log_args::Read;
use std::collections::VecDeque;
use yardmaster_core::cut::Topic;
use yardmaster_core::policy::Rules;
use yardmaster_core::unit::{MINUTE, Millis};
use yardmaster_sim::grid::Record;

/// Time between two decisions, and age of the counts they are made on.
const PERIOD: Millis = MINUTE;

/// Records on their way into the database.
#[derive(Default)]
pub(super) struct Polled {
    late: VecDeque<Record>,
    next: Millis,
}

impl Polled {
    /// The records that are known at a moment: requests at once, all else a minute after it
    /// happened.
    pub fn pass(&mut self, records: Vec<Record>, now: Millis) -> Vec<Record> {
        let (mut known, late): (Vec<Record>, Vec<Record>) =
            records.into_iter().partition(|record| record.topic == Topic::Task);
        self.late.extend(late);
        while self.late.front().is_some_and(|record| record.at + PERIOD <= now) {
            known.extend(self.late.pop_front());
        }
        known
    }

    /// Whether it is time to decide.
    pub fn is_due(&mut self, now: Millis) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + PERIOD;
        }
        is_due
    }
}

/// The topology with PanDA's rules, and every policy's deferrals waiting for their timer alone.
pub(super) fn by_timer(read: &Read) -> anyhow::Result<Read> {
    with_policies(read, "polled", &[("rules", Rules::Panda.name()), ("wake", "timer")])
}

/// The topology with every policy under a set of rules.
pub(super) fn with_rules(read: &Read, rules: Rules) -> anyhow::Result<Read> {
    with_policies(read, rules.name(), &[("rules", rules.name())])
}

/// The topology with some keys of every policy set. How far queues are filled is left to the rules.
fn with_policies(read: &Read, what: &str, keys: &[(&str, &str)]) -> anyhow::Result<Read> {
    changed(read, what, |file| {
        let policies = file.get_mut("policy").and_then(toml::Value::as_array_mut);
        for policy in policies.into_iter().flatten().filter_map(toml::Value::as_table_mut) {
            for (key, word) in keys {
                policy.insert((*key).to_owned(), (*word).into());
            }
            policy.remove("room_per_running");
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::policy::Wake;

    fn record(topic: Topic, at: Millis) -> Record {
        Record { topic, key: Vec::new(), value: None, at }
    }

    #[test]
    fn requests_are_known_at_once_and_all_else_a_minute_later_in_order() {
        let mut polled = Polled::default();
        let records = vec![
            record(Topic::JobState, 1_000),
            record(Topic::Task, 2_000),
            record(Topic::Pilot, 3_000),
        ];
        let topics = |records: Vec<Record>| -> Vec<Topic> {
            records.into_iter().map(|record| record.topic).collect()
        };
        assert_eq!(topics(polled.pass(records, 10_000)), [Topic::Task]);
        assert_eq!(topics(polled.pass(Vec::new(), 61_999)), [Topic::JobState]);
        assert_eq!(topics(polled.pass(Vec::new(), 63_000)), [Topic::Pilot]);
    }

    #[test]
    fn every_policy_waits_for_its_timer() {
        let read = by_timer(&Read::open(None).unwrap()).unwrap();
        let policies = &read.topology.policies;
        assert!(policies.iter().all(|policy| policy.wake == Wake::Timer));
        let is_limited = |(name, _): &(String, _)| name == "room_per_running";
        assert!(!policies.iter().any(|policy| policy.args.iter().any(is_limited)));
        assert!(read.epoch_config().is_ok());
    }
}
