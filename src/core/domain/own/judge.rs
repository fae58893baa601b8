//! From a request of a domain that a program brings to its answer.

pub(crate) mod kept_view;

use super::policy::FilterIndex;
use crate::event::Task;
use crate::judge::judging::JudgingInputs;
use crate::judge::notes::time_notes;
use crate::judge::size::limit;
use crate::output::decision::{Decision, Fate, FilterCount, Outcome, Ranked};
use crate::policy::{DomainAnswer, DomainChoice, DomainFacts, DomainQuestion, Policy};
use std::borrow::Cow;

/// What a candidate that passed and was not chosen is listed with.
const RANK: &str = "rank";

impl JudgingInputs<'_> {
    /// What a domain answers to a request; `None`: there is no such domain.
    pub(crate) fn ask_domain(self, at: usize, task: &Task) -> Option<DomainAnswer> {
        let ready = self.policies.ready(at, &task.gshare, self.view);
        Some(self.view.domain?.answer(&DomainQuestion {
            facts: DomainFacts::of(self.view.state),
            task,
            rules: self.policies.at(at).domain_rules()?,
            resolved: &ready.resolved,
        }))
    }

    /// The answer to a request of a domain.
    pub(crate) fn answer_of_domain(
        self,
        at: usize,
        task: &Task,
        mut decision: Decision,
    ) -> Option<Decision> {
        let (state, policy) = (self.view.state, self.policies.at(at));
        let answer = self.ask_domain(at, task)?;
        let ready = self.policies.ready(at, &task.gshare, self.view);
        decision.policy.clone_from(&policy.spec.name);
        decision.policy_hash = policy.hash().to_owned();
        decision.dry_run = policy.spec.dry_run;
        decision.notes = ready.resolved.notes.clone();
        decision.notes.extend_from_slice(self.view.caches.time_notes(|| time_notes(state)));
        add_fates(&mut decision, policy, &answer);
        decision.outcome = match answer.chosen {
            None => {
                let until = state.now.saturating_add(policy.spec.defer);
                let recheck_at = answer.recheck_at.filter(|at| *at > state.now);
                Outcome::Defer { until: recheck_at.map_or(until, |at| at.min(until)) }
            }
            Some(chosen) => {
                decision.factor_names = policy.factor_names().to_vec();
                Outcome::Assign(vec![ranked(task, chosen)])
            }
        };
        decision.full = true;
        limit(&mut decision, &state.setting.limits);
        Some(decision)
    }
}

fn ranked(task: &Task, chosen: DomainChoice) -> Ranked {
    let DomainChoice { name, weight, cores, factors } = chosen;
    Ranked {
        unified: name.clone(),
        queue: name,
        weight: finite(weight),
        jobs: task.jobs.max(1),
        cores,
        factors: factors.into_iter().map(finite).collect(),
        platform: String::new(),
    }
}

/// A number that can be written anywhere.
fn finite(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(-f64::MAX, f64::MAX) }
}

/// Adds the fate of each candidate, and how many each filter rejected.
fn add_fates(decision: &mut Decision, policy: &Policy, answer: &DomainAnswer) {
    let mut counts = vec![0; policy.filter_count()];
    for (queue, FilterIndex(at), objection) in &answer.refused {
        let filter = policy.filter(usize::from(*at)).map_or("", |filter| filter.name);
        if let Some(count) = counts.get_mut(usize::from(*at)) {
            *count += 1;
        }
        decision.fates.push(Fate {
            queue: queue.as_str().into(),
            filter: Cow::Borrowed(filter),
            reason: Cow::Borrowed(objection.reason.name),
            measured: objection.measured,
            limit: objection.limit,
        });
    }
    for (queue, measured, limit) in &answer.passed_over {
        decision.fates.push(Fate {
            queue: queue.as_str().into(),
            filter: Cow::Borrowed(RANK),
            reason: Cow::Borrowed("not_best"),
            measured: finite(*measured),
            limit: finite(*limit),
        });
    }
    let filters = (0..).map_while(|at| policy.filter(at)).zip(counts);
    decision.counts.extend(
        filters
            .filter(|(_, count)| *count > 0)
            .map(|(filter, rejected)| FilterCount { filter: filter.name.to_owned(), rejected }),
    );
}
