//! A look at one deferred request: whether it would be answered now.

use crate::core::engine::{Hang, Prepared, Ready, Waiting};
use crate::core::gather::Survey;
use crate::core::policy::{Candidates, Case, Policy, Refused};
use crate::core::state::State;
use crate::core::unit::Millis;
use crate::core::world::World;

/// What a look reads.
pub(super) struct Look<'a> {
    pub(super) state: &'a State,
    pub(super) world: &'a World,
    pub(super) policy: &'a Policy,
    pub(super) ready: &'a Ready,
}

impl Look<'_> {
    /// Whether a candidate passes that did not before. What objects in place of an objection that
    /// fell is remembered, so that a candidate is asked again only when something changed.
    pub(super) fn wakes(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        let is_cold = std::mem::take(&mut waiting.is_cold);
        let wakes = if self.policy.judges_together(case, &self.ready.resolved) {
            (is_cold || self.has_moved(waiting, case, survey)) && self.judges(waiting, case, survey)
        } else if is_cold {
            self.asks_all(waiting, case, survey)
        } else {
            self.asks_touched(waiting, case, survey)
        };
        waiting.recheck_at = waiting.hangs.iter().filter_map(|(_, hang)| hang.recheck_at).min();
        // One that wakes may find no room in this cycle: then all is asked again.
        waiting.is_cold = wakes;
        wakes
    }

    /// Where each candidate is judged by itself: asks those again of which something changed that
    /// their objection reads.
    fn asks_touched(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        let mut wakes = false;
        let is_due = self.is_due(waiting.recheck_at);
        for (at, hang) in &mut waiting.hangs {
            let at = *at;
            if !self.is_touched(at, hang, is_due, survey) {
                continue;
            }
            let candidate = self.world.gather_one(self.state, case, survey, at);
            match self.policy.object_one(case, &candidate, &self.ready.resolved) {
                None => wakes = true,
                Some((filter, objection)) => {
                    *hang = Hang { filter: filter as u16, recheck_at: objection.recheck_at };
                }
            }
        }
        wakes
    }

    /// The same of every candidate there is now.
    fn asks_all(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        waiting.hangs.clear();
        let mut wakes = false;
        let list = self.ready.list(self.policy, self.world, case);
        let candidates = self.world.gather(self.state, case, survey, list.clone());
        for place in 0..candidates.count() as u32 {
            let candidate = candidates.at(place);
            match self.policy.object_one(case, &candidate, &self.ready.resolved) {
                None => wakes = true,
                Some((filter, objection)) => {
                    let hang = Hang { filter: filter as u16, recheck_at: objection.recheck_at };
                    waiting.hangs.push((list[place as usize], hang));
                }
            }
        }
        wakes
    }

    /// Where what is said of one candidate hangs on the others: whether anything is said otherwise
    /// of one, so that all are to be judged again. As long as the same filter objects to each, and
    /// the input lies where it lay, no candidate passes.
    fn has_moved(&self, waiting: &mut Waiting, case: &Case<'_>, survey: &Survey) -> bool {
        let Some(prepared) = waiting.prepared.take() else { return true };
        let mut case = case.clone();
        prepared.lend(&mut case);
        let is_due = self.is_due(waiting.recheck_at);
        let mut has_moved = false;
        for (at, hang) in &mut waiting.hangs {
            let at = *at;
            if !self.is_touched(at, hang, is_due, survey) {
                continue;
            }
            let candidate = self.world.gather_one(self.state, &case, survey, at);
            match self.policy.object_one(&case, &candidate, &self.ready.resolved) {
                Some((filter, objection)) if filter == usize::from(hang.filter) => {
                    hang.recheck_at = objection.recheck_at;
                }
                _ => {
                    has_moved = true;
                    break;
                }
            }
        }
        waiting.prepared = Some(Prepared::of(&mut case));
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
        let hang = |fate: &Refused| {
            let hang = Hang { filter: fate.filter, recheck_at: fate.objection.recheck_at };
            (list[fate.candidate as usize], hang)
        };
        waiting.hangs = judgement.fates.iter().map(hang).collect();
        waiting.prepared = Some(Prepared::of(&mut judged));
        // One that is held as a whole by now is told so.
        judgement.passed > 0 || judgement.held.is_some()
    }

    /// Whether something changed of a queue that its objection reads.
    fn is_touched(&self, at: u32, hang: &Hang, is_due: bool, survey: &Survey) -> bool {
        let reads = self.policy.reads(usize::from(hang.filter));
        self.world.is_touched(self.state, at, survey.nucleus, reads)
            || is_due && self.is_due(hang.recheck_at)
    }

    fn is_due(&self, recheck_at: Option<Millis>) -> bool {
        recheck_at.is_some_and(|at| at <= self.state.now)
    }
}
