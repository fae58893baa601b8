//! Who wakes: a deferred request for which an objection fell and no other stands in its place.

mod look;

use crate::core::engine::{Engine, Ready, Turn};
use crate::core::policy::Wake;
use crate::core::state::State;
use crate::core::unit::{Millis, SECOND};
use look::Look;

/// Owners and shares are counted anew this often for requests that wait for them: all of those
/// look at the same cut, and which one that is hangs on the cycles' nows alone.
const HELD_EVERY: Millis = 10 * SECOND;

impl Engine {
    /// The requests that wake at this cut. Those that rest are looked at when their rest is over.
    pub(crate) fn woken(&mut self) -> Vec<Turn> {
        let now = self.state.now;
        let looks = self.looks_at_held();
        let mut woken = Vec::new();
        let subjects: Vec<String> = self
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.rests_until <= now && (looks || !waiting.is_held))
            .map(|(subject, _)| subject.clone())
            .collect();
        for subject in subjects {
            let Some(task) = self.state.asks.of(&subject).and_then(|ask| ask.task.as_ref()) else {
                continue;
            };
            let Some(at) = self.policy(&task.policy) else { continue };
            if self.policies[at].spec.wake == Wake::Timer {
                continue;
            }
            let gshare = task.gshare.clone();
            self.resolve(at, &gshare);
            if self.policies[at].flavour.judges_nuclei() {
                if self.finds_nucleus(at, &subject) {
                    woken.extend(self.waiting.get(&subject).map(|waiting| waiting.turn.clone()));
                }
                continue;
            }
            let Some(ready) = self.resolved.get(&(at, gshare)) else { continue };
            let Some(ask) = self.state.asks.of(&subject) else { continue };
            let Some(task) = ask.task.as_ref() else { continue };
            let Some(waiting) = self.waiting.get_mut(&subject) else { continue };
            let policy = &self.policies[at];
            let mut case = policy.case(task, now, &ready.resolved);
            let survey = self.world.survey(&self.state, &mut case);
            if waiting.is_held {
                self.world.count_owner(&self.state, &mut case);
                // What was folded since may let other queues in.
                waiting.is_cold = true;
            }
            policy.complete(&mut case, &ready.resolved);
            if waiting.is_held && policy.holds(&case, &ready.resolved) {
                continue;
            }
            let look = Look { state: &self.state, world: &self.world, policy, ready };
            if look.wakes(waiting, &case, &survey) {
                woken.push(waiting.turn.clone());
            }
        }
        woken
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

    /// Makes sure that a policy's parameters are resolved for a share.
    pub(crate) fn resolve(&mut self, at: usize, gshare: &str) {
        let key = (at, gshare.to_owned());
        if self.resolved.contains_key(&key) {
            return;
        }
        let look_up = |component: &str, name: &str| self.state.parameter(component, name);
        let policy = &self.policies[at];
        let resolved = policy.resolve(&look_up, gshare);
        let list = self.world.places(|queue| policy.lists(queue, &resolved));
        let check = self.checks.get(at).and_then(Option::as_ref);
        let check = check.map(|check| check.resolve(&look_up, gshare));
        self.resolved.insert(key, Ready { resolved, list, check });
    }
}
