//! Queues as metrics: those with the most jobs by name, the others as one.

use super::OTHER;
use super::current::{SampleWriter, clean};
use super::table::Metric;
use std::sync::{Mutex, PoisonError};
use yardmaster_core::event::Status;
use yardmaster_core::id::Name;
use yardmaster_core::state::State;

/// States of a worker, in the order of [`QueueLoad::workers`].
pub(super) const WORKERS: [&str; 2] = ["submitted", "running"];

/// Load of one queue; jobs and cores by [`Status::index`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueLoad {
    /// Queue.
    pub queue: String,
    /// Jobs.
    pub jobs: [u64; Status::COUNT],
    /// Their cores.
    pub cores: [u64; Status::COUNT],
    /// Workers submitted and not running, workers running.
    pub workers: [u64; 2],
    /// Slots to fill, where they were reported and hold.
    pub slots: Option<u64>,
}

impl QueueLoad {
    /// The loads of all queues that are known by a job, a worker or slots.
    pub fn of(state: &State) -> Vec<QueueLoad> {
        let wide = |numbers: [u32; Status::COUNT]| numbers.map(u64::from);
        let mut slots = state.slots_by_queue();
        let name = |queue: Name| state.names.text(queue).to_owned();
        let rows = state.ledger.queue.iter();
        let mut loads: Vec<QueueLoad> = rows
            .map(|(key, row)| QueueLoad {
                queue: name(Name(key[0])),
                jobs: wide(row.count.jobs()),
                cores: wide(row.count.cores()),
                workers: [row.workers_submitted, row.workers_running].map(u64::from),
                slots: slots.remove(&Name(key[0])),
            })
            .collect();
        loads.extend(slots.into_iter().map(|(queue, slots)| QueueLoad {
            queue: name(queue),
            slots: Some(slots),
            ..QueueLoad::default()
        }));
        loads
    }

    fn add(&mut self, other: &QueueLoad) {
        let sums = self.jobs.iter_mut().chain(&mut self.cores).chain(&mut self.workers);
        let others = other.jobs.iter().chain(&other.cores).chain(&other.workers);
        sums.zip(others).for_each(|(sum, other)| *sum += other);
        if let Some(slots) = other.slots {
            *self.slots.get_or_insert(0) += slots;
        }
    }
}

/// The load of all queues, and how many of them are shown by name.
pub(super) struct QueueLoads {
    domain: String,
    pub(super) shown_max: usize,
    loads: Mutex<Vec<QueueLoad>>,
}

impl QueueLoads {
    pub(super) fn new(domain: &str, shown_max: usize) -> QueueLoads {
        QueueLoads { domain: clean(domain), shown_max, loads: Mutex::default() }
    }

    /// Sets the load of all queues, in place of what was set before.
    pub(super) fn set(&self, loads: Vec<QueueLoad>) {
        *self.loads.lock().unwrap_or_else(PoisonError::into_inner) = loads;
    }

    /// Those that are shown, names as they stand in the text.
    fn shown(&self) -> Vec<QueueLoad> {
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let jobs = |load: &QueueLoad| load.jobs.iter().sum::<u64>();
        loads.sort_by(|a, b| jobs(b).cmp(&jobs(a)).then_with(|| a.queue.cmp(&b.queue)));
        if loads.len() > self.shown_max {
            let mut other = QueueLoad { queue: OTHER.to_string(), ..QueueLoad::default() };
            loads.drain(self.shown_max..).for_each(|load| other.add(&load));
            loads.push(other);
        }
        loads.iter_mut().for_each(|load| load.queue = clean(&load.queue));
        loads
    }

    /// Appends them to a text.
    pub(super) fn render(&self, text: &mut String) {
        let loads = self.shown();
        if loads.is_empty() {
            return;
        }
        let statuses = Status::ALL.map(Status::name);
        let mut writer = SampleWriter::new(text, &self.domain);
        write(&mut writer, Metric::QueueJobs, &loads, &statuses, |load| &load.jobs);
        write(&mut writer, Metric::QueueCores, &loads, &statuses, |load| &load.cores);
        write(&mut writer, Metric::QueueWorkers, &loads, &WORKERS, |load| &load.workers);
        if loads.iter().any(|load| load.slots.is_some()) {
            writer.begin(Metric::QueueSlots);
        }
        for load in &loads {
            if let Some(slots) = load.slots {
                writer.sample(Metric::QueueSlots, &[&load.queue], slots);
            }
        }
    }
}

/// Writes a metric with a queue and a state as its labels.
fn write(
    writer: &mut SampleWriter<'_>,
    metric: Metric,
    loads: &[QueueLoad],
    states: &[&str],
    of: fn(&QueueLoad) -> &[u64],
) {
    writer.begin(metric);
    for load in loads {
        for (state, value) in states.iter().zip(of(load)) {
            writer.sample(metric, &[&load.queue, state], value);
        }
    }
}
