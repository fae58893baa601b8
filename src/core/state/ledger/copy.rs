//! The ledger's part in a copy that is made in portions.

use super::Ledger;
use crate::copy::{InPortions, TakeCopy};

impl Ledger {
    /// Its tables.
    pub(in crate::state) fn tables(&mut self) -> [&mut dyn InPortions; 17] {
        [
            &mut self.load,
            &mut self.queue,
            &mut self.share,
            &mut self.who,
            &mut self.owner,
            &mut self.reserved,
            &mut self.nucleus,
            &mut self.levels,
            &mut self.bound,
            &mut self.seen,
            &mut self.ended,
            &mut self.work,
            &mut self.starts,
            &mut self.waits,
            &mut self.flow,
            &mut self.into,
            &mut self.rate,
        ]
    }

    /// The parts that are no table: bounds and times, as of now.
    pub(in crate::state) fn without_tables(&self) -> Ledger {
        Ledger {
            now: self.now,
            ended_reach: self.ended_reach,
            work_reach: self.work_reach,
            waits_changed: self.waits_changed,
            ..Ledger::default()
        }
    }

    /// Hands copied portions of its tables over to those of another.
    pub(in crate::state) fn take_copies(&mut self, to: &mut Ledger) {
        to.load = self.load.take_copy();
        to.queue = self.queue.take_copy();
        to.share = self.share.take_copy();
        to.who = self.who.take_copy();
        to.owner = self.owner.take_copy();
        to.reserved = self.reserved.take_copy();
        to.nucleus = self.nucleus.take_copy();
        to.levels = self.levels.take_copy();
        to.bound = self.bound.take_copy();
        to.seen = self.seen.take_copy();
        to.ended = self.ended.take_copy();
        to.work = self.work.take_copy();
        to.starts = self.starts.take_copy();
        to.waits = self.waits.take_copy();
        to.flow = self.flow.take_copy();
        to.into = self.into.take_copy();
        to.rate = self.rate.take_copy();
    }
}
