//! When records of a pool are due to be looked at, or may be forgotten. Derived: after a restart
//! all is set again from the records.

use super::{PoolJob, PoolNode, PoolOffer, PoolWorkflow};
use crate::id::Key;
use crate::state::State;
use crate::unit::{DAY, HOUR, Millis, SECOND};

/// Drains begun within so long count for a site's rate (C-55).
pub(super) const DRAIN_STARTS_REACH: Millis = HOUR;
/// A drain whose job did not come ends so long after it was to be ready.
pub(super) const DRAIN_OVERDUE: Millis = DAY;
/// A node that no offer names is forgotten after so long.
pub(super) const NODE_LIFETIME: Millis = 30 * DAY;

impl State {
    /// Sets when a job is to be looked at again: when its match may be released, and when it may be
    /// forgotten.
    pub(super) fn arm_pool_job(&mut self, job: &str) {
        let Some(setting) = self.setting.pool else { return };
        let Some(held) = self.pool.jobs.of(job) else { return };
        // One that was taken up ends with its job, which is read; were it due, each running job
        // would be looked at in every cycle.
        let is_taken_up = |attempt: u32| {
            let state = held.state.as_ref().filter(|state| state.attempt == attempt);
            state.is_some_and(|state| state.is_started())
        };
        let waits = held.matched.as_ref().filter(|it| !is_taken_up(it.matched.job_attempt));
        if let Some(matched) = waits {
            let release = matched.clock.saturating_add(setting.match_lifetime_ms);
            self.pool.due.matches.set(release, job);
        }
        if let Some(over) = self.pool_job_over(held) {
            self.pool.due.jobs.set(over, job);
        }
    }

    /// When a job may be forgotten: so long after its end, or after its last sign of life. `None`:
    /// of it nothing is known but what we decided.
    pub(super) fn pool_job_over(&self, job: &PoolJob) -> Option<Millis> {
        let limits = &self.setting.limits;
        let state = job.state.as_ref()?;
        if state.status.is_ended() {
            return Some(state.over_at().saturating_add(limits.ended_job_lifetime_ms));
        }
        let alive = self.jobs.of(Key::of(job.job.as_bytes()));
        let sign = state.changed_at.max(alive.map_or(0, |alive| alive.heartbeat.at));
        Some(sign.saturating_add(limits.silent_job_lifetime_ms))
    }

    /// Sets when an offer expires and may be forgotten.
    pub(crate) fn arm_offer(&mut self, offer: &str) {
        let Some(PoolOffer { offer: announced, kept_until, .. }) = self.pool.offers.of(offer)
        else {
            return;
        };
        let mut all = vec![announced.expires_at, *kept_until];
        all.dedup();
        self.pool.due.offers.set_all(all, offer);
    }

    /// Sets when a workflow may be forgotten.
    pub(crate) fn arm_workflow(&mut self, workflow: &str) {
        let Some(held) = self.pool.workflows.of(workflow) else { return };
        let over = self.workflow_over(held);
        self.pool.due.workflows.set(over, workflow);
    }

    /// When a workflow without jobs may be forgotten: one that may get jobs lives longer.
    pub(super) fn workflow_over(&self, workflow: &PoolWorkflow) -> Millis {
        let limits = &self.setting.limits;
        let is_open = workflow.record.as_ref().is_some_and(|record| !record.closed);
        let lifetime = match is_open && !workflow.killed {
            true => limits.request_lifetime_ms.max(limits.silent_job_lifetime_ms),
            false => limits.request_lifetime_ms,
        };
        workflow.used_at.saturating_add(lifetime)
    }

    /// Sets when a node is to be looked at again.
    pub(crate) fn arm_node(&mut self, node: &str) {
        let Some(held) = self.pool.nodes.of(node) else { return };
        self.pool.due.nodes.set(node_due(held), node);
    }

    /// Finds everything again after the records were put in by slot. Jobs that the last cycle
    /// matched or left without a state are settled by the next one, as they would have been.
    pub fn settle_pool(&mut self) {
        let pool = &mut self.pool;
        pool.jobs.settle(|it| &it.job);
        pool.workflows.settle(|it| &it.workflow);
        pool.offers.settle(|it| &it.offer.offer);
        pool.users.settle(|it| &it.user);
        pool.nodes.settle(|it| &it.node);
        let matches = pool.jobs.iter();
        let matches =
            matches.filter_map(|(name, job)| Some((job.matched.as_ref()?.decision, name)));
        pool.matches = matches.map(|(decision, name)| (decision, name.to_owned())).collect();
        for (name, job) in pool.jobs.iter() {
            for (offer, _) in &job.barred {
                pool.barred.entry(offer.clone()).or_default().insert(name.to_owned());
            }
        }
        let jobs: Vec<(String, Option<String>, bool)> = pool.jobs.iter().map(of_job).collect();
        for (job, workflow, is_unsettled) in jobs {
            workflow.iter().for_each(|workflow| self.pool.count_job(workflow, true));
            self.arm_pool_job(&job);
            if is_unsettled {
                self.pool.unsettled.jobs.insert(job);
            }
        }
        let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<String>>();
        let offers = names(self.pool.offers.by_name.keys().collect());
        offers.iter().for_each(|offer| self.arm_offer(offer));
        let workflows = names(self.pool.workflows.by_name.keys().collect());
        workflows.iter().for_each(|workflow| self.arm_workflow(workflow));
        let nodes = names(self.pool.nodes.by_name.keys().collect());
        nodes.iter().for_each(|node| self.arm_node(node));
        self.pool.touched.everything = true;
    }
}

fn of_job((name, job): (&str, &PoolJob)) -> (String, Option<String>, bool) {
    let workflow = job.state.as_ref().map(|state| state.workflow.clone());
    let is_unsettled = job.matched.is_some() || job.state.is_none() || job.seen_at == 0;
    (name.to_owned(), workflow, is_unsettled)
}

/// When a node is to be looked at: a start of a drain grows old, a drain is overdue, or it may be
/// forgotten.
pub(super) fn node_due(node: &PoolNode) -> Millis {
    let start = node.drain_starts.first().map(|start| start.saturating_add(DRAIN_STARTS_REACH));
    let drain = node.drain.as_ref().map(|drain| {
        let until = drain.until_s.saturating_mul(SECOND);
        until.max(drain.since).saturating_add(DRAIN_OVERDUE)
    });
    let over = node.seen_at.max(node.ended_drain).saturating_add(NODE_LIFETIME);
    start.into_iter().chain(drain).min().unwrap_or(over)
}
