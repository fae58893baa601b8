//! The states of a job at a cluster (spec cms-nordugrid B.3), under the names that ARC's services
//! use and those that the information system shows to users.

use crate::event::Status;
use crate::state::State;
use crate::state::job::Job;
use crate::unit::Millis;

/// The state of a job at a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterJobState {
    /// Taken by the cluster, not yet in its batch system: ACCEPTED, PREPARING or SUBMIT, or one of
    /// them with `PENDING:`.
    PreBatch,
    /// In the batch system, queued or running: INLRMS, in the interface REST of ARC 6 and 7
    /// QUEUING, RUNNING, HELD, EXITINGLRMS or OTHER.
    InBatch,
    /// Left the batch system, or is being cancelled: EXECUTED, FINISHING, CANCELING, KILLING.
    Leaving,
    /// Over: FINISHED, FAILED, KILLED, DELETED or WIPED.
    Ended,
}

impl ClusterJobState {
    /// The state of a published text; `None` if no state has that name. What stands behind a colon
    /// is a sub-state (`INLRMS:R`), except of `PENDING:`, which only waits for the next step.
    pub fn parse(text: &str) -> Option<ClusterJobState> {
        let text = text.trim();
        let text = text.strip_prefix("PENDING:").unwrap_or(text).trim_start();
        match text.split(':').next().unwrap_or(text).trim_end() {
            "ACCEPTED" | "ACCEPTING" | "PREPARING" | "PREPARED" | "SUBMIT" | "SUBMITTING" => {
                Some(ClusterJobState::PreBatch)
            }
            "INLRMS" | "QUEUING" | "RUNNING" | "HELD" | "EXITINGLRMS" | "OTHER" => {
                Some(ClusterJobState::InBatch)
            }
            "EXECUTED" | "FINISHING" | "KILLING" | "CANCELING" | "CANCELLING" => {
                Some(ClusterJobState::Leaving)
            }
            "FINISHED" | "FAILED" | "KILLED" | "DELETED" | "WIPED" => Some(ClusterJobState::Ended),
            _ => None,
        }
    }

    /// The state at a cluster that a job's status stands for.
    fn of(status: Option<Status>) -> ClusterJobState {
        match status {
            None
            | Some(Status::Pending | Status::Defined | Status::Assigned | Status::Throttled) => {
                ClusterJobState::PreBatch
            }
            Some(
                Status::Activated
                | Status::Sent
                | Status::Starting
                | Status::Running
                | Status::Holding
                | Status::Held,
            ) => ClusterJobState::InBatch,
            Some(Status::Merging | Status::Transferring) => ClusterJobState::Leaving,
            Some(Status::Finished | Status::Failed | Status::Cancelled | Status::Closed) => {
                ClusterJobState::Ended
            }
        }
    }
}

/// The state of a job at a cluster, with its times there, of whatever user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// State.
    pub state: ClusterJobState,
    /// CPUs.
    pub count: u64,
    /// CPU time asked for, of the whole job, else wall time; s.
    pub time_s: Option<u64>,
    /// When its state last changed: when it ended, once it did. `None`: not stated.
    pub changed_at: Option<Millis>,
    /// When it reached the batch system, once it did.
    pub reached_batch_at: Option<Millis>,
    /// Whether its inputs were staged before it ended.
    pub is_staged: bool,
}

impl JobRecord {
    /// The target that a job is at and its state there; `None`: it is at none. ARC's word in the
    /// sub-state counts before the state it was mapped to.
    pub fn of<'s>(state: &'s State, job: &Job) -> Option<(&'s str, JobRecord)> {
        let target = state.names.text(job.names[0]);
        if job.status.is_none() || !target.contains('/') {
            return None;
        }
        let word = state.names.text(job.sub_status);
        let (cpu_s, wall_s) =
            state.at_clusters.get(&job.key).map_or((0, 0), |at| (at.cpu_time_s, at.wall_time_s));
        let time_s = if cpu_s > 0 { cpu_s } else { wall_s };
        let when = |at: Millis| Some(at).filter(|at| *at > 0);
        let record = JobRecord {
            state: ClusterJobState::parse(word).unwrap_or_else(|| ClusterJobState::of(job.status)),
            count: job.cores.into(),
            time_s: Some(time_s.into()).filter(|time_s| *time_s > 0),
            changed_at: when(job.over_at()),
            reached_batch_at: when(job.activated_at),
            is_staged: job.activated_at > 0 || job.started_at > 0,
        };
        Some((target, record))
    }

    /// Whether it ended before the inputs of an attempt that was decided at a moment were staged:
    /// nothing of them came into the cache (N-27). So it did if nobody stated when it ended.
    pub fn ended_unstaged(&self, attempt: u64, decided_at: Millis) -> bool {
        let is_of_this = attempt == 0 || self.changed_at.is_none_or(|at| at >= decided_at);
        self.state == ClusterJobState::Ended && !self.is_staged && is_of_this
    }
}

#[cfg(test)]
mod tests {
    use super::ClusterJobState;
    use super::ClusterJobState::*;

    #[test]
    fn shown_names_and_those_of_services_are_the_same_states() {
        let pre_batch = "ACCEPTED ACCEPTING PREPARING PREPARED SUBMIT PENDING:ACCEPTED \
                         PENDING:PREPARING";
        for text in pre_batch.split_whitespace() {
            assert_eq!(ClusterJobState::parse(text), Some(PreBatch), "{text}");
        }
        let in_batch = "INLRMS INLRMS:Q INLRMS:R INLRMS:E INLRMS:O INLRMS:S QUEUING RUNNING HELD \
                        EXITINGLRMS OTHER";
        for text in in_batch.split_whitespace().chain(["INLRMS: R"]) {
            assert_eq!(ClusterJobState::parse(text), Some(InBatch), "{text}");
        }
        for text in ["FINISHED", "FAILED", "KILLED", "DELETED", "WIPED"] {
            assert_eq!(ClusterJobState::parse(text), Some(Ended), "{text}");
        }
        for text in ["FINISHING", "CANCELING", "EXECUTED", "KILLING"] {
            assert_eq!(ClusterJobState::parse(text), Some(Leaving), "{text}");
        }
        assert_eq!(ClusterJobState::parse("LOST"), None);
    }
}
