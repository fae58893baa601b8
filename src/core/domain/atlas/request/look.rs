//! Evaluating a waiting request whose candidates are queues: whether it would be assigned now.

use crate::domain::atlas::judge::gather::Survey;
use crate::domain::atlas::policy::{Candidates, Case, Judgement, Weighed};
use crate::judge::evaluation::Evaluation;
use crate::judge::policies::Ready;
use crate::judge::view::CutView;
use crate::policy::{Objection, Policy};
use crate::request::waiting::{FirstPass, Prepared, QueueBlockers, Waiting};
use crate::request::wake_finding::WakeFinding;
use crate::unit::Millis;
use std::cell::OnceCell;

/// The inputs of an evaluation.
pub(crate) struct EvaluationInputs<'a> {
    pub(crate) view: CutView<'a>,
    pub(crate) policy: &'a Policy,
    pub(crate) ready: &'a Ready,
    pub(crate) case: &'a Case<'a>,
    pub(crate) survey: &'a Survey,
}

impl EvaluationInputs<'_> {
    /// Whether a candidate passes that did not before. A filter that objects in place of another is
    /// remembered, so that a candidate is evaluated again only when something changed. `stirred`
    /// are the queues whose blockers read what changed, `stirred_first` those of the first pass
    /// where there were two.
    pub(crate) fn evaluate(
        &self,
        waiting: &mut Waiting,
        stirred: &[u32],
        stirred_first: &[u32],
    ) -> WakeFinding {
        let is_cold = std::mem::take(&mut waiting.is_cold);
        let now = self.view.state.now;
        // All that expire are evaluated again when the first is due.
        if is_cold || waiting.recheck_at.is_some_and(|at| at <= now) {
            waiting.recheck_at = None;
        }
        let evaluated = if self.policy.judges_together(self.case, &self.ready.resolved) {
            match is_cold || self.has_moved(waiting, stirred, stirred_first) {
                true => self.judge(waiting),
                false => WakeFinding::Blocked,
            }
        } else {
            let wakes = match is_cold {
                true => self.any_passes(waiting),
                false => self.any_stirred_passes(waiting, stirred),
            };
            if wakes { WakeFinding::Wakes(None) } else { WakeFinding::Blocked }
        };
        waiting.evaluated_in = self.view.state.number;
        // One that wakes may find no room in this cycle: then all is evaluated again.
        waiting.is_cold = matches!(evaluated, WakeFinding::Wakes(_));
        evaluated
    }

    /// Where each candidate is judged by itself: evaluates those again of which something changed
    /// that their blocker reads. As long as the blocker objects, no other filter need be asked.
    fn any_stirred_passes(&self, waiting: &mut Waiting, stirred: &[u32]) -> bool {
        let EvaluationInputs { case, policy, .. } = *self;
        let look = self.view.look(case, self.survey);
        let (resolved, applicable) = (&self.ready.resolved, OnceCell::new());
        let applicable =
            || applicable.get_or_init(|| policy.queue_rules().applicable(case, resolved));
        for at in stirred {
            let Some(blocker) = waiting.queues.get(*at) else { continue };
            let candidate = look.one(*at);
            let still = policy.objection_of(blocker.filter, case, &candidate, resolved);
            let found = match still {
                Some(objection) => Some((blocker.filter, objection)),
                None => policy.object_by(applicable(), case, &candidate, resolved),
            };
            let Some((filter, objection)) = found else { return true };
            note(&mut waiting.queues, &mut waiting.recheck_at, *at, filter as u16, &objection);
        }
        false
    }

    /// Evaluates every candidate there is now, up to the first that passes.
    fn any_passes(&self, waiting: &mut Waiting) -> bool {
        let EvaluationInputs { view, case, policy, .. } = *self;
        waiting.queues.clear(view.world.queues.len());
        let list = self.ready.list(policy, view.world, case);
        let candidates = view.gather(case, self.survey, list.clone());
        let resolved = &self.ready.resolved;
        let applicable = policy.queue_rules().applicable(case, resolved);
        let mut one_by_one = policy.one_by_one(case, &candidates, resolved, &applicable);
        let mut weighed = Weighed::default();
        for index in 0..candidates.count() as u32 {
            let found = policy.object_at(&mut one_by_one, index, &mut weighed);
            let Some((filter, objection)) = found else { return true };
            let queue = list[index as usize];
            note(&mut waiting.queues, &mut waiting.recheck_at, queue, filter, &objection);
        }
        false
    }

    /// Where the verdict on one candidate depends on the others: whether the verdict on any one
    /// changed, so that all are to be judged again. As long as the same filter objects to each, and
    /// the input lies where it lay, no candidate passes.
    fn has_moved(&self, waiting: &mut Waiting, stirred: &[u32], stirred_first: &[u32]) -> bool {
        let Waiting { queues, prepared, first_pass, recheck_at, .. } = waiting;
        let Some(prepared) = prepared.as_deref() else { return true };
        if !prepared.is_of(self.case) || self.differs(prepared, queues, stirred, recheck_at) {
            return true;
        }
        first_pass.as_deref_mut().is_some_and(|FirstPass { prepared, queues }| {
            self.differs(prepared, queues, stirred_first, recheck_at)
        })
    }

    /// Whether a queue, of those that are evaluated again, is blocked by another filter in a pass
    /// than it was, or by none.
    fn differs(
        &self,
        prepared: &Prepared,
        queues: &mut QueueBlockers,
        stirred: &[u32],
        recheck_at: &mut Option<Millis>,
    ) -> bool {
        if stirred.is_empty() {
            return false;
        }
        let case = prepared.case(self.case);
        let look = self.view.look(&case, self.survey);
        let resolved = &self.ready.resolved;
        let applicable = self.policy.queue_rules().applicable(&case, resolved);
        stirred.iter().any(|at| {
            let Some(blocker) = queues.get(*at) else { return false };
            let candidate = look.one(*at);
            let found = self.policy.object_by(&applicable, &case, &candidate, resolved);
            let Some((filter, objection)) = found.filter(|(filter, _)| *filter == blocker.filter)
            else {
                return true;
            };
            note(queues, recheck_at, *at, filter as u16, &objection);
            false
        })
    }

    /// Judges all candidates there are now, as for a decision.
    fn judge(&self, waiting: &mut Waiting) -> WakeFinding {
        let EvaluationInputs { view, case, policy, .. } = *self;
        let list = self.ready.list(policy, view.world, case);
        let candidates = view.gather(case, self.survey, list.clone());
        let Waiting { queues, recheck_at, .. } = waiting;
        *recheck_at = None;
        let mut passes: Vec<FirstPass> = Vec::new();
        let mut keep = |pass: &Case<'_>, judgement: &Judgement| {
            let mut queues = match passes.is_empty() {
                true => std::mem::take(queues),
                false => QueueBlockers::default(),
            };
            queues.clear(view.world.queues.len());
            for fate in &judgement.fates {
                let queue = list[fate.candidate as usize];
                note(&mut queues, recheck_at, queue, fate.filter, &fate.objection);
            }
            passes.push(FirstPass { prepared: Prepared::of(pass, case), queues });
        };
        let resolved = &self.ready.resolved;
        let judgement = policy.judge_passes(case, &candidates, resolved, &mut keep);
        let last = passes.pop();
        waiting.first_pass = passes.pop().map(Box::new);
        (waiting.prepared, waiting.queues) = match last {
            Some(FirstPass { prepared, queues }) => (Some(Box::new(prepared)), queues),
            None => (None, QueueBlockers::default()),
        };
        // One that is held as a whole by now gets a decision that says so.
        match judgement.passed > 0 || judgement.wait.is_some() {
            true => WakeFinding::Wakes(Some(Evaluation::Queues(judgement))),
            false => WakeFinding::Blocked,
        }
    }
}

/// Notes which filter blocks a queue, and when that may be over by the passing of time alone.
fn note(
    queues: &mut QueueBlockers,
    recheck_at: &mut Option<Millis>,
    queue: u32,
    filter: u16,
    objection: &Objection,
) {
    queues.set(queue, filter, objection);
    let moments = [*recheck_at, objection.recheck_at];
    *recheck_at = moments.into_iter().flatten().min();
}
