//! A queue, or a site of a pool, at a glance, and the figures that every domain has of it.

use crate::event::Status;
use crate::id::Name;
use crate::state::State;
use crate::unit::{Bytes, Millis};
use std::collections::BTreeMap;

/// A queue, or a site of a pool. What a domain does not know of it is `None`, or an empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewRow {
    /// Name under which its jobs are counted.
    pub name: String,
    /// Its site, or cluster.
    pub site: String,
    /// It is shown among others of it: a cloud, a tier, a country.
    pub group: String,
    /// Its status, in the domain's own word.
    pub status: String,
    /// Jobs that run.
    pub running: u64,
    /// Jobs that have not begun to run: from pending to starting.
    pub queued: u64,
    /// Of these, jobs that nothing can start yet: of a cluster, those before its batch system.
    pub assigned: u64,
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
    /// Newest pilot report.
    pub last_pilot_at: Option<Millis>,
    /// Newest start of a job.
    pub last_start_at: Option<Millis>,
    /// Cores that it gives: pledge of a site of a pool, CPUs that a cluster publishes.
    pub pledged_cores: Option<u64>,
    /// Cores that are free: left of live offers, or published as free.
    pub free_cores: Option<u64>,
    /// Live offers with cores left.
    pub offers: Option<u64>,
    /// Newest offer, as far as that is remembered.
    pub last_offer_at: Option<Millis>,
    /// Whether the cluster answered when it was last asked.
    pub answered: Option<bool>,
    /// When its newest facts were true.
    pub as_of: Option<Millis>,
    /// When what is configured of it last changed: its status is not younger.
    pub changed_at: Option<Millis>,
    /// Jobs of the grid that it publishes as queued.
    pub grid_queued: Option<u64>,
    /// Jobs of others that it publishes as queued.
    pub local_queued: Option<u64>,
    /// Disk that a job may take there: of the user that has the most.
    pub disk_free_bytes: Option<Bytes>,
    /// What its cluster's cache has room for; `None`: it has no cache, or states no figure.
    pub cache_free_bytes: Option<Bytes>,
}

/// ViewRows under way, by name.
pub struct ViewRows(BTreeMap<String, ViewRow>);

impl ViewRows {
    /// Whatever has jobs, workers, slots or a reservation.
    pub(super) fn of(state: &State) -> ViewRows {
        let mut rows = ViewRows(BTreeMap::new());
        for (key, counted) in state.ledger.queue.iter() {
            let row = rows.at(state.names.text(Name(key[0])));
            let (jobs, cores) = (counted.count.jobs(), counted.count.cores());
            let queued =
                |of: &[u32]| of[..Status::Running.index()].iter().copied().map(u64::from).sum();
            row.running = jobs[Status::Running.index()].into();
            row.queued = queued(&jobs);
            let assigned = &jobs[..=Status::Assigned.index()];
            row.assigned = assigned.iter().copied().map(u64::from).sum();
            row.transferring = jobs[Status::Transferring.index()].into();
            row.running_cores = cores[Status::Running.index()].into();
            row.queued_cores = queued(&cores);
            row.pilots_running = counted.workers_running.into();
            row.pilots_submitted = counted.workers_submitted.into();
            row.reserved = counted.reserved.into();
        }
        for (queue, slots) in state.slots_by_queue() {
            rows.at(state.names.text(queue)).slots = Some(slots);
        }
        rows
    }

    /// The row of a name, made if there is none.
    pub(crate) fn at(&mut self, name: &str) -> &mut ViewRow {
        let make = || ViewRow { name: name.to_owned(), ..ViewRow::default() };
        self.0.entry(name.to_owned()).or_insert_with(make)
    }

    /// All of them.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut ViewRow> {
        self.0.values_mut()
    }

    /// Adds when each was last heard of.
    pub(super) fn note_marks(&mut self, state: &State) {
        for (queue, marks) in &state.marks {
            if let Some(row) = self.0.get_mut(state.names.text(*queue)) {
                row.last_pilot_at = Some(marks.pilot).filter(|at| *at > 0);
                row.last_start_at = Some(marks.start).filter(|at| *at > 0);
            }
        }
    }

    /// All that have a name: jobs that are nowhere yet have none.
    pub(super) fn finish(self) -> Vec<ViewRow> {
        self.0.into_values().filter(|row| !row.name.is_empty()).collect()
    }
}
