//! Topics, lanes and cuts: where a record stands in the log, and how far the log has been read.

pub use crate::topic::Topic;

use std::collections::BTreeMap;

/// One partition of one topic: an ordered input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The topic.
    pub topic: Topic,
    /// The partition, counted from 0.
    pub partition: u32,
}

impl Lane {
    /// A lane by its two parts.
    pub const fn new(topic: Topic, partition: u32) -> Lane {
        Lane { topic, partition }
    }
}

impl std::fmt::Display for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]", self.topic.name(), self.partition)
    }
}

/// Per lane, the next offset to read: "as of", in space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut(pub BTreeMap<Lane, u64>);

impl Cut {
    /// The next offset to read in a lane; `None` when nothing was read there.
    pub fn next(&self, lane: Lane) -> Option<u64> {
        self.0.get(&lane).copied()
    }

    /// Moves a lane forward; never back.
    pub fn advance(&mut self, lane: Lane, next: u64) {
        let entry = self.0.entry(lane).or_insert(next);
        *entry = (*entry).max(next);
    }
}
