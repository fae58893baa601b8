//! The end of a cycle for a pool's records: what follows from several of them at once, and
//! forgetting.

use super::due::{DRAIN_OVERDUE, DRAIN_STARTS_REACH, NODE_LIFETIME};
use super::{PoolEnd, PoolJob, PoolMatch, PoolUnsettled};
use crate::cut::Topic;
use crate::event::{FailureClass, OwnRequirements, Status};
use crate::oddity::Oddity;
use crate::output::decision::DecisionId;
use crate::state::State;
use crate::state::admit::PLAUSIBLE_FROM;
use crate::unit::{DAY, Millis, SECOND};
use std::collections::{BTreeMap, BTreeSet};

/// So many announcements are remembered of which a job did not get its place.
const BARRED_MAX: usize = 16;

/// Ends of attempts by job, then by attempt.
type Ends = BTreeMap<String, Vec<PoolEnd>>;

impl State {
    /// Settles what was read and what is due. `horizon`: what ended until then may have been
    /// counted and forgotten before.
    pub(crate) fn close_pool(&mut self, horizon: Millis) {
        let Some(setting) = self.setting.pool else { return };
        self.pass_decay(setting.half_life_s);
        let unsettled = std::mem::take(&mut self.pool.unsettled);
        let PoolUnsettled { mut jobs, ends, workflows, not_done } = unsettled;
        jobs.extend(not_done.iter().filter_map(|id| self.pool.matches.get(id)).cloned());
        let lanes = *self.times.of(Topic::JobState);
        jobs.extend(self.pool.due.jobs.take(lanes.time));
        jobs.extend(self.pool.due.matches.take(lanes.clock));
        let mut by_job = Ends::new();
        for ((job, _), end) in ends {
            by_job.entry(job).or_default().push(end);
        }
        for job in jobs {
            let ends = by_job.remove(&job).unwrap_or_default();
            self.settle_job(&job, &ends, &not_done, horizon);
        }
        workflows.iter().for_each(|workflow| self.settle_workflow(workflow));
        self.forget_offers();
        self.lift_bars();
        self.forget_workflows();
        self.look_at_nodes();
        if self.before.div_euclid(DAY) != self.now.div_euclid(DAY)
            && let Some(decay) = self.pool.decay
        {
            self.forget_users(decay);
        }
    }

    fn settle_job(
        &mut self,
        name: &str,
        ends: &[PoolEnd],
        not_done: &BTreeSet<DecisionId>,
        horizon: Millis,
    ) {
        let Some(mut job) = self.pool.jobs.of(name).cloned() else { return };
        if job.seen_at == 0 {
            job.seen_at = self.now;
        }
        self.place_by_sight(&mut job);
        for end in ends.iter().filter(|end| end.state.over_at() > horizon) {
            if job.tallied < Some(end.state.attempt) {
                self.tally(&job, end);
                job.tallied = Some(end.state.attempt);
                job.failed = failure_of(&job, end);
            }
        }
        let is_done = |it: &PoolMatch| !not_done.contains(&it.decision);
        let is_held = job.state.as_ref().is_some_and(|it| it.status == Status::Held);
        let is_not_done = !job.matched.as_ref().is_none_or(is_done);
        if !job.has_run() && (is_not_done || is_held) {
            self.give_back(&mut job);
        } else if self.is_match_over(&job) {
            self.charge_held(&job);
            self.release(&mut job);
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

    /// The place of a job that states none: so many of its workflow were seen before it (C-47). One
    /// that was over when it was first seen has none: its report may be an old one.
    fn place_by_sight(&mut self, job: &mut PoolJob) {
        let is_unnumbered = job.requirements.as_ref().is_some_and(|(.., it)| it.seq.is_none());
        let Some(state) = job.state.as_ref().filter(|it| !it.workflow.is_empty()) else { return };
        if job.seen_as.is_none()
            && is_unnumbered
            && !state.status.is_ended()
            && let Some(workflow) = self.pool.workflow_at(&state.workflow)
        {
            workflow.seen_jobs += 1;
            job.seen_as = Some(workflow.seen_jobs);
            workflow.used_at = workflow.used_at.max(self.now);
            self.arm_workflow(&state.workflow);
        }
    }

    /// A match holds nothing any more.
    fn release(&mut self, job: &mut PoolJob) {
        if let Some(matched) = job.matched.take() {
            self.pool.matches.remove(&matched.decision);
        }
    }

    /// A job that ran and is held gives its place up: what it used counts in its user's share.
    fn charge_held(&mut self, job: &PoolJob) {
        if let (Some(matched), Some(state)) = (&job.matched, &job.state)
            && state.status == Status::Held
            && state.attempt == matched.matched.job_attempt
        {
            let second = |at: Millis| at.min(self.now).max(0).div_euclid(SECOND);
            let (started_s, held_s) = (second(state.started_at), second(state.changed_at));
            self.add_usage(matched, started_s.min(held_s), held_s);
        }
    }

    /// A match that was not carried out: its place is free, and this job does not get it again. A
    /// job that started says itself what it holds.
    fn give_back(&mut self, job: &mut PoolJob) {
        let Some(PoolMatch { offer, announced, matched, .. }) = job.matched.clone() else { return };
        self.release(job);
        job.barred.retain(|(name, _)| *name != offer);
        if job.barred.len() >= BARRED_MAX {
            let (before, _) = job.barred.remove(0);
            self.pool.unbar(&before, &job.job);
        }
        self.pool.barred.entry(offer.clone()).or_default().insert(job.job.clone());
        let is_known = self.pool.offers.of(&offer).is_some_and(|it| it.offer.attempt == announced);
        if let Some(held) = self.pool.offer_at(&offer).filter(|_| is_known) {
            held.take(&matched, -1);
        }
        job.barred.push((offer, announced));
    }

    /// Whether a match holds nothing any more: its attempt ended or is held, a later one is known,
    /// or it was not taken up in time (C-58).
    fn is_match_over(&self, job: &PoolJob) -> bool {
        let (Some(matched), Some(setting)) = (&job.matched, self.setting.pool) else {
            return false;
        };
        let attempt = matched.matched.job_attempt;
        let of_attempt = job.state.as_ref().filter(|state| state.attempt == attempt);
        if let Some(state) = of_attempt
            && (state.status.is_ended() || state.status == Status::Held || state.is_started())
        {
            return !state.is_started() || state.status.is_ended();
        }
        let is_later = job.state.as_ref().is_some_and(|state| state.attempt > attempt);
        let waited = self.times.of(Topic::JobState).clock.saturating_sub(matched.clock);
        is_later || waited >= setting.match_lifetime_ms
    }

    fn forget_pool_job(&mut self, name: &str) {
        let Some(mut job) = self.pool.jobs.remove(name) else { return };
        self.release(&mut job);
        job.barred.iter().for_each(|(offer, _)| self.pool.unbar(offer, name));
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

    /// A job is barred from an announcement as long as that holds.
    fn lift_bars(&mut self) {
        let names: Vec<String> = {
            let changed = self.pool.touched.offers.iter();
            changed.filter(|offer| self.pool.barred.contains_key(*offer)).cloned().collect()
        };
        for name in names {
            let offer = self.pool.offers.of(&name).filter(|it| it.is_live(self.now));
            let holds = offer.map(|it| it.offer.attempt);
            for job in self.pool.barred.get(&name).cloned().unwrap_or_default() {
                let Some(known) = self.pool.jobs.of(&job) else {
                    self.pool.unbar(&name, &job);
                    continue;
                };
                let bars = |it: &&(String, u32)| it.0 == name;
                let is_lifted = known.barred.iter().filter(bars).all(|it| Some(it.1) != holds);
                if is_lifted && let Some(known) = self.pool.jobs.at_known(&job) {
                    known.barred.retain(|it| it.0 != name);
                    self.pool.touched.jobs.insert(job.clone());
                    self.pool.unbar(&name, &job);
                }
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

/// How the attempt that ended failed, and its exit code; `None`: it did not fail.
fn failure_of(job: &PoolJob, end: &PoolEnd) -> Option<(Option<FailureClass>, Option<i64>)> {
    let known = job.requirements.as_ref().filter(|(attempt, ..)| *attempt == end.state.attempt);
    let stated = end.requirements.as_ref().or(known.map(|(.., it)| it));
    let how = |it: &OwnRequirements| it.failure.is_some() || it.exit_code.is_some();
    let failed = match end.state.status {
        Status::Failed => true,
        Status::Cancelled => stated.is_some_and(how),
        _ => false,
    };
    failed.then(|| stated.map_or((None, None), |it| (it.failure, it.exit_code)))
}
