//! The limits of ATLAS analysis on owners with too much running, queued or stored, and on tasks
//! whose share is used up (spec atlas 8.1).

use super::case::Case;
use super::owner::Owner;
use super::throttling::{Gauge, Margin};
use crate::event::ChunkKind;
use crate::output::throttle::{SubjectKind, owner_of};
use crate::policy::param::{Default, Param, Unit};
use crate::policy::rule::Rule;
use crate::policy::typed::params;
use crate::policy::wait::{Wait, WaitReason};
use crate::unit::{Millis, SECOND};

params! {
    /// The limits of the rules of 8.1.
    Caps {
        user_jobs: f64 = Param::int("CAP_RUNNING_USER_JOBS", 0, 0)
            .unit(Unit::Jobs)
            .gdp("prio_mgr/CAP_RUNNING_USER_JOBS")
            .help("most running jobs of a user, and half of the most queued ones; 0: no cap"),
        user_cores: f64 = Param::int("CAP_RUNNING_USER_CORES", 0, 0)
            .unit(Unit::Cores)
            .gdp("prio_mgr/CAP_RUNNING_USER_CORES")
            .help("most running cores of a user, and half of the most queued ones; 0: no cap"),
        group_jobs: f64 = Param::int("CAP_RUNNING_GROUP_JOBS", 0, 0)
            .unit(Unit::Jobs)
            .gdp("prio_mgr/CAP_RUNNING_GROUP_JOBS")
            .help("the same of a working group; 0: no cap"),
        group_cores: f64 = Param::int("CAP_RUNNING_GROUP_CORES", 0, 0)
            .unit(Unit::Cores)
            .gdp("prio_mgr/CAP_RUNNING_GROUP_CORES")
            .help("the same of a working group; 0: no cap"),
        threshold_a: f64 = Param::int("USER_USAGE_THRESHOLD_A", 1_000, 1_000)
            .at_least(1)
            .unit(Unit::Slots)
            .gdp("analy_eval/USER_USAGE_THRESHOLD_A")
            .help("slots at hi-sites up to which a user's tasks are of class A"),
        class_a_floor: bool = Param::flag("class_a_floor", true, false).help(
            "whether tasks of class A run as long as the share is below its target, whatever the user \
             has running",
        ),
        level1: bool = Param::flag("level1", false, true).help(
            "whether the smaller counts of the share's usage and that of its first level",
        ),
        near_quota: bool = Param::flag("near_quota", false, true)
            .help("whether only merge jobs are let through above 90 % of the global quota (A5')"),
    }
}

params! {
    /// How throttles are lifted and lapse. By the documents and by PanDA an owner is free at the
    /// limit.
    Margins {
        hysteresis: f64 = Param::float("throttle_hysteresis", (0.0, 90.0), 0.0, 0.0)
            .tuned(Default::Float(10.0))
            .unit(Unit::Percent)
            .help(
                "how far below its limit a figure has to come for a throttle to be lifted; part of \
                 the limit",
            ),
        dwell: f64 = Param::int("throttle_dwell_s", 0, 0)
            .tuned(Default::Int(300))
            .unit(Unit::Seconds)
            .help("least time a throttle stands"),
        lapse: f64 = Param::int("throttle_lapse_s", 3_600, 3_600)
            .at_least(60)
            .unit(Unit::Seconds)
            .help("a throttle that is not published again for so long has lapsed; it is published \
                   again after half of it"),
    }
}

impl Margins {
    /// The margin that the parameters give.
    pub(super) fn margin(&self) -> Margin {
        let span = |seconds: f64| (seconds as Millis).saturating_mul(SECOND);
        let hysteresis = self.hysteresis / 100.0;
        Margin { hysteresis, dwell: span(self.dwell), lapse: span(self.lapse) }
    }
}

/// The share whose use decides whether tasks of lower classes wait.
const USER_SHARE: &str = "User Analysis";

/// Above so much of its target a share is used up for tasks of class C; %.
const USED_UP_FOR_C: f64 = 90.0;
/// The same for class B; %.
const USED_UP_FOR_B: f64 = 95.0;

/// Why the task as a whole must wait: what its owner or it has is above a limit, or was and has not
/// come down enough.
pub(super) fn throttled(case: &Case<'_>, caps: &Caps, margin: &Margin) -> Option<Wait> {
    let (kind, _) = owner_of(case.task);
    let is_merge = case.task.chunk == ChunkKind::Merge;
    let of_jobs = jobs_and_cores(&case.owner, kind, caps).into_iter().filter(|_| !is_merge);
    let quotas = quotas(&case.owner, caps);
    let quotas = quotas.into_iter().filter(|gauge| !is_merge || gauge.rule == Rule::Quota);
    let all = of_jobs.chain(of_task(case, caps)).chain(quotas);
    let stands = |gauge: &Gauge| case.owner.throttled.contains(&gauge.rule);
    all.into_iter().find_map(|gauge| margin.wait(&gauge, stands(&gauge)))
}

/// An owner's figures and limits under the rules A1 to A5.
pub(super) fn of_owner(owner: &Owner, kind: SubjectKind, caps: &Caps) -> Vec<Gauge> {
    let mut gauges = jobs_and_cores(owner, kind, caps);
    gauges.extend(quotas(owner, caps));
    gauges
}

/// Rules A1 to A4: too many jobs or cores of the owner.
fn jobs_and_cores(owner: &Owner, kind: SubjectKind, caps: &Caps) -> Vec<Gauge> {
    let Some(totals) = owner.totals else { return Vec::new() };
    let (jobs, cores) = match kind {
        SubjectKind::Group => (caps.group_jobs, caps.group_cores),
        _ => (caps.user_jobs, caps.user_cores),
    };
    let own = |cap: Option<u64>, general: f64| cap.map_or(general, |cap| cap as f64);
    let (jobs, cores) = (own(owner.cap_jobs, jobs), own(owner.cap_cores, cores));
    // What an assignment will bring is queued as soon as it is generated: a burst of chunks would
    // pass before the first of its jobs is seen.
    let queued_jobs = totals.queued_jobs.saturating_add(totals.reserved_jobs);
    let queued_cores = totals.queued_cores.saturating_add(totals.reserved_cores);
    let all = [
        (Rule::RunningJobs, WaitReason::RunningJobs, totals.running_jobs, jobs),
        (Rule::QueuedJobs, WaitReason::QueuedJobs, queued_jobs, 2.0 * jobs),
        (Rule::RunningCores, WaitReason::RunningCores, totals.running_cores, cores),
        (Rule::QueuedCores, WaitReason::QueuedCores, queued_cores, 2.0 * cores),
    ];
    let capped = all.into_iter().filter(|(_, _, _, limit)| *limit > 0.0);
    capped
        .map(|(rule, reason, measured, limit)| Gauge {
            rule,
            reason,
            measured: measured as f64,
            limit,
        })
        .collect()
}

/// Rules A5 and A5': too much is stored. In % of the fullest quota.
fn quotas(owner: &Owner, caps: &Caps) -> Vec<Gauge> {
    let Some(used) = owner.quota_used else { return Vec::new() };
    let gauge = |rule, reason, limit| Gauge { rule, reason, measured: 100.0 * used, limit };
    let over = gauge(Rule::Quota, WaitReason::Quota, 100.0);
    let near = gauge(Rule::NearQuota, WaitReason::NearQuota, 90.0);
    if caps.near_quota { vec![over, near] } else { vec![over] }
}

/// Rule A6: the share is used up, and the task is of a lower class. In % of the share's target.
pub(super) fn of_task(case: &Case<'_>, caps: &Caps) -> Option<Gauge> {
    let owner = &case.owner;
    if case.task.gshare != USER_SHARE {
        return None;
    }
    let mut usage = owner.share_usage? * 100.0;
    if let Some(other) = owner.level1_usage.filter(|_| caps.level1) {
        usage = usage.min(other * 100.0);
    }
    let gauge = |reason, limit| Some(Gauge { rule: Rule::Share, reason, measured: usage, limit });
    match owner.task_class? {
        -1 => gauge(WaitReason::ShareOfC, USED_UP_FOR_C),
        0 => gauge(WaitReason::ShareOfB, USED_UP_FOR_B),
        1 => {
            let threshold = caps.threshold_a;
            let part = owner.remaining_slots.map_or(0.5, |left| 1.0 - left / threshold);
            let floor = caps.class_a_floor;
            let part = if floor { part.min(1.0) } else { part };
            if part <= 0.0 {
                return None;
            }
            // The product decides; the quotient may be off by a rounding.
            let limit = 100.0 / part;
            let limit = if usage * part <= 100.0 { limit.max(usage) } else { limit };
            gauge(WaitReason::ShareOfA, limit)
        }
        _ => None,
    }
}
