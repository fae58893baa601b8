//! Jobs that wait to run, by share, resource type and priority: the job throttler lets work of a
//! higher priority pass (spec atlas 10.5).

use super::Ledger;
use crate::id::Name;
use crate::state::job::Job;
use crate::state::rows::RowKey;

/// Jobs of one share, resource type and priority that wait to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Jobs that wait to run at their queues.
    pub jobs: u32,
    /// Jobs reserved by decisions and not yet seen; derived, see `reserve`.
    pub reserved: u32,
}

/// The key of a level. A priority below 0 has its own, as any other number.
pub(in crate::state) fn level_key(gshare: Name, resource_type: Name, priority: i32) -> RowKey {
    [gshare.0, resource_type.0, priority.cast_unsigned(), 0]
}

impl Ledger {
    /// A job began to wait to run, or does so no more.
    pub(super) fn job_level(&mut self, job: &Job, more: bool) {
        let [_, gshare, resource_type, ..] = job.names;
        let row = self.levels.row(level_key(gshare, resource_type, job.priority));
        self.levels.count_reference(row, more);
        let jobs = &mut self.levels.at(row).jobs;
        *jobs = if more { jobs.wrapping_add(1) } else { jobs.wrapping_sub(1) };
    }

    /// The levels of a share: the resource type, the priority, the jobs; in no order.
    pub fn levels_of(&self, gshare: Name) -> impl Iterator<Item = (Name, i32, Level)> {
        let rows = self.levels.of_name(gshare.0);
        rows.map(|(key, level)| (Name(key[1]), key[2].cast_signed(), *level))
    }
}
