//! Figures by which targets are ranked, and the weight of each in a draw (N-20 to N-24).

use super::case::JobCase;
use super::staging::Staging;
use super::target::TargetCandidate;
use super::windows::Needed;
use crate::unit::Bytes;

/// Figures by which a target that passed all filters is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetFigures {
    /// Number of the target.
    pub target: u32,
    /// CPUs free for as long as the job needs them, after the jobs in front.
    pub free_slots: u64,
    /// Whether these are enough for the job (N-20).
    pub is_free: bool,
    /// Bytes from far away.
    pub remote_bytes: Bytes,
    /// Bytes from close by.
    pub local_bytes: Bytes,
    /// Queued jobs, those in front counted.
    pub queued_jobs: u64,
    /// CPUs of the queue, else of the cluster.
    pub total_slots: u64,
}

impl TargetFigures {
    /// The figures of a target.
    pub fn of(
        case: &JobCase<'_>,
        candidate: &TargetCandidate<'_>,
        staging: &Staging,
        room: &mut Vec<Needed>,
    ) -> TargetFigures {
        let free_slots = candidate.free_slots(case, room);
        TargetFigures {
            target: candidate.share.target,
            free_slots,
            is_free: free_slots >= case.job.count,
            remote_bytes: staging.remote_bytes,
            local_bytes: staging.local_bytes,
            queued_jobs: candidate.queued_jobs(),
            total_slots: candidate.total_slots().unwrap_or(0),
        }
    }

    /// Its weight in a draw among tied targets: free CPUs, or all if no target has enough free ones
    /// (N-23, N-24).
    pub fn draw_weight(&self) -> u64 {
        if self.is_free { self.free_slots } else { self.total_slots }
    }
}
