//! State of the process, set by the loop and shown at `/readyz`.

use crate::clock;
use crate::described::described;
use crate::trouble::{ACT, FirstSeen, Trouble, WATCH, trouble};
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
    /// When each trouble was first seen.
    first_seen: Mutex<FirstSeen>,
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
        /// Topics whose facts are older than they may be. It is ready all the same: decisions note
        /// it.
        pub stale: Vec<String>,
        /// Topics with a limit to their age that never had a record. It is ready all the same.
        pub absent: Vec<String>,
        /// That no input, or not one that must not be silent, has brought anything for days.
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

    /// That the loop stands still, if it does.
    fn stands_still(&self) -> Option<Trouble> {
        let turned = *self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        let since = turned.map(|turned| turned.elapsed()).filter(|since| *since > STILL_AFTER)?;
        let text = format!("the loop has not turned for {} s: it waits or works", since.as_secs());
        Some(trouble(ACT, "still", text, true))
    }

    /// Why the domain is not ready; `None` when it is.
    pub fn not_ready(&self) -> Option<String> {
        self.get().not_ready().or_else(|| Some(self.stands_still()?.text))
    }

    /// All that is wrong, the worst first: what keeps it from being ready, then what is loud all
    /// the same. Times by this computer's clock.
    pub fn troubles(&self) -> Vec<Trouble> {
        let mut all = self.get().troubles();
        let blocking = all.iter().take_while(|it| it.keeps_from_ready).count();
        all.splice(blocking..blocking, self.stands_still());
        let mut first_seen = self.first_seen.lock().unwrap_or_else(PoisonError::into_inner);
        first_seen.date(&mut all, clock::now());
        all
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
        self.troubles().into_iter().find(|it| it.keeps_from_ready).map(|it| it.text)
    }

    /// All that is wrong, the worst first, without the moments.
    pub fn troubles(&self) -> Vec<Trouble> {
        let mut all = Vec::new();
        self.blocking(&mut all);
        let mut goes_on = |severity: &str, rule: &str, texts: &[String]| {
            all.extend(texts.iter().map(|text| trouble(severity, rule, text.clone(), false)));
        };
        goes_on(ACT, "stuck", &self.stuck);
        goes_on(ACT, "stale", &self.stale);
        goes_on(ACT, "unsteady", self.unsteady.as_slice());
        goes_on(WATCH, "absent", &self.absent);
        all
    }

    /// Whatever keeps the process from being ready, the most basic first: what lies behind it may
    /// be its consequence.
    fn blocking(&self, all: &mut Vec<Trouble>) {
        let mut add = |severity: &str, rule: &str, text: Option<String>| {
            all.extend(text.map(|text| trouble(severity, rule, text, true)));
        };
        let unreachable = |since| format!("the broker cannot be reached since {}", iso(since));
        add(ACT, "stopped", self.stopped.as_ref().map(|why| format!("stopped: {why}")));
        add(ACT, "broker", self.broker_unreachable_since.map(unreachable));
        add(ACT, "contested", self.contested.clone());
        let schemas = self.waits_for_schemas.as_ref();
        add(ACT, "schemas", schemas.map(|why| format!("waiting for schemas: {why}")));
        add(
            WATCH,
            "restoring",
            self.restoring.then(|| {
                let percent = (self.restored_ratio * 100.0).floor();
                let stuck = self.stuck.first().map_or(String::new(), |why| format!("; {why}"));
                format!("restoring: {percent} % of the cycles are replayed{stuck}")
            }),
        );
        let catching_up = "catching up with lanes as they were at the start";
        add(WATCH, "catching_up", self.catching_up.then(|| catching_up.to_owned()));
        add(ACT, "old_inputs", self.old_inputs.clone());
        let intake = self.intake_down.as_ref();
        add(ACT, "intake", intake.map(|why| format!("intake is down: {why}")));
        let import = self.import_failed.as_ref();
        add(ACT, "import", import.map(|why| format!("the last import failed: {why}")));
        add(ACT, "silent", self.silent_because.as_ref().map(|why| format!("silent: {why}")));
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

    #[test]
    fn what_is_stale_or_stuck_is_as_loud_as_what_keeps_it_from_ready() {
        let state = State {
            leading: true,
            stale: vec!["topic queue is stale: 400 s".into()],
            stuck: vec!["job-state/0 stands still".into()],
            unsteady: Some("the lead changed 5 times".into()),
            absent: vec!["topic transfer never had a record".into()],
            ..State::default()
        };
        assert_eq!(state.not_ready(), None);
        let all = state.troubles();
        let kinds: Vec<_> = all.iter().map(|it| (&it.severity[..], &it.rule[..])).collect();
        assert_eq!(kinds, [(ACT, "stuck"), (ACT, "stale"), (ACT, "unsteady"), (WATCH, "absent")]);
        let stopped = State { stopped: Some("the disk is full".into()), ..state };
        assert_eq!(stopped.troubles()[0].text, "stopped: the disk is full");
        assert_eq!(stopped.troubles().len(), 5);
    }
}
