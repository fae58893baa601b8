//! A look at one deferred request: whether it would be answered now.

use crate::core::engine::Ready;
use crate::core::judge::gather::Survey;
use crate::core::judge::world::World;
use crate::core::policy::{Candidates, Case, Objection, Policy};
use crate::core::request::waiting::{Prepared, Waiting};
use crate::core::state::State;

/// What a look reads.
pub(super) struct Look<'a> {
    pub(super) state: &'a State,
    pub(super) world: &'a World,
    pub(super) policy: &'a Policy,
    pub(super) ready: &'a Ready,
    /// The queues whose blockers read what changed.
    pub(super) stirred: Vec<u32>,
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
        for at in &self.stirred {
            let Some(blocker) = waiting.queues.get(*at) else { continue };
            let candidate = look.one(*at);
            let resolved = &self.ready.resolved;
            let still = self.policy.ask(blocker.filter, case, &candidate, resolved);
            let found = match still {
                Some(objection) => Some((blocker.filter, objection)),
                None => self.policy.object_one(case, &candidate, resolved),
            };
            let Some((filter, objection)) = found else { return true };
            note(waiting, *at, filter as u16, &objection);
        }
        false
    }

    /// Evaluates every candidate there is now, up to the first that passes.
    fn asks_all(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        waiting.queues.clear(self.world.queues.len());
        let list = self.ready.list(self.policy, self.world, case);
        let candidates = self.world.gather(self.state, case, survey, list.clone());
        for place in 0..candidates.count() as u32 {
            let candidate = candidates.at(place);
            let found = self.policy.object_one(case, &candidate, &self.ready.resolved);
            let Some((filter, objection)) = found else { return true };
            note(waiting, list[place as usize], filter as u16, &objection);
        }
        false
    }

    /// Where what is said of one candidate hangs on the others: whether anything is said otherwise
    /// of one, so that all are to be judged again. As long as the same filter objects to each, and
    /// the input lies where it lay, no candidate passes.
    fn has_moved(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        let Some(prepared) = waiting.prepared.take() else { return true };
        if !prepared.is_of(case) {
            return true;
        }
        let had_remote_source = case.remote_source;
        let mut case = case.clone();
        prepared.lend(&mut case);
        let mut has_moved = false;
        let look = self.world.look(self.state, &case, survey);
        for at in &self.stirred {
            let Some(blocker) = waiting.queues.get(*at) else { continue };
            let candidate = look.one(*at);
            match self.policy.object_one(&case, &candidate, &self.ready.resolved) {
                Some((filter, objection)) if filter == blocker.filter => {
                    note(waiting, *at, filter as u16, &objection);
                }
                _ => {
                    has_moved = true;
                    break;
                }
            }
        }
        waiting.prepared = Some(Box::new(Prepared::of(&mut case, had_remote_source)));
        has_moved
    }

    /// Judges all candidates there are now, as whoever decides will.
    fn judges(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        let mut judged = case.clone();
        self.world.count_owner(self.state, &mut judged);
        self.policy.complete(&mut judged, &self.ready.resolved);
        let list = self.ready.list(self.policy, self.world, case);
        let candidates = self.world.gather(self.state, case, survey, list.clone());
        let judgement = self.policy.judge_here(&mut judged, &candidates, &self.ready.resolved);
        waiting.queues.clear(self.world.queues.len());
        waiting.recheck_at = None;
        for fate in &judgement.fates {
            note(waiting, list[fate.candidate as usize], fate.filter, &fate.objection);
        }
        waiting.prepared = Some(Box::new(Prepared::of(&mut judged, case.remote_source)));
        // One that is held as a whole by now is told so.
        judgement.passed > 0 || judgement.held.is_some()
    }
}

/// Notes which filter blocks a queue.
fn note(waiting: &mut Waiting, queue: u32, filter: u16, objection: &Objection) {
    waiting.queues.set(queue, filter, objection);
    let moments = [waiting.recheck_at, objection.recheck_at];
    waiting.recheck_at = moments.into_iter().flatten().min();
}
