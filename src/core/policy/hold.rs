//! Whom the rules of ATLAS analysis hold as a whole: owners with too much running, queued or
//! stored, tasks whose share is used up (spec atlas 8.1).

use super::analysis::{
    CLASS_A_FLOOR, DWELL, GROUP_CORES, GROUP_JOBS, HYSTERESIS, LAPSE, LEVEL1, NEAR_QUOTA,
    THRESHOLD_A, USER_CORES, USER_JOBS,
};
use super::rule::{Gauge, Margin, Rule, Throttling};
use super::{Args, Case, Objection, Owner, Param};
use crate::core::event::ChunkKind;
use crate::core::output::throttle::{SubjectKind, owner_of};
use crate::core::unit::{Millis, SECOND};

/// The rules of 8.1.
pub(super) static THROTTLING: Throttling = Throttling { margin, of_owner, of_task };

/// How throttles are lifted and lapse: ours, whatever is decided by.
pub(super) const PARAMS: [Param; 3] = [
    Param::float("throttle_hysteresis", (0.0, 90.0), 10.0, 10.0).help(
        "how far below its limit a figure has to come for a throttle to be lifted; % of the limit",
    ),
    Param::int("throttle_dwell_s", 300, 300).help("least time a throttle stands; s"),
    Param::int("throttle_lapse_s", 3_600, 3_600).at_least(60).help(
        "a throttle of which nothing is said for so long has lapsed; said again after half of it; s",
    ),
];

/// The share whose use decides whether tasks of lower classes wait.
const USER_SHARE: &str = "User Analysis";

fn margin(args: &Args) -> Margin {
    let span = |at: usize| (args.number(at) as Millis).saturating_mul(SECOND);
    let hysteresis = args.number(HYSTERESIS) / 100.0;
    Margin { hysteresis, dwell: span(DWELL), lapse: span(LAPSE) }
}

/// Why the task as a whole must wait: what its owner or it has is above a limit, or was and has not
/// come down enough.
pub(super) fn throttled(case: &Case<'_>, args: &Args) -> Option<Objection> {
    let (kind, _) = owner_of(case.task);
    let is_merge = case.task.chunk == ChunkKind::Merge;
    let caps = caps(&case.owner, kind, args).into_iter().filter(|_| !is_merge);
    let quotas = quotas(&case.owner, args);
    let quotas = quotas.into_iter().filter(|gauge| !is_merge || gauge.rule == Rule::Quota);
    caps.chain(of_task(case, args)).chain(quotas).find_map(|gauge| objection(&gauge, case, args))
}

fn objection(gauge: &Gauge, case: &Case<'_>, args: &Args) -> Option<Objection> {
    let Gauge { rule, reason, measured, limit } = *gauge;
    let stands = case.owner.throttled.contains(&rule);
    let limit = if stands { margin(args).lift_limit(limit) } else { limit };
    let objection = Objection { reason, measured, limit, recheck_at: None };
    (stands || measured > limit).then_some(objection)
}

fn of_owner(owner: &Owner, kind: SubjectKind, args: &Args) -> Vec<Gauge> {
    let mut gauges = caps(owner, kind, args);
    gauges.extend(quotas(owner, args));
    gauges
}

/// Rules A1 to A4: too many jobs or cores of the owner.
fn caps(owner: &Owner, kind: SubjectKind, args: &Args) -> Vec<Gauge> {
    let Some(totals) = owner.totals else { return Vec::new() };
    let (jobs, cores) = match kind {
        SubjectKind::Group => (args.number(GROUP_JOBS), args.number(GROUP_CORES)),
        _ => (args.number(USER_JOBS), args.number(USER_CORES)),
    };
    let own = |cap: Option<u64>, general: f64| cap.map_or(general, |cap| cap as f64);
    let (jobs, cores) = (own(owner.cap_jobs, jobs), own(owner.cap_cores, cores));
    let all = [
        (Rule::RunningJobs, "running_jobs_cap", totals.running_jobs, jobs),
        (Rule::QueuedJobs, "queued_jobs_cap", totals.queued_jobs, 2.0 * jobs),
        (Rule::RunningCores, "running_cores_cap", totals.running_cores, cores),
        (Rule::QueuedCores, "queued_cores_cap", totals.queued_cores, 2.0 * cores),
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
fn quotas(owner: &Owner, args: &Args) -> Vec<Gauge> {
    let Some(used) = owner.quota_used else { return Vec::new() };
    let gauge = |rule, reason, limit| Gauge { rule, reason, measured: 100.0 * used, limit };
    let over = gauge(Rule::Quota, "over_global_quota", 100.0);
    let near = gauge(Rule::NearQuota, "near_global_quota", 90.0);
    if args.flag(NEAR_QUOTA) { vec![over, near] } else { vec![over] }
}

/// Rule A6: the share is used up, and the task is of a lower class. In % of the share's target.
fn of_task(case: &Case<'_>, args: &Args) -> Option<Gauge> {
    let owner = &case.owner;
    if case.task.gshare != USER_SHARE {
        return None;
    }
    let mut usage = owner.share_usage? * 100.0;
    if let Some(other) = owner.level1_usage.filter(|_| args.flag(LEVEL1)) {
        usage = usage.min(other * 100.0);
    }
    let gauge = |reason, limit| Some(Gauge { rule: Rule::Share, reason, measured: usage, limit });
    match owner.task_class? {
        -1 => gauge("gshare_class_c", 90.0),
        0 => gauge("gshare_class_b", 95.0),
        1 => {
            let threshold = args.number(THRESHOLD_A);
            let part = owner.remaining_slots.map_or(0.5, |left| 1.0 - left / threshold);
            let floor = args.flag(CLASS_A_FLOOR);
            let part = if floor { part.min(1.0) } else { part };
            if part <= 0.0 {
                return None;
            }
            // The product decides; the quotient may be off by a rounding.
            let limit = 100.0 / part;
            let limit = if usage * part <= 100.0 { limit.max(usage) } else { limit };
            gauge("gshare_class_a", limit)
        }
        _ => None,
    }
}
