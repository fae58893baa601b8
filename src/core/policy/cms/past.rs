//! What jobs leave behind when they end: use that decays (F-2, F-3), and sites that their workflow
//! overflowed to (C-40).

use super::counters::{Contribution, at as slot, grown};
use super::entry::Standing;
use super::facts::{HeldJob, MilliWeight, Seconds};
use super::pool::Pool;
use super::usage::Usage;
use crate::id::Name;

impl Pool {
    /// A job is over, whatever became of it: what it held is free, and where it ran, its use goes
    /// on to count in its user's decayed usage, and the site it overflowed to in its workflow's
    /// spread. One that only had a reservation leaves nothing behind. The job as it was known, if
    /// it was.
    pub fn end_job(&mut self, job: &str, ended_at_s: Seconds) -> Option<Standing> {
        let standing = self.remove_job(job)?;
        match &standing {
            Standing::Held(held) if held.reserved_at_s.is_none() => self.note_run(held, ended_at_s),
            Standing::Held(_) | Standing::Pending(_) => {}
        }
        Some(standing)
    }

    fn note_run(&mut self, held: &HeldJob, ended_at_s: Seconds) {
        let is_pooled = held.charged_group.is_some();
        let milli = self.settings.charge_milli(held.weight_milli, is_pooled);
        let until_s = ended_at_s.max(held.counts_from_s);
        self.add_past_use(&held.user, milli, held.counts_from_s, until_s);
        if held.overflow_source.is_some() {
            let workflow = self.names.intern(&held.job.workflow);
            let site = self.names.intern(&held.run_site);
            slot(&mut self.workflows, workflow).add_overflow_used(&[site]);
        }
    }

    /// Time that ended use adds to a user's decayed usage for good (F-2, F-3): a job of this weight
    /// that ran from then until then.
    pub fn add_past_use(&mut self, user: &str, milli: MilliWeight, from_s: Seconds, to_s: Seconds) {
        let user = self.names.intern(user);
        let gained = self.decay.growth(to_s) - self.decay.growth(from_s);
        self.book_past(user, grown(milli, gained));
    }

    /// X of F-3 of a user's jobs that ended, at the landmark of the pool's clock.
    pub fn past_use(&self, user: &str) -> i128 {
        self.name(user).and_then(|user| self.user(user)).map_or(0, |entry| entry.past_x)
    }

    /// States X of F-3 of a user's jobs that ended, at the landmark of the pool's clock. What held
    /// jobs contribute stays, and so does what the user's record states.
    pub fn set_past_use(&mut self, user: &str, x: i128) {
        let user = self.names.intern(user);
        let known = slot(&mut self.users, user).past_x;
        self.book_past(user, x.saturating_sub(known));
    }

    fn book_past(&mut self, user: Name, x: i128) {
        let own = slot(&mut self.users, user);
        own.past_x = own.past_x.saturating_add(x);
        let usage = Usage { x, ..Usage::default() };
        self.counters.book(&[Contribution::Usage(user, usage)], 1);
    }

    /// Gives another pool of the same records what is in none of them: every user's decayed usage
    /// stays what it is at this moment, and every workflow's spread.
    pub(super) fn keep_past(&self, other: &mut Pool, now_s: Seconds) {
        let (old, new) = (self.decay.growth(now_s), other.decay.growth(now_s));
        for (user, counters) in self.counters.users() {
            let name = other.names.intern(self.names.text(user));
            let (was, is) = (counters.usage, other.counters.user(name).usage);
            let x = match self.decay == other.decay {
                true => was.x.saturating_sub(is.x),
                false => {
                    let past = was.decayed_milli(old).saturating_sub(is.decayed_milli(new));
                    past.saturating_mul(new)
                }
            };
            other.book_past(name, x);
        }
        for (entry, at) in self.workflows.iter().zip(0u32..) {
            let mut rename = |site: &Name| other.names.intern(self.names.text(*site));
            let sites: Vec<Name> = entry.overflow_used.iter().map(&mut rename).collect();
            let name = other.names.intern(self.names.text(Name(at)));
            slot(&mut other.workflows, name).add_overflow_used(&sites);
        }
    }
}
