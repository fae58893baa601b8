//! Looking ahead: what a run of events will need is touched before it is needed.
//!
//! A fold of one event waits for memory several times, each time for the place that the last one
//! named: index, record, counters. Over a run of events the waits of each kind are independent, so
//! they are taken together. Nothing is changed and nothing depends on it but speed.

use crate::core::event::{Event, Pilot};
use crate::core::fold::pilot::joint;
use crate::core::id::Key;
use crate::core::ledger::Count;
use crate::core::record::Job;
use crate::core::rows::NO_ROW;
use crate::core::state::State;
use std::hint::black_box;

/// What an event will look for.
#[derive(Clone, Copy)]
enum Want {
    Nothing,
    Job(Key),
    Move(Key),
    Node(Key),
}

/// Room to note it in, kept from run to run.
#[derive(Default)]
pub struct Ahead {
    wants: Vec<Want>,
    jobs: Vec<u32>,
}

impl Ahead {
    /// Touches what folding these events will need.
    pub fn look(&mut self, state: &State, events: &[Event<'_>]) {
        self.wants.clear();
        self.wants.extend(events.iter().map(want));
        let mut seen = 0;
        for want in &self.wants {
            seen ^= match *want {
                Want::Nothing => 0,
                Want::Job(key) => state.jobs.index.peek(key.0),
                Want::Move(key) => state.transfers.index.peek(key.0),
                Want::Node(key) => state.nodes.index.peek(key.0),
            };
        }
        self.jobs.clear();
        for want in &self.wants {
            match *want {
                Want::Nothing => {}
                Want::Job(key) => self.jobs.extend(state.jobs.find(key)),
                Want::Move(key) => seen ^= state.transfers.find(key).unwrap_or(0),
                Want::Node(key) => seen ^= state.nodes.find(key).unwrap_or(0),
            }
        }
        for slot in &self.jobs {
            seen ^= state.jobs.slab.peek(*slot) as u32;
            seen ^= state.jobs.slab.get(*slot).map_or(0, |job| counted(state, job));
        }
        black_box(seen);
    }
}

fn want(event: &Event<'_>) -> Want {
    match event {
        Event::JobState(event) => Want::Job(Key::of(event.job.as_bytes())),
        Event::Heartbeat(event) => Want::Job(Key::of(event.job.as_bytes())),
        Event::Transfer(event) => Want::Move(Key::of(event.request.as_bytes())),
        Event::Pilot(
            Pilot::AskedJob { queue, node, .. } | Pilot::UpdatedJob { queue, node, .. },
        ) => Want::Node(joint(&[queue, node])),
        Event::Pilot(Pilot::Workers { .. } | Pilot::Slots { .. })
        | Event::Task(_)
        | Event::Outcome(_)
        | Event::Queue(_)
        | Event::Site(_)
        | Event::Storage(_)
        | Event::Link(_)
        | Event::Parameter(_)
        | Event::Removed { .. }
        | Event::Decided(_)
        | Event::Garbled(_) => Want::Nothing,
    }
}

/// Something of the whole record, and of the counters it stands in.
fn counted(state: &State, job: &Job) -> u32 {
    let ledger = &state.ledger;
    let mut seen = job.beat.events ^ job.load ^ job.ended_at as u32 ^ job.label.0;
    let count = |it: &Count| it.jobs[0] ^ it.jobs[14] ^ it.cores[14];
    if job.status.is_some() {
        if let Some(load) = ledger.load.get(job.load) {
            let share = ledger.share.get(load.share);
            seen ^= count(&load.count) ^ share.map_or(0, |it| it.promised ^ it.jobs[0]);
        }
        for row in [job.user, job.group] {
            if row != NO_ROW {
                seen ^= ledger.who.get(row).map_or(0, count);
            }
        }
    }
    seen
}
