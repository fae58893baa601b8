//! From a task that wants a nucleus to its answer (spec atlas 1).

use crate::core::dice::Dice;
use crate::core::engine::Engine;
use crate::core::event::{FullChain, Task};
use crate::core::judge::nuclei::{JobCheck, as_jobs};
use crate::core::judge::work::nucleus_of;
use crate::core::output::decision::{Decision, Fate, FilterCount, Outcome, Ranked};
use crate::core::policy::note::Note;
use crate::core::policy::task::Choice;
use crate::core::policy::{Policy, PolicySpec, Refused, kind};
use crate::core::request::touch::Kinds;
use crate::core::request::waiting::Waiting;
use crate::core::state::State;
use std::borrow::Cow;

/// What a nucleus that passed and was not drawn is told with.
const DRAW: &str = "draw";

/// The dry run of job brokerage for a policy of tasks: of the policy of jobs that there is, else of
/// one with every filter (spec atlas N7).
pub(crate) fn check_of(policy: &Policy, policies: &[Policy]) -> Option<Policy> {
    const JOBS: &str = "atlas-production-job";
    if !policy.flavour.judges_nuclei() {
        return None;
    }
    let own = policies.iter().find(|other| other.flavour.name == JOBS);
    let full = || kind(JOBS).map(|jobs| PolicySpec::full(JOBS, jobs, policy.spec.rules));
    let spec = own.map(|own| own.spec.clone()).or_else(full)?;
    Policy::compile(&policy.flavour.dry_run_of(&spec)).ok()
}

/// What was found for a task that wants a nucleus.
pub(crate) struct Found {
    choice: Choice,
    /// Names of the candidates.
    names: Vec<String>,
    /// The nucleus it goes to.
    nucleus: Option<String>,
    /// Its outputs and their endpoints there.
    destinations: Vec<(String, String)>,
}

impl Engine {
    /// Judges all nuclei for a task. Its policy must be resolved for its share.
    fn find_nucleus(&mut self, at: usize, subject: &str) -> Option<Found> {
        self.work.refresh(&self.state);
        self.find_nucleus_by(at, subject)
    }

    fn find_nucleus_by(&mut self, at: usize, subject: &str) -> Option<Found> {
        let (state, now) = (&self.state, self.state.now);
        let task = state.asks.of(subject)?.task.as_ref()?;
        let ready = self.resolved.get(at, &task.gshare)?;
        let (policy, check) = (&self.policies[at], self.checks.get(at)?.as_ref()?);
        if self.world.is_site(&task.nucleus) {
            let nucleus = task.nucleus.clone();
            let destinations = self.world.destinations(&nucleus, task);
            let (choice, names) = (Choice::default(), Vec::new());
            return Some(Found { choice, names, nucleus: Some(nucleus), destinations });
        }
        let jobs = as_jobs(task);
        let mut case = check.case(&jobs, now, ready.check.as_ref()?);
        let survey = self.world.survey(state, &mut case);
        let all = self.world.places(|_| true);
        let candidates = self.world.gather(state, &case, &survey, all.into());
        let resolved = ready.check.as_ref()?;
        let check = JobCheck::new(check, resolved, &case, &candidates);
        let runs = |queues: &[u32]| check.runs(queues);
        let case = self.world.task_case(task, now, parent(state, task), &runs);
        let nuclei = self.world.nuclei_of(state, task, now, |nucleus| self.work.at(nucleus, task));
        let (domain, epoch) = (&state.setting.domain, state.epoch);
        let unit = Dice::of(domain, subject, task.attempt, epoch, state.number).unit();
        let choice = policy.choose(&case, &nuclei, &ready.resolved, unit);
        let names: Vec<String> = nuclei.iter().map(|nucleus| nucleus.name.to_owned()).collect();
        let drawn = choice.drawn.map(|at| choice.passed[at].candidate as usize);
        let nucleus = drawn.map(|at| names[at].clone());
        let destinations =
            nucleus.as_ref().map_or_else(Vec::new, |name| self.world.destinations(name, task));
        Some(Found { choice, names, nucleus, destinations })
    }

    /// The answer to a task that wants a nucleus. Its policy must be resolved for its share.
    pub(crate) fn assign(&mut self, at: usize, subject: &str, number: u32) -> Option<Decision> {
        let found = self.find_nucleus(at, subject)?;
        let ask = self.state.asks.of(subject)?;
        let task = ask.task.as_ref()?;
        let before = ask.answer.as_ref().filter(|answer| answer.attempt == task.attempt);
        let policy = &self.policies[at];
        let mut decision = self.blank(task, before, number);
        decision.policy_hash = policy.hash().to_owned();
        decision.notes = self.resolved.get(at, &task.gshare)?.resolved.notes.clone();
        decision.notes.extend(self.doubts(task, false));
        decision.notes.extend(self.time_notes());
        if let Some(held) = &found.choice.held {
            decision.notes.push(Note::Held(held.reason).to_string());
        }
        tell(&mut decision, policy, &found);
        decision.outcome = match found.nucleus {
            None => Outcome::Defer { until: self.state.now + policy.spec.defer },
            Some(nucleus) => {
                for (output, endpoint) in found.destinations {
                    decision.notes.push(format!("destination({output}, {endpoint})"));
                }
                decision.factor_names = policy.factor_names().to_vec();
                decision.nucleus.clone_from(&nucleus);
                let passed = found.choice.drawn.map(|at| &found.choice.passed[at].weighed);
                Outcome::Assign(vec![Ranked {
                    unified: nucleus.clone(),
                    queue: nucleus,
                    weight: passed.map_or(0.0, |weighed| weighed.total),
                    jobs: 0,
                    factors: passed.map_or_else(
                        || vec![0.0; decision.factor_names.len()],
                        |weighed| weighed.factors.clone(),
                    ),
                }])
            }
        };
        super::decide::limit(&mut decision, self.state.setting.limits.max_output_bytes);
        Some(decision)
    }

    /// Counts the work of a task whose nucleus was just decided.
    pub(crate) fn note_work(&mut self, decision: &Decision) {
        let is_of_nucleus = self
            .policy(&decision.policy)
            .is_some_and(|at| self.policies[at].flavour.judges_nuclei());
        let ask = self.state.asks.of(&decision.subject);
        let task = ask.and_then(|ask| ask.task.as_ref()).filter(|task| task.nucleus.is_empty());
        if let (true, Outcome::Assign(_), Some(task)) = (is_of_nucleus, &decision.outcome, task) {
            self.work.add(task, &decision.nucleus);
        }
    }

    /// Whether a deferred task finds a nucleus now; it is looked at when something changed that one
    /// of the objections reads.
    pub(crate) fn finds_nucleus(&mut self, at: usize, waiting: &mut Waiting) -> bool {
        let is_cold = std::mem::take(&mut waiting.is_cold) || waiting.is_held;
        let is_due = waiting.recheck_at.is_some_and(|at| at <= self.state.now);
        let before = std::mem::replace(&mut waiting.evaluated_in, self.state.number);
        let reads = self.reads.get(at).map_or(&[][..], Vec::as_slice);
        let moved = |(nucleus, filter): &(u32, u16)| {
            let reads = reads.get(usize::from(*filter)).copied().unwrap_or(Kinds::MAX);
            self.touch_log.of_nucleus(*nucleus, before) & reads != 0
        };
        if !is_cold && !is_due && !waiting.nuclei.iter().any(moved) {
            return false;
        }
        let Some(found) = self.find_nucleus(at, &waiting.turn.2) else { return false };
        let fates = found.choice.fates.iter();
        let name = |refused: &Refused| found.names[refused.candidate as usize].as_str();
        let blocked = fates.clone().map(|it| (self.touch_log.nucleus(name(it)), it.filter));
        waiting.nuclei = blocked.collect();
        waiting.recheck_at = fates.filter_map(|refused| refused.objection.recheck_at).min();
        // One that wakes may find no room in this cycle, and one that is held as a whole has no
        // blockers by which to see that this is over: then all is asked again.
        waiting.is_cold = found.nucleus.is_some() || waiting.nuclei.is_empty();
        found.nucleus.is_some()
    }
}

/// What is known of the task that a task was made of: its part in a full chain and its nucleus.
fn parent<'a>(state: &'a State, task: &Task) -> Option<(FullChain, &'a str)> {
    let name = task.options.parent_task.as_str();
    let chunks = state.chunks.get(name).into_iter().flatten().map(String::as_str);
    let asks = std::iter::once(name).chain(chunks).filter_map(|subject| state.asks.of(subject));
    let told = asks.filter_map(|ask| {
        let task = ask.task.as_ref()?;
        Some((task.options.full_chain, nucleus_of(task, ask.answer.as_ref())))
    });
    // One that knows the nucleus before one that does not.
    told.max_by_key(|(_, nucleus)| !nucleus.is_empty())
}

/// What became of each nucleus.
fn tell(decision: &mut Decision, policy: &Policy, found: &Found) {
    let name = |filter: u16| policy.filter(usize::from(filter)).map_or("", |filter| filter.name);
    for (at, rejected) in found.choice.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let filter = name(at as u16).to_owned();
        decision.counts.push(FilterCount { filter, rejected: *rejected });
    }
    for refused in &found.choice.fates {
        decision.fates.push(Fate {
            queue: found.names[refused.candidate as usize].clone(),
            filter: Cow::Borrowed(name(refused.filter)),
            reason: Cow::Borrowed(refused.objection.reason.name),
            measured: refused.objection.measured,
            limit: refused.objection.limit,
        });
    }
    let Some(drawn) = found.choice.drawn.map(|at| &found.choice.passed[at]) else { return };
    for passed in found.choice.passed.iter().filter(|it| it.candidate != drawn.candidate) {
        decision.fates.push(Fate {
            queue: found.names[passed.candidate as usize].clone(),
            filter: Cow::Borrowed(DRAW),
            reason: Cow::Borrowed("not_drawn"),
            measured: passed.weighed.total,
            limit: drawn.weighed.total,
        });
    }
}
