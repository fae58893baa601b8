//! The answer: all that is known of a name, as it is shown.

use super::{Looked, SHOWN_MAX, events};
use crate::api::Reasons;
use crate::api::decision::{DecisionAnswer, decision_answer};
use crate::api::event::EventAnswer;
use crate::api::waits::PoolWaitAnswer;
use crate::described::described;
use crate::view::QueueView;
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::{JobStanding, RequestStanding};
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::state::ledger::Totals;
use yardmaster_core::unit::Millis;

described! {
    /// All that is known of a name.
    struct ExplainedAnswer of (
        it: &Looked,
        kind: &'static str,
        found: &[(u64, Output)],
        decisions: &[Decision],
        state: (&'static str, String),
        queue: Option<ExplainedQueue>,
        reasons: &Reasons,
    ) {
        /// The name.
        name: String = it.name.clone(),
        /// One of task, job, user, group, queue, share, offer.
        kind: &'static str = kind,
        /// As of which moment; ms since 1970.
        now: Millis = it.standing.now,
        /// As of which cycle.
        cycle: u64 = it.standing.cycle,
        /// One of assigned, pending, rejected, not_judged, throttled, known.
        state: &'static str = state.0,
        /// One sentence.
        headline: String = state.1,
        /// Requests as they stand now; empty for a look back.
        requests: Vec<RequestAnswer> =
            it.standing.requests.iter().take(SHOWN_MAX).map(RequestAnswer::of).collect(),
        /// The newest of each request, the newest first.
        decisions: Vec<DecisionAnswer> =
            decisions.iter().take(SHOWN_MAX).map(|it| decision_answer(it, reasons)).collect(),
        /// Throttles, the newest first.
        throttles: Vec<EventAnswer> = events(found, Topic::Throttle),
        /// Commands, the newest first.
        commands: Vec<EventAnswer> = events(found, Topic::Command),
        /// Of a job: how it stands.
        job: Option<JobAnswer> =
            it.standing.job.as_ref().map(|job| JobAnswer::of(&it.name, job)),
        /// Of a workflow or user of a pool: its jobs, tests and learnt needs, or its fair share, as
        /// text.
        pool: Option<String> = it.standing.pool.clone(),
        /// Of a user or working group: what it has.
        owner: Option<OwnerAnswer> = it.owner(kind).map(OwnerAnswer::of),
        /// Of a queue: its figures.
        queue: Option<ExplainedQueue> = queue,
        /// The same as text, as `yardmaster explain` prints it.
        text: String = it.text(decisions, found, reasons),
    }

    /// A request as it stands.
    struct RequestAnswer of (it: &RequestStanding) {
        /// The subject that asks.
        subject: String = it.subject.clone(),
        /// Its attempt.
        attempt: u64 = it.attempt,
        /// When it first asked; ms since 1970.
        asked_at: Millis = it.asked_at,
        /// Whether it waits for an answer or for a better one.
        open: bool = it.is_open,
        /// When it is judged again at the latest; ms since 1970.
        judged_again_at: Option<Millis> = it.until,
        /// Whether this attempt was answered.
        answered: bool = !it.is_unanswered,
    }

    /// Totals of a user or working group on the grid.
    struct OwnerAnswer of (it: Totals) {
        /// Jobs that run.
        running_jobs: u64 = it.running_jobs,
        /// Jobs queued.
        queued_jobs: u64 = it.queued_jobs,
        /// Cores of jobs that run.
        running_cores: u64 = it.running_cores,
        /// Cores of jobs queued.
        queued_cores: u64 = it.queued_cores,
        /// Jobs that decisions reserved and that were not seen yet.
        reserved_jobs: u64 = it.reserved_jobs,
    }

    /// A job.
    struct JobAnswer of (name: &str, it: &JobStanding) {
        /// Its name.
        name: String = name.to_owned(),
        /// How it stands, and how each rule that gives commands stands to it.
        text: String = it.text.clone(),
        /// Of a job of a pool that waits: why. Else null.
        waits: Option<PoolWaitAnswer> = it.wait.as_ref().map(PoolWaitAnswer::of),
    }

    /// A queue, with what rejects it.
    struct ExplainedQueue of (queue: QueueView, counts: &[(String, u64)], decisions: usize) {
        #[serde(flatten)]
        queue: QueueView = queue,
        /// Filters that reject it, the most frequent first.
        rejecting: Vec<RejectingFilter> = counts.iter().map(RejectingFilter::of).collect(),
        /// Decisions that were looked at for that.
        rejecting_of: usize = decisions,
    }

    /// A filter that rejects a queue.
    struct RejectingFilter of (it: &(String, u64)) {
        /// Filter.
        filter: String = it.0.clone(),
        /// Decisions in which it did.
        decisions: u64 = it.1,
    }
}
