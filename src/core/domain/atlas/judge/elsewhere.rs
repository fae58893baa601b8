//! Whether jobs of a task would go to another queue than the one where they wait, were they
//! brokered again now.

use crate::domain::atlas::policy::Case;
use crate::domain::atlas::policy::work_queue::Backlog;
use crate::event::{Task, TaskPhase};
use crate::id::Name;
use crate::judge::inputs::Inputs;
use crate::judge::judging::JudgingInputs;
use crate::judge::view::CutView;
use crate::output::decision::ATTEMPT_MAX;
use crate::policy::rule::Rule;
use crate::state::ledger::Totals;
use crate::state::record::RequestState;

impl JudgingInputs<'_> {
    /// Whether any queue but one (by its unified name) would take the task's newest request at this
    /// cut, if it were made again; `None`: no request of the task is known that queues are chosen
    /// for.
    pub(crate) fn goes_elsewhere(self, task: &str, from: Name) -> Option<bool> {
        let task = self.newest_request(task)?;
        let subject = task.subject.clone();
        let request = RequestState { subject, task: Some(task), ..RequestState::default() };
        let inputs = Inputs::of_one(self.view.state, &request);
        let view = CutView { inputs: &inputs, ..self.view };
        let located = view.task_of(&request)?;
        Some(JudgingInputs { view, ..self }.is_taken(located, from))
    }

    /// A task's newest request for queues as if it were made again.
    fn newest_request(self, task: &str) -> Option<Task> {
        let state = self.view.state;
        let of = |subject: &String| state.requests.of(subject)?.task.as_ref();
        let requests = state.chunks.get(task)?.iter().filter_map(of);
        let requests = requests.filter(|request| self.wants_queues(request));
        let newest = requests.max_by_key(|request| (request.asked_at, request.attempt))?;
        // Its answer is that of another attempt, so that it waits for nothing.
        let attempt = newest.attempt.saturating_add(1).min(ATTEMPT_MAX);
        Some(Task { attempt, phase: TaskPhase::Asking, ..newest.clone() })
    }

    /// Whether the candidates of a request are queues.
    fn wants_queues(self, request: &Task) -> bool {
        self.policies.index(&request.policy).is_some_and(|at| {
            let flavour = self.policies.at(at).flavour;
            !flavour.judges_nuclei() && !flavour.judges_targets() && flavour.domain().is_none()
        })
    }

    /// Whether a request is given any queue but one.
    fn is_taken(self, task: &Task, from: Name) -> bool {
        let world = self.view.world;
        let tagged = self.view.tagged(task);
        let Some(at) = self.policies.index(&tagged.policy) else { return false };
        if self.view.has_no_share(&tagged) {
            return false;
        }
        let policy = self.policies.at(at);
        let ready = self.policies.ready(at, &tagged.gshare, self.view);
        let (case, survey) = self.view.case(policy, &ready.resolved, &tagged);
        let case = without_waiting(case);
        let listed = ready.list(policy, world, &case);
        let is_other = |queue: &&u32| world.queues[**queue as usize].unified != from;
        let others: Vec<u32> = listed.iter().filter(is_other).copied().collect();
        let candidates = self.view.gather(&case, &survey, others.into());
        !policy.judge(&case, &candidates, &ready.resolved).ranked.is_empty()
    }
}

/// A case in which no job of the owner and of the share waits: jobs that move add none to those.
fn without_waiting(mut case: Case<'_>) -> Case<'_> {
    if let Some(work) = &mut case.work_queue {
        for backlog in &mut work.backlogs {
            *backlog = Backlog { running: backlog.running, ..Backlog::default() };
        }
        work.throttled.retain(|rule| *rule == Rule::ShareRunning);
    }
    if let Some(totals) = &mut case.owner.totals {
        let Totals { running_jobs, running_cores, .. } = *totals;
        *totals = Totals { running_jobs, running_cores, ..Totals::default() };
    }
    case.owner.throttled.retain(|rule| !matches!(rule, Rule::QueuedJobs | Rule::QueuedCores));
    case
}
