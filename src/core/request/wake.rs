//! Who wakes: a deferred request for which a blocker disappeared and no other took its place.
//!
//! A request is evaluated where something changed that its blockers read. If more candidates wait
//! than one cycle may evaluate, the requests take turns by the number of the cycle: which part has
//! its turn depends on what was published, never on what a process remembers.

mod look;

use crate::core::engine::{Engine, Ready};
use crate::core::event::Task;
use crate::core::policy::Wake;
use crate::core::request::touch;
use crate::core::request::waiting::{Turn, Waiting, parts};
use crate::core::state::State;
use crate::core::unit::{Millis, SECOND};
use look::Look;

/// Owners and shares are counted anew this often for requests that wait for them: all of those
/// look at the same cut, and which one that is hangs on the cycles' nows alone.
const HELD_EVERY: Millis = 10 * SECOND;

impl Engine {
    /// The requests that wake at this cut. Those that rest are looked at when their rest is over.
    pub(crate) fn woken(&mut self) -> Vec<Turn> {
        let worked = self.work.take_changed(&self.state);
        self.touch_log.note(&self.state, &self.world, &worked);
        let now = self.state.now;
        let most = self.state.setting.limits.wake_candidates_per_cycle;
        let parts = parts(self.waiting.len(), self.world.queues.len(), most);
        self.parts = parts;
        // Where requests take turns, those that are held are looked at in their turn.
        let looks = parts > 1 || self.looks_at_held();
        let mut woken = Vec::new();
        let mut list = std::mem::take(&mut self.waiting);
        for slot in list.part(self.state.number, parts) {
            let Some(waiting) = list.in_slot(slot) else { continue };
            if waiting.rests_until <= now
                && (looks || !waiting.is_held)
                && self.wakes(waiting) == Some(true)
            {
                woken.push(waiting.turn.clone());
            }
        }
        self.waiting = list;
        self.note_turns(parts);
        woken
    }

    /// Whether a request wakes; `None`: it cannot be evaluated.
    fn wakes(&mut self, waiting: &mut Waiting) -> Option<bool> {
        let at = waiting.policy;
        if self.policies[at].spec.wake == Wake::Timer {
            return None;
        }
        if self.policies[at].flavour.judges_nuclei() {
            return self.wakes_for_nucleus(at, waiting);
        }
        waiting.is_cold |= waiting.turns_at.is_some_and(|at| at <= self.state.now);
        let [stirred, stirred_first] = self.stirred(waiting)?;
        let is_joint = self.policies[at].flavour.plan.is_some();
        // Where the input may be read decides of each candidate.
        let has_input =
            is_joint && touch::has_storage(self.touch_log.of_all(None, waiting.evaluated_in));
        let is_stirred = !stirred.is_empty() || !stirred_first.is_empty() || has_input;
        if !waiting.is_cold && !waiting.is_held && !is_stirred {
            waiting.evaluated_in = self.state.number;
            // No blocker is left whose objection expires.
            waiting.recheck_at = waiting.recheck_at.filter(|at| *at > self.state.now);
            return Some(false);
        }
        self.resolve_for(at, waiting)?;
        let task = task_of(&self.state, waiting)?;
        let ready = self.resolved.get(at, &task.gshare)?;
        let policy = &self.policies[at];
        waiting.turns_at = (policy.flavour.turns_at)(task, self.state.now, &ready.resolved.own);
        let mut case = policy.case(task, self.state.now, &ready.resolved);
        let survey = self.world.survey(&self.state, &mut case);
        if waiting.is_held {
            self.world.count_owner(&self.state, &mut case);
            // What was folded since may let other queues in.
            waiting.is_cold = true;
        }
        policy.complete(&mut case, &ready.resolved);
        // One that is held by now is told so where a throttle may be the cause.
        if (waiting.is_held || !is_joint) && policy.waits(&case, &ready.resolved) {
            return Some(false);
        }
        let (state, world) = (&self.state, &self.world);
        let look = Look { state, world, policy, ready, stirred, stirred_first };
        Some(look.wakes(waiting, &case, &survey))
    }

    /// The queues whose blockers read what changed since the request was last evaluated; then the
    /// same for the blockers of its first pass, if there were two.
    fn stirred(&mut self, waiting: &Waiting) -> Option<[Vec<u32>; 2]> {
        if waiting.is_cold {
            return Some(Default::default());
        }
        let task = task_of(&self.state, waiting)?;
        let nucleus = match task.nucleus.as_str() {
            "" => None,
            nucleus => self.state.known_name(nucleus),
        };
        let of_all = self.touch_log.of_all(nucleus, waiting.evaluated_in)
            | touch::time_bit(waiting.recheck_at, self.state.now);
        let reads = self.reads.get(waiting.policy)?;
        let first = waiting.first_pass.as_ref().map(|first| &first.queues);
        Some([Some(&waiting.queues), first].map(|queues| {
            let stirred =
                |queues| self.touch_log.stirred(queues, reads, waiting.evaluated_in, of_all);
            queues.map_or_else(Vec::new, stirred)
        }))
    }

    fn wakes_for_nucleus(&mut self, at: usize, waiting: &mut Waiting) -> Option<bool> {
        self.resolve_for(at, waiting)?;
        Some(self.finds_nucleus(at, waiting))
    }

    /// Whether requests that are held as a whole are looked at in this cycle: from time to time,
    /// and when somebody was let go in the one before. It hangs on what was said and folded alone.
    pub(crate) fn looks_at_held(&self) -> bool {
        let State { before, now, touched, number, lifted_in, .. } = &self.state;
        before.div_euclid(HELD_EVERY) != now.div_euclid(HELD_EVERY)
            || touched.settings
            || touched.queues
            || *lifted_in > 0 && *lifted_in + 1 == *number
    }

    /// Makes sure that the parameters of a request's policy are resolved for its share.
    fn resolve_for(&mut self, at: usize, waiting: &Waiting) -> Option<()> {
        let gshare = &task_of(&self.state, waiting)?.gshare;
        if self.resolved.get(at, gshare).is_none() {
            let gshare = gshare.clone();
            self.resolve(at, &gshare);
        }
        Some(())
    }

    /// Makes sure that a policy's parameters are resolved for a share.
    pub(crate) fn resolve(&mut self, at: usize, gshare: &str) {
        if self.resolved.get(at, gshare).is_some() {
            return;
        }
        let look_up = |component: &str, name: &str| self.state.parameter(component, name);
        let policy = &self.policies[at];
        let resolved = policy.resolve(&look_up, gshare);
        let list = self.world.places(|queue| policy.lists(queue, &resolved));
        let check = self.checks.get(at).and_then(Option::as_ref);
        let check = check.map(|check| check.resolve(&look_up, gshare));
        self.resolved.insert(at, gshare, Ready { resolved, list, check });
    }
}

/// The task record of a deferred request.
fn task_of<'a>(state: &'a State, waiting: &Waiting) -> Option<&'a Task> {
    let ask = state.asks.slab.get(waiting.slot).filter(|ask| ask.subject == waiting.turn.2);
    ask?.task.as_ref()
}
