//! Deferred requests: what blocks each now, and which of them are evaluated in a cycle.

use crate::domain::atlas::policy::{Case, Locality, Preassigned, Source};
use crate::policy::Objection;
use crate::turns::{hash_of, hashes};
use crate::unit::Millis;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A place in the order of judgement: priority, asked-at, subject.
pub type Turn = (Reverse<i64>, Millis, String);

/// A deferred request and what blocks it.
pub(crate) struct Waiting {
    pub(crate) turn: Turn,
    /// Where the record of its subject is.
    pub(crate) slot: u32,
    /// Index of its policy.
    pub(crate) policy: usize,
    /// Not judged again before this.
    pub(crate) rests_until: Millis,
    /// Per rejected queue the filter that blocks it now. Indices of queues stay valid until the
    /// configuration changes; then the request is cold.
    pub(crate) queues: QueueBlockers,
    /// Per rejected nucleus, by its index, the filter that blocks it now.
    pub(crate) nuclei: Vec<(u32, u16)>,
    /// The blockers are not known: all candidates must be evaluated. So it is while it rests.
    pub(crate) is_cold: bool,
    /// The cycle in which the blockers were last brought up to date.
    pub(crate) evaluated_in: u64,
    /// When a blocker may disappear by the passing of time alone.
    pub(crate) recheck_at: Option<Millis>,
    /// When all candidates must be evaluated since time alone makes it another case.
    pub(crate) turns_at: Option<Millis>,
    /// The task that its task was made of, where its answer depends on that.
    pub(crate) parent: String,
    /// No candidate was evaluated: the request as a whole must wait.
    pub(crate) waits_as_whole: bool,
    /// Additions to the case by the last joint evaluation of all candidates.
    pub(crate) prepared: Option<Box<Prepared>>,
    /// Where that evaluation took a second pass over the candidates: the first one, in which none
    /// was left either.
    pub(crate) first_pass: Option<Box<FirstPass>>,
}

/// The first of two passes of a joint evaluation.
pub(crate) struct FirstPass {
    /// Additions to the case by the pass.
    pub(crate) prepared: Prepared,
    /// Per rejected queue the filter that blocks it now in that pass.
    pub(crate) queues: QueueBlockers,
}

/// Parts of a pass's case that differ from the case it was made of.
#[derive(Clone)]
pub(crate) struct Prepared {
    pass: u8,
    preassigned: Preassigned,
    remote_source: bool,
    /// Whether the input could be read from afar before the evaluation began.
    had_remote_source: bool,
    locality: Option<Arc<Locality>>,
    /// How the input could be read.
    sources: Arc<[Vec<Source>]>,
    included: Arc<[String]>,
}

impl Prepared {
    /// Takes it from the case of a pass, which was made of another one.
    pub(crate) fn of(pass: &Case<'_>, original: &Case<'_>) -> Prepared {
        Prepared {
            pass: pass.pass,
            preassigned: pass.preassigned,
            remote_source: pass.remote_source,
            had_remote_source: original.remote_source,
            locality: pass.locality.clone(),
            sources: pass.sources.clone(),
            included: pass.included.clone(),
        }
    }

    /// Whether the input of a case can be read as it could be then.
    pub(crate) fn is_of(&self, case: &Case<'_>) -> bool {
        self.sources == case.sources && self.had_remote_source == case.remote_source
    }

    /// The case of the pass, made of another one.
    pub(crate) fn case<'a>(&self, original: &Case<'a>) -> Case<'a> {
        Case {
            pass: self.pass,
            preassigned: self.preassigned,
            remote_source: self.remote_source,
            locality: self.locality.clone(),
            included: self.included.clone(),
            ..original.clone()
        }
    }
}

/// The filter that blocks each queue, two bytes a queue: there are as many of these as waiting
/// requests times queues.
#[derive(Default)]
pub(crate) struct QueueBlockers(Box<[u16]>);

/// No filter blocks the queue, or it is no candidate.
const NONE: u16 = u16::MAX;
/// The objection may disappear by the passing of time alone.
const EXPIRES: u16 = 1 << 15;

/// A filter that blocks a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocker {
    /// Its index in the policy.
    pub(crate) filter: usize,
    /// Whether its objection may disappear by the passing of time alone.
    pub(crate) expires: bool,
}

impl QueueBlockers {
    /// Makes room for so many queues, none of them blocked.
    pub(crate) fn clear(&mut self, queues: usize) {
        if self.0.len() == queues {
            self.0.fill(NONE);
        } else {
            self.0 = vec![NONE; queues].into();
        }
    }

    /// Notes which filter blocks a queue.
    pub(crate) fn set(&mut self, queue: u32, filter: u16, objection: &Objection) {
        let expires = if objection.recheck_at.is_some() { EXPIRES } else { 0 };
        if let Some(blocker) = self.0.get_mut(queue as usize) {
            *blocker = filter | expires;
        }
    }

    /// The filter that blocks a queue; `None`: no filter does.
    #[inline]
    pub(crate) fn get(&self, queue: u32) -> Option<Blocker> {
        let blocker = self.0.get(queue as usize).copied().filter(|blocker| *blocker != NONE)?;
        let (filter, expires) = (usize::from(blocker & !EXPIRES), blocker & EXPIRES != 0);
        Some(Blocker { filter, expires })
    }

    /// How many queues there are.
    pub(crate) fn len(&self) -> u32 {
        self.0.len() as u32
    }
}

/// Deferred requests, by subject, and in parts that take turns.
#[derive(Default)]
pub(crate) struct WaitingList {
    slots: Vec<Option<Waiting>>,
    free: Vec<u32>,
    by_subject: BTreeMap<String, u32>,
    /// Hash of the subject, and the slot.
    by_hash: BTreeSet<(u32, u32)>,
    /// Subjects by the parent that their answer depends on.
    by_parent: BTreeMap<String, BTreeSet<String>>,
}

impl WaitingList {
    /// The request of a subject.
    pub(crate) fn get_mut(&mut self, subject: &str) -> Option<&mut Waiting> {
        let slot = *self.by_subject.get(subject)?;
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// Whether a subject waits.
    pub(crate) fn contains(&self, subject: &str) -> bool {
        self.by_subject.contains_key(subject)
    }

    /// Adds a request, in place of the one of its subject.
    pub(crate) fn insert(&mut self, waiting: Waiting) {
        let subject = waiting.turn.2.clone();
        self.remove(&subject);
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        if slot as usize == self.slots.len() {
            self.slots.push(None);
        }
        if !waiting.parent.is_empty() {
            let children = self.by_parent.entry(waiting.parent.clone()).or_default();
            children.insert(subject.clone());
        }
        self.slots[slot as usize] = Some(waiting);
        self.by_hash.insert((hash_of(&subject), slot));
        self.by_subject.insert(subject, slot);
    }

    /// Removes the request of a subject.
    pub(crate) fn remove(&mut self, subject: &str) {
        let Some(slot) = self.by_subject.remove(subject) else { return };
        self.by_hash.remove(&(hash_of(subject), slot));
        let parent = self.slots[slot as usize].take().map(|waiting| waiting.parent);
        self.free.push(slot);
        let Some(parent) = parent.filter(|parent| !parent.is_empty()) else { return };
        if let Some(children) = self.by_parent.get_mut(&parent) {
            children.remove(subject);
            if children.is_empty() {
                self.by_parent.remove(&parent);
            }
        }
    }

    /// Forgets the blockers of requests that depend on a parent task.
    pub(crate) fn cool_children(&mut self, parent: &str) {
        for child in self.by_parent.get(parent).into_iter().flatten() {
            let slot = self.by_subject.get(child);
            let waiting = slot.and_then(|slot| self.slots.get_mut(*slot as usize)?.as_mut());
            if let Some(waiting) = waiting {
                waiting.is_cold = true;
            }
        }
    }

    /// The request in a slot.
    pub(crate) fn in_slot(&mut self, slot: u32) -> Option<&mut Waiting> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// All of them, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.slots.iter().flatten()
    }

    /// How many requests wait.
    pub(crate) fn len(&self) -> usize {
        self.by_subject.len()
    }

    /// Forgets the blockers of all requests.
    pub(crate) fn cool(&mut self) {
        self.slots.iter_mut().flatten().for_each(|waiting| waiting.is_cold = true);
    }

    /// Slots of the requests whose turn it is in a cycle: all of them, or one of `parts` (a power
    /// of two) by the hash of the subject.
    pub(crate) fn part(&self, cycle: u64, parts: u64) -> Vec<u32> {
        let (first, last) = hashes(cycle, parts);
        self.by_hash.range((first, 0)..=(last, u32::MAX)).map(|(_, slot)| *slot).collect()
    }

    /// The requests whose turn it is in a cycle.
    pub(crate) fn in_turn(&self, cycle: u64, parts: u64) -> impl Iterator<Item = &Waiting> {
        let slots = self.part(cycle, parts).into_iter();
        slots.filter_map(|slot| self.slots.get(slot as usize)?.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(subject: String) -> Waiting {
        Waiting {
            turn: (Reverse(0), 0, subject),
            slot: 0,
            policy: 0,
            rests_until: 0,
            queues: QueueBlockers::default(),
            nuclei: Vec::new(),
            is_cold: true,
            evaluated_in: 0,
            recheck_at: None,
            turns_at: None,
            parent: String::new(),
            waits_as_whole: false,
            prepared: None,
            first_pass: None,
        }
    }

    #[test]
    fn each_request_has_one_turn_in_as_many_cycles_as_there_are_parts() {
        let mut list = WaitingList::default();
        (0..1_000).for_each(|number| list.insert(waiting(format!("{number}/1"))));
        for parts in [1, 2, 64] {
            let turns = (100..100 + parts).map(|cycle| list.part(cycle, parts));
            let sizes: Vec<usize> = turns.clone().map(|slots| slots.len()).collect();
            let mut slots: Vec<u32> = turns.flatten().collect();
            slots.sort_unstable();
            assert_eq!(slots, (0..1_000).collect::<Vec<u32>>());
            let most = 1_000 / parts as usize * 2 + 20;
            assert!(sizes.iter().all(|size| *size <= most), "{sizes:?}");
        }
        list.remove("7/1");
        list.insert(waiting("8/1".into()));
        assert_eq!((list.len(), list.part(0, 1).len()), (999, 999));
    }
}
