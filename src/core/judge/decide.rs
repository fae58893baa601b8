//! From a request to its answer.

use crate::event::{ChunkKind, Task};
use crate::id::cut;
use crate::judge::evaluation::Evaluation;
use crate::judge::inputs::Inputs;
use crate::judge::judging::JudgingInputs;
use crate::judge::size::limit;
use crate::judge::tag::NO_SHARE;
use crate::judge::view::CutView;
use crate::output::decision::{Decision, Outcome};
use crate::state::admit::{Refusal, asked_attempt, is_open, passed_attempt};
use crate::state::record::{Answer, RequestState};

impl JudgingInputs<'_> {
    /// The answer to a request; a first deferral only while there is room for it: `no_room` is
    /// why there is none. `evaluation`: how its candidates were judged at this cut, if they were.
    pub(crate) fn decide(
        self,
        subject: &str,
        number: u32,
        no_room: Option<Refusal>,
        evaluation: Option<Evaluation>,
    ) -> Option<Decision> {
        let request = self.view.state.requests.of(subject)?;
        let task = self.view.task_of(request)?;
        if !is_open(request) {
            return None;
        }
        let decision = self.answer(request, task, number, evaluation)?;
        let is_first_deferral = !decision.outcome.is_final() && decision.ordinal == 1;
        match no_room.filter(|_| is_first_deferral) {
            Some(refusal) => Some(self.refuse(request, task, decision.attempt, number, &refusal)),
            None => Some(decision),
        }
    }

    /// The answer to a request that is not among those of the state, as the first one to it;
    /// `None`: it asks nothing.
    pub(crate) fn decide_alone(self, request: &RequestState) -> Option<Decision> {
        let inputs = Inputs::of_one(self.view.state, request);
        let view = CutView { inputs: &inputs, ..self.view };
        let task = view.task_of(request)?;
        if !is_open(request) {
            return None;
        }
        JudgingInputs { view, ..self }.answer(request, task, 0, None)
    }

    fn answer(
        self,
        request: &RequestState,
        task: &Task,
        number: u32,
        evaluation: Option<Evaluation>,
    ) -> Option<Decision> {
        let attempt = asked_attempt(request, task);
        if let Some(refusal) = self.view.state.refusal(request) {
            let attempt = passed_attempt(request).unwrap_or(attempt);
            return Some(self.refuse(request, task, attempt, number, &refusal));
        }
        let before = request.answer.as_ref().filter(|answer| answer.attempt == attempt);
        let mut tagged = self.view.tagged(task);
        if attempt != task.attempt {
            tagged.to_mut().attempt = attempt;
        }
        let task = &*tagged;
        if self.view.has_no_share(task) {
            return Some(self.plain(task, before, number, NO_SHARE.to_owned()));
        }
        let Some(at) = self.policies.index(&task.policy) else {
            let all = self.policies.all().iter();
            let names: Vec<&str> = all.map(|policy| policy.spec.name.as_str()).collect();
            let named = cut(&task.policy, 128);
            let reason = format!("unknown_policy {named:?}; there is: {}", names.join(", "));
            return Some(self.plain(task, before, number, reason));
        };
        let blank = self.blank(task, before, number);
        if self.policies.at(at).flavour.judges_targets() {
            return Some(self.place(at, request, task, blank));
        }
        if self.policies.at(at).flavour.domain().is_some() {
            return self.answer_of_domain(at, task, blank);
        }
        let mut decision = match evaluation {
            Some(Evaluation::Nuclei(found)) => self.assign(at, task, blank, Some(found)),
            None if self.policies.at(at).flavour.judges_nuclei() => {
                self.assign(at, task, blank, None)
            }
            None => Some(self.choose_queues(at, task, blank, before, None)),
            Some(Evaluation::Queues(judgement)) => {
                Some(self.choose_queues(at, task, blank, before, Some(judgement)))
            }
        }?;
        if let Outcome::Defer { until } = &mut decision.outcome
            && let Some(limit) = self.view.state.pending_timeout(&task.label)
        {
            *until = decision.first_answered_at.saturating_add(limit).min(*until);
        }
        Some(decision)
    }

    /// The answer to an attempt of a request that is not admitted.
    fn refuse(
        self,
        request: &RequestState,
        task: &Task,
        attempt: u64,
        number: u32,
        refusal: &Refusal,
    ) -> Decision {
        let before = request.answer.as_ref().filter(|answer| answer.attempt == attempt);
        let task = Task { attempt, ..task.clone() };
        self.plain(&task, before, number, refusal.reason())
    }

    /// An answer without a judgement.
    fn plain(self, task: &Task, before: Option<&Answer>, number: u32, reason: String) -> Decision {
        let mut decision = self.blank(task, before, number);
        decision.outcome = Outcome::Reject { reason };
        limit(&mut decision, &self.view.state.setting.limits);
        decision
    }

    /// A decision with the fields that every answer to the task has in common.
    fn blank(self, task: &Task, before: Option<&Answer>, number: u32) -> Decision {
        let state = self.view.state;
        let ordinal = before.map_or(1, |answer| answer.ordinal + 1);
        let outcome = Outcome::Reject { reason: String::new() };
        let domain = &state.setting.domain;
        Decision {
            task: task.task.clone(),
            epoch: state.epoch,
            cycle: state.number,
            number,
            now: state.now,
            first_answered_at: before.map_or(state.now, |answer| answer.first_answered_at),
            policy: task.policy.clone(),
            gshare: task.gshare.clone(),
            user: task.user.clone(),
            working_group: task.working_group.clone(),
            merge: task.chunk == ChunkKind::Merge,
            nucleus: task.nucleus.clone(),
            ..Decision::new(domain, &task.subject, task.attempt, ordinal, outcome)
        }
    }
}
