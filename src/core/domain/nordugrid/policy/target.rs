//! One target under judgement: a queue of a cluster as one user sees it.

use super::ahead::{Amount, left};
use super::case::JobCase;
use super::grid_facts::{ClusterRow, ShareRow, UserRow};
use super::windows::{Needed, Windows};
use crate::unit::{Bytes, Millis};

/// A queue of a cluster, for the user of the job that is decided on.
#[derive(Clone, Copy)]
pub struct TargetCandidate<'a> {
    /// The cluster.
    pub cluster: &'a ClusterRow,
    /// The queue.
    pub share: &'a ShareRow,
    /// The user's facts there; `None`: the user is not in the queue's list.
    pub user: Option<&'a UserRow>,
    /// When the facts were true by which it is known which jobs its figures contain.
    pub as_of: Millis,
    /// Amounts of the jobs in front.
    pub ahead: Amount,
}

/// When the facts were true by which it is known which jobs a target's figures contain: those of
/// the user, else those of the queue. If there are none, they contain no job.
fn facts_as_of(user: Option<&UserRow>, share: Option<&ShareRow>) -> Millis {
    let of_user = user.map(|user| user.as_of);
    of_user.or(share.map(|share| share.as_of)).unwrap_or(Millis::MIN)
}

/// Amounts of the jobs in front at a target, whether anything is known of its queue or not.
pub fn amount_ahead(case: &JobCase<'_>, target: u32) -> Amount {
    let user = case.user.get(target as usize).copied().flatten();
    case.facts.ahead.amount(target, facts_as_of(user, case.facts.share(target)))
}

impl<'a> TargetCandidate<'a> {
    /// The candidate of a queue; `None` if nothing is known of its cluster.
    pub fn of(case: &JobCase<'a>, share: &'a ShareRow) -> Option<TargetCandidate<'a>> {
        let cluster = case.facts.cluster(share.cluster)?;
        let user = case.user.get(share.target as usize).copied().flatten();
        let as_of = facts_as_of(user, Some(share));
        let ahead = case.facts.ahead.amount(share.target, as_of);
        Some(TargetCandidate { cluster, share, user, as_of, ahead })
    }

    /// Jobs that are queued: as published, and those in front; jobs (N-12, N-24).
    pub fn queued_jobs(&self) -> u64 {
        let published = &self.share.facts;
        let published = published.grid_queued_jobs.saturating_add(published.local_queued_jobs);
        published.saturating_add(self.ahead.jobs)
    }

    /// CPUs of the queue, else of the cluster.
    pub fn total_slots(&self) -> Option<u64> {
        self.share.facts.total_slots.or(self.cluster.facts.total_slots)
    }

    /// How long the job needs its CPUs here; s.
    pub fn needed_time_s(&self, case: &JobCase<'_>) -> u64 {
        case.needed_time_s(self.cluster, &self.share.facts)
    }

    /// CPUs that are free for as long as the job needs them, after the jobs in front: F'(d). `room`
    /// is used for the jobs in front.
    pub fn free_slots(&self, case: &JobCase<'_>, room: &mut Vec<Needed>) -> u64 {
        let Some(user) = self.user else { return 0 };
        self.needed_ahead(case, room);
        user.windows.free_after(room, self.needed_time_s(case))
    }

    /// Free CPUs after the jobs in front: F'.
    pub fn windows(&self, case: &JobCase<'_>) -> Windows {
        let mut needed = Vec::new();
        self.needed_ahead(case, &mut needed);
        self.user.map_or_else(Windows::default, |user| user.windows.after(&needed))
    }

    /// CPUs that jobs in front need.
    pub fn needed_ahead(&self, case: &JobCase<'_>, needed: &mut Vec<Needed>) {
        case.facts.ahead.needed(self.share.target, self.as_of, &self.share.facts, needed);
    }

    /// Free space for the user's session directories, less what jobs in front reserve. `None`: not
    /// known.
    pub fn disk_free(&self) -> Option<Bytes> {
        let free = self.user?.disk_free_bytes?;
        Some(left(free, self.ahead.disk_bytes))
    }

    /// Its name, `cluster/queue`.
    pub fn id<'f>(&self, case: &JobCase<'f>) -> &'f str {
        case.facts.targets.name(self.share.target)
    }
}
