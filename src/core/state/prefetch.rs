//! Looking ahead: what a run of events will need is touched before it is needed.
//!
//! A fold of one event waits for memory several times, each time for the place that the last one
//! named: index, record, counters. Over a run of events the waits of each kind are independent, so
//! they are taken together, each in a loop that does nothing else. Nothing is changed and nothing
//! depends on it but speed.

use crate::cut::Topic;
use crate::event::{Event, Pilot};
use crate::id::Key;
use crate::state::State;
use crate::state::job::Job;
use crate::state::rows::NO_ROW;
use crate::state::slab::Index;
use std::hint::black_box;

/// The thing an event is about, and where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sought {
    /// Number of the thing; [`Key::NONE`] for an event of which none is needed.
    pub key: Key,
    /// The slot it most likely has; [`Sought::NOWHERE`] if none was seen.
    pub slot: u32,
}

impl Sought {
    /// No slot.
    pub const NOWHERE: u32 = u32::MAX;

    /// A thing that was not looked for yet.
    pub fn thing(key: Key) -> Sought {
        Sought { key, slot: Sought::NOWHERE }
    }

    /// The thing an event is about. It can be found in its bytes before they are read whole.
    pub fn of(event: &Event<'_>) -> Sought {
        Sought::thing(match event {
            Event::JobState(event) => Key::of(event.job.as_bytes()),
            Event::Heartbeat(event) => Key::of(event.job.as_bytes()),
            Event::Transfer(event) => Key::of(event.request.as_bytes()),
            Event::Pilot(
                Pilot::AskedJob { queue, node, .. } | Pilot::UpdatedJob { queue, node, .. },
            ) => Key::joint(&[queue.as_bytes(), node.as_bytes()]),
            Event::Pilot(Pilot::Nodes { queue, .. }) => Key::joint(&[queue.as_bytes(), b"nodes"]),
            Event::Pilot(Pilot::Workers { queue, harvester, resource_type, .. }) => {
                Key::joint(&[queue.as_bytes(), harvester.as_bytes(), resource_type.as_bytes()])
            }
            Event::Pilot(
                Pilot::Slots { .. } | Pilot::SlotOffer { .. } | Pilot::SlotWithdrawn { .. },
            )
            | Event::Task(_)
            | Event::Outcome(_)
            | Event::Configuration(_)
            | Event::Removed { .. }
            | Event::Output(_)
            | Event::Garbled(_) => Key::NONE,
        })
    }
}

/// The things a run of events is about; reused from run to run for its memory.
#[derive(Default)]
pub struct Prefetch {
    run: Vec<(Topic, Sought)>,
}

impl Prefetch {
    /// Begins another run.
    pub fn clear(&mut self) {
        self.run.clear();
    }

    /// Notes what the next event of the run is about.
    #[inline]
    pub fn note(&mut self, topic: Topic, key: Key) {
        self.run.push((topic, Sought::thing(key)));
    }

    /// The events of the run, in the order in which they were noted.
    pub fn run(&self) -> impl Iterator<Item = Sought> {
        self.run.iter().map(|(_, sought)| *sought)
    }

    /// Touches what folding the run will need.
    pub fn look(&mut self, state: &State) {
        let mut seen = 0;
        for (topic, sought) in &self.run {
            seen ^= index(state, *topic).map_or(0, |index| index.peek(sought.key.0));
        }
        for (topic, sought) in &mut self.run {
            let slot = index(state, *topic).and_then(|index| index.guess(sought.key.0));
            sought.slot = slot.unwrap_or(Sought::NOWHERE);
        }
        for (topic, Sought { slot, .. }) in &self.run {
            seen ^= match topic {
                Topic::JobState => state.jobs.slab.get(*slot).map_or(0, touched),
                Topic::Heartbeat => {
                    state.jobs.slab.get(*slot).map_or(0, |job| job.heartbeat.events)
                }
                Topic::Transfer => state.transfers.slab.get(*slot).map_or(0, |it| it.flow),
                Topic::Pilot => state.nodes.slab.get(*slot).map_or(0, |it| it.queue.0),
                _ => 0,
            };
        }
        for (topic, Sought { slot, .. }) in &self.run {
            if *topic == Topic::JobState {
                seen ^= state.jobs.slab.peek(*slot) as u32;
                seen ^= state.jobs.slab.get(*slot).map_or(0, |job| counted(state, job));
            }
        }
        black_box(seen);
    }
}

/// The index in which the things of a topic's events are found.
#[inline]
fn index(state: &State, topic: Topic) -> Option<&Index> {
    match topic {
        Topic::JobState | Topic::Heartbeat => Some(&state.jobs.index),
        Topic::Transfer => Some(&state.transfers.index),
        Topic::Pilot => Some(&state.nodes.index),
        _ => None,
    }
}

/// Something of each line of a record.
#[inline]
fn touched(job: &Job) -> u32 {
    job.heartbeat.events ^ job.created_at as u32 ^ job.label.0
}

/// Something of the counters that a job stands in.
#[inline]
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
