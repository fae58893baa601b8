//! Records of the state: each is the join of everything that was published about its subject.
//!
//! Each record is made of parts, each part fed by one topic; of two versions of a part the newer
//! wins by a total order on its own content, so merging is commutative, associative, idempotent.

use crate::cut::Lane;
use crate::domain::nordugrid::output::Placed;
use crate::event::{OutcomeKind, Task, TaskPhase, TransferStatus};
use crate::id::{Key, Name};
use crate::limits::Limits;
use crate::output::decision::DecisionId;
use crate::record::{Encode, Encoder, encode, record};
use crate::state::blockers::Blockers;
use crate::unit::Millis;
use std::collections::BTreeMap;

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
    /// Number of the replica that it is to make; [`TransferState::NO_REPLICA`]: not known.
    pub replica: Key,
    /// Earliest time that is known of it.
    pub first_at: Millis,
    /// Whether a later request for the same replica stands in its place.
    pub superseded: bool,
}

impl TransferState {
    /// No replica has this number: a replica's name is no decimal.
    pub const NO_REPLICA: Key = Key(0);

    /// By this it is placed among the requests for its replica: the replica, and when it began.
    pub(crate) fn place(&self) -> (Key, Millis) {
        (self.replica, self.first_at)
    }

    /// Order of the requests for a replica.
    pub(crate) fn age(&self) -> (Millis, Key) {
        (self.first_at, self.key)
    }
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

/// A harvester's newest report on a queue and resource type; or the newest counts of nodes at a
/// queue, with those that asked for a job as `submitted` and those that updated one as `running`.
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
    /// Whether nodes were counted.
    pub are_nodes: bool,
}

impl Workers {
    /// When the report is too old to count.
    pub fn over_at(&self, limits: &Limits) -> Millis {
        let age = if self.are_nodes { limits.node_window_ms } else { limits.worker_report_age_ms };
        self.at.saturating_add(age)
    }
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
    /// Resource type of its jobs; empty when not known.
    pub resource_type: String,
    /// Their priority.
    pub priority: i32,
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
    resource_type,
    priority,
    user,
    working_group,
    merge,
    now,
    clock,
    queues,
});
record!(ReservedJobs { queue, jobs, cores });
