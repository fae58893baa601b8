//! Jobs that one rule is due for at one queue, in the order in which they became due.

use crate::id::Key;
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Jobs of one rule at one queue, with the time at which each became due. The time is kept as it
/// was found: it may be later by now, never earlier.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundJobs {
    due_at: BTreeMap<Key, Millis>,
    order: BTreeSet<(Millis, Key)>,
}

impl FoundJobs {
    /// Puts a job in, or to another place.
    pub(super) fn insert(&mut self, key: Key, due_at: Millis) {
        if let Some(before) = self.due_at.insert(key, due_at) {
            self.order.remove(&(before, key));
        }
        self.order.insert((due_at, key));
    }

    /// Takes a job out.
    pub(super) fn remove(&mut self, key: Key) {
        if let Some(before) = self.due_at.remove(&key) {
            self.order.remove(&(before, key));
        }
    }

    /// The first job after a place.
    pub(super) fn after(&self, place: (Millis, Key)) -> Option<(Millis, Key)> {
        self.order.range((Bound::Excluded(place), Bound::Unbounded)).next().copied()
    }

    /// The first job.
    pub(super) fn first(&self) -> Option<(Millis, Key)> {
        self.order.first().copied()
    }

    /// All jobs.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.due_at.keys().copied()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.due_at.len()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.due_at.is_empty()
    }
}
