//! The end of a cycle for a pool's records: what follows from several of them at once, and
//! forgetting.

use super::due::{DRAIN_OVERDUE, DRAIN_STARTS_REACH, NODE_LIFETIME};
use super::{PoolEnd, PoolJob, PoolUnsettled};
use crate::cut::Topic;
use crate::oddity::Oddity;
use crate::state::State;
use crate::state::admit::PLAUSIBLE_FROM;
use crate::unit::{DAY, Millis, SECOND};
use std::collections::BTreeMap;

/// Ends of attempts by job, then by attempt.
type Ends = BTreeMap<String, Vec<PoolEnd>>;

impl State {
    /// Settles what was read and what is due. `horizon`: what ended until then may have been
    /// counted and forgotten before.
    pub(crate) fn close_pool(&mut self, horizon: Millis) {
        let Some(setting) = self.setting.pool else { return };
        self.pass_decay(setting.half_life_s);
        let PoolUnsettled { mut jobs, ends, workflows } = std::mem::take(&mut self.pool.unsettled);
        let lanes = *self.times.of(Topic::JobState);
        jobs.extend(self.pool.due.jobs.take(lanes.time));
        jobs.extend(self.pool.due.matches.take(lanes.clock));
        let mut by_job = Ends::new();
        for ((job, _), end) in ends {
            by_job.entry(job).or_default().push(end);
        }
        for job in jobs {
            let ends = by_job.remove(&job).unwrap_or_default();
            self.settle_job(&job, &ends, horizon);
        }
        workflows.iter().for_each(|workflow| self.settle_workflow(workflow));
        self.forget_offers();
        self.forget_workflows();
        self.look_at_nodes();
        if self.before.div_euclid(DAY) != self.now.div_euclid(DAY)
            && let Some(decay) = self.pool.decay
        {
            self.forget_users(decay);
        }
    }

    fn settle_job(&mut self, name: &str, ends: &[PoolEnd], horizon: Millis) {
        let Some(mut job) = self.pool.jobs.of(name).cloned() else { return };
        for end in ends.iter().filter(|end| end.state.over_at() > horizon) {
            if job.tallied < Some(end.state.attempt) {
                self.tally(&job, end);
                job.tallied = Some(end.state.attempt);
            }
        }
        if job.seen_at == 0 {
            job.seen_at = self.now;
        }
        if self.is_match_over(&job) {
            job.matched = None;
        }
        let time = self.times.of(Topic::JobState).time;
        let is_over = match self.pool_job_over(&job) {
            Some(over) => over <= time,
            None => job.matched.is_none(),
        };
        if is_over {
            return self.forget_pool_job(name);
        }
        if self.pool.jobs.of(name) != Some(&job) {
            self.pool.touched.jobs.insert(name.to_owned());
            if let Some(held) = self.pool.jobs.at_known(name) {
                *held = job;
            }
        }
        self.arm_pool_job(name);
    }

    /// Whether a match holds nothing any more: its attempt ended, a later one is known, or it was
    /// not taken up in time (C-58).
    fn is_match_over(&self, job: &PoolJob) -> bool {
        let (Some(matched), Some(setting)) = (&job.matched, self.setting.pool) else {
            return false;
        };
        let attempt = matched.matched.job_attempt;
        let of_attempt = job.state.as_ref().filter(|state| state.attempt == attempt);
        if let Some(state) = of_attempt
            && (state.status.is_ended() || state.is_started())
        {
            return state.status.is_ended();
        }
        let is_later = job.state.as_ref().is_some_and(|state| state.attempt > attempt);
        let waited = self.times.of(Topic::JobState).clock.saturating_sub(matched.clock);
        is_later || waited >= setting.match_lifetime_ms
    }

    fn forget_pool_job(&mut self, name: &str) {
        let Some(job) = self.pool.jobs.remove(name) else { return };
        self.pool.touched.jobs.insert(name.to_owned());
        let Some(state) = job.state else { return };
        self.pool.count_job(&state.workflow, false);
        if let Some(workflow) = self.pool.workflows.at_known(&state.workflow) {
            workflow.used_at = self.now;
            self.arm_workflow(&state.workflow);
        }
    }

    /// A record of a workflow was read. One that states a time ahead of `now` by more than the
    /// limit counts as of `now`: the log's stamp on it lies ahead too.
    fn settle_workflow(&mut self, name: &str) {
        let now = self.now;
        let latest = now.saturating_add(self.setting.limits.own_time_ahead_ms);
        let Some(workflow) = self.pool.workflows.at_known(name) else { return };
        workflow.used_at = now;
        let mut is_ahead = false;
        if let Some(record) = workflow.record.as_mut().filter(|_| now >= PLAUSIBLE_FROM) {
            for time in [&mut record.changed_at, &mut record.injected_at] {
                is_ahead |= *time > latest;
                *time = if *time > latest { now } else { *time };
            }
        }
        if let Some(priority) = workflow.priority.as_mut().filter(|_| now >= PLAUSIBLE_FROM) {
            let at = &mut priority.changed_at;
            *at = if *at > latest { now } else { *at };
        }
        if is_ahead {
            self.oddities.count(Topic::Task, Oddity::FromTheFuture);
        }
        self.arm_workflow(name);
    }

    fn forget_workflows(&mut self) {
        for name in self.pool.due.workflows.take(self.now) {
            let Some(workflow) = self.pool.workflows.of(&name) else { continue };
            let over = self.workflow_over(workflow);
            if over > self.now {
                self.pool.due.workflows.set(over, &name);
            } else if self.pool.jobs_of.contains_key(&name) {
                self.pool.due.workflows.set(self.now.saturating_add(DAY), &name);
            } else {
                self.pool.workflows.remove(&name);
                // What follows from its records cannot be taken back one by one.
                self.pool.touched.everything = true;
            }
        }
    }

    /// Offers that expired are noted; those that cannot be read again as if they held are
    /// forgotten.
    fn forget_offers(&mut self) {
        for name in self.pool.due.offers.take(self.now) {
            let Some(offer) = self.pool.offers.of(&name) else { continue };
            if offer.kept_until <= self.now {
                self.pool.offers.remove(&name);
            }
            self.pool.touched.offers.insert(name);
        }
    }

    fn look_at_nodes(&mut self) {
        let now = self.now;
        for name in self.pool.due.nodes.take(now) {
            let Some(node) = self.pool.nodes.at_known(&name) else { continue };
            node.drain_starts.retain(|start| start.saturating_add(DRAIN_STARTS_REACH) > now);
            let overdue = node.drain.as_ref().filter(|drain| {
                let until = drain.until_s.saturating_mul(SECOND).max(drain.since);
                until.saturating_add(DRAIN_OVERDUE) <= now
            });
            if let Some(since) = overdue.map(|drain| drain.since) {
                (node.ended_drain, node.drain) = (node.ended_drain.max(since), None);
            }
            let last = node.seen_at.max(node.ended_drain);
            let is_idle = node.drain.is_none() && node.drain_starts.is_empty();
            self.pool.touched.nodes.insert(name.clone());
            if is_idle && last.saturating_add(NODE_LIFETIME) <= now {
                self.pool.nodes.remove(&name);
                self.pool.touched.everything = true;
            } else {
                self.arm_node(&name);
            }
        }
    }
}
