//! Jobs of a pool that are not over, by the class of their workflow, and what waits of them. For
//! looks at the pool: its jobs are walked over, some 0.1 us each, and the loop waits for it.

use super::{PoolJob, PoolJobState, PoolWorkflowRecord};
use crate::event::Status;
use crate::state::State;
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};

/// So many jobs are looked at for workflows that wait.
const JOBS_MAX: usize = 500_000;

impl State {
    /// Jobs of a pool that are not over, each with the name of its class; empty where no record of
    /// its workflow was read.
    pub(crate) fn pool_jobs(&self) -> impl Iterator<Item = (&'static str, &PoolJobState)> {
        let jobs = self.pool.jobs.iter().filter_map(|(_, job)| job.state.as_ref());
        // Jobs come by name, and those of a workflow mostly one after another.
        let mut last = ("", "");
        jobs.filter(|it| !it.status.is_ended()).map(move |it| {
            if it.workflow != last.0 {
                let known = self.pool.workflows.of(&it.workflow);
                let record = known.and_then(|known| known.record.as_ref());
                last = (&it.workflow, record.map_or("", |record| record.facts.class.name()));
            }
            (last.1, it)
        })
    }

    /// Jobs of a pool that wait for slots, each with the record of its workflow where one was read.
    /// What waits of a workflow that ended, or was killed, waits no longer (C-49).
    pub(crate) fn idle_jobs(
        &self,
    ) -> impl Iterator<Item = (Option<&PoolWorkflowRecord>, &PoolJobState)> {
        let waiting = self.pool.jobs.iter().map(|(_, job)| job).filter(|job| job.waits());
        waiting.filter_map(|job| job.state.as_ref()).filter_map(|job| {
            let known = self.pool.workflows.of(&job.workflow);
            let record = known.and_then(|known| Some((known.killed, known.record.as_ref()?)));
            match record {
                None => Some((None, job)),
                Some((killed, record)) => {
                    (!killed && !record.closed).then_some((Some(record), job))
                }
            }
        })
    }

    /// How many jobs of a pool are in state `held`, by workflow.
    pub(crate) fn on_hold(&self) -> BTreeMap<&str, u64> {
        let states = self.pool.jobs.iter().filter_map(|(_, job)| job.state.as_ref());
        let mut on_hold = BTreeMap::new();
        for state in states.filter(|it| it.status == Status::Held) {
            *on_hold.entry(state.workflow.as_str()).or_default() += 1;
        }
        on_hold
    }

    /// A workflow of a pool that neither ended nor was killed.
    fn open_workflow(&self, name: &str) -> Option<&PoolWorkflowRecord> {
        let known = self.pool.workflows.of(name).filter(|known| !known.killed)?;
        known.record.as_ref().filter(|record| !record.closed)
    }

    /// Workflows of which jobs wait for slots.
    pub(crate) fn waiting_workflows(&self) -> impl Iterator<Item = &PoolWorkflowRecord> {
        let looked_at = self.pool.jobs.iter().take(JOBS_MAX);
        let waiting = looked_at.map(|(_, job)| job).filter(|job| job.waits());
        let names = waiting.filter_map(|job| Some(job.state.as_ref()?.workflow.as_str()));
        let names: BTreeSet<&str> = names.collect();
        names.into_iter().filter_map(|name| self.open_workflow(name))
    }
}

impl PoolJob {
    /// When it last got slots: when it was matched or, at the latest, when it started.
    pub(crate) fn given_at(&self) -> Option<Millis> {
        let started = self.state.as_ref().map(|it| it.started_at).filter(|at| *at > 0);
        self.last_match.map(|(_, at, _)| at).max(started)
    }
}
