//! The grid at a glance, as of a cycle: each queue with its jobs, pilots and state; shares. What
//! the page and `top` show, and what the history keeps beside the counters. It is made of the
//! counters and the configuration, never of single jobs.

use crate::described::described;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::is_newer;
use yardmaster_core::event::{Queue, Status};
use yardmaster_core::id::Name;
use yardmaster_core::judge::share::share_use;
use yardmaster_core::policy::DomainTile;
use yardmaster_core::state::State;
use yardmaster_core::unit::Millis;

/// The grid as of a cycle.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The cycle's `now`.
    pub now: Millis,
    /// The cycle.
    pub cycle: u64,
    /// Requests that wait for an answer or for a better one.
    pub requests_open: u64,
    /// Every queue that a fact or a job names, by name.
    pub queues: Vec<QueueView>,
    /// Leaf shares, by name.
    pub shares: Vec<ShareView>,
}

described! {
    /// A queue.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct QueueView {
        /// Name under which its jobs are counted.
        pub queue: String,
        /// Site; empty where no fact names one.
        pub site: String,
        /// Status; empty where there is no fact about it.
        pub status: String,
        /// Jobs that run.
        pub running: u64,
        /// Jobs that have not begun to run: from pending to starting.
        pub queued: u64,
        /// Jobs whose output is on its way.
        pub transferring: u64,
        /// Cores of jobs that run.
        pub running_cores: u64,
        /// Cores of jobs that have not begun to run.
        pub queued_cores: u64,
        /// Workers that run.
        pub pilots_running: u64,
        /// Workers that were submitted and do not run.
        pub pilots_submitted: u64,
        /// Slots to fill, where they were reported and hold.
        pub slots: Option<u64>,
        /// Jobs that decisions send there and that were not seen yet.
        pub reserved: u64,
        /// Newest pilot report; ms since 1970.
        pub last_pilot_at: Option<Millis>,
        /// Newest start of a job; ms since 1970.
        pub last_start_at: Option<Millis>,
    }
}

described! {
    /// A leaf share.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct ShareView {
        /// Its name.
        pub gshare: String,
        /// Its part of the running power, from 0 to 1.
        pub r#use: f64,
        /// Its part by the tree of shares, from 0 to 1.
        pub target: f64,
    }
}

impl View {
    /// The grid as the last cycle left it.
    pub fn of(engine: &Engine) -> View {
        let state = &engine.state;
        View {
            now: state.now,
            cycle: state.number,
            requests_open: engine.waiting() as u64,
            queues: queues(state, &engine.domain_tiles()),
            shares: shares(state),
        }
    }
}

fn queues(state: &State, tiles: &[DomainTile]) -> Vec<QueueView> {
    let mut views: BTreeMap<&str, QueueView> = BTreeMap::new();
    let records = state.facts.queues.iter();
    for queue in records.filter_map(|(_, fact)| fact.current(is_newer)) {
        // Pseudo-queues share the jobs of their unified queue, whose own record speaks for it.
        let view = views.entry(&queue.unified).or_default();
        if view.queue.is_empty() || queue.name == queue.unified {
            *view = of_fact(queue);
        }
    }
    for (key, row) in state.ledger.queue.iter() {
        let name = state.names.text(Name(key[0]));
        let view = views.entry(name).or_default();
        name.clone_into(&mut view.queue);
        let (jobs, cores) = (row.count.jobs(), row.count.cores());
        let queued =
            |of: &[u32]| of[..Status::Running.index()].iter().copied().map(u64::from).sum();
        view.running = jobs[Status::Running.index()].into();
        view.queued = queued(&jobs);
        view.transferring = jobs[Status::Transferring.index()].into();
        view.running_cores = cores[Status::Running.index()].into();
        view.queued_cores = queued(&cores);
        view.pilots_running = row.workers_running.into();
        view.pilots_submitted = row.workers_submitted.into();
        view.reserved = row.reserved.into();
    }
    for (queue, slots) in state.slots_by_queue() {
        let name = state.names.text(queue);
        let view = views.entry(name).or_default();
        name.clone_into(&mut view.queue);
        view.slots = Some(slots);
    }
    for (queue, marks) in &state.marks {
        if let Some(view) = views.get_mut(state.names.text(*queue)) {
            view.last_pilot_at = Some(marks.pilot).filter(|at| *at > 0);
            view.last_start_at = Some(marks.start).filter(|at| *at > 0);
        }
    }
    for tile in tiles {
        let view = views.entry(&tile.name).or_default();
        *view = QueueView { reserved: view.reserved, ..of_tile(tile) };
    }
    views.into_values().filter(|view| !view.queue.is_empty()).collect()
}

fn of_fact(queue: &Queue) -> QueueView {
    QueueView {
        queue: queue.unified.clone(),
        site: queue.site.clone(),
        status: queue.status.name().to_owned(),
        ..QueueView::default()
    }
}

fn of_tile(tile: &DomainTile) -> QueueView {
    QueueView {
        queue: tile.name.clone(),
        status: tile.status.clone(),
        running: tile.running,
        queued: tile.queued,
        running_cores: tile.running_cores,
        queued_cores: tile.queued_cores,
        ..QueueView::default()
    }
}

fn shares(state: &State) -> Vec<ShareView> {
    let mut shares: Vec<ShareView> = share_use(state)
        .into_iter()
        .map(|it| ShareView { gshare: it.gshare, r#use: it.part, target: it.target })
        .collect();
    shares.sort_by(|a, b| a.gshare.cmp(&b.gshare));
    shares
}
