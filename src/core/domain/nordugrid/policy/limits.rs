//! Filters that compare the job's times with the limits of a queue (N-14): `cputime`, `gridtime`
//! and `walltime`. A limit that is not published holds nothing back.

use super::case::JobCase;
use super::declared::{TargetFilter, target_filter};
use super::target::TargetCandidate;
use crate::event::BatchFacts;
use crate::policy::verdict::object;
use crate::policy::{Applies, Reason, Verdict};

const MATCH_CPU_TIME: Reason = Reason::new(
    "match:cputime",
    "the job wants {measured:s} of CPU time, the limit that it misses is {limit:s}",
);
const MATCH_GRID_TIME: Reason = Reason::new(
    "match:gridtime",
    "the job wants {measured:s} of CPU time on this cluster, the limit that it misses is {limit:s}",
);
const MATCH_WALL_TIME: Reason = Reason::new(
    "match:walltime",
    "the job wants {measured:s} of wall time, the limit that it misses is {limit:s}",
);

pub(super) const fn cpu_time() -> TargetFilter {
    target_filter(
        "match_cputime",
        "cms-nordugrid N-14",
        "cputime: of each slot within the queue's limits, of the whole job within that for jobs",
        &[&MATCH_CPU_TIME],
        Applies::To(|case, _| case.job.cpu_time_s.is_some()),
        |case, candidate, _| {
            let time = case.job.cpu_time_s.map_or(0, u128::from);
            within_cpu_limits(case, &candidate.share.facts, (time, 1), &MATCH_CPU_TIME)
        },
    )
}

pub(super) const fn grid_time() -> TargetFilter {
    target_filter(
        "match_gridtime",
        "cms-nordugrid N-14",
        "gridtime: as cputime, scaled from reference_clock_mhz to the cluster's clock",
        &[&MATCH_GRID_TIME],
        Applies::To(|case, _| case.job.grid_time_s.is_some()),
        |case, candidate, _| {
            let time = case.scaled_grid_time().unwrap_or(0);
            let clock = u128::from(case.clock_mhz(candidate.cluster));
            within_cpu_limits(case, &candidate.share.facts, (time, clock), &MATCH_GRID_TIME)
        },
    )
}

pub(super) const fn wall_time() -> TargetFilter {
    target_filter(
        "match_walltime",
        "cms-nordugrid N-14, B.15",
        "walltime: within the queue's limits",
        &[&MATCH_WALL_TIME],
        Applies::To(|case, _| case.job.wall_time_s.is_some()),
        |case, candidate, _| wall_time_of(case, candidate),
    )
}

fn wall_time_of(case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> Verdict {
    let time = case.job.wall_time_s.map_or(0, u128::from);
    let BatchFacts { min_wall_time_s, max_wall_time_s, .. } = candidate.share.facts;
    missed((time, 1), min_wall_time_s, max_wall_time_s, &MATCH_WALL_TIME)
}

/// Compares CPU time, a ratio, with the limits of a queue: per slot, and as a whole.
fn within_cpu_limits(
    case: &JobCase<'_>,
    share: &BatchFacts,
    (time, by): (u128, u128),
    reason: &'static Reason,
) -> Verdict {
    let per_slot = (time, by.saturating_mul(case.job.count.max(1).into()));
    match missed(per_slot, share.min_cpu_time_s, share.max_cpu_time_s, reason) {
        Verdict::Pass => missed((time, by), None, share.max_total_cpu_time_s, reason),
        objection => objection,
    }
}

/// Compares a time, a ratio, with a least and a most, exactly.
fn missed(
    (time, by): (u128, u128),
    least: Option<u64>,
    most: Option<u64>,
    reason: &'static Reason,
) -> Verdict {
    let scaled = |limit: u64| u128::from(limit).saturating_mul(by);
    let is_under = |least: &u64| time < scaled(*least);
    let is_over = |most: &u64| time > scaled(*most);
    match least.filter(is_under).or(most.filter(is_over)) {
        Some(limit) => object(reason, time as f64 / by as f64, limit as f64),
        None => Verdict::Pass,
    }
}
