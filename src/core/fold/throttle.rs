//! Throttles are folded like any event, so a throttle stands from the moment it is published.

use crate::cut::Topic;
use crate::oddity::Oddity;
use crate::output::throttle::{Action, Throttle};
use crate::state::State;

impl State {
    /// Folds a throttle: the newest one is in force.
    pub fn fold_throttle(&mut self, throttle: &Throttle) {
        if throttle.domain != self.setting.domain {
            return self.odd(Topic::Throttle, Oddity::OtherDomain);
        }
        let name = throttle.name();
        let known = self.throttles.of(&name).map(|known| known.ordinal);
        if known.is_some_and(|known| known >= throttle.ordinal) {
            return self.odd(Topic::Throttle, Oddity::Repeated);
        }
        if let Some(held) = self.throttles.at(&name, || throttle.clone()) {
            *held = throttle.clone();
        }
        self.settle_throttle(throttle);
    }

    /// The consequences of a throttle: when it is to be evaluated, and whether its subject is free.
    pub fn settle_throttle(&mut self, throttle: &Throttle) {
        if throttle.action == Action::Lift {
            self.lifted_in = self.lifted_in.max(throttle.cycle);
        }
        let lifetime = self.setting.limits.throttle_lifetime_ms;
        let over = throttle.over_at();
        let dues = [throttle.lift_from, throttle.renew_at(), throttle.until];
        let forgotten = over.saturating_add(lifetime);
        let dues = dues.into_iter().flatten().chain([forgotten]).collect();
        self.timers.throttles.set_all(dues, &throttle.name());
    }
}
