//! From a request to its answer.

use crate::core::cut::Topic;
use crate::core::dice::Dice;
use crate::core::engine::Engine;
use crate::core::event::{Configured, Task, history_since};
use crate::core::fold::is_newer;
use crate::core::id::cut;
use crate::core::judge::gather::Gathered;
use crate::core::output::decision::{Decision, DecisionId, Fate, FilterCount, Outcome, Ranked};
use crate::core::output::throttle::key;
use crate::core::policy::note::Note;
use crate::core::policy::rule::Words;
use crate::core::policy::{Candidates, Case, Judgement, Policy, Resolved, Wait};
use crate::core::request::admit::{Refusal, is_open};
use crate::core::state::record::Answer;
use crate::core::unit::{Millis, SECOND};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// About what a fate takes of a record beyond its texts; bytes.
const FATE_BYTES: usize = 24;

impl Engine {
    /// The next answer of this cycle, not yet folded. It must be before the next is asked
    /// for, since a promise counts from the moment it is made.
    pub(crate) fn next_decision(&mut self) -> Option<Decision> {
        loop {
            let (subject, number) = self.turn()?;
            if let Some(decision) = self.decide(&subject, number) {
                self.count_bytes(bytes_of(&decision));
                return Some(decision);
            }
        }
    }

    /// Counts an answer that was given.
    pub(crate) fn said(&mut self, decision: &Decision) {
        self.state.fold_decision(decision);
        self.note_work(decision);
        self.answered(&decision.subject);
    }

    /// The answer to a request; a first deferral only while there is room for it.
    fn decide(&mut self, subject: &str, number: u32) -> Option<Decision> {
        let decision = self.answer(subject, number)?;
        let is_first_deferral = !decision.outcome.is_final() && decision.ordinal == 1;
        match self.no_room().filter(|_| is_first_deferral) {
            Some(refusal) => {
                let task = self.state.asks.of(subject)?.task.as_ref()?;
                Some(self.refuse(task, None, number, &refusal))
            }
            None => Some(decision),
        }
    }

    fn answer(&mut self, subject: &str, number: u32) -> Option<Decision> {
        let ask = self.state.asks.of(subject)?;
        let task = ask.task.as_ref()?;
        if !is_open(ask) {
            return None;
        }
        if let Some(refusal) = self.state.refusal(ask) {
            return Some(self.refuse(task, ask.answer.as_ref(), number, &refusal));
        }
        let before = ask.answer.as_ref().filter(|answer| answer.attempt == task.attempt);
        let Some(at) = self.policy(&task.policy) else {
            let names: Vec<&str> =
                self.policies.iter().map(|policy| policy.spec.name.as_str()).collect();
            let named = cut(&task.policy, 128);
            let reason = format!("unknown_policy {named:?}; there is: {}", names.join(", "));
            return Some(self.plain(task, before, number, reason));
        };
        let gshare = task.gshare.clone();
        self.resolve(at, &gshare);
        if self.policies[at].flavour.judges_nuclei() {
            return self.assign(at, subject, number);
        }
        let ask = self.state.asks.of(subject)?;
        let task = ask.task.as_ref()?;
        let before = ask.answer.as_ref().filter(|answer| answer.attempt == task.attempt);
        let (policy, ready) = (&self.policies[at], self.resolved.get(at, &gshare)?);
        let mut case = policy.case(task, self.state.now, &ready.resolved);
        let survey = self.world.survey(&self.state, &mut case);
        self.world.count_owner(&self.state, &mut case);
        policy.complete(&mut case, &ready.resolved);
        let list = ready.list(policy, &self.world, &case);
        let candidates = self.world.gather(&self.state, &case, &survey, list);
        Some(self.judge(policy, &ready.resolved, &case, &candidates, before, number))
    }

    /// The answer to a request that is not admitted. A deferral of an attempt that was superseded
    /// is brought to its end first.
    fn refuse(
        &self,
        task: &Task,
        answer: Option<&Answer>,
        number: u32,
        refusal: &Refusal,
    ) -> Decision {
        let reason = refusal.reason();
        let open = answer.filter(|answer| !answer.is_final);
        match open.filter(|answer| answer.attempt < task.attempt) {
            Some(older) => {
                let task = Task { attempt: older.attempt, ..task.clone() };
                self.plain(&task, Some(older), number, reason)
            }
            None => {
                let before = answer.filter(|answer| answer.attempt == task.attempt);
                self.plain(task, before, number, reason)
            }
        }
    }

    /// An answer without a judgement.
    fn plain(&self, task: &Task, before: Option<&Answer>, number: u32, reason: String) -> Decision {
        let mut decision = self.blank(task, before, number);
        decision.outcome = Outcome::Reject { reason };
        limit(&mut decision, self.state.setting.limits.max_output_bytes);
        decision
    }

    /// What every answer has.
    pub(in crate::core) fn blank(
        &self,
        task: &Task,
        before: Option<&Answer>,
        number: u32,
    ) -> Decision {
        let state = &self.state;
        let ordinal = before.map_or(1, |answer| answer.ordinal + 1);
        Decision {
            id: DecisionId::derive(&state.setting.domain, &task.subject, task.attempt, ordinal),
            domain: state.setting.domain.clone(),
            subject: task.subject.clone(),
            attempt: task.attempt,
            task: task.task.clone(),
            ordinal,
            epoch: state.epoch,
            cycle: state.number,
            number,
            now: state.now,
            policy: task.policy.clone(),
            policy_hash: String::new(),
            gshare: task.gshare.clone(),
            nucleus: task.nucleus.clone(),
            outcome: Outcome::Reject { reason: String::new() },
            factor_names: Vec::new(),
            counts: Vec::new(),
            fates: Vec::new(),
            full: true,
            fates_cut: 0,
            notes: Vec::new(),
        }
    }

    fn judge(
        &self,
        policy: &Policy,
        resolved: &Resolved,
        case: &Case<'_>,
        candidates: &Gathered<'_>,
        before: Option<&Answer>,
        number: u32,
    ) -> Decision {
        let (state, task) = (&self.state, case.task);
        let mut decision = self.blank(task, before, number);
        let judgement = policy.judge(case, candidates, resolved);
        decision.policy_hash = policy.hash().to_owned();
        decision.notes = resolved.notes.clone();
        decision.notes.extend(self.doubts(task, true));
        decision.notes.extend(self.time_notes());
        if let Some(held) = &judgement.held {
            decision.notes.push(Note::Held(held.reason).to_string());
            decision.notes.extend(throttled(task, held));
        }
        decision.outcome = if judgement.ranked.is_empty() {
            Outcome::Defer { until: state.now + policy.spec.defer }
        } else {
            let (epoch, cycle) = (state.epoch, state.number);
            let mut dice =
                Dice::of(&state.setting.domain, &task.subject, task.attempt, epoch, cycle);
            let jobs = policy.divide(case, candidates, &judgement, resolved, &mut dice);
            decision.factor_names = policy.factor_names().to_vec();
            Outcome::Assign(ranked(&judgement, candidates, &jobs))
        };
        let every = state.setting.limits.full_fates_every;
        decision.full = decision.outcome.is_final() || decision.ordinal % every.max(1) == 1 % every;
        fates(&mut decision, policy, &judgement, candidates, before);
        limit(&mut decision, state.setting.limits.max_output_bytes);
        decision
    }

    /// What a reader should know of the times of the facts.
    pub(in crate::core) fn time_notes(&self) -> Vec<String> {
        let (state, mut notes) = (&self.state, Vec::new());
        for topic in [Topic::JobState, Topic::Heartbeat, Topic::Transfer, Topic::Pilot] {
            let time = state.times.of(topic);
            if !time.is_fresh && state.setting.silence[topic as usize].is_some() {
                let age = match time.time {
                    0 => "absent".to_owned(),
                    time => format!("{} s", (state.now - time) / SECOND),
                };
                notes.push(format!("input_stale({}, {age})", topic.name()));
            }
        }
        notes.extend(self.unreadable_notes());
        let window = state.setting.limits.node_window_ms;
        let since = state.known_since.max(self.intake_knows_since());
        if since > 0 && state.now - since < window {
            notes.push("partial_history".to_owned());
        }
        notes
    }

    /// Topics without a silence limit of which a partition cannot be read: what is known of them
    /// may be old.
    fn unreadable_notes(&self) -> impl Iterator<Item = String> {
        let state = &self.state;
        let is_noted = |topic: Topic| state.setting.silence[topic as usize].is_some();
        let unreadable = state.times.lanes.iter().filter(move |(lane, held)| {
            held.flags.unreadable && !lane.topic.is_own() && !is_noted(lane.topic)
        });
        let topics: BTreeSet<&str> = unreadable.map(|(lane, _)| lane.topic.name()).collect();
        topics.into_iter().map(|topic| format!("input_stale({topic}, unreadable)"))
    }

    /// Since when intake knows all that foreign topics said; 0: from the beginning.
    fn intake_knows_since(&self) -> Millis {
        let name = history_since(&self.state.setting.domain, 0).name();
        let fact = self.state.facts.parameters.of(&name).and_then(|held| held.current(is_newer));
        fact.and_then(|fact| fact.value.parse().ok()).unwrap_or(0)
    }
}

/// By what rule, and whose figures, a task is held: what `explain` finds the throttle by.
fn throttled(task: &Task, held: &Wait) -> Option<String> {
    let rule = held.reason.rule()?;
    let (kind, subject) = rule.subject(task);
    let (Wait { measured, limit, .. }, Words { name, unit, .. }) = (held, rule.words());
    let subject = key(kind, subject);
    let note = Note::Throttled { rule: name, subject: &subject };
    Some(note.with_figures(&format!("{measured} of {limit} {unit}")))
}

fn ranked(judgement: &Judgement, candidates: &Gathered<'_>, jobs: &[u32]) -> Vec<Ranked> {
    let ranked = judgement.ranked.iter().enumerate();
    ranked
        .map(|(at, chosen)| {
            let queue = candidates.queue(chosen.candidate);
            Ranked {
                queue: queue.name.clone(),
                unified: queue.unified.clone(),
                weight: chosen.weighed.total,
                jobs: jobs.get(at).copied().unwrap_or(0),
                factors: chosen.weighed.factors.clone(),
            }
        })
        .collect()
}

/// What became of each candidate; in a repeated deferral only what changed since the one before.
fn fates(
    decision: &mut Decision,
    policy: &Policy,
    judgement: &Judgement,
    candidates: &Gathered<'_>,
    before: Option<&Answer>,
) {
    let name = |filter: u16| policy.filter(usize::from(filter)).map_or("", |filter| filter.name);
    for (at, rejected) in judgement.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let filter = name(at as u16).to_owned();
        decision.counts.push(FilterCount { filter, rejected: *rejected });
    }
    let known = before.filter(|_| !decision.full).map(|answer| &answer.blockers);
    if known.is_none() {
        decision.fates.reserve_exact(judgement.fates.len());
    }
    for refused in &judgement.fates {
        let queue = &candidates.queue(refused.candidate).name;
        let (filter, reason) = (name(refused.filter), refused.objection.reason.name);
        let same = known
            .and_then(|known| known.of(queue))
            .is_some_and(|cause| (&*cause.filter, &*cause.reason) == (filter, reason));
        if !same {
            decision.fates.push(Fate {
                queue: queue.clone(),
                filter: Cow::Borrowed(filter),
                reason: Cow::Borrowed(reason),
                measured: refused.objection.measured,
                limit: refused.objection.limit,
            });
        }
    }
    let Some(known) = known else { return };
    let standing = judgement.fates.iter();
    let mut standing: Vec<&str> =
        standing.map(|refused| candidates.queue(refused.candidate).name.as_str()).collect();
    standing.sort_unstable();
    for queue in known.queues().iter() {
        if standing.binary_search(&queue.as_ref()).is_err() {
            let (filter, reason) = (Cow::Borrowed(""), Cow::Borrowed(""));
            let queue = queue.to_string();
            decision.fates.push(Fate { queue, filter, reason, measured: 0.0, limit: 0.0 });
        }
    }
}

/// Keeps an answer below the limit on what is published: fates beyond it become counts, notes
/// beyond a quarter of it are left out, and it says so.
pub(in crate::core) fn limit(decision: &mut Decision, max_output_bytes: usize) {
    limit_notes(&mut decision.notes, max_output_bytes / 4);
    let fixed = bytes_without_fates(decision);
    let mut left = max_output_bytes.saturating_sub(fixed);
    let mut kept = 0;
    for fate in &decision.fates {
        let takes = bytes_of_fate(fate);
        if takes > left {
            break;
        }
        left -= takes;
        kept += 1;
    }
    decision.fates_cut = (decision.fates.len() - kept) as u32;
    decision.fates.truncate(kept);
}

/// About what a decision takes when it is published, at least as much as it does; bytes.
fn bytes_of(decision: &Decision) -> usize {
    bytes_without_fates(decision) + decision.fates.iter().map(bytes_of_fate).sum::<usize>()
}

fn bytes_of_fate(fate: &Fate) -> usize {
    fate.queue.len() + fate.filter.len() + fate.reason.len() + FATE_BYTES
}

fn bytes_without_fates(decision: &Decision) -> usize {
    let names = [
        &decision.subject,
        &decision.task,
        &decision.policy,
        &decision.gshare,
        &decision.nucleus,
        &decision.domain,
    ];
    4_096
        // The subject is the record's key as well.
        + decision.subject.len()
        + names.into_iter().map(String::len).sum::<usize>()
        + decision.notes.iter().map(String::len).sum::<usize>()
        + match &decision.outcome {
            Outcome::Assign(ranked) => ranked
                .iter()
                .map(|r| r.queue.len() + r.unified.len() + 24 + 8 * r.factors.len())
                .sum(),
            Outcome::Defer { .. } => 0,
            Outcome::Reject { reason } => reason.len(),
        }
}

/// Leaves out the notes beyond so many bytes; one more note counts them.
fn limit_notes(notes: &mut Vec<String>, bytes: usize) {
    let mut used = 0;
    let fits = |note: &&String| {
        used += note.len() + 8;
        used <= bytes
    };
    let kept = notes.iter().take_while(fits).count();
    let left_out = notes.len() - kept;
    if left_out > 0 {
        notes.truncate(kept);
        notes.push(format!("notes_cut({left_out})"));
    }
}
