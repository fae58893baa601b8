//! How a fact changes what is known: records, and with them the counters.
//!
//! Total: every event has its effect, if only to be called odd. Reads no `now` and drops nothing;
//! forgetting happens once a cycle, in `close`. Within a cycle the order in which lanes were
//! merged is nothing.

mod command;
mod config;
mod decision;
mod job;
mod pilot;
mod task;
mod throttle;
mod transfer;

pub use config::{Written, join_fact};

use crate::cut::{Lane, Topic};
use crate::event::Event;
use crate::oddity::Oddity;
use crate::output::Output;
use crate::state::State;
use crate::state::prefetch::Sought;
use crate::unit::Millis;

impl State {
    /// Counts one event read at `offset` of `lane`, appended at `appended_at` by the log's clock.
    /// A record below the cut was counted before and has no effect.
    pub fn fold(&mut self, lane: Lane, offset: u64, appended_at: Millis, event: &Event<'_>) {
        self.fold_sought(lane, offset, appended_at, event, Sought::of(event));
    }

    /// The same, where the thing the event is about was prefetched.
    pub fn fold_sought(
        &mut self,
        lane: Lane,
        offset: u64,
        appended_at: Millis,
        event: &Event<'_>,
        sought: Sought,
    ) {
        let bound = appended_at.saturating_add(self.setting.limits.own_time_ahead_ms);
        let own = if lane.topic.is_own() { None } else { own_time(event) };
        let is_ahead = own.is_some_and(|own| own > bound);
        // A clock that is wrong orders nothing: such a record is taken as of its stamp, so that
        // what is written after it holds. A heartbeat is a sign of life whatever its clock says: it
        // is taken as of its stamp in any case.
        let bound = if is_ahead { appended_at } else { bound };
        // What a lane was read up to is known by no later time than the log's, and a clock that is
        // wrong says nothing of it: what flows hours late would count as on time by such records.
        let newest = own.filter(|_| !is_ahead).unwrap_or(0).min(appended_at);
        if !self.times.read(lane, offset, newest) {
            return self.odd(lane.topic, Oddity::BelowCut);
        }
        if is_ahead {
            self.odd(lane.topic, Oddity::FromTheFuture);
        }
        match event {
            Event::JobState(event) => self.fold_job_state(event, sought, bound),
            Event::Heartbeat(event) => self.fold_heartbeat(event, sought, appended_at),
            Event::Transfer(event) => self.fold_transfer(event, sought, bound),
            Event::Pilot(event) => self.fold_pilot(event, sought, bound),
            Event::Task(event) => self.fold_task(event, bound),
            Event::Outcome(event) => self.fold_outcome(event, bound),
            Event::Configuration(event) => {
                let written = Written { lane, at: appended_at };
                self.fold_configuration(&written, event);
            }
            Event::Removed { topic, name } => self.fold_removed(lane, *topic, name),
            Event::Output(output) => self.fold_output(output),
            Event::Garbled(_) => self.oddities.count(lane.topic, Oddity::Garbled),
        }
    }

    /// Counts an output.
    pub fn fold_output(&mut self, output: &Output) {
        match output {
            Output::Decision(decision) => self.fold_decision(decision),
            Output::Throttle(throttle) => self.fold_throttle(throttle),
            Output::Command(command) => self.fold_command(command),
        }
    }

    /// A record that is known to have been unreadable: it moves the cut and nothing else.
    pub fn pass(&mut self, lane: Lane, offset: u64) {
        if self.times.read(lane, offset, 0) {
            self.oddities.count(lane.topic, Oddity::Garbled);
        }
    }

    pub(super) fn odd(&mut self, topic: Topic, oddity: Oddity) {
        self.oddities.count(topic, oddity);
    }
}

/// The time an event itself states; `None` where it states none.
fn own_time(event: &Event<'_>) -> Option<Millis> {
    match event {
        Event::JobState(event) => Some(event.changed_at),
        Event::Heartbeat(event) => Some(event.at),
        Event::Transfer(event) => Some(event.changed_at),
        Event::Pilot(event) => Some(event.at()),
        Event::Task(event) => Some(event.changed_at),
        Event::Outcome(event) => Some(event.at),
        Event::Configuration(event) => Some(event.changed_at()),
        Event::Output(_) | Event::Removed { .. } | Event::Garbled(_) => None,
    }
}
