//! From a chunk of a task to the queues that its jobs go to, or to what keeps them from each.

use super::gather::Gathered;
use crate::dice::Dice;
use crate::domain::atlas::policy::{Candidates, Judgement, Refused};
use crate::event::Task;
use crate::judge::judging::JudgingInputs;
use crate::judge::notes::{SITE_UNKNOWN, doubts, time_notes};
use crate::judge::size::limit;
use crate::judge::view::CutView;
use crate::output::decision::{Decision, Fate, FilterCount, Outcome, Ranked};
use crate::output::throttle::key;
use crate::policy::note::Note;
use crate::policy::rule::RuleText;
use crate::policy::{Policy, Wait};
use crate::state::State;
use crate::state::record::Answer;
use crate::unit::{HOUR, Millis};
use std::borrow::Cow;

impl JudgingInputs<'_> {
    /// The queues that a request's jobs go to, or what keeps them from each.
    pub(crate) fn choose_queues(
        self,
        at: usize,
        task: &Task,
        mut decision: Decision,
        before: Option<&Answer>,
        judgement: Option<Judgement>,
    ) -> Decision {
        let (CutView { state, world, .. }, policy) = (self.view, self.policies.at(at));
        let ready = self.policies.ready(at, &task.gshare, self.view);
        let resolved = &ready.resolved;
        let (case, survey) = self.view.case(policy, resolved, task);
        let candidates = self.view.gather(&case, &survey, ready.list(policy, world, &case));
        let judgement = judgement.unwrap_or_else(|| policy.judge(&case, &candidates, resolved));
        decision.policy_hash = policy.hash().to_owned();
        decision.dry_run = policy.spec.dry_run;
        decision.notes = resolved.notes.clone();
        let is_found = case.generic.names_patterns && candidates.count() > 0;
        let doubts = doubts(self.view, task, true, case.generic.names_patterns).into_iter();
        let is_kept = |note: &String| !(is_found && note.starts_with(SITE_UNKNOWN));
        decision.notes.extend(doubts.filter(is_kept));
        decision.notes.extend_from_slice(self.view.caches.time_notes(|| time_notes(state)));
        decision.notes.extend(survey.links_note(&task.nucleus));
        decision.notes.extend(cut_window(state, case.owner.outcomes_ms));
        if let Some(wait) = &judgement.wait {
            decision.notes.push(Note::Wait(wait.reason).to_string());
            decision.notes.extend(throttled(task, wait));
        }
        decision.outcome = if let Some(reason) = policy.rejects(&case, &judgement, resolved) {
            Outcome::Reject { reason: reason.to_owned() }
        } else if judgement.ranked.is_empty() {
            Outcome::Defer { until: state.now + policy.spec.defer }
        } else {
            let (epoch, cycle) = (state.epoch, state.number);
            let mut dice =
                Dice::of(&state.setting.domain, &task.subject, task.attempt, epoch, cycle);
            let jobs = policy.divide(&case, &candidates, &judgement, resolved, &mut dice);
            decision.factor_names = policy.factor_names().to_vec();
            let longest = state.setting.limits.name_bytes;
            let platform = |candidate: u32| {
                let software = candidates.at(candidate).software;
                let platform = software.and_then(|release| case.wanted.platform_at(release));
                // A longer one is no name of a platform, and a decision must fit.
                platform.filter(|platform| platform.len() <= longest).unwrap_or_default()
            };
            Outcome::Assign(ranked(task, &judgement, &candidates, &jobs, platform))
        };
        let every = state.setting.limits.full_fates_every;
        decision.full = decision.outcome.is_final() || decision.ordinal % every.max(1) == 1 % every;
        let most = state.setting.limits.fates_max;
        fates(&mut decision, policy, (&judgement, &candidates), before, most);
        limit(&mut decision, &state.setting.limits);
        decision
    }
}

/// That outcomes of jobs are counted over less than the window that is asked for, since they are
/// not remembered for longer.
fn cut_window(state: &State, asked: Millis) -> Option<String> {
    let kept = state.setting.limits.done_jobs_window_ms;
    let figures = || format!("{} h of {} h", kept / HOUR, asked / HOUR);
    (asked > kept).then(|| format!("done_jobs_cut({}, done_jobs_window_h)", figures()))
}

/// By what rule, and by the figures of which subject, a task is throttled: `explain` finds the
/// throttle by it.
fn throttled(task: &Task, held: &Wait) -> Option<String> {
    let rule = held.reason.rule()?;
    let (kind, subject) = rule.subject(task);
    let (Wait { measured, limit, .. }, RuleText { name, unit, .. }) = (held, rule.text());
    let subject = key(kind, &subject);
    let note = Note::Throttled { rule: name, subject: &subject };
    Some(note.with_figures(&format!("{measured} of {limit} {unit}")))
}

fn ranked(
    task: &Task,
    judgement: &Judgement,
    candidates: &Gathered<'_>,
    jobs: &[u32],
    platform: impl Fn(u32) -> String,
) -> Vec<Ranked> {
    let ranked = judgement.ranked.iter().enumerate();
    ranked
        .map(|(at, chosen)| {
            let queue = candidates.queue(chosen.candidate);
            Ranked {
                queue: queue.name.clone(),
                unified: queue.unified.clone(),
                weight: chosen.weighed.total,
                jobs: jobs.get(at).copied().unwrap_or(0),
                cores: task.cores_at(queue.cores),
                factors: chosen.weighed.factors.clone(),
                platform: platform(chosen.candidate),
            }
        })
        .collect()
}

/// Adds the fate of each candidate; to a repeated deferral only those that changed since the one
/// before. Those beyond `most` are counted.
fn fates(
    decision: &mut Decision,
    policy: &Policy,
    (judgement, candidates): (&Judgement, &Gathered<'_>),
    before: Option<&Answer>,
    most: usize,
) {
    let name = |filter: u16| policy.filter(usize::from(filter)).map_or("", |filter| filter.name);
    for (at, rejected) in judgement.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let filter = name(at as u16).to_owned();
        decision.counts.push(FilterCount { filter, rejected: *rejected });
    }
    let fate = |refused: &Refused| Fate {
        queue: candidates.name(refused.candidate).clone(),
        filter: Cow::Borrowed(name(refused.filter)),
        reason: Cow::Borrowed(refused.objection.reason.name),
        measured: refused.objection.measured,
        limit: refused.objection.limit,
    };
    let known = before.filter(|_| !decision.full).map(|answer| &answer.blockers);
    let Some(known) = known else {
        let kept = judgement.fates.len().min(most);
        decision.fates_cut += (judgement.fates.len() - kept) as u32;
        decision.fates = judgement.fates[..kept].iter().map(fate).collect();
        return;
    };
    for refused in &judgement.fates {
        let causes = (name(refused.filter), refused.objection.reason.name);
        let before = known.of(candidates.name(refused.candidate));
        if before.is_some_and(|cause| (&*cause.filter, &*cause.reason) == causes) {
            continue;
        }
        match decision.fates.len() < most {
            true => decision.fates.push(fate(refused)),
            false => decision.fates_cut += 1,
        }
    }
    let standing = judgement.fates.iter();
    let mut standing: Vec<&str> =
        standing.map(|refused| &**candidates.name(refused.candidate)).collect();
    standing.sort_unstable();
    for queue in known.queues().iter() {
        if standing.binary_search(&queue.as_ref()).is_err() {
            let (filter, reason) = (Cow::Borrowed(""), Cow::Borrowed(""));
            let queue = queue.as_ref().into();
            decision.fates.push(Fate { queue, filter, reason, measured: 0.0, limit: 0.0 });
        }
    }
}
