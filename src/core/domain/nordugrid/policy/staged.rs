//! A target under judgement with the input files of the job there.

use super::case::JobCase;
use super::staging::Staging;
use super::target::TargetCandidate;
use std::cell::{Ref, RefCell};
use std::ops::Deref;

/// A target under judgement, with the job's input files there, which are summed up when a filter
/// asks for them.
pub struct StagedTarget<'a> {
    /// The target.
    pub target: TargetCandidate<'a>,
    pub(super) last: &'a LastStaging,
}

impl<'a> Deref for StagedTarget<'a> {
    type Target = TargetCandidate<'a>;

    fn deref(&self) -> &TargetCandidate<'a> {
        &self.target
    }
}

impl StagedTarget<'_> {
    /// The job's input files at its cluster.
    pub fn staging(&self, case: &JobCase<'_>) -> Ref<'_, Staging> {
        let LastStaging { elsewhere, last } = self.last;
        if last.borrow().cluster != self.target.cluster.number {
            *last.borrow_mut() = Staging::from(case, self.target.cluster, elsewhere);
        }
        last.borrow()
    }
}

/// The input files at the cluster that was looked at last: queues of one cluster follow each other.
pub struct LastStaging {
    /// Staging at clusters that have none of the files.
    elsewhere: Staging,
    last: RefCell<Staging>,
}

impl LastStaging {
    /// Nothing was looked at.
    pub(super) fn of(case: &JobCase<'_>) -> LastStaging {
        let elsewhere = Staging::elsewhere(case);
        LastStaging { last: RefCell::new(elsewhere.clone()), elsewhere }
    }
}
