//! A decision with its reasons, as JSON.

use super::Reasons;
use crate::described::described;
use crate::waiting::title;
use yardmaster_core::domain::cms::output::{Matched, SecondJob};
use yardmaster_core::explain::{
    Context, FilterStep, Rejected, WaitConditions, Why, note_text, why, why_no_jobs,
};
use yardmaster_core::output::decision::{Decision, Outcome, Ranked};
use yardmaster_core::unit::Millis;

impl Reasons {
    /// Hands `work` the texts and figures that a decision is explained by.
    pub(super) fn explain<T>(
        &self,
        decision: &Decision,
        work: impl FnOnce(&Context<'_>) -> T,
    ) -> T {
        let kinds = self.kinds(&decision.policy);
        let policy = self.policy(&decision.policy_hash);
        // Figures of the limits hold where the policy is the one in force.
        let limits = policy.is_some().then_some(&self.limits);
        work(&Context { kinds: &kinds, limits, policy })
    }
}

/// A decision with its reasons.
pub(super) fn decision_answer(decision: &Decision, reasons: &Reasons) -> DecisionAnswer {
    DecisionAnswer::of(decision, reasons.explain(decision, |context| why(decision, context)))
}

fn ranked(decision: &Decision) -> &[Ranked] {
    match &decision.outcome {
        Outcome::Assign(ranked) => ranked,
        Outcome::Defer { .. } | Outcome::Reject { .. } => &[],
    }
}

/// Why a queue of an assignment gets no jobs. Of a single job the rule that chose is stated.
fn no_jobs(decision: &Decision, one: &Ranked) -> Option<String> {
    match &decision.placed {
        Some(placed) if one.jobs == 0 => Some(format!("{} chose another target", placed.rule)),
        Some(_) => None,
        None => why_no_jobs(ranked(decision), one),
    }
}

fn reason(decision: &Decision) -> &str {
    match &decision.outcome {
        Outcome::Reject { reason } => reason,
        Outcome::Assign(_) | Outcome::Defer { .. } => "",
    }
}

described! {
    /// A decision with its reasons.
    struct DecisionAnswer of (decision: &Decision, it: Why) {
        /// Its id; 32 hex digits.
        id: String = decision.id.to_string(),
        /// The subject that asked.
        subject: String = decision.subject.clone(),
        /// Which asking of the subject.
        attempt: u64 = decision.attempt,
        /// Task.
        task: String = decision.task.clone(),
        /// Which answer to this request it is, from 1.
        ordinal: u32 = decision.ordinal,
        /// Its cycle's now; ms since 1970.
        at: Millis = decision.now,
        /// Its cycle.
        cycle: u64 = decision.cycle,
        /// Epoch of the leader.
        epoch: u64 = decision.epoch,
        /// Policy that gave it.
        policy: String = decision.policy.clone(),
        /// Hash of its list and parameters.
        policy_hash: String = decision.policy_hash.clone(),
        /// Leaf share.
        gshare: String = decision.gshare.clone(),
        /// User; empty when not known.
        user: String = decision.user.clone(),
        /// Working group; empty when there is none.
        working_group: String = decision.working_group.clone(),
        /// Nucleus its output goes to.
        nucleus: String = decision.nucleus.clone(),
        /// One of assign, defer, reject.
        outcome: &'static str = decision.outcome.name(),
        /// Whether it is only published.
        dry_run: bool = decision.dry_run,
        /// One sentence: what was answered, and why.
        headline: String = it.headline,
        /// Candidates that were rejected or listed.
        candidates: u64 = it.candidates,
        /// The filters that rejected, in the order in which they are asked.
        steps: Vec<StepAnswer> = it.steps.into_iter().map(StepAnswer::of).collect(),
        /// The job that got the offered slots; null where no offer is answered, or no job fits.
        matched: Option<MatchedAnswer> = decision.matched.as_ref().map(MatchedAnswer::of),
        /// Queues that were chosen, best first.
        queues: Vec<RankedAnswer> =
            ranked(decision).iter().map(|it| RankedAnswer::of(decision, it)).collect(),
        /// Candidates that were rejected, by name.
        rejected: Vec<RejectedAnswer> = it.rejected.into_iter().map(RejectedAnswer::of).collect(),
        /// Whether all of them are listed.
        rejected_complete: bool = decision.full && decision.fates_cut == 0,
        /// Of a deferral: its deadline and wake-up conditions. Else null.
        waits: Option<WaitsAnswer> = it.waits.map(WaitsAnswer::of),
        /// Why a request is rejected for good.
        reason: String = reason(decision).to_owned(),
        /// A remedy for that.
        remedy: &'static str = it.remedy,
        /// Notes on the facts that a reader should know, as sentences, each with its code behind.
        notes: Vec<String> = decision.notes.iter().map(|it| note_text(it)).collect(),
    }

    /// A filter's part in a decision.
    struct StepAnswer of (it: FilterStep) {
        /// A shifter's words for the filter.
        title: String = title(&it.filter),
        /// Filter.
        filter: String = it.filter,
        /// The condition that it asks for.
        help: String = it.help,
        /// The rule's place in the specification.
        spec: &'static str = it.spec,
        /// Candidates it was the first to reject.
        rejected: u64 = it.rejected,
        /// Candidates left behind it.
        left: u64 = it.left,
    }

    /// A job that got slots of an offer.
    struct MatchedAnswer of (it: &Matched) {
        /// Job.
        job: String = it.job.clone(),
        /// Which attempt of it.
        job_attempt: u32 = it.job_attempt,
        /// One of central, analysis.
        class: &'static str = it.class.name(),
        /// One of system, test, normal.
        band: &'static str = it.band.name(),
        /// Node; empty: not known.
        node: String = it.node.clone(),
        /// Cores it gets.
        cores: i64 = it.cores,
        /// Cores by power; thousandths.
        weight_milli: i64 = it.weight_milli,
        /// The part of it that counts in the user's fair share; thousandths.
        usage_milli: i64 = it.usage_milli,
        /// Run time at so many cores; s.
        wall_time_s: i64 = it.wall_time_s,
        /// Memory at so many cores; MB.
        rss_mb: i64 = it.rss_mb,
        /// The site whose storage serves it where it overflows; else empty.
        overflow_source: String = it.overflow_source.clone(),
        /// Slots that it takes of that site's overflow limit.
        overflow_cost: i64 = it.overflow_cost,
        /// The group whose own slots it takes; else empty.
        charged_group: String = it.charged_group.clone(),
        /// The site whose storage a HighIO job reads; else empty.
        io_source: String = it.io_source.clone(),
        /// Rules that were relaxed for it: surplus, overflow, drained.
        relaxed: Vec<String> = it.relaxed.clone(),
        /// The job that came second; null: no other fits.
        second: Option<SecondAnswer> = it.second.as_ref().map(SecondAnswer::of),
    }

    /// The job that would have got the slots otherwise.
    struct SecondAnswer of (it: &SecondJob) {
        /// Job.
        job: String = it.job.clone(),
        /// Its workflow.
        workflow: String = it.workflow.clone(),
        /// The first rank key in which both differ; job: their names decided.
        key: String = it.key.clone(),
        /// The key's value of the job that got the slots.
        of_match: String = it.of_match.clone(),
        /// The key's value of this one.
        of_second: String = it.of_second.clone(),
    }

    /// A queue that was chosen.
    struct RankedAnswer of (decision: &Decision, it: &Ranked) {
        /// Queue.
        queue: String = it.queue.clone(),
        /// Jobs that go there.
        jobs: u32 = it.jobs,
        /// Why no jobs go there, as a sentence; null: some do, or none goes anywhere.
        why_no_jobs: Option<String> = no_jobs(decision, it),
        /// Its weight.
        weight: Option<f64> = Some(it.weight),
        /// Factors of the weight, and the figures behind it.
        factors: Vec<FactorAnswer> =
            decision.factor_names.iter().zip(&it.factors).map(FactorAnswer::of).collect(),
        /// Platform that jobs use there, where the task's is an expression.
        platform: String = it.platform.clone(),
    }

    /// A factor of a weight.
    struct FactorAnswer of (it: (&String, &f64)) {
        /// Its name.
        name: String = it.0.clone(),
        /// Its value.
        value: Option<f64> = Some(*it.1),
    }

    /// A candidate that was rejected.
    struct RejectedAnswer of (it: Rejected) {
        /// Queue or nucleus.
        queue: String = it.queue,
        /// Filter that objected first.
        filter: String = it.filter,
        /// A sentence.
        reason: String = it.reason,
        /// Measured value, in the unit; null: the filter measures nothing, the reason states all.
        measured: Option<f64> = it.measured,
        /// Value that would have passed, in the unit; null likewise.
        limit: Option<f64> = it.limit,
        /// Unit of both; empty: they have none.
        unit: &'static str = it.unit,
    }

    /// Deadline and wake-up conditions of a deferral.
    struct WaitsAnswer of (it: WaitConditions) {
        /// Judged again then at the latest; ms since 1970.
        judged_again_at: Millis = it.judged_again_at,
        /// Changes that would let it be assigned, each a sentence, the nearest first.
        would_change: Vec<String> = it.would_change,
        /// Kinds of facts that wake it before.
        wakes: Vec<&'static str> = it.wakes,
    }
}
