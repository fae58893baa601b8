//! A look at one deferred request: whether it would be answered now.

use crate::core::engine::Ready;
use crate::core::judge::gather::Survey;
use crate::core::judge::world::World;
use crate::core::policy::{Candidates, Case, Judgement, Objection, Policy};
use crate::core::request::waiting::{FirstPass, Prepared, QueueBlockers, Waiting};
use crate::core::state::State;
use crate::core::unit::Millis;
use std::cell::OnceCell;

/// What a look reads.
pub(super) struct Look<'a> {
    pub(super) state: &'a State,
    pub(super) world: &'a World,
    pub(super) policy: &'a Policy,
    pub(super) ready: &'a Ready,
    /// The queues whose blockers read what changed.
    pub(super) stirred: Vec<u32>,
    /// The same of the first pass, where there were two.
    pub(super) stirred_first: Vec<u32>,
}

impl Look<'_> {
    /// Whether a candidate passes that did not before. A filter that objects in place of another is
    /// remembered, so that a candidate is evaluated again only when something changed.
    pub(super) fn wakes(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        let is_cold = std::mem::take(&mut waiting.is_cold);
        let now = self.state.now;
        // All that expire are evaluated again when the first is due.
        if is_cold || waiting.recheck_at.is_some_and(|at| at <= now) {
            waiting.recheck_at = None;
        }
        let wakes = if self.policy.judges_together(case, &self.ready.resolved) {
            (is_cold || self.has_moved(waiting, case, survey)) && self.judges(waiting, case, survey)
        } else if is_cold {
            self.asks_all(waiting, case, survey)
        } else {
            self.asks_stirred(waiting, case, survey)
        };
        waiting.evaluated_in = self.state.number;
        // One that wakes may find no room in this cycle: then all is asked again.
        waiting.is_cold = wakes;
        wakes
    }

    /// Where each candidate is judged by itself: evaluates those again of which something changed
    /// that their blocker reads. As long as the blocker objects, no other filter need be asked.
    fn asks_stirred(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        let look = self.world.look(self.state, case, survey);
        let (resolved, applicable) = (&self.ready.resolved, OnceCell::new());
        let applicable = || applicable.get_or_init(|| self.policy.applicable(case, resolved));
        for at in &self.stirred {
            let Some(blocker) = waiting.queues.get(*at) else { continue };
            let candidate = look.one(*at);
            let still = self.policy.ask(blocker.filter, case, &candidate, resolved);
            let found = match still {
                Some(objection) => Some((blocker.filter, objection)),
                None => self.policy.object_by(applicable(), case, &candidate, resolved),
            };
            let Some((filter, objection)) = found else { return true };
            note(&mut waiting.queues, &mut waiting.recheck_at, *at, filter as u16, &objection);
        }
        false
    }

    /// Evaluates every candidate there is now, up to the first that passes.
    fn asks_all(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        waiting.queues.clear(self.world.queues.len());
        let list = self.ready.list(self.policy, self.world, case);
        let candidates = self.world.gather(self.state, case, survey, list.clone());
        let resolved = &self.ready.resolved;
        let applicable = self.policy.applicable(case, resolved);
        for place in 0..candidates.count() as u32 {
            let candidate = candidates.at(place);
            let found = self.policy.object_by(&applicable, case, &candidate, resolved);
            let Some((filter, objection)) = found else { return true };
            let queue = list[place as usize];
            note(&mut waiting.queues, &mut waiting.recheck_at, queue, filter as u16, &objection);
        }
        false
    }

    /// Where the verdict on one candidate depends on the others: whether the verdict on any one
    /// changed, so that all are to be judged again. As long as the same filter objects to each, and
    /// the input lies where it lay, no candidate passes.
    fn has_moved(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        let Waiting { queues, prepared, first_pass, recheck_at, .. } = waiting;
        let Some(prepared) = prepared.as_deref_mut() else { return true };
        if !prepared.is_of(case)
            || self.differs(prepared, queues, &self.stirred, recheck_at, case, survey)
        {
            return true;
        }
        first_pass.as_deref_mut().is_some_and(|FirstPass { prepared, queues }| {
            self.differs(prepared, queues, &self.stirred_first, recheck_at, case, survey)
        })
    }

    /// Whether a queue, of those that are evaluated again, is blocked by another filter in a pass
    /// than it was, or by none.
    fn differs(
        &self,
        prepared: &mut Prepared,
        queues: &mut QueueBlockers,
        stirred: &[u32],
        recheck_at: &mut Option<Millis>,
        case: &Case<'_>,
        survey: &Survey,
    ) -> bool {
        if stirred.is_empty() {
            return false;
        }
        let mut case = case.clone();
        prepared.swap(&mut case);
        let look = self.world.look(self.state, &case, survey);
        let resolved = &self.ready.resolved;
        let applicable = self.policy.applicable(&case, resolved);
        let differs = stirred.iter().any(|at| {
            let Some(blocker) = queues.get(*at) else { return false };
            let candidate = look.one(*at);
            let found = self.policy.object_by(&applicable, &case, &candidate, resolved);
            let Some((filter, objection)) = found.filter(|(filter, _)| *filter == blocker.filter)
            else {
                return true;
            };
            note(queues, recheck_at, *at, filter as u16, &objection);
            false
        });
        prepared.swap(&mut case);
        differs
    }

    /// Judges all candidates there are now, as whoever decides will.
    fn judges(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        let mut judged = case.clone();
        self.world.count_owner(self.state, &mut judged);
        self.policy.complete(&mut judged, &self.ready.resolved);
        let list = self.ready.list(self.policy, self.world, case);
        let candidates = self.world.gather(self.state, case, survey, list.clone());
        let Waiting { queues, recheck_at, first_pass, .. } = waiting;
        (*recheck_at, *first_pass) = (None, None);
        let mut note_all = |queues: &mut QueueBlockers, judgement: &Judgement| {
            queues.clear(self.world.queues.len());
            for fate in &judgement.fates {
                let queue = list[fate.candidate as usize];
                note(queues, recheck_at, queue, fate.filter, &fate.objection);
            }
        };
        let had_remote_source = case.remote_source;
        let mut keep = |case: &Case<'_>, judgement: &Judgement| {
            let prepared = Prepared::of(&mut case.clone(), had_remote_source);
            let mut queues = QueueBlockers::default();
            note_all(&mut queues, judgement);
            *first_pass = Some(Box::new(FirstPass { prepared, queues }));
        };
        let resolved = &self.ready.resolved;
        let judgement = self.policy.judge_here(&mut judged, &candidates, resolved, &mut keep);
        note_all(queues, &judgement);
        waiting.prepared = Some(Box::new(Prepared::of(&mut judged, had_remote_source)));
        // One that is held as a whole by now is told so.
        judgement.passed > 0 || judgement.held.is_some()
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
