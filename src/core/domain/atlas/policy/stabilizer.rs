//! How many jobs a user may have queued at a queue: the analysis stabilizer (spec atlas 8.5).

use super::candidate::Candidate;
use crate::event::Status;
use crate::policy::param::{Param, Unit};
use crate::policy::typed::params;

params! {
    /// The stabilizer's parameters.
    Stabilizing {
        base_length: f64 = Param::float("BASE_QUEUE_LENGTH_PER_PQ", (0.0, 1e9), 100.0, 100.0)
            .unit(Unit::Jobs)
            .gdp("anal_jobbroker/BASE_QUEUE_LENGTH_PER_PQ")
            .help("a queue with fewer jobs queued in the share lets every user in"),
        base_wait: f64 = Param::float("BASE_EXPECTED_WAIT_HOUR_ON_PQ", (0.0, 1e9), 8.0, 8.0)
            .unit(Unit::Hours)
            .gdp("anal_jobbroker/BASE_EXPECTED_WAIT_HOUR_ON_PQ")
            .help("so does a queue that starts what is queued in less than this"),
        user_length: f64 =
            Param::float("BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER", (0.0, 1e9), 5.0, 5.0)
                .unit(Unit::Jobs)
                .gdp("anal_jobbroker/BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER")
                .help("queued jobs every user may have"),
        user_ratio: f64 = Param::float("BASE_QUEUE_RATIO_ON_PQ", (0.0, 1e9), 0.05, 0.05)
            .gdp("anal_jobbroker/BASE_QUEUE_RATIO_ON_PQ")
            .help("queued jobs every user may have, for each running job"),
        running_ratio: f64 = Param::float("STATIC_MAX_QUEUE_RUNNING_RATIO", (0.0, 1e9), 2.0, 2.0)
            .gdp("anal_jobbroker/STATIC_MAX_QUEUE_RUNNING_RATIO")
            .help("queued jobs of all users together, for each running job"),
        most_wait: f64 = Param::float("MAX_EXPECTED_WAIT_HOUR", (0.0, 1e9), 12.0, 12.0)
            .unit(Unit::Hours)
            .gdp("anal_jobbroker/MAX_EXPECTED_WAIT_HOUR")
            .help("queued jobs of all users together, in hours of starts"),
        count_total: bool = Param::flag("count_total", false, true)
            .help("whether the sum over users counts as one user more (Q-14)"),
        share_scaled: bool = Param::flag("share_scaled", false, true).help(
            "whether of a queue's starts an hour only the share's part counts, by its running jobs \
             (DIFF-41)",
        ),
    }
}

/// Queued jobs of a user at a queue, and the most that the user may have there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stabilizer {
    /// Whether everybody is let in, since too little is queued.
    pub(super) exempt: bool,
    /// The user's queued jobs.
    pub(super) queued: f64,
    /// Most queued jobs the user may have.
    pub(super) most: f64,
}

impl Stabilizer {
    /// The stabilizer's figures for a candidate.
    pub(super) fn of(candidate: &Candidate<'_>, params: &Stabilizing) -> Stabilizer {
        let user = &candidate.user;
        let (queued, running) = (queued(candidate), candidate.jobs(Status::Running));
        let rate = if params.share_scaled {
            let all = candidate.jobs_all(Status::Running);
            if all > 0.0 { running * user.starts_per_hour / all } else { 0.0 }
        } else {
            user.starts_per_hour
        };
        let at_queue = user.all_running.map_or(running, f64::from);
        let whole =
            params.base_length.max(params.running_ratio * at_queue).max(params.most_wait * rate);
        let sum = params.count_total && user.all_running.is_some();
        let users = user.users.map_or(1.0, |users| f64::from(users) + f64::from(u8::from(sum)));
        let by_running = if at_queue > 0.0 { f64::from(user.running) / at_queue } else { 0.0 };
        let part = by_running.max(1.0 / users.max(1.0));
        let most = params.user_length.max(params.user_ratio * at_queue).max(whole * part);
        let exempt = queued < params.base_length || queued < params.base_wait * rate;
        Stabilizer { exempt, queued: f64::from(user.queued), most }
    }

    /// Jobs the user may still queue.
    pub(super) fn left(&self) -> f64 {
        (self.most - self.queued).max(0.0)
    }
}

/// Jobs queued in the share.
pub(super) fn queued(candidate: &Candidate<'_>) -> f64 {
    let states = [Status::Assigned, Status::Activated, Status::Starting];
    candidate.defined() + states.into_iter().map(|status| candidate.jobs(status)).sum::<f64>()
}
