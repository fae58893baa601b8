//! From a task that wants a nucleus to its answer (spec atlas 1).

use crate::dice::Dice;
use crate::domain::atlas::judge::nuclei::{JobCheck, as_jobs};
use crate::domain::atlas::judge::work::nucleus_of;
use crate::domain::atlas::policy::task::NucleusChoice;
use crate::event::{FullChain, Task};
use crate::judge::evaluation::FoundNucleus;
use crate::judge::judging::JudgingInputs;
use crate::judge::notes::{doubts, time_notes};
use crate::judge::size::limit;
use crate::judge::view::CutView;
use crate::output::decision::{Decision, Fate, FilterCount, Outcome, Ranked};
use crate::policy::Policy;
use crate::policy::note::Note;
use crate::state::State;
use std::borrow::Cow;

/// The filter that a nucleus that passed and was not drawn is listed with.
const DRAW: &str = "draw";

impl JudgingInputs<'_> {
    /// Judges all nuclei for a task.
    pub(crate) fn find_nucleus(self, at: usize, task: &Task) -> Option<FoundNucleus> {
        let CutView { state, world, .. } = self.view;
        let ready = self.policies.ready(at, &task.gshare, self.view);
        let (policy, check) = (self.policies.at(at), self.policies.check(at)?);
        if world.is_site(&task.nucleus) {
            let nucleus = task.nucleus.clone();
            let destinations = world.destinations(&nucleus, task);
            let (choice, names) = (NucleusChoice::default(), Vec::new());
            return Some(FoundNucleus { choice, names, nucleus: Some(nucleus), destinations });
        }
        let (jobs, resolved) = (as_jobs(task), ready.check.as_ref()?);
        let (case, survey) = self.view.case(check, resolved, &jobs);
        let candidates = self.view.gather(&case, &survey, world.queue_indices(|_| true).into());
        let check = JobCheck::new(check, resolved, &case, &candidates);
        let runs = |queues: &[u32]| check.runs(queues);
        let case = world.task_case(task, state.now, parent(state, task), &runs);
        let work = |nucleus: &str| self.work.at(self.view, nucleus, task);
        let nuclei = world.nuclei_of(state, task, state.now, work);
        let (domain, epoch) = (&state.setting.domain, state.epoch);
        let unit = Dice::of(domain, &task.subject, task.attempt, epoch, state.number).unit();
        let choice = policy.choose(&case, &nuclei, &ready.resolved, unit);
        let names: Vec<String> = nuclei.iter().map(|nucleus| nucleus.name.to_owned()).collect();
        let drawn = choice.drawn.map(|at| choice.passed[at].candidate as usize);
        let nucleus = drawn.map(|at| names[at].clone());
        let destinations =
            nucleus.as_ref().map_or_else(Vec::new, |name| world.destinations(name, task));
        Some(FoundNucleus { choice, names, nucleus, destinations })
    }

    /// The answer to a task that wants a nucleus; `found`: what was found at this cut, if it was.
    pub(crate) fn assign(
        self,
        at: usize,
        task: &Task,
        mut decision: Decision,
        found: Option<FoundNucleus>,
    ) -> Option<Decision> {
        let state = self.view.state;
        let found = found.or_else(|| self.find_nucleus(at, task))?;
        let policy = self.policies.at(at);
        let ready = self.policies.ready(at, &task.gshare, self.view);
        decision.policy_hash = policy.hash().to_owned();
        decision.dry_run = policy.spec.dry_run;
        decision.notes = ready.resolved.notes.clone();
        decision.notes.extend(doubts(self.view, task, false, false));
        decision.notes.extend_from_slice(self.view.caches.time_notes(|| time_notes(state)));
        if let Some(held) = &found.choice.wait {
            decision.notes.push(Note::Wait(held.reason).to_string());
        }
        add_fates(&mut decision, policy, &found);
        decision.outcome = match found.nucleus {
            None => Outcome::Defer { until: state.now + policy.spec.defer },
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
                    cores: 0,
                    factors: passed.map_or_else(
                        || vec![0.0; decision.factor_names.len()],
                        |weighed| weighed.factors.clone(),
                    ),
                    platform: String::new(),
                }])
            }
        };
        limit(&mut decision, &state.setting.limits);
        Some(decision)
    }

    /// Counts the work of a task whose nucleus was just decided.
    pub(crate) fn note_work(self, decision: &Decision) {
        let is_of_nucleus = self
            .policies
            .index(&decision.policy)
            .is_some_and(|at| self.policies.at(at).flavour.judges_nuclei());
        let request = self.view.state.requests.of(&decision.subject);
        let task = request
            .and_then(|request| request.task.as_ref())
            .filter(|task| task.nucleus.is_empty());
        if let (true, Outcome::Assign(_), Some(task)) = (is_of_nucleus, &decision.outcome, task) {
            self.work.add(self.view, task, &decision.nucleus);
        }
    }
}

/// Full-chain setting and nucleus of the task that a task was made of.
fn parent<'a>(state: &'a State, task: &Task) -> Option<(FullChain, &'a str)> {
    let name = task.options.parent_task.as_str();
    let chunks = state.chunks.get(name).into_iter().flatten().map(String::as_str);
    let requests =
        std::iter::once(name).chain(chunks).filter_map(|subject| state.requests.of(subject));
    let known = requests.filter_map(|request| {
        let task = request.task.as_ref()?;
        Some((task.options.full_chain, nucleus_of(task, request.answer.as_ref())))
    });
    // One that knows the nucleus before one that does not.
    known.max_by_key(|(_, nucleus)| !nucleus.is_empty())
}

/// Adds the fate of each nucleus, and how many each filter rejected.
fn add_fates(decision: &mut Decision, policy: &Policy, found: &FoundNucleus) {
    let name = |filter: u16| policy.filter(usize::from(filter)).map_or("", |filter| filter.name);
    for (at, rejected) in found.choice.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let filter = name(at as u16).to_owned();
        decision.counts.push(FilterCount { filter, rejected: *rejected });
    }
    for refused in &found.choice.fates {
        decision.fates.push(Fate {
            queue: found.names[refused.candidate as usize].as_str().into(),
            filter: Cow::Borrowed(name(refused.filter)),
            reason: Cow::Borrowed(refused.objection.reason.name),
            measured: refused.objection.measured,
            limit: refused.objection.limit,
        });
    }
    let Some(drawn) = found.choice.drawn.map(|at| &found.choice.passed[at]) else { return };
    for passed in found.choice.passed.iter().filter(|it| it.candidate != drawn.candidate) {
        decision.fates.push(Fate {
            queue: found.names[passed.candidate as usize].as_str().into(),
            filter: Cow::Borrowed(DRAW),
            reason: Cow::Borrowed("not_drawn"),
            measured: passed.weighed.total,
            limit: drawn.weighed.total,
        });
    }
}
