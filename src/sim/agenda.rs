//! Planned events in order of time; those of one moment in the order in which they were planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use yardmaster_core::unit::Millis;

/// Planned events, the earliest first.
#[derive(Clone, Debug)]
pub struct Agenda<P: Ord> {
    heap: BinaryHeap<Reverse<(Millis, u64, P)>>,
    planned: u64,
}

impl<P: Ord> Default for Agenda<P> {
    fn default() -> Self {
        Agenda { heap: BinaryHeap::new(), planned: 0 }
    }
}

impl<P: Ord> Agenda<P> {
    /// Plans something for a time.
    pub fn plan(&mut self, at: Millis, what: P) {
        self.planned += 1;
        self.heap.push(Reverse((at, self.planned, what)));
    }

    /// The next thing at or before a time.
    pub fn next(&mut self, until: Millis) -> Option<(Millis, P)> {
        let Reverse((at, _, _)) = self.heap.peek()?;
        if *at > until {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, what))| (at, what))
    }
}
