//! A decision with its reasons, as JSON.

use super::Reasons;
use serde_json::{Value, json};
use yardmaster_core::explain::{Context, Why, why};
use yardmaster_core::output::decision::{Decision, Outcome, Ranked};
use yardmaster_wire::json::record_json;

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
pub(super) fn decision_json(decision: &Decision, reasons: &Reasons) -> Value {
    let it = reasons.explain(decision, |context| why(decision, context));
    let steps = it.steps.iter().map(|step| {
        json!({
            "filter": step.filter,
            "help": step.help,
            "spec": step.spec,
            "rejected": step.rejected,
            "left": step.left,
        })
    });
    let (ranked, reason): (&[Ranked], &str) = match &decision.outcome {
        Outcome::Assign(ranked) => (ranked, ""),
        Outcome::Defer { .. } => (&[], ""),
        Outcome::Reject { reason } => (&[], reason),
    };
    json!({
        "id": decision.id.to_string(),
        "subject": decision.subject,
        "attempt": decision.attempt,
        "task": decision.task,
        "ordinal": decision.ordinal,
        "at": decision.now,
        "cycle": decision.cycle,
        "epoch": decision.epoch,
        "policy": decision.policy,
        "policy_hash": decision.policy_hash,
        "gshare": decision.gshare,
        "user": decision.user,
        "working_group": decision.working_group,
        "nucleus": decision.nucleus,
        "outcome": decision.outcome.name(),
        "dry_run": decision.dry_run,
        "headline": it.headline,
        "candidates": it.candidates,
        "steps": steps.collect::<Vec<_>>(),
        "matched": decision.matched.as_ref().map(|_| record_json(decision)["matched"].take()),
        "queues": ranked.iter().map(|it| ranked_json(decision, it)).collect::<Vec<_>>(),
        "rejected": rejected_json(&it),
        "rejected_complete": decision.full && decision.fates_cut == 0,
        "waits": waits_json(&it),
        "reason": reason,
        "remedy": it.remedy,
        "notes": decision.notes,
    })
}

fn ranked_json(decision: &Decision, it: &Ranked) -> Value {
    let factors = decision.factor_names.iter().zip(&it.factors);
    let factors = factors.map(|(name, value)| json!({ "name": name, "value": value }));
    json!({
        "queue": it.queue,
        "jobs": it.jobs,
        "weight": it.weight,
        "factors": factors.collect::<Vec<_>>(),
        "platform": it.platform,
    })
}

fn rejected_json(it: &Why) -> Value {
    let rejected = it.rejected.iter().map(|it| {
        json!({
            "queue": it.queue,
            "filter": it.filter,
            "reason": it.reason,
            "measured": it.measured,
            "limit": it.limit,
        })
    });
    rejected.collect::<Vec<_>>().into()
}

fn waits_json(it: &Why) -> Option<Value> {
    it.waits.as_ref().map(|waits| {
        json!({
            "judged_again_at": waits.judged_again_at,
            "would_change": waits.would_change,
            "wakes": waits.wakes,
        })
    })
}
