//! Jobs for which a rule is due, by rule and queue. Derived: found by looking at each job when a
//! rule could be due for it first, and checked again before anything is published.

use super::facts::{Surroundings, gaps};
use super::found::FoundJobs;
use super::timeout::{Deadline, GovernedJob, TimeoutFinding, is_of_heartbeats, standing};
use crate::command::{CommandRule, RuleSetting};
use crate::event::Status;
use crate::id::{Key, Name};
use crate::state::State;
use crate::unit::{MINUTE, Millis};
use std::collections::BTreeMap;

/// Jobs that were found due, by rule and queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    /// By rule and queue.
    pub groups: BTreeMap<(CommandRule, Name), FoundJobs>,
}

/// A rule's present finding about a job.
pub(super) fn look(state: &State, setting: &RuleSetting, case: &GovernedJob<'_>) -> TimeoutFinding {
    standing(setting, case, &gaps(state, setting.rule, case.job.names[0]))
}

impl Due {
    /// Begins again: every job is looked at.
    pub(super) fn begin(&mut self, state: &mut State, around: &Surroundings) {
        self.groups.clear();
        let shares: Vec<Name> = around.rebrokered().map(|share| state.name(share)).collect();
        state.looks.begin(state.now, around.first_looks(state), shares.into_iter());
        let slots: Vec<u32> = state.jobs.slab.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            let Some(job) = state.jobs.slab.get(slot).copied() else { continue };
            let minute = state.looks.note(slot, &job, 0);
            if job.status.is_some_and(Status::is_queued) {
                state.looks.note_queued(slot, job.load, job.names[1]);
            }
            if let Some(job) = state.jobs.slab.get_derived(slot) {
                job.look = minute;
            }
        }
    }

    /// Looks at the jobs for which a rule can be due by now.
    pub(super) fn look(&mut self, state: &mut State, around: &mut Surroundings) {
        let now = state.now;
        if state.before.div_euclid(MINUTE) != now.div_euclid(MINUTE) {
            trim_queued(state);
        }
        while let Some((minute, slots)) = state.looks.take_minute(now) {
            for slot in slots {
                // An entry that was replaced by an earlier one.
                let job = state.jobs.slab.get_derived(slot);
                let Some(job) = job.filter(|job| i64::from(job.look) == minute) else { continue };
                job.look = 0;
                self.look_at(state, around, slot);
            }
        }
        for slot in state.looks.take_soon(now) {
            self.look_at(state, around, slot);
        }
    }

    fn look_at(&mut self, state: &mut State, around: &mut Surroundings, slot: u32) {
        let Some(job) = state.jobs.slab.get(slot).copied() else { return };
        // Its state has changed since the look was set, or it sent heartbeats.
        let earliest = state.looks.earliest(&job);
        if earliest > state.now {
            return set_look(state, slot, earliest);
        }
        around.note_looked_at(state, &job);
        let Some(case) = around.case(state, &job) else { return };
        let mut next = Millis::MAX;
        for setting in state.setting.commands.active() {
            match look(state, setting, &case) {
                TimeoutFinding::NotConcerned => {}
                TimeoutFinding::Deadline(deadline) if deadline.due_at > state.now => {
                    next = next.min(deadline.due_at);
                }
                TimeoutFinding::Deadline(deadline) => {
                    let found = self.groups.entry((setting.rule, job.names[0])).or_default();
                    found.insert(job.key, deadline.due_at);
                }
            }
        }
        set_look(state, slot, next);
    }

    /// Checks a job of a group again. Gives its deadline if that has passed; else the job is taken
    /// out and looked at when it has.
    pub(super) fn check(
        &mut self,
        state: &mut State,
        around: &Surroundings,
        (setting, queue): (&RuleSetting, Name),
        key: Key,
    ) -> Option<Deadline> {
        let slot = state.jobs.find(key);
        let job = slot.and_then(|slot| state.jobs.slab.get(slot)).copied();
        let case = job.as_ref().filter(|job| job.names[0] == queue);
        let case = case.and_then(|job| around.case(state, job));
        let found = case.map(|case| look(state, setting, &case));
        match found {
            Some(TimeoutFinding::Deadline(deadline)) if deadline.due_at <= state.now => {
                let found = self.groups.entry((setting.rule, queue)).or_default();
                found.insert(key, deadline.due_at);
                Some(deadline)
            }
            found => {
                self.remove((setting.rule, queue), key);
                let next = match found {
                    Some(TimeoutFinding::Deadline(deadline)) => deadline.due_at,
                    Some(TimeoutFinding::NotConcerned) | None => Millis::MAX,
                };
                if let Some(slot) = slot {
                    set_look(state, slot, next);
                }
                None
            }
        }
    }

    /// Takes a job out of a group for which the rule gave its command. A new state, or a heartbeat
    /// where the rule reads them, lets it be looked at again.
    pub(super) fn give(&mut self, state: &mut State, at: (CommandRule, Name), key: Key) {
        self.remove(at, key);
        let slot = state.jobs.find(key);
        if let Some(job) = slot.and_then(|slot| state.jobs.slab.get_derived(slot)) {
            job.awaits_heartbeat |= is_of_heartbeats(at.0);
        }
    }

    /// Takes a job out of a group.
    pub(super) fn remove(&mut self, at: (CommandRule, Name), key: Key) {
        if let Some(found) = self.groups.get_mut(&at) {
            found.remove(key);
            if found.is_empty() {
                self.groups.remove(&at);
            }
        }
    }
}

/// Drops what is no longer wanted of the lists of waiting jobs.
fn trim_queued(state: &mut State) {
    let State { looks, ledger, jobs, .. } = state;
    let rows: Vec<u32> = looks.queued_rows().collect();
    for row in rows {
        let by = ledger.load.get(row).map(|load| load.count.jobs()).unwrap_or_default();
        let wait: u32 = Status::QUEUED.iter().map(|status| by[status.index()]).sum();
        looks.trim_queued(row, wait as usize, |slot| {
            let job = jobs.slab.get(slot);
            job.is_some_and(|job| job.load == row && job.status.is_some_and(Status::is_queued))
        });
    }
}

/// Sets when a job is looked at next; nothing at `Millis::MAX`.
fn set_look(state: &mut State, slot: u32, at: Millis) {
    if at == Millis::MAX {
        return;
    }
    if at.div_euclid(MINUTE) <= state.now.div_euclid(MINUTE) {
        return state.looks.set_soon(slot, at);
    }
    let Some(before) = state.jobs.slab.get(slot).map(|job| job.look) else { return };
    let minute = state.looks.set(slot, at, before);
    if let Some(job) = state.jobs.slab.get_derived(slot) {
        job.look = minute;
    }
}
