//! When each job is to be looked at next, because a rule may be due then.
//!
//! Derived, and kept only where commands are judged. A job has one entry, by the minute, no later
//! than the earliest moment at which a rule can be due: a change of state that makes that earlier
//! adds another, and the one before is passed over. A heartbeat changes nothing here: the job is
//! looked at, and the entry is set again.

use crate::event::Status;
use crate::id::Name;
use crate::state::job::Job;
use crate::unit::{MINUTE, Millis};
use std::collections::{BTreeSet, VecDeque};

/// Entries further ahead than this are looked at then, and set again; minutes.
const AHEAD_MAX: i64 = 40 * 24 * 60;

/// So many slots of a row that are no longer wanted do no harm.
const QUEUED_SPARE: usize = 64;

/// By state of a job: how long after each of its clocks the first rule can be due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstLooks {
    /// After it was created.
    pub created: Option<Millis>,
    /// After it reached its state.
    pub changed: Option<Millis>,
    /// After its payload ended, or started, or after it reached its state.
    pub ended: Option<Millis>,
    /// After its last heartbeat, or after it reached its state.
    pub alive: Option<Millis>,
}

/// Jobs by the minute in which each is to be looked at next.
#[derive(Clone, Debug, Default)]
pub struct JobLooks {
    /// Whether every job has its entry: only then are changes noted.
    pub is_warm: bool,
    /// By state of a job, how long after each of its clocks the first rule can be due.
    pub first: [FirstLooks; Status::COUNT],
    /// The minute of the first turn.
    base: i64,
    /// Whether a minute was taken since it began.
    has_begun: bool,
    /// Slots by minute, from `base` on.
    turns: VecDeque<Vec<u32>>,
    /// Slots of the minute that has begun, by their moment.
    soon: BTreeSet<(Millis, u32)>,
    /// By number of a share: whether it is noted which of its jobs wait.
    shares: Vec<bool>,
    /// Slots of jobs that came to wait at a queue, by the row they are counted in. Some may be gone
    /// or wait elsewhere by now.
    queued: Vec<Vec<u32>>,
}

impl JobLooks {
    /// Begins at a moment, without an entry.
    /// `shares`: those of which it is noted which jobs wait.
    pub fn begin(
        &mut self,
        now: Millis,
        first: [FirstLooks; Status::COUNT],
        shares: impl Iterator<Item = Name>,
    ) {
        let base = now.div_euclid(MINUTE);
        *self = JobLooks { is_warm: true, first, base, ..JobLooks::default() };
        for share in shares {
            let at = share.0 as usize;
            if at >= self.shares.len() {
                self.shares.resize(at + 1, false);
            }
            self.shares[at] = true;
        }
    }

    /// Forgets all: nothing is noted until it begins again.
    pub fn cool(&mut self) {
        if self.is_warm {
            *self = JobLooks::default();
        }
    }

    /// Sets the entry of a job whose record changed. Gives the minute for [`Job::look`].
    #[inline]
    pub fn note(&mut self, slot: u32, job: &Job, before: u32) -> u32 {
        if !self.is_warm {
            return 0;
        }
        match self.earliest(job) {
            Millis::MAX => before,
            at => self.set_or_soon(slot, at, before),
        }
    }

    /// No rule can be due for a job before; `Millis::MAX`: none ever, as it is.
    #[inline]
    pub fn earliest(&self, job: &Job) -> Millis {
        let Some(status) = job.status else { return Millis::MAX };
        let FirstLooks { created, changed, ended, alive } = self.first[status.index()];
        let after = |at: Millis, limit: Option<Millis>| {
            limit.map_or(Millis::MAX, |limit| at.saturating_add(limit))
        };
        let or_state = |at: Millis| if at != 0 { at.min(job.changed_at) } else { job.changed_at };
        let end = or_state(job.ended_at).min(or_state(job.started_at));
        after(job.created_at, created)
            .min(after(job.changed_at, changed))
            .min(after(end, ended))
            .min(after(job.heard_at(), alive))
    }

    /// Sets the entry of a slot, unless it has an earlier one. Gives its minute.
    #[inline]
    pub fn set(&mut self, slot: u32, at: Millis, before: u32) -> u32 {
        let minute = at.div_euclid(MINUTE).clamp(self.base, self.base + AHEAD_MAX);
        if before != 0 && i64::from(before) <= minute {
            return before;
        }
        let turn = (minute - self.base) as usize;
        if turn >= self.turns.len() {
            self.turns.resize_with(turn + 1, Vec::new);
        }
        self.turns[turn].push(slot);
        minute as u32
    }

    /// Sets the moment of a slot whose minute has begun.
    pub fn set_soon(&mut self, slot: u32, at: Millis) {
        self.soon.insert((at, slot));
    }

    /// Sets the entry of a job that sent a heartbeat after a command for want of one, or one of
    /// another attempt, which may be older: rules that read heartbeats may be due again, or
    /// earlier. Gives the minute for [`Job::look`].
    pub fn note_heartbeat(&mut self, slot: u32, job: &Job, before: u32) -> u32 {
        let limit = job.status.and_then(|status| self.first[status.index()].alive);
        let (true, Some(limit)) = (self.is_warm, limit) else { return before };
        self.set_or_soon(slot, job.heard_at().saturating_add(limit), before)
    }

    /// The entry of a slot, or its moment if its minute has begun already.
    #[inline]
    fn set_or_soon(&mut self, slot: u32, at: Millis, before: u32) -> u32 {
        if at.div_euclid(MINUTE) >= self.base || !self.has_begun {
            return self.set(slot, at, before);
        }
        self.soon.insert((at, slot));
        before
    }

    /// Notes that a job of a share came to wait at a queue.
    #[inline]
    pub fn note_queued(&mut self, slot: u32, row: u32, share: Name) {
        if !self.shares.get(share.0 as usize).is_some_and(|is_noted| *is_noted) {
            return;
        }
        let row = row as usize;
        if row >= self.queued.len() {
            self.queued.resize_with(row + 1, Vec::new);
        }
        self.queued[row].push(slot);
    }

    /// Rows in which jobs may wait.
    pub fn queued_rows(&self) -> impl Iterator<Item = u32> {
        let rows = (0u32..).zip(&self.queued);
        rows.filter(|(_, slots)| !slots.is_empty()).map(|(row, _)| row)
    }

    /// Slots of jobs that may wait in a row.
    pub fn queued(&self, row: u32) -> &[u32] {
        self.queued.get(row as usize).map_or(&[], Vec::as_slice)
    }

    /// Drops the slots of a row that are wanted no longer, if there are many more than wait there.
    pub fn trim_queued(&mut self, row: u32, wait: usize, is_wanted: impl Fn(u32) -> bool) {
        let Some(slots) = self.queued.get_mut(row as usize) else { return };
        if slots.len() > 2 * wait + QUEUED_SPARE {
            slots.retain(|slot| is_wanted(*slot));
            slots.sort_unstable();
            slots.dedup();
        }
    }

    /// The slots of the next minute that has begun, with that minute.
    pub fn take_minute(&mut self, now: Millis) -> Option<(i64, Vec<u32>)> {
        if self.base > now.div_euclid(MINUTE) {
            return None;
        }
        let minute = self.base;
        self.base += 1;
        self.has_begun = true;
        Some((minute, self.turns.pop_front().unwrap_or_default()))
    }

    /// Slots whose moment has come.
    pub fn take_soon(&mut self, now: Millis) -> Vec<u32> {
        let mut due = Vec::new();
        while let Some((at, slot)) = self.soon.first().copied().filter(|(at, _)| *at <= now) {
            self.soon.remove(&(at, slot));
            due.push(slot);
        }
        due
    }

    /// How many entries there are, those that will be passed over included.
    pub fn len(&self) -> usize {
        self.turns.iter().map(Vec::len).sum::<usize>() + self.soon.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Key;

    #[test]
    fn a_job_has_one_entry_and_an_earlier_one_replaces_it() {
        let mut first = [FirstLooks::default(); Status::COUNT];
        first[Status::Activated.index()].changed = Some(10 * MINUTE);
        first[Status::Holding.index()].changed = Some(3 * MINUTE);
        let mut looks = JobLooks::default();
        let mut job = Job { status: Some(Status::Activated), ..Job::stub(Key(1)) };
        assert_eq!(looks.note(7, &job, 0), 0);
        looks.begin(100 * MINUTE, first, std::iter::empty());
        job.changed_at = 100 * MINUTE;
        job.look = looks.note(7, &job, 0);
        assert_eq!((job.look, looks.len()), (110, 1));
        // A later one is left to the look at the earlier one.
        job.changed_at = 105 * MINUTE;
        assert_eq!((looks.note(7, &job, job.look), looks.len()), (110, 1));
        job.status = Some(Status::Holding);
        job.changed_at = 101 * MINUTE;
        assert_eq!((looks.note(7, &job, job.look), looks.len()), (104, 2));
        let taken: Vec<_> = std::iter::from_fn(|| looks.take_minute(104 * MINUTE)).collect();
        assert_eq!(taken.last(), Some(&(104, vec![7])));
        assert_eq!(taken.len(), 5);
        // What is overdue goes into the minute that begins next.
        assert_eq!(looks.set(9, 50 * MINUTE, 0), 105);
    }
}
