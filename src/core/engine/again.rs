//! Requests judged once more at the present cut: by the engine's own rules, or by others beside
//! them.

use super::Engine;
use crate::domain::atlas::judge::work::WorkTable;
use crate::domain::cms::judge::{AskedAgain, PoolJudging};
use crate::domain::nordugrid::judge::place::submission;
use crate::domain::nordugrid::policy::decide::JobSubmission;
use crate::domain::nordugrid::policy::grid_facts::GridFacts;
use crate::event::Task;
use crate::judge::alternative::AlternativeRules;
use crate::judge::judging::JudgingInputs;
use crate::judge::policies::Policies;
use crate::judge::view::Grid;
use crate::output::decision::{Decision, Outcome};
use crate::policy::Policy;
use crate::state::State;
use crate::state::record::RequestState;
use crate::state::supposed::Supposed;
use std::collections::BTreeMap;

/// By which rules is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleChoice {
    /// Those that the engine was made with.
    Own,
    /// Those of [`Engine::set_alternative`].
    Alternative,
}

/// A request, or an offer of slots, that is judged once more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Again {
    /// A request, by its subject.
    Request(String),
    /// An offer of slots, by its name.
    Offer(String),
    /// A job of a pool that was refused, by its name.
    Refused(String),
}

impl Engine {
    /// Sets rules that may be asked beside the engine's own, and configuration records that are
    /// supposed to be others for them. The rules must be of the same kinds.
    pub fn set_alternative(&mut self, policies: Vec<Policy>, supposed: Vec<Supposed>) {
        self.alternative = Some(AlternativeRules::new(policies, supposed));
        self.forget_derived();
    }

    /// The request, offer or refused job that a decision answers.
    pub fn answered(&self, decision: &Decision) -> Again {
        let subject = decision.subject.clone();
        match &self.pool {
            Some(pool) if pool.made(&self.policies, decision) => match decision.outcome {
                Outcome::Reject { .. } => Again::Refused(subject),
                Outcome::Assign(_) | Outcome::Defer { .. } => Again::Offer(subject),
            },
            _ => Again::Request(subject),
        }
    }

    /// The answer to a request at the cut that was settled, after the outputs that were folded
    /// since; nothing is changed by it. `number`: that of the judgement in its cycle. `None`:
    /// nothing is asked, or these rules do not refuse the job.
    pub fn judge_again(&mut self, again: &Again, number: u32, by: RuleChoice) -> Option<Decision> {
        let Engine { state, grid, work, requests, policies, pool, alternative, .. } = self;
        let (policies, pool, grid, supposed): (&Policies, Option<&PoolJudging>, &Grid, &[_]) =
            match by {
                RuleChoice::Own => (policies, pool.as_ref(), grid, &[]),
                RuleChoice::Alternative => {
                    let other = alternative.as_ref()?;
                    let grid = if other.supposed.is_empty() { grid } else { &other.grid };
                    (&other.policies, other.pool.as_ref(), grid, &other.supposed)
                }
            };
        let held = state.suppose(supposed);
        let state_then: &State = state;
        let answer = match again {
            Again::Request(subject) => {
                let judging = JudgingInputs { view: grid.view(state_then), policies, work };
                judging.decide(subject, number, requests.no_room(state_then), None)
            }
            Again::Offer(offer) => pool.and_then(|pool| {
                pool.answer(state_then, policies, AskedAgain::Offer(offer), number)
            }),
            Again::Refused(job) => pool.and_then(|pool| {
                pool.answer(state_then, policies, AskedAgain::Refused(job), number)
            }),
        };
        state.end_supposing(held);
        answer
    }

    /// Answers that requests would get at the present cut, each as if it were the only one and this
    /// its first asking: by the rules as they are, and by these policies with configuration records
    /// that are supposed to be others. Nothing is changed by it. What it derives of the
    /// configuration costs what a first cut does.
    pub fn what_if(
        &mut self,
        policies: Vec<Policy>,
        supposed: Vec<Supposed>,
        tasks: &[Task],
    ) -> Vec<[Option<Decision>; 2]> {
        let mut other = AlternativeRules::new(policies, supposed);
        let touched = other.touched(&self.state);
        other.begin_cut(&mut self.state, touched, (true, true));
        let before: Vec<_> = tasks.iter().map(|task| self.judge_task(task)).collect();
        let state = &mut self.state;
        // Sums of the work at nuclei are made again: shares may be supposed to be others, too.
        let mut work = WorkTable::default();
        work.begin_cycle();
        if other.policies.any_judges_nuclei() {
            state.requests.by_name.keys().for_each(|subject| work.note(state, subject));
        }
        let held = state.suppose(&other.supposed);
        let state_then: &State = state;
        let view = other.grid.view(state_then);
        let judging = JudgingInputs { view, policies: &other.policies, work: &work };
        let then = tasks.iter().map(|task| judging.decide_alone(&first_asking(state_then, task)));
        let answers = before.into_iter().zip(then).map(|(before, then)| [before, then]).collect();
        state.end_supposing(held);
        answers
    }

    /// Brings what judging reads up to date with a state that was folded without judging, for
    /// [`Engine::judge_task`].
    pub fn make_ready(&mut self) {
        let Engine { state, policies, grid, work, .. } = self;
        grid.update(state, policies.domain(), true);
        policies.reset();
        *work = WorkTable::default();
        work.begin_cycle();
        if policies.any_judges_nuclei() {
            state.requests.by_name.keys().for_each(|subject| work.note(state, subject));
        }
    }

    /// The answer that a request would get at the present cut if it were the only one, as the first
    /// answer to it; nothing is changed. `None`: it asks nothing.
    pub fn judge_task(&self, task: &Task) -> Option<Decision> {
        let Engine { state, policies, grid, work, .. } = self;
        JudgingInputs { view: grid.view(state), policies, work }
            .decide_alone(&first_asking(state, task))
    }

    /// A request for a target of a single job as it is judged now, or why its description cannot be
    /// used; `None`: nothing is asked.
    pub fn submission(&self, subject: &str) -> Option<Result<JobSubmission, String>> {
        let Engine { state, grid, .. } = self;
        let request = state.requests.of(subject)?;
        let task = request.task.as_ref()?;
        Some(submission(task, request, state.now, &grid.view(state).targets.cut_id))
    }

    /// Facts about targets, as of the last cut and the outputs since; empty if no policy judges
    /// targets.
    pub fn grid_facts(&self) -> &GridFacts {
        &self.grid.view(&self.state).targets.facts
    }

    /// Whether a request is deferred, or an offer is live and has cores left.
    pub fn is_open(&self, again: &Again) -> bool {
        let state = &self.state;
        match again {
            Again::Request(subject) => self.requests.waits(subject),
            Again::Offer(offer) => {
                let known = state.pool.offers.of(offer);
                known.is_some_and(|known| known.is_live(state.now) && known.cores_left() > 0)
            }
            Again::Refused(_) => false,
        }
    }

    /// The requests that wait; none while that is not known.
    pub fn waiting_requests(&self) -> Vec<Again> {
        let open = self.open_requests().into_iter().flatten();
        let subjects = open.map(|request| &request.subject);
        let waiting = subjects.filter(|subject| self.requests.waits(subject));
        waiting.map(|subject| Again::Request(subject.clone())).collect()
    }
}

/// A request as if this were its first asking.
fn first_asking(state: &State, task: &Task) -> RequestState {
    RequestState {
        subject: task.subject.clone(),
        task: Some(task.clone()),
        passed: Vec::new(),
        answer: None,
        reservations: Vec::new(),
        outcomes: BTreeMap::new(),
        placements: Vec::new(),
        heard_at: state.now,
    }
}
