//! Questions that only the loop can answer, and their answers: how they cross from the server's
//! thread to the loop and back.

use crate::whatif::{WhatIf, WhatIfAsked, WhatIfRefused};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::sync::oneshot;
use yardmaster_core::estimate::{QueueAhead, StartEstimate, TaskWaits};
use yardmaster_core::explain::{FilledBy, FilledOf, NameStanding, TaskStanding};
use yardmaster_core::id::Key;
use yardmaster_core::state::State;
use yardmaster_core::state::audit::Drift;
use yardmaster_core::state::counters::Counter;
use yardmaster_core::unit::Millis;

/// How many questions may wait for the loop at a time.
const QUESTIONS_MAX: usize = 16;
/// Why the start of a workflow is not estimated.
pub const NONE_OF_POOL: &str = "no estimate: its jobs start when pilots offer slots that they may \
                            take, and offers are not known before they come";

/// A question to be answered at a cycle's boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Every counter.
    Counters,
    /// Whether every counter is what a recount gives.
    Audit,
    /// How a name stands.
    Standing(String),
    /// Who has the jobs at queues, or of a share.
    Filled(FilledOf),
    /// How the jobs of a task stand.
    Task(String),
    /// Answers of requests if configuration were another.
    WhatIf(WhatIfAsked),
}

/// An answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The counters.
    Counters(Arc<CycleCounters>),
    /// The recount.
    Audit(Arc<Audited>),
    /// How a name stands.
    Standing(Box<NameStanding>),
    /// Who has the jobs at queues, or of a share.
    Filled(FilledBy),
    /// How the jobs of a task stand.
    Task(Arc<TaskLook>),
    /// Answers of requests if configuration were another, or why there are none.
    WhatIf(Arc<Result<WhatIf, WhatIfRefused>>),
}

/// How a task stands.
#[derive(Clone, Debug, Default)]
pub struct TaskLook {
    /// Its jobs.
    pub jobs: TaskStanding,
    /// When its first job is expected to begin; `None`: it began, nothing of it waits, or too few
    /// tasks began to compare it with.
    pub estimate: Option<StartEstimate>,
    /// Why there is none, where it waits.
    pub no_estimate: Option<String>,
    /// Jobs before its own at each queue where some of it are queued.
    pub ahead: BTreeMap<String, QueueAhead>,
}

impl TaskLook {
    /// How a task stands as of the last cut. It walks over all jobs.
    pub fn of(state: &State, task: &str) -> TaskLook {
        let (waits, key) = (TaskWaits::of(state), Key::of(task.as_bytes()));
        TaskLook {
            jobs: TaskStanding::of(state, task),
            estimate: waits.estimate(key),
            no_estimate: waits.no_estimate(key),
            ahead: waits.ahead(key),
        }
    }
}

/// Every counter as of a cycle.
#[derive(Clone, Debug, Default)]
pub struct CycleCounters {
    /// The cycle.
    pub cycle: u64,
    /// Its `now`.
    pub now: Millis,
    /// The counters, in order of kinds and names.
    pub counters: Vec<Counter>,
}

/// A recount as of a cycle.
#[derive(Clone, Debug, Default)]
pub struct Audited {
    /// The cycle.
    pub cycle: u64,
    /// How many counters were recounted.
    pub counters: usize,
    /// Those that are not what the recount gives.
    pub drifts: Vec<Drift>,
}

/// A question, and where its answer is awaited.
#[derive(Debug)]
pub struct Question {
    /// The question.
    pub asked: Asked,
    reply: oneshot::Sender<Answer>,
}

impl Question {
    /// A question, and where its answer comes out.
    pub fn new(asked: Asked) -> (Question, oneshot::Receiver<Answer>) {
        let (reply, answer) = oneshot::channel();
        (Question { asked, reply }, answer)
    }

    /// Whether no client waits for the answer any more.
    pub fn is_gone(&self) -> bool {
        self.reply.is_closed()
    }

    /// Answers. The client may have gone; then the answer is dropped.
    pub fn answer(self, answer: Answer) {
        let _ = self.reply.send(answer);
    }
}

/// Asks the loop.
#[derive(Clone, Debug)]
pub struct LoopClient {
    questions: SyncSender<Question>,
    answer_max: Duration,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// Too many wait already.
    #[error("too many questions wait")]
    Crowded,
    /// The process is ending, or failed to answer.
    #[error("the process is stopping, or could not answer; see its log")]
    Stopped,
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Late(Duration),
}

impl LoopClient {
    /// Asks, and where the questions come out. One not answered within `answer_max` is given up.
    pub fn new(answer_max: Duration) -> (LoopClient, Receiver<Question>) {
        let (questions, asked) = sync_channel(QUESTIONS_MAX);
        (LoopClient { questions, answer_max }, asked)
    }

    /// How long an answer may take.
    pub fn answer_max(&self) -> Duration {
        self.answer_max
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// There is no answer, and why.
    pub async fn ask(&self, asked: Asked) -> Result<Answer, NoAnswer> {
        let (question, answer) = Question::new(asked);
        self.questions.try_send(question).map_err(|error| match error {
            TrySendError::Full(_) => NoAnswer::Crowded,
            TrySendError::Disconnected(_) => NoAnswer::Stopped,
        })?;
        match tokio::time::timeout(self.answer_max, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(NoAnswer::Stopped),
            Err(_) => Err(NoAnswer::Late(self.answer_max)),
        }
    }
}
