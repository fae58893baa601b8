//! Since when conditions hold that no record dates, as far as this process saw them.

use std::collections::BTreeMap;
use yardmaster_core::unit::Millis;

/// Conditions by rule and name, with when each was first seen to hold without a break.
#[derive(Debug, Default)]
pub(super) struct Memory {
    before: BTreeMap<(&'static str, String), Millis>,
    held: BTreeMap<(&'static str, String), Millis>,
    /// When each queue was last seen with next to nothing queued.
    idle: BTreeMap<String, Millis>,
}

impl Memory {
    /// Notes that a condition holds, and gives since when it does.
    pub(super) fn since(&mut self, rule: &'static str, name: &str, now: Millis) -> Millis {
        let key = (rule, name.to_owned());
        let since = self.before.get(&key).copied().unwrap_or(now);
        self.held.insert(key, since);
        since
    }

    /// Notes that a queue has next to nothing queued: until then none of its jobs waited.
    pub(super) fn note_idle(&mut self, queue: &str, now: Millis) {
        match self.idle.get_mut(queue) {
            Some(at) => *at = now,
            None => _ = self.idle.insert(queue.to_owned(), now),
        }
    }

    /// The later of a moment and of when a queue was last seen with next to nothing queued.
    pub(super) fn not_before_idle(&self, queue: &str, at: Millis) -> Millis {
        self.idle.get(queue).map_or(at, |idle| at.max(*idle))
    }

    /// All conditions that hold were noted: the others are over.
    pub(super) fn end_round(&mut self) {
        self.before = std::mem::take(&mut self.held);
    }
}

#[cfg(test)]
mod tests {
    use super::Memory;

    #[test]
    fn a_condition_that_breaks_off_begins_again() {
        let mut memory = Memory::default();
        for (now, holds, since) in [(1, true, 1), (2, true, 1), (3, false, 0), (4, true, 4)] {
            if holds {
                assert_eq!(memory.since("share_off", "MC", now), since);
            }
            memory.end_round();
        }
    }
}
