//! The end of a job's attempt: tallies of its workflow, and usage of its user.

use super::{PoolEnd, PoolEnded, PoolJob, PoolMatch, PoolUser, TEST_JOBS_MAX};
use crate::event::{FailureClass, OwnRequirements, Status};
use crate::math::decay::Decay;
use crate::state::State;
use crate::unit::{Millis, SECOND};

impl State {
    /// Counts the end of an attempt: in its workflow, and, where we had given it a place, in the
    /// usage of its user.
    pub(super) fn tally(&mut self, job: &PoolJob, end: &PoolEnd) {
        let of_attempt = |it: &&PoolMatch| it.matched.job_attempt == end.state.attempt;
        let matched = job.matched.as_ref().filter(of_attempt);
        let (started_s, ended_s) = self.span_of(end);
        let ran = end.state.started_at != 0;
        let known = job.requirements.as_ref().map(|(.., known)| known);
        let requirements = end.requirements.as_ref().or(known);
        self.tally_workflow(job, end, requirements, matched.filter(|_| ran), ended_s - started_s);
        if let Some(matched) = matched.filter(|_| ran) {
            self.add_usage(matched, started_s, ended_s);
        }
    }

    /// When a payload ran, s: nothing ends before it starts, nor later than now.
    fn span_of(&self, end: &PoolEnd) -> (i64, i64) {
        let second = |at: Millis| at.min(self.now).max(0).div_euclid(SECOND);
        let ended = second(end.state.over_at());
        match end.state.started_at {
            0 => (ended, ended),
            started => (second(started).min(ended), ended),
        }
    }

    fn tally_workflow(
        &mut self,
        job: &PoolJob,
        end: &PoolEnd,
        requirements: Option<&OwnRequirements>,
        ran_as: Option<&PoolMatch>,
        wall_s: i64,
    ) {
        if end.state.workflow.is_empty() {
            return;
        }
        let now = self.now;
        let Some(workflow) = self.pool.workflow_at(&end.state.workflow) else { return };
        let status = end.state.status;
        let failure = requirements.and_then(|it| it.failure);
        let is_removed = is_taken_away(status, requirements);
        let is_last = is_removed || requirements.is_some_and(|it| it.last_attempt);
        match status {
            Status::Finished => workflow.done += 1,
            _ if is_last => workflow.failed_final += 1,
            _ => {}
        }
        let overflow = ran_as.filter(|it| !it.matched.overflow_source.is_empty());
        if let Some(PoolMatch { site, .. }) = overflow
            && let Err(at) = workflow.overflow_sites.binary_search(site)
        {
            workflow.overflow_sites.insert(at, site.clone());
        }
        let place = |it: &OwnRequirements| it.seq.or(job.seen_as).unwrap_or_default();
        let early = requirements.map(|it| (it, place(it)));
        if let Some((it, seq)) = early.filter(|(_, place)| (1..=TEST_JOBS_MAX).contains(place)) {
            // That somebody took a job away says nothing of its program.
            let unstated =
                if is_removed { FailureClass::Infrastructure } else { Default::default() };
            let failure = if is_removed { unstated } else { failure.unwrap_or(unstated) };
            let base_cores = it.base_cores.unwrap_or(it.cores_min).max(1);
            let cores = match end.state.cores {
                0 => ran_as.map_or(base_cores, |matched| matched.matched.cores),
                stated => i64::from(stated),
            };
            let ended = PoolEnded {
                job: job.job.clone(),
                failure: (status != Status::Finished).then_some(failure),
                exit_code: it.exit_code.filter(|_| it.failure.is_none() && !is_removed),
                is_last,
                site: end.state.site.clone(),
                wall_s,
                rss_mb: it.used_rss_mb,
                cores,
                base_cores,
                site_whitelist: it.site_whitelist.clone(),
            };
            // The last attempt says what became of the job; those before it say nothing more.
            let of_place = (seq, i64::MIN)..=(seq, i64::MAX);
            let attempt = i64::from(end.state.attempt);
            let newest = workflow.ended.range(of_place).next_back().map(|(at, _)| at.1);
            if newest.is_none_or(|newest| newest <= attempt) {
                newest.iter().for_each(|old| _ = workflow.ended.remove(&(seq, *old)));
                workflow.ended.insert((seq, attempt), ended);
            }
        }
        workflow.used_at = now;
        self.arm_workflow(&end.state.workflow);
    }

    /// A user's decayed usage after a job ended (F-3).
    pub(super) fn add_usage(&mut self, matched: &PoolMatch, started_s: i64, ended_s: i64) {
        let Some(decay) = self.pool.decay else { return };
        let grown = decay.growth(ended_s) - decay.growth(started_s);
        let x = i128::from(matched.matched.usage_milli).saturating_mul(grown);
        let name = &matched.user;
        let make = || PoolUser {
            user: name.clone(),
            x: 0,
            half_life_s: decay.half_life_s(),
            landmark: decay.landmark(),
        };
        self.pool.touched.users.insert(name.clone());
        if let Some(user) = self.pool.users.at(name, make) {
            user.x = user.x.saturating_add(x);
        }
    }

    /// The clock of decay follows the time: the landmark of all users moves alike. Where a policy
    /// has another half-life than before, every user's usage stays what it is now.
    pub(super) fn pass_decay(&mut self, half_life_s: i64) {
        let now_s = self.now.max(0).div_euclid(SECOND);
        let decay = Decay::at(half_life_s.max(1), now_s);
        let before = self.pool.decay.replace(decay);
        if before == Some(decay) {
            return;
        }
        let mut is_other = before.is_some();
        let slots: Vec<u32> = self.pool.users.slab.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            let Some(user) = self.pool.users.slab.get_mut(slot) else { continue };
            is_other |= restate(user, &decay, now_s);
        }
        self.pool.touched.everything |= is_other;
    }

    /// Once a day: users of whose use nothing is left.
    pub(super) fn forget_users(&mut self, decay: Decay) {
        let growth = decay.growth(self.now.max(0).div_euclid(SECOND));
        let is_over = |user: &PoolUser| user.x.div_euclid(growth) == 0;
        let over = self.pool.users.iter().filter(|(_, user)| is_over(user));
        let over: Vec<String> = over.map(|(name, _)| name.to_owned()).collect();
        for name in over {
            self.pool.users.remove(&name);
            self.pool.touched.users.insert(name);
        }
    }
}

/// States a user's X by another clock; whether it was stated otherwise.
fn restate(user: &mut PoolUser, decay: &Decay, now_s: i64) -> bool {
    let (half_life_s, landmark) = (decay.half_life_s(), decay.landmark());
    if (user.half_life_s, user.landmark) == (half_life_s, landmark) {
        return false;
    }
    user.x = match (half_life_s == user.half_life_s, landmark - user.landmark) {
        (true, moved @ 0..) => user.x >> moved.min(126),
        _ => {
            let before = Decay::of(user.half_life_s.max(1), user.landmark);
            user.x.div_euclid(before.growth(now_s)).saturating_mul(decay.growth(now_s))
        }
    };
    (user.half_life_s, user.landmark) = (half_life_s, landmark);
    true
}

/// Whether somebody took a job away: one that its own limits end states how it failed, or its exit
/// code, and may be tried again as any other.
fn is_taken_away(status: Status, requirements: Option<&OwnRequirements>) -> bool {
    let says = |it: &OwnRequirements| it.failure.is_some() || it.exit_code.is_some();
    match status {
        Status::Cancelled => !requirements.is_some_and(says),
        status => status == Status::Closed,
    }
}
