//! Looking ahead: what a run of events will need is touched before it is needed.
//!
//! A fold of one event waits for memory several times, each time for the place that the last one
//! named: index, record, counters. Over a run of events the waits of each kind are independent, so
//! they are taken together, each in a loop that does nothing else. Nothing is changed and nothing
//! depends on it but speed.

use crate::core::event::{Event, Pilot};
use crate::core::fold::pilot::joint;
use crate::core::id::Key;
use crate::core::record::Job;
use crate::core::rows::NO_ROW;
use crate::core::slab::Index;
use crate::core::state::State;
use std::hint::black_box;

/// Room to note in what events will look for, kept from run to run.
#[derive(Default)]
pub struct Ahead {
    jobs: Vec<Key>,
    moves: Vec<Key>,
    nodes: Vec<Key>,
    slots: Vec<u32>,
}

impl Ahead {
    /// Touches what folding these events will need.
    pub fn look(&mut self, state: &State, events: &[Event<'_>]) {
        self.note(events);
        let tables = [
            (&self.jobs, &state.jobs.index),
            (&self.moves, &state.transfers.index),
            (&self.nodes, &state.nodes.index),
        ];
        let mut seen = tables.map(|(keys, index)| peek(keys, index)).into_iter().sum::<u32>();
        for (keys, index) in &tables[1..] {
            seen ^= keys.iter().filter_map(|key| index.guess(key.0)).fold(0, |a, slot| a ^ slot);
        }
        self.slots.clear();
        self.slots.extend(self.jobs.iter().filter_map(|key| state.jobs.index.guess(key.0)));
        for slot in &self.slots {
            seen ^= state.jobs.slab.get(*slot).map_or(0, record);
        }
        for slot in &self.slots {
            seen ^= state.jobs.slab.peek(*slot) as u32;
            seen ^= state.jobs.slab.get(*slot).map_or(0, |job| counted(state, job));
        }
        black_box(seen);
    }

    fn note(&mut self, events: &[Event<'_>]) {
        let Ahead { jobs, moves, nodes, .. } = self;
        jobs.clear();
        moves.clear();
        nodes.clear();
        for event in events {
            match event {
                Event::JobState(event) => jobs.push(Key::of(event.job.as_bytes())),
                Event::Heartbeat(event) => jobs.push(Key::of(event.job.as_bytes())),
                Event::Transfer(event) => moves.push(Key::of(event.request.as_bytes())),
                Event::Pilot(
                    Pilot::AskedJob { queue, node, .. } | Pilot::UpdatedJob { queue, node, .. },
                ) => nodes.push(joint(&[queue, node])),
                Event::Pilot(Pilot::Workers { .. } | Pilot::Slots { .. })
                | Event::Task(_)
                | Event::Outcome(_)
                | Event::Queue(_)
                | Event::Site(_)
                | Event::Storage(_)
                | Event::Link(_)
                | Event::Parameter(_)
                | Event::Release(_)
                | Event::Share(_)
                | Event::Quota(_)
                | Event::User(_)
                | Event::Removed { .. }
                | Event::Decided(_)
                | Event::Garbled(_) => {}
            }
        }
    }
}

fn peek(keys: &[Key], index: &Index) -> u32 {
    keys.iter().fold(0, |seen, key| seen ^ index.peek(key.0))
}

/// Something of each line of a record.
fn record(job: &Job) -> u32 {
    job.beat.events ^ job.created_at as u32 ^ job.label.0
}

/// Something of the counters that a job stands in.
fn counted(state: &State, job: &Job) -> u32 {
    let Some(status) = job.status else { return 0 };
    let ledger = &state.ledger;
    let mut seen = 0;
    if let Some(load) = ledger.load.get(job.load) {
        let share = ledger.share.get(load.share);
        seen ^= load.count.by[status.index()].jobs;
        seen ^= share.map_or(0, |it| it.jobs[status.index()]);
    }
    for row in [job.user, job.group] {
        if row != NO_ROW {
            seen ^= ledger.who.get(row).map_or(0, |count| count.by[status.index()].jobs);
        }
    }
    seen
}
