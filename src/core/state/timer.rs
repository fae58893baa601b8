//! Deadlines: derived from records, validated when they fire, so that a record may move its
//! deadline without touching the wheel.
//!
//! Each set of lanes has a wheel of its own, read against its own clock. Which turn of a wheel a
//! deadline sits in is no part of the state: after a restart the wheels are filled from the
//! records.

use crate::id::Key;
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One wheel: deadlines in order of time.
#[derive(Clone, Debug)]
pub struct Wheel<T> {
    turns: BTreeMap<Millis, Vec<T>>,
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        Wheel { turns: BTreeMap::new() }
    }
}

/// Deadlines closer together than this share a turn; ms. A turn is looked at once it has begun,
/// and what is not due yet is put back.
const TURN: Millis = 1_000;

impl<T> Wheel<T> {
    /// Sets a deadline.
    pub fn set(&mut self, at: Millis, due: T) {
        self.turns.entry(at.div_euclid(TURN)).or_default().push(due);
    }

    /// Takes out all that may be due at `now`.
    pub fn take(&mut self, now: Millis) -> Vec<T> {
        let mut due = Vec::new();
        while let Some(turn) = self.turns.first_entry() {
            if *turn.key() > now.div_euclid(TURN) {
                break;
            }
            due.append(&mut turn.remove());
        }
        due
    }

    /// The earliest moment at which something may be due.
    pub fn next(&self) -> Option<Millis> {
        self.turns.first_key_value().map(|(turn, _)| turn.saturating_mul(TURN))
    }
}

/// Deadlines that are set again and again: each name has those that were set last, so what is set
/// often takes no more room than what is set once.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    due: BTreeSet<(Millis, Arc<str>)>,
    of_name: BTreeMap<Arc<str>, Vec<Millis>>,
}

impl Agenda {
    /// Sets the deadline of a name in place of those it had.
    pub fn set(&mut self, at: Millis, name: &str) {
        self.set_all(vec![at], name);
    }

    /// Sets the deadlines of a name in place of those it had.
    pub fn set_all(&mut self, all: Vec<Millis>, name: &str) {
        let name = match self.of_name.get_key_value(name) {
            Some((_, before)) if *before == all => return,
            Some((name, _)) => name.clone(),
            None => name.into(),
        };
        self.due.extend(all.iter().map(|at| (*at, name.clone())));
        for at in self.of_name.insert(name.clone(), all.clone()).unwrap_or_default() {
            if !all.contains(&at) {
                self.due.remove(&(at, name.clone()));
            }
        }
    }

    /// Takes out all that is due at `now`, in order of names.
    pub fn take(&mut self, now: Millis) -> BTreeSet<String> {
        let mut due = BTreeSet::new();
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            let Some((at, name)) = self.due.pop_first() else { break };
            if let Some(all) = self.of_name.get_mut(&name) {
                all.retain(|other| *other != at);
                if all.is_empty() {
                    self.of_name.remove(&name);
                }
            }
            due.insert(name.to_string());
        }
        due
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<Millis> {
        self.due.first().map(|(at, _)| *at)
    }

    /// How many deadlines are set.
    pub fn len(&self) -> usize {
        self.due.len()
    }

    /// Whether none is set.
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }
}

/// Which part of a node's record leaves the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodePart {
    /// It asked for a job.
    Asked,
    /// It updated a job.
    Updated,
}

/// The wheels.
#[derive(Clone, Debug, Default)]
pub struct Timers {
    /// Against the cycle's now: deferrals.
    pub deferrals: Agenda,
    /// Against the time of the job-state lanes: forgetting of ended jobs.
    pub jobs: Wheel<Key>,
    /// Against the clock of the job-state lanes: reservations, by their subject.
    pub reservations: Wheel<String>,
    /// Against the time of the transfer lanes: forgetting of ended transfers.
    pub transfers: Wheel<Key>,
    /// Against the time of the pilot lanes: nodes that leave the window, as one that asked or as
    /// one that updated.
    pub nodes: Wheel<(Key, NodePart)>,
    /// Against the time of the pilot lanes: worker reports that grow old.
    pub workers: Wheel<Key>,
    /// Against the time of the task lanes: forgetting of subjects.
    pub subjects: Agenda,
    /// Against the cycle's now: throttles that may be lifted, are to be published again, lapse, or
    /// are forgotten, by name.
    pub throttles: Agenda,
    /// Against the cycle's now: commands that may be repeated or forgotten, by id.
    pub commands: Agenda,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_deadlines_that_were_set_last() {
        let mut agenda = Agenda::default();
        for at in 0..1_000 {
            agenda.set(at, "often");
            agenda.set_all(vec![at, 5_000], "twice");
        }
        assert_eq!((agenda.len(), agenda.next()), (3, Some(999)));
        assert!(agenda.take(998).is_empty());
        assert_eq!(agenda.take(999), ["often", "twice"].map(str::to_owned).into());
        assert_eq!((agenda.len(), agenda.next()), (1, Some(5_000)));
        agenda.set(4_000, "twice");
        assert_eq!((agenda.take(6_000).len(), agenda.is_empty()), (1, true));
        assert!(agenda.of_name.is_empty());
    }
}
