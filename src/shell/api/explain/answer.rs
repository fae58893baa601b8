//! The answer: all that is known of a name, as it is shown.

use super::{Looked, SHOWN_MAX, events};
use crate::api::Reasons;
use crate::api::decision::{DecisionAnswer, decision_answer};
use crate::api::event::EventAnswer;
use crate::api::waits::PoolWaitAnswer;
use crate::described::described;
use crate::named::owner_text;
use crate::place::{NamedPlace, PlaceKind};
use crate::view::{QueueView, ShareView};
use crate::waiting::title;
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::{
    Accepted, FilledBy, HeldJobs, JobStanding, PlaceMiss, PlaceStory, Rejecting, RequestStanding,
};
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
        place: Option<ExplainedPlace>,
        reasons: &Reasons,
    ) {
        /// The name.
        name: String = it.name.clone(),
        /// One of task, job, user, group, queue, share, site, offer.
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
        /// Of a workflow or user of a pool: its jobs, tests, learnt needs and why its jobs wait, or
        /// its fair share, as text.
        pool: Option<String> = it.standing.pool.clone(),
        /// Of a user or working group: what it has.
        owner: Option<OwnerAnswer> =
            it.owner(kind).map(|(totals, waiting)| OwnerAnswer::of(totals, waiting, it)),
        /// Of a queue, or a site of a pool of slots: its figures, what refuses and what fills it.
        queue: Option<ExplainedQueue> = place.as_ref().and_then(|place| place.queue(&it.filled)),
        /// Of a site with queues, or of a cluster: the same of all of them.
        site: Option<ExplainedSite> = place.as_ref().and_then(|place| place.site(&it.filled)),
        /// Of a leaf share: its part, and who uses it.
        share: Option<ExplainedShare> = place.as_ref().and_then(|place| place.share(&it.filled)),
        /// The same as text, as `yardmaster explain` prints it.
        text: String = match &place {
            Some(place) => place.text.clone(),
            None => it.text(kind, decisions, found, reasons),
        },
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
    struct OwnerAnswer of (it: Totals, waiting: u64, named: &Looked) {
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
        /// Requests that wait, of the first 20,000 of all.
        waiting: u64 = waiting,
        /// The same as text.
        text: String = owner_text(&named.standing, &named.name).unwrap_or_default(),
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

    /// A queue, with what refuses it and what fills it; of a pool of slots, a site.
    struct ExplainedQueue of (queue: QueueView, it: &ExplainedPlace, filled: &FilledBy) {
        #[serde(flatten)]
        queue: QueueView = queue,
        #[serde(flatten)]
        story: StoryAnswer = StoryAnswer::of(&it.story, filled),
    }

    /// A site, or a cluster, with its queues.
    struct ExplainedSite of (it: &ExplainedPlace, filled: &FilledBy) {
        /// Its name.
        site: String = it.place.name.clone(),
        /// Its queues.
        queues: Vec<QueueView> = it.place.queues.clone(),
        #[serde(flatten)]
        story: StoryAnswer = StoryAnswer::of(&it.story, filled),
    }

    /// A leaf share.
    struct ExplainedShare of (share: &ShareView, it: &ExplainedPlace, filled: &FilledBy) {
        #[serde(flatten)]
        share: ShareView = share.clone(),
        /// Jobs that run.
        running: u64 = filled.all.running,
        /// Jobs that have not begun to run.
        queued: u64 = filled.all.queued,
        /// Requests that wait, of the first 20,000 of all; null for a look back.
        waiting: Option<u64> = it.waiting,
        /// Queues where its jobs are, those with most jobs first; at most 20.
        queues: Vec<HeldAnswer> = filled.queues.iter().map(HeldAnswer::of).collect(),
        /// Users that have its jobs, likewise.
        users: Vec<HeldAnswer> = filled.users.iter().map(HeldAnswer::of).collect(),
    }

    /// A place in the newest 500 decisions that name it.
    struct StoryAnswer of (it: &PlaceStory, filled: &FilledBy) {
        /// Filters that refused it, the most frequent first.
        rejecting: Vec<RejectingFilter> =
            it.by_frequency().into_iter().map(RejectingFilter::of).collect(),
        /// Decisions that were looked at for that.
        rejecting_of: u64 = it.decisions,
        /// The objection nearest to passing, of those that compare figures; null: there is none.
        nearest: Option<MissAnswer> = it.nearest.as_ref().map(MissAnswer::of),
        /// Decisions in which it passed all filters and got no jobs.
        passed_over: u64 = it.passed_over,
        /// What was sent there, the newest first; at most 20.
        accepted: Vec<AcceptedAnswer> = it.accepted.iter().map(AcceptedAnswer::of).collect(),
        /// What was sent there since `sent_since`.
        accepted_24h: SentAnswer = SentAnswer::of(it.of_a_day),
        /// A day ago, or the oldest decision that was read if that is younger; ms since 1970; null:
        /// none was.
        sent_since: Option<Millis> = it.sent_since,
        /// Who has the jobs there; empty for a look back.
        filled_by: FilledAnswer = FilledAnswer::of(filled),
    }

    /// A filter that refused a place.
    struct RejectingFilter of (named: (&String, &Rejecting)) {
        /// Filter.
        filter: String = named.0.clone(),
        /// Its name for a reader.
        title: String = title(named.0),
        /// The condition that it objects to.
        help: String = named.1.help.clone(),
        /// The rule's place in the specification.
        spec: &'static str = named.1.spec,
        /// Decisions in which it objected first.
        decisions: u64 = named.1.decisions,
        /// Requests of these; of a pool of slots, jobs that it passed over.
        requests: u64 = named.1.requests,
        /// The newest of these decisions; ms since 1970.
        last_at: Millis = named.1.last_at,
        /// The smallest value measured, in the unit; null: it measures nothing.
        measured_from: Option<f64> = named.1.measured.map(|it| it[0]),
        /// The largest one.
        measured_to: Option<f64> = named.1.measured.map(|it| it[1]),
        /// The smallest value that would have passed; null: there is none.
        limit_from: Option<f64> = named.1.limit.map(|it| it[0]),
        /// The largest one.
        limit_to: Option<f64> = named.1.limit.map(|it| it[1]),
        /// Unit of these; empty: they have none.
        unit: &'static str = named.1.unit,
        /// The newest objection as a sentence; empty where none is listed by itself.
        text: String = named.1.text.clone(),
        /// The request, or offer, of that one.
        example: String = named.1.example.clone(),
        /// Parts of the queue that it objected to, with commas between; empty: all of it.
        variant: String = named.1.variants.iter().cloned().collect::<Vec<_>>().join(", "),
    }

    /// An objection that came near to passing.
    struct MissAnswer of (it: &PlaceMiss) {
        /// Request.
        subject: String = it.subject.clone(),
        /// When; ms since 1970.
        at: Millis = it.at,
        /// Filter.
        filter: String = it.filter.clone(),
        /// The objection as a sentence.
        text: String = it.text.clone(),
    }

    /// What was sent to a place.
    struct AcceptedAnswer of (it: &Accepted) {
        /// When; ms since 1970.
        at: Millis = it.at,
        /// Request; of a pool of slots, the job.
        subject: String = it.subject.clone(),
        /// Task, or workflow.
        task: String = it.task.clone(),
        /// Jobs.
        jobs: u64 = it.jobs,
        /// Leaf share.
        share: String = it.gshare.clone(),
        /// User.
        user: String = it.user.clone(),
        /// Weight of the place.
        weight: Option<f64> = Some(it.weight),
    }

    /// What was sent to a place in some time.
    struct SentAnswer of (it: [u64; 2]) {
        /// Jobs.
        jobs: u64 = it[1],
        /// Requests, or offers of slots.
        requests: u64 = it[0],
    }

    /// Who has the jobs of a place.
    struct FilledAnswer of (it: &FilledBy) {
        /// Leaf shares, those with most jobs first; at most 20.
        shares: Vec<HeldAnswer> = it.shares.iter().map(HeldAnswer::of).collect(),
        /// Users likewise.
        users: Vec<HeldAnswer> = it.users.iter().map(HeldAnswer::of).collect(),
    }

    /// Jobs of a name.
    struct HeldAnswer of (it: &HeldJobs) {
        /// Share, user or queue.
        name: String = it.name.clone(),
        /// Jobs that run.
        running: u64 = it.running,
        /// Jobs that have not begun to run.
        queued: u64 = it.queued,
    }
}

/// A place with its story.
pub(crate) struct ExplainedPlace {
    pub(super) place: NamedPlace,
    pub(super) headline: String,
    pub(super) story: PlaceStory,
    pub(super) text: String,
    pub(super) waiting: Option<u64>,
}

impl ExplainedPlace {
    /// The queue, where it is one.
    fn queue(&self, filled: &FilledBy) -> Option<ExplainedQueue> {
        let one = self.place.queues.first().filter(|_| self.place.kind == PlaceKind::Queue)?;
        Some(ExplainedQueue::of(one.clone(), self, filled))
    }

    /// The site, where it is one with queues.
    fn site(&self, filled: &FilledBy) -> Option<ExplainedSite> {
        (self.place.kind == PlaceKind::Site).then(|| ExplainedSite::of(self, filled))
    }

    /// The share, where it is one.
    fn share(&self, filled: &FilledBy) -> Option<ExplainedShare> {
        Some(ExplainedShare::of(self.place.share.as_ref()?, self, filled))
    }
}
