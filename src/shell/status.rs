//! State of the process, set by the loop and shown at `/readyz`.

use crate::described::described;
use serde::Serialize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use yardmaster_core::explain::iso;
use yardmaster_core::unit::Millis;

/// A loop that has not turned for so long stands still.
const STILL_AFTER: Duration = Duration::from_secs(10);

/// Shared between the loop, which writes it, and the server, which reads it.
#[derive(Debug, Default)]
pub struct Status {
    state: Mutex<State>,
    /// When the loop last turned.
    turned: Mutex<Option<Instant>>,
}

described! {
    /// State of the process. Times in ms since 1970.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct State {
        /// Replaying what was published, up to the last cycle.
        pub restoring: bool,
        /// How much of that is done, from 0 to 1.
        pub restored_ratio: f64,
        /// Reading lanes up to where they ended at the start.
        pub catching_up: bool,
        /// Whether it leads; else it stands by.
        pub leading: bool,
        /// Since when the broker cannot be reached; ms since 1970; null while it can.
        pub broker_unreachable_since: Option<Millis>,
        /// Why records are held back, such as a schema registry that cannot be reached.
        pub waits_for_schemas: Option<String>,
        /// Lanes that cannot be read on, each with the reason and the remedy; own ones before
        /// inputs.
        pub stuck: Vec<String>,
        /// Topics whose facts are older than they may be, or that never had a record. It is ready
        /// all the same: decisions note it.
        pub stale: Vec<String>,
        /// That no input has brought anything for long.
        pub old_inputs: Option<String>,
        /// Why intake, which is to run beside the loop, does not work.
        pub intake_down: Option<String>,
        /// Why the last import failed; what was published before it stays.
        pub import_failed: Option<String>,
        /// Why nothing is published although it leads, such as a clock that is wrong.
        pub silent_because: Option<String>,
        /// Why it is not sure of the lead: another installation uses the same transactional id.
        pub contested: Option<String>,
        /// Why the loop of this domain ended with an error, while the process goes on with others.
        pub stopped: Option<String>,
        /// The lead changes too often, and what to look for. It is ready all the same.
        pub unsteady: Option<String>,
        /// Epoch of the last cycle known.
        pub epoch: u64,
        /// Number of the last cycle known.
        pub cycle: u64,
        /// Its now; ms since 1970.
        pub now: Millis,
    }
}

impl Status {
    /// Changes what is shown.
    pub fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
    }

    /// The loop turns.
    pub fn turn(&self) {
        *self.turned.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Why it is not ready if the loop stands still.
    pub fn stands_still(&self) -> Option<String> {
        let turned = *self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        let since = turned.map(|turned| turned.elapsed()).filter(|since| *since > STILL_AFTER)?;
        Some(format!("the loop has not turned for {} s: it waits or works", since.as_secs()))
    }

    /// Why the domain is not ready; `None` when it is.
    pub fn not_ready(&self) -> Option<String> {
        self.get().not_ready().or_else(|| self.stands_still())
    }

    /// The present state.
    pub fn get(&self) -> State {
        self.state().clone()
    }

    /// A change is a few plain assignments: a panic in one leaves nothing half done that matters.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether it leads and nothing that is known keeps it from publishing.
    pub fn is_publishing(&self) -> bool {
        let is_up_to_date = !self.restoring && !self.catching_up;
        let is_in_order = self.silent_because.is_none() && self.contested.is_none();
        self.leading && is_up_to_date && is_in_order && self.broker_unreachable_since.is_none()
    }

    /// Why it is not ready, as one sentence; `None` when it is. A standby that follows is ready:
    /// it can take over.
    pub fn not_ready(&self) -> Option<String> {
        if let Some(why) = &self.stopped {
            return Some(format!("stopped: {why}"));
        }
        if let Some(since) = self.broker_unreachable_since {
            return Some(format!("the broker cannot be reached since {}", iso(since)));
        }
        if let Some(why) = &self.contested {
            return Some(why.clone());
        }
        if let Some(why) = &self.waits_for_schemas {
            return Some(format!("waiting for schemas: {why}"));
        }
        if self.restoring {
            let percent = (self.restored_ratio * 100.0).floor();
            let stuck = self.stuck.first().map_or(String::new(), |why| format!("; {why}"));
            return Some(format!("restoring: {percent} % of the cycles are replayed{stuck}"));
        }
        if self.catching_up {
            return Some("catching up with lanes as they were at the start".to_string());
        }
        if let Some(why) = &self.old_inputs {
            return Some(why.clone());
        }
        if let Some(why) = &self.intake_down {
            return Some(format!("intake is down: {why}"));
        }
        if let Some(why) = &self.import_failed {
            return Some(format!("the last import failed: {why}"));
        }
        self.silent_because.as_ref().map(|why| format!("silent: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_publishes_if_it_leads_and_nothing_keeps_it_from_that() {
        let leads = State { leading: true, ..State::default() };
        assert!(leads.is_publishing());
        assert!(!State::default().is_publishing());
        // Jobs that do not come in are no reason to publish nothing.
        assert!(State { intake_down: Some("gone".into()), ..leads.clone() }.is_publishing());
        let why = || Some("why".to_owned());
        for silent in [
            State { restoring: true, ..leads.clone() },
            State { catching_up: true, ..leads.clone() },
            State { silent_because: why(), ..leads.clone() },
            State { contested: why(), ..leads.clone() },
            State { broker_unreachable_since: Some(7), ..leads.clone() },
        ] {
            assert!(!silent.is_publishing(), "{silent:?}");
        }
    }

    #[test]
    fn whatever_is_in_the_way_makes_it_not_ready_and_is_named() {
        let status = Status::default();
        assert_eq!(status.get().not_ready(), None);
        status.update(|state| state.leading = true);
        assert_eq!(status.get().not_ready(), None);
        type Change = fn(&mut State);
        let cases: [(Change, &str); 9] = [
            (|state| state.silent_because = Some("clock".into()), "silent: clock"),
            (|state| state.intake_down = Some("gone".into()), "intake is down: gone"),
            (|state| state.old_inputs = Some("400 days".into()), "400 days"),
            (|state| state.catching_up = true, "catching up with lanes as they were at the start"),
            (
                |state| (state.restoring, state.restored_ratio) = (true, 0.999),
                "restoring: 99 % of the cycles are replayed",
            ),
            (|state| state.waits_for_schemas = Some("why".into()), "waiting for schemas: why"),
            (|state| state.contested = Some("two of a domain".into()), "two of a domain"),
            (
                |state| state.broker_unreachable_since = Some(7),
                "the broker cannot be reached since 1970-01-01T00:00:00.007Z",
            ),
            (|state| state.stopped = Some("the disk is full".into()), "stopped: the disk is full"),
        ];
        for (change, reason) in cases {
            status.update(change);
            assert_eq!(status.get().not_ready().as_deref(), Some(reason));
        }
    }
}
