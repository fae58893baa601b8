//! How old what is known of the configuration topics is.

use super::State;
use crate::cut::Topic;
use crate::event::is_newer;
use crate::event::{Configured, confirmed};
use crate::unit::Millis;

/// A configuration topic whose facts are older than its `stale_after_s`, or that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaleFacts {
    /// The topic.
    pub topic: Topic,
    /// Age of its newest fact, ms; `None`: it never had a record.
    pub age: Option<Millis>,
    /// From when on facts are stale; ms.
    pub limit: Millis,
}

impl State {
    /// Age of what is known of a configuration topic: since its newest record was stated, or since
    /// an import found all as it was; ms. `None`: it never had a record.
    pub fn facts_age(&self, topic: Topic) -> Option<Millis> {
        let newest = self.times.lanes.of(topic).map(|(_, lane)| lane.newest).max();
        let newest = newest.filter(|newest| *newest > 0)?;
        let name = confirmed(&self.setting.domain, topic, 0).name();
        let fact = self.facts.parameters.of(&name).and_then(|fact| fact.current(is_newer));
        let confirmed = fact.map_or(0, |fact| fact.changed_at);
        Some(self.now.saturating_sub(newest.max(confirmed)).max(0))
    }

    /// Whether some of a topic's partitions cannot be read: it may have records that are not known.
    pub fn is_unreadable(&self, topic: Topic) -> bool {
        self.times.lanes.of(topic).any(|(_, lane)| lane.flags.unreadable)
    }

    /// Configuration topics with a limit whose facts are older than that, or that have none.
    pub fn stale_facts(&self) -> impl Iterator<Item = StaleFacts> {
        let limits = Topic::ALL.iter().zip(self.setting.stale_after);
        limits.filter_map(|(topic, limit)| {
            let limit = limit?;
            let age = self.facts_age(*topic);
            let is_stale = age.map_or_else(|| !self.is_unreadable(*topic), |age| age > limit);
            is_stale.then_some(StaleFacts { topic: *topic, age, limit })
        })
    }
}
