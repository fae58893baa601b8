//! Records of the state: each is the join of everything that was published about its subject.
//!
//! Each record is made of parts, each part fed by one topic; of two versions of a part the newer
//! wins by a total order on its own content, so merging is commutative, associative, idempotent.

use crate::cut::Lane;
use crate::domain::nordugrid::output::Placed;
use crate::event::{JobState, OutcomeKind, Status, Task, TaskPhase, TransferStatus};
use crate::id::{Key, Name};
use crate::output::decision::DecisionId;
use crate::record::{Encode, Encoder, encode, record};
use crate::state::blockers::Blockers;
use crate::unit::Millis;
use std::collections::BTreeMap;

/// A job: its newest state, and its last sign of life.
///
/// There are millions, met in no order, so what lies together is what is looked at
/// together: the first 64 bytes are all that a heartbeat needs, the next are what a change of state
/// needs too.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Job {
    /// Its number.
    pub key: Key,
    /// The heartbeat part.
    pub heartbeat: LastHeartbeat,
    /// Which try it is.
    pub attempt: u32,
    /// Cores, at least 1.
    pub cores: u32,
    /// Row of (queue, gshare, resource type).
    pub load: u32,
    /// Revision of its state.
    pub revision: u64,
    /// Its state; `None` while only heartbeats are known of it (a stub).
    pub status: Option<Status>,
    /// Its contribution to waiting times at its queue.
    pub sample: Sample,
    /// Whether it counts as one that went wrong at its queue once it is closed; follows from its
    /// sub-state, see [`counts_closed`].
    pub counts_closed: bool,
    /// Whether its next heartbeat sets when it is looked at: a rule gave its command for want of
    /// one. Derived, as `look`.
    pub awaits_heartbeat: bool,
    /// Minute in which the job is looked at next; 0: it has no entry. Derived, see
    /// [`JobLooks`](crate::state::looks::JobLooks).
    pub look: u32,
    /// Its task.
    pub task: Key,
    /// The request that placed it; [`Key::NONE`] when not known.
    pub request: Key,
    /// When it reached its state.
    pub changed_at: Millis,
    /// When it was generated.
    pub created_at: Millis,
    /// When its payload started; 0 before.
    pub started_at: Millis,
    /// When its payload ended; 0 before.
    pub ended_at: Millis,
    /// Row of its user at (queue, gshare).
    pub user: u32,
    /// Row of its working group at (queue, gshare).
    pub group: u32,
    /// Row of its nucleus.
    pub nucleus: u32,
    /// Row of (request or task, queue) where its coming is counted against reservations.
    pub seen: u32,
    /// Queue, gshare, resource type, user, working group, nucleus: the names that its rows are of,
    /// so that a state with the same ones keeps the rows without a look at them.
    pub names: [Name; 6],
    /// Workflow.
    pub workflow: Name,
    /// Production source label.
    pub label: Name,
    /// Sub-state.
    pub sub_status: Name,
    /// Priority.
    pub priority: i32,
    /// Size of its input.
    pub input_bytes: u64,
    /// Size of its output.
    pub output_bytes: u64,
    /// When a pilot could first take it; 0 before.
    pub activated_at: Millis,
}

/// The sub-state of a closed job whose input goes back to be brokered again.
const TO_REASSIGN: &str = "toreassign";

/// Whether a closed job counts with those that failed (spec atlas 8.3 G16): its sub-state says that
/// it was taken away to be brokered again, or its writer states no sub-states. One that was closed
/// for another reason says nothing about its queue.
#[inline]
pub fn counts_closed(sub_status: &str) -> bool {
    sub_status.is_empty() || sub_status == TO_REASSIGN
}

/// Contribution of a job to waiting times at its queue (spec atlas 8.1.3), and whether it merges
/// output. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Sample {
    /// Nothing, and it merges nothing: most jobs.
    #[default]
    None = 0,
    /// It merges a user's output: how long it waited, and how long it waits.
    Merge = 1,
    /// It was sent to probe the queue: how long it waited.
    Probe = 2,
    /// Nothing: it merges output in a share whose waiting times do not count.
    OtherMerge = 3,
}

/// Share of the jobs that count for waiting times.
const SAMPLED_SHARE: &str = "User Analysis";
/// Processing type of jobs that merge output.
const MERGES: &str = "pmerge";
/// User whose jobs probe queues.
const PROBES: &str = "gangarbt";

impl Sample {
    /// All there are, in order of their numbers.
    pub const ALL: [Sample; 4] = [Sample::None, Sample::Merge, Sample::Probe, Sample::OtherMerge];

    /// The contribution of a job, by the share, processing type and user that it reports.
    #[inline]
    pub fn of(job: &JobState<'_>) -> Sample {
        match (job.gshare == SAMPLED_SHARE, job.processing_type, job.user) {
            (true, MERGES, _) => Sample::Merge,
            (false, MERGES, _) => Sample::OtherMerge,
            (true, _, PROBES) => Sample::Probe,
            (..) => Sample::None,
        }
    }

    /// Whether the job merges output. Such jobs count neither in a user's slots nor in the
    /// analysis stabilizer (spec atlas 8.1.1, 8.5).
    #[inline]
    pub fn is_merge(self) -> bool {
        matches!(self, Sample::Merge | Sample::OtherMerge)
    }
}

/// The newest heartbeat of a job. All zero: none. Packed to 28 bytes, so that the revision of the
/// job's state lies in the same 64 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, packed(4))]
pub struct LastHeartbeat {
    /// Attempt it is about.
    pub attempt: u32,
    /// When the log took it, whatever time it states; ms since 1970.
    pub at: Millis,
    /// Events done.
    pub events: u32,
    /// CPU time; s.
    pub cpu_s: u32,
    /// Disk I/O; kB/s.
    pub disk_io_kbps: u32,
    /// Resident memory; MB.
    pub rss_mb: u32,
}

impl Job {
    /// A job of which only its number is known.
    pub fn stub(key: Key) -> Job {
        Job {
            key,
            task: Key::NONE,
            request: Key::NONE,
            changed_at: 0,
            created_at: 0,
            started_at: 0,
            ended_at: 0,
            input_bytes: 0,
            output_bytes: 0,
            heartbeat: LastHeartbeat::default(),
            attempt: 0,
            revision: 0,
            priority: 0,
            cores: 1,
            load: 0,
            user: 0,
            group: 0,
            nucleus: 0,
            seen: 0,
            names: [Name::NONE; 6],
            workflow: Name::NONE,
            label: Name::NONE,
            sub_status: Name::NONE,
            status: None,
            sample: Sample::None,
            activated_at: 0,
            counts_closed: true,
            awaits_heartbeat: false,
            look: 0,
        }
    }

    /// Disk I/O per core, if it runs and its heartbeat of this attempt reports it; B/s per core.
    pub fn disk_io_per_core(&self) -> Option<u64> {
        let runs = self.status == Some(Status::Running);
        let is_known = self.heartbeat.at != 0
            && self.heartbeat.attempt == self.attempt
            && self.heartbeat.disk_io_kbps != 0;
        (runs && is_known)
            .then(|| u64::from(self.heartbeat.disk_io_kbps) * 1000 / u64::from(self.cores))
    }

    /// When it ended, for windows and forgetting: the payload's end, else the state's time.
    pub fn over_at(&self) -> Millis {
        if self.ended_at != 0 { self.ended_at } else { self.changed_at }
    }
}

/// A transfer.
#[derive(Clone, Copy, Debug)]
pub struct TransferState {
    /// Its request's number.
    pub key: Key,
    /// Its state.
    pub state: TransferStatus,
    /// When it reached it.
    pub changed_at: Millis,
    /// Revision.
    pub revision: u32,
    /// Number of files, at least 1.
    pub files: u32,
    /// Size.
    pub bytes: u64,
    /// Row of (source, destination, activity).
    pub flow: u32,
}

/// A worker node that asked for or updated jobs at a queue.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Queue and node in one.
    pub key: Key,
    /// Queue.
    pub queue: Name,
    /// When it last asked for a job; 0: not within the window.
    pub asked_at: Millis,
    /// When it last updated a job; 0: not within the window.
    pub updated_at: Millis,
}

/// A harvester's newest report on a queue and resource type.
#[derive(Clone, Copy, Debug)]
pub struct Workers {
    /// Queue, harvester and resource type in one.
    pub key: Key,
    /// Queue.
    pub queue: Name,
    /// Harvester.
    pub harvester: Name,
    /// Resource type.
    pub resource_type: Name,
    /// When.
    pub at: Millis,
    /// Submitted, not running.
    pub submitted: u32,
    /// Running.
    pub running: u32,
}

/// A slot figure of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotFigure {
    /// Queue.
    pub queue: Name,
    /// Share; empty: any.
    pub gshare: Name,
    /// Resource type; empty: any.
    pub resource_type: Name,
    /// When it was reported.
    pub at: Millis,
    /// Slots.
    pub slots: i64,
    /// Until when it holds; 0: for ever.
    pub expires_at: Millis,
}

/// A subject's request, its answer, and the outcomes of its decisions.
#[derive(Clone, Debug, Default)]
pub struct RequestState {
    /// Subject.
    pub subject: String,
    /// Its newest record; `None` when only answers are known.
    pub task: Option<Task>,
    /// Attempts that asked, that no answer was given to, and that ask no more: a higher one was
    /// published, or the request ended. Rising; above that of `answer`.
    pub passed: Vec<u64>,
    /// The newest answer.
    pub answer: Option<Answer>,
    /// Open reservations of assignments, newest attempt last.
    pub reservations: Vec<Reservation>,
    /// Newest outcome of each of its decisions.
    pub outcomes: BTreeMap<DecisionId, OutcomeKind>,
    /// Where a single job was placed, attempt by attempt; empty for a chunk of jobs.
    pub placements: Vec<Placement>,
    /// When an answer or outcome was last read.
    pub heard_at: Millis,
}

impl RequestState {
    /// Notes the attempt of a record that another one stands in place of, if it asked, asks no more
    /// and has no answer. Returns whether it is one more that waits for one.
    pub(crate) fn pass_over(&mut self, older: &Task) -> bool {
        let asks = |task: &Task| task.phase == TaskPhase::Asking && task.attempt == older.attempt;
        let is_answered = |answer: &Answer| answer.attempt >= older.attempt;
        if !asks(older)
            || self.task.as_ref().is_some_and(asks)
            || self.answer.as_ref().is_some_and(is_answered)
        {
            return false;
        }
        let place = self.passed.binary_search(&older.attempt);
        if let Err(at) = place {
            self.passed.insert(at, older.attempt);
        }
        place.is_err()
    }
}

/// Where one attempt of a single job was placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The assignment.
    pub decision: DecisionId,
    /// Attempt of the request.
    pub attempt: u64,
    /// Target, `cluster/queue`.
    pub target: String,
    /// The decision's now.
    pub now: Millis,
    /// Resources that it takes there.
    pub placed: Placed,
}

/// The newest answer to a subject, as far as later judgements need it.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Attempt it answers.
    pub attempt: u64,
    /// Ordinal.
    pub ordinal: u32,
    /// Whether nothing follows.
    pub is_final: bool,
    /// For a deferral: asked again then at the latest.
    pub until: Millis,
    /// The decision's now.
    pub now: Millis,
    /// When the attempt was first answered.
    pub first_answered_at: Millis,
    /// Policy hash it was made with.
    pub policy_hash: String,
    /// For an assignment: the nucleus.
    pub nucleus: String,
    /// For a deferral: the rejected queues and why, as published.
    pub blockers: Blockers,
}

/// Jobs reserved to queues by one assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct Reservation {
    /// The assignment.
    pub decision: DecisionId,
    /// The request's number.
    pub request: Key,
    /// The task's number.
    pub task: Key,
    /// Share it counts for.
    pub gshare: String,
    /// User it counts for; empty when not known.
    pub user: String,
    /// Working group it counts for where caps are concerned; empty when there is none.
    pub working_group: String,
    /// Whether the jobs merge output.
    pub merge: bool,
    /// The decision's now: jobs of the task created after it count as seen.
    pub now: Millis,
    /// Reading of the job-state clock when it was made; see `time`.
    pub clock: Millis,
    /// The jobs, queue by queue.
    pub queues: Vec<ReservedJobs>,
}

/// Jobs reserved to one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct ReservedJobs {
    /// Unified name of the queue.
    pub queue: String,
    /// Jobs.
    pub jobs: u32,
    /// Cores of each of them.
    pub cores: u32,
}

/// A configuration record: per lane what stands there, since a null removes within its lane.
#[derive(Clone, Debug)]
pub struct Fact<T> {
    /// Its name.
    pub name: String,
    /// Newest content by lane.
    pub held: Vec<(Lane, T)>,
}

impl<T: Encode> Encode for Fact<T> {
    fn encode<E: Encoder>(&self, to: &mut E) {
        self.held.encode(to);
    }
}
encode!(RequestState {
    subject,
    task,
    passed,
    answer,
    reservations,
    outcomes,
    placements,
    heard_at,
});
record!(Placement { decision, attempt, target, now, placed });
encode!(Answer {
    attempt,
    ordinal,
    is_final,
    until,
    now,
    first_answered_at,
    policy_hash,
    nucleus,
    blockers,
});
record!(Reservation {
    decision,
    request,
    task,
    gshare,
    user,
    working_group,
    merge,
    now,
    clock,
    queues,
});
record!(ReservedJobs { queue, jobs, cores });

#[cfg(test)]
mod tests {
    use super::*;

    /// Millions of them are held, in three cache lines each.
    #[test]
    fn a_job_is_no_larger_than_it_was_made_to_be() {
        assert_eq!(size_of::<Option<Job>>(), 192);
        assert_eq!(std::mem::offset_of!(Job, task), 64);
    }
}
