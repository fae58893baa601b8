//! The job throttler: no more jobs of a share and resource type while too many of them wait to
//! run, but those that merge output, and those of a higher priority than all that wait (spec atlas
//! 10.5).

use super::case::Case;
use super::throttling::{Gauge, Margin};
use super::work_queue::{JobLimit, Reach, WorkQueue};
use crate::event::{ChunkKind, Scope};
use crate::policy::param::{Param, Unit};
use crate::policy::rule::Rule;
use crate::policy::typed::params;
use crate::policy::wait::{Wait, WaitReason};

params! {
    /// Parameters of the job throttler. Limits of one share and resource type are in gdpconfig
    /// ([`JobLimits`](super::work_queue::JobLimits)).
    JobThrottler {
        active: bool = Param::flag("job_throttler", false, true).help(
            "whether no more jobs are made for a share and resource type while too many of them \
             wait to run; only for shares whose record says `throttled` (spec atlas 10.5)",
        ),
        threshold: f64 = Param::float("THROTTLE_THRESHOLD", (0.0, 1e6), 2.0, 2.0).help(
            "job throttler: so many times the running jobs may wait; gdpconfig: \
             prod_job_throttler/THROTTLE_THRESHOLD, anal_job_throttler/THROTTLE_THRESHOLD",
        ),
        shortage_threshold: f64 =
            Param::float("THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE", (0.0, 1e6), 2.0, 2.0)
                .help("job throttler: the same while work is short"),
        work_shortage: bool = Param::flag("WORK_SHORTAGE", false, false)
            .gdp("core/WORK_SHORTAGE")
            .help("job throttler: whether work is short"),
        queue_limit: f64 = Param::int("NQUEUELIMIT", 0, 0).unit(Unit::Jobs).help(
            "job throttler: so many jobs may wait in any case; 0: four times what is missing to \
             THROTTLE_THRESHOLD, but 2000 to 2400. gdpconfig: \
             <component>/NQUEUELIMIT_<gshare>[_<resource type>|_MCORE*|_SCORE*]",
        ),
        running_cap: f64 = Param::int("NRUNNINGCAP", 0, 0).unit(Unit::Jobs).help(
            "job throttler: no more jobs are made while more than so many run; 0: no cap. \
             gdpconfig: as NQUEUELIMIT",
        ),
        queue_cap: f64 = Param::int("NQUEUECAP", 0, 0).unit(Unit::Jobs).help(
            "job throttler: no more jobs are made while more than so many wait; 0: no cap. \
             gdpconfig: as NQUEUELIMIT",
        ),
    }
}

/// How many jobs are made for a work queue at once, at least and at most; how many times these may
/// wait where no limit is stated.
const BUNCH: (f64, f64) = (500.0, 600.0);
const BUNCHES: f64 = 4.0;

/// Figures of a work queue and their limits, in the order in which PanDA looks at them.
pub(super) fn gauges(work: &WorkQueue, rules: &JobThrottler) -> Vec<Gauge> {
    let WorkQueue { backlogs, limits, .. } = work;
    let own = work.own();
    let threshold = match rules.work_shortage {
        true => limits.shortage_threshold.unwrap_or(rules.shortage_threshold),
        false => limits.threshold.unwrap_or(rules.threshold),
    };
    let stated = |limit: Option<JobLimit>, general: f64| {
        let general = (general > 0.0).then_some(JobLimit { jobs: general, reach: Reach::Type });
        limit.or(general)
    };
    let missing = (own.running as f64 * threshold - own.queued as f64).trunc();
    let bunch = missing.clamp(BUNCH.0, BUNCH.1);
    let usual = JobLimit { jobs: bunch * BUNCHES, reach: Reach::Type };
    let limit = stated(limits.queue_limit, rules.queue_limit).unwrap_or(usual);
    let at = |limit: &JobLimit| backlogs[limit.reach as usize];
    let gauge = |rule, reason, measured, limit| Gauge { rule, reason, measured, limit };
    let mut gauges = vec![
        gauge(
            Rule::ShareQueued,
            WaitReason::ShareQueued,
            at(&limit).waiting(),
            passing(at(&limit).waiting(), &limit, work, threshold),
        ),
        gauge(Rule::ShareDefined, WaitReason::ShareDefined, at(&limit).defined(), limit.jobs),
    ];
    if let Some(cap) = stated(limits.running_cap, rules.running_cap) {
        let running = at(&cap).running as f64;
        gauges.push(gauge(Rule::ShareRunning, WaitReason::ShareRunning, running, cap.jobs));
    }
    if let Some(cap) = stated(limits.queue_cap, rules.queue_cap) {
        let waiting = at(&cap).waiting();
        gauges.push(gauge(Rule::ShareQueueCap, WaitReason::ShareQueueCap, waiting, cap.jobs));
    }
    gauges
}

/// How many of the jobs that count against a limit may wait: as many as it states, or so many that
/// those of the work queue are within the threshold of its running ones.
fn passing(waiting: f64, limit: &JobLimit, work: &WorkQueue, threshold: f64) -> f64 {
    let own = work.own();
    if own.running == 0 {
        return limit.jobs;
    }
    let most = own.running as f64 * threshold;
    let passes = match own.waiting() {
        _ if limit.reach == work.reach => most,
        // The part that the work queue has of them stays as it is.
        of_own => waiting * most / of_own.max(1.0),
    };
    limit.jobs.max(passes)
}

/// Why no jobs are made for a request now. A running cap holds whatever the priority.
pub(super) fn throttled(case: &Case<'_>, rules: &JobThrottler, margin: &Margin) -> Option<Wait> {
    let work = case.work_queue.as_ref()?;
    if case.task.chunk == ChunkKind::Merge {
        return None;
    }
    let mut waits = gauges(work, rules).into_iter().filter_map(|gauge| {
        let stands = work.throttled.contains(&gauge.rule);
        Some((gauge.rule, margin.wait(&gauge, stands)?))
    });
    let (rule, wait) = waits.next()?;
    (rule == Rule::ShareRunning || !goes_first(case, work)).then_some(wait)
}

/// Whether a request is of a higher priority than all jobs that wait, or of the same and few of
/// these wait. Users' tasks have an order of their own.
fn goes_first(case: &Case<'_>, work: &WorkQueue) -> bool {
    let priority = case.task.priority;
    let is_first = priority > work.top_priority
        || priority == work.top_priority && (work.top_jobs as f64) < BUNCH.0;
    case.scope == Scope::Default && is_first
}
