//! A comparison as its client writes it.

use crate::cut::Topic;
use crate::record::{Published, record, symbols};
use crate::unit::Millis;

/// One request answered twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Domain of the request.
    pub domain: String,
    /// Subject of the request.
    pub subject: String,
    /// Its attempt; from 0.
    pub attempt: u64,
    /// The task.
    pub task: String,
    /// Policy that was asked.
    pub policy: String,
    /// Leaf share of the task.
    pub gshare: String,
    /// `production` or `analysis`; empty: not known.
    pub queue_type: String,
    /// Resource type of the task.
    pub resource_type: String,
    /// Production source label of the task.
    pub label: String,
    /// When both were asked.
    pub asked_at: Millis,
    /// When both answers, or their absence, were known.
    pub compared_at: Millis,
    /// Whose answer was carried out.
    pub in_charge: InCharge,
    /// Yardmaster's answer.
    pub yardmaster: SideAnswer,
    /// The other broker's answer.
    pub other: SideAnswer,
}

/// Whose answer was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InCharge {
    /// The other broker's.
    Other,
    /// Yardmaster's.
    Yardmaster,
}

impl InCharge {
    /// Every one, in the schema's order.
    pub const ALL: [InCharge; 2] = [InCharge::Other, InCharge::Yardmaster];

    /// Its symbol in the schema.
    pub const fn name(self) -> &'static str {
        match self {
            InCharge::Other => "other",
            InCharge::Yardmaster => "yardmaster",
        }
    }
}

/// One of the two brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Yardmaster.
    Yardmaster,
    /// The other broker.
    Other,
}

impl Side {
    /// Both.
    pub const ALL: [Side; 2] = [Side::Yardmaster, Side::Other];

    /// Its name, as in the fields of the record.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Yardmaster => "yardmaster",
            Side::Other => "other",
        }
    }
}

/// The answer itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerOutcome {
    /// To the queues listed.
    Assign,
    /// Not now.
    Defer,
    /// Never.
    Reject,
    /// No answer in time.
    Absent,
    /// The side failed.
    Failed,
}

impl AnswerOutcome {
    /// Every one, in the schema's order.
    pub const ALL: [AnswerOutcome; 5] = [
        AnswerOutcome::Assign,
        AnswerOutcome::Defer,
        AnswerOutcome::Reject,
        AnswerOutcome::Absent,
        AnswerOutcome::Failed,
    ];

    /// Its symbol in the schema.
    pub const fn name(self) -> &'static str {
        match self {
            AnswerOutcome::Assign => "assign",
            AnswerOutcome::Defer => "defer",
            AnswerOutcome::Reject => "reject",
            AnswerOutcome::Absent => "absent",
            AnswerOutcome::Failed => "failed",
        }
    }

    /// Whether there was an answer.
    pub const fn is_answer(self) -> bool {
        !matches!(self, AnswerOutcome::Absent | AnswerOutcome::Failed)
    }
}

/// One side's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct SideAnswer {
    /// The answer itself.
    pub outcome: AnswerOutcome,
    /// Why it is no assignment; empty otherwise.
    pub reason: String,
    /// From the question to the answer; ms.
    pub took_ms: u64,
    /// Queues of an assignment, best first.
    pub queues: Vec<ChosenQueue>,
    /// Queues that were rejected.
    pub fates: Vec<RejectedQueue>,
    /// Figures of queues that the side used for its answer.
    pub figures: Vec<Figures>,
    /// Notes of the answer.
    pub notes: Vec<String>,
}

impl SideAnswer {
    /// The queue that comes first; `None` if there is none.
    pub fn first(&self) -> Option<&str> {
        self.queues.first().map(|it| it.queue.as_str())
    }

    /// Whether a queue is among those chosen.
    pub fn chose(&self, queue: &str) -> bool {
        self.queues.iter().any(|it| it.queue == queue)
    }
}

/// A queue that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenQueue {
    /// Queue or pseudo-queue.
    pub queue: String,
    /// Its weight by the side's own measure; larger is better.
    pub weight: f64,
    /// Jobs that go there; 0: not divided by this side.
    pub jobs: u64,
}

/// A queue that a filter rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedQueue {
    /// Queue or pseudo-queue.
    pub queue: String,
    /// Filter that objected first, by the side's own name for it.
    pub filter: String,
    /// Its reason; empty when the side gives none.
    pub reason: String,
}

/// Figures of one queue that a side used. `None`: the side does not publish the figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Queue or pseudo-queue.
    pub queue: String,
    /// Running jobs.
    pub running: Option<u64>,
    /// Jobs that wait there to run.
    pub queued: Option<u64>,
    /// Nodes whose pilots reported.
    pub pilots: Option<u64>,
}

impl Comparison {
    /// A side's answer.
    pub fn of(&self, side: Side) -> &SideAnswer {
        match side {
            Side::Yardmaster => &self.yardmaster,
            Side::Other => &self.other,
        }
    }

    /// Whether it is about a subject, or about a chunk of a task of that name.
    pub fn is_about(&self, name: &str) -> bool {
        self.subject == name || self.task == name
    }

    /// Sort key of a list of comparisons: subject, attempt, and when it was asked.
    pub fn place(&self) -> (&str, u64, Millis) {
        (&self.subject, self.attempt, self.asked_at)
    }
}

symbols!(InCharge, AnswerOutcome);
record!(Comparison {
    domain,
    subject,
    attempt,
    task,
    policy,
    gshare,
    queue_type,
    resource_type,
    label,
    asked_at,
    compared_at,
    in_charge,
    yardmaster,
    other,
});
record!(SideAnswer { outcome, reason, took_ms, queues, fates, figures, notes });
record!(ChosenQueue { queue, weight, jobs });
record!(RejectedQueue { queue, filter, reason });
record!(Figures { queue, running, queued, pilots });

impl Published for Comparison {
    const TOPIC: Topic = Topic::Comparison;
}
