//! Deadlines: derived from records, validated when they fire, so that a record may move its
//! deadline without touching the wheel.
//!
//! Each set of lanes has a wheel of its own, read against its own clock. Which turn of a wheel a
//! deadline sits in is no part of the state: after a restart the wheels are filled from the
//! records.

use crate::core::id::Key;
use crate::core::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};

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

/// Deadlines that are set again and again: one that stands already is not set twice.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    due: BTreeSet<(Millis, String)>,
}

impl Agenda {
    /// Sets a deadline.
    pub fn set(&mut self, at: Millis, due: String) {
        self.due.insert((at, due));
    }

    /// Takes out all that is due at `now`, in order of names.
    pub fn take(&mut self, now: Millis) -> BTreeSet<String> {
        let mut due = BTreeSet::new();
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            due.extend(self.due.pop_first().map(|(_, name)| name));
        }
        due
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
    pub deferrals: Wheel<String>,
    /// Against the time of the job-state lanes: forgetting of ended jobs.
    pub jobs: Wheel<Key>,
    /// Against the clock of the job-state lanes: promises, by their subject.
    pub promises: Wheel<String>,
    /// Against the time of the transfer lanes: forgetting of ended transfers.
    pub transfers: Wheel<Key>,
    /// Against the time of the pilot lanes: nodes that leave the window, as one that asked or as
    /// one that updated.
    pub nodes: Wheel<(Key, NodePart)>,
    /// Against the time of the pilot lanes: worker reports that grow old.
    pub workers: Wheel<Key>,
    /// Against the time of the task lanes: forgetting of subjects.
    pub subjects: Agenda,
    /// Against the cycle's now: throttles that may be lifted, are to be said again, lapse, or are
    /// forgotten, by name.
    pub throttles: Agenda,
}
