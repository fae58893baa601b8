//! What decides at the end among queues for an analysis task (spec atlas 8.7).

use crate::core::policy::declare::filter;
use crate::core::policy::typed::params;
use crate::core::policy::verdict::object;
use crate::core::policy::{Candidate, Case, Filter, Param, Reads, Reason, Row, Verdict, Weighed};

params! {
    /// Parameters of `used_first`.
    UsedFirst {
        active: bool = Param::flag("active", false, true).help("whether this is done at all"),
    }
}

pub(super) const USED_FIRST: Filter = filter!(UsedFirst {
    name: "used_first",
    spec: "atlas 8.7",
    help: "a queue that has jobs of the task already goes before others; objects to nothing",
    reasons: &[],
    reads: &[],
    temporary: false,
    applies: When(used_first_applies),
    judge: Last(used_first),
});

fn used_first_applies(_: &Case<'_>, params: &UsedFirst) -> bool {
    params.active
}

fn used_first(case: &Case<'_>, rows: &mut [Row<'_>], _: &UsedFirst) {
    let used = &case.task.options.used_queues;
    for row in rows {
        let queue = row.candidate.queue;
        row.preferred |= used.contains(&queue.unified) || used.contains(&queue.name);
    }
}

params! {
    /// Parameters of `min_weight` for analysis jobs.
    MinWeight {
        least: f64 = Param::float("MIN_WEIGHT", (0.0, 1e12), 0.0, 0.0)
            .gdp("jobbroker/MIN_WEIGHT_user")
            .help("least weight; 0: none"),
        least_of_share: f64 = Param::float("MIN_WEIGHT_GSHARE", (0.0, 1e12), 0.0, 0.0)
            .gdp("jobbroker/MIN_WEIGHT_user_<gshare>")
            .help("least weight of one share, which wins; 0: none"),
    }
}

const BELOW_MIN_WEIGHT: Reason =
    Reason::new("below_min_weight", "the weight is {measured}; limit {limit}");

pub(super) const MIN_WEIGHT: Filter = filter!(MinWeight {
    name: "min_weight",
    spec: "atlas 8.7",
    help: "the weight reaches the least weight of users' jobs",
    reasons: &[&BELOW_MIN_WEIGHT],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(min_weight_applies),
    judge: After(min_weight),
});

fn min_weight_applies(case: &Case<'_>, _: &MinWeight) -> bool {
    case.task.label == "user"
}

fn min_weight(_: &Case<'_>, _: &Candidate<'_>, weighed: &Weighed, params: &MinWeight) -> Verdict {
    let own = params.least_of_share;
    let least = if own > 0.0 { own } else { params.least };
    if weighed.total < least {
        return object(&BELOW_MIN_WEIGHT, weighed.total, least);
    }
    Verdict::Pass
}

params! {
    /// Parameters of `local_only`.
    LocalOnly {
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const FILE_UNAVAILABLE: Reason =
    Reason::new("fileunavailable", "{measured} files of the input are missing at the queue");

pub(super) const LOCAL_ONLY: Filter = filter!(LocalOnly {
    name: "local_only",
    spec: "atlas 8.7",
    help: "where data do not count, a queue with the flag use_only_local_data has all of the input \
           all the same",
    reasons: &[&FILE_UNAVAILABLE],
    reads: &[],
    temporary: false,
    applies: When(local_only_applies),
    judge: After(local_only),
});

fn local_only_applies(case: &Case<'_>, params: &LocalOnly) -> bool {
    let waits_as_whole = case.locality.as_ref().is_some_and(|it| !it.union);
    params.active && !waits_as_whole
}

fn local_only(case: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, _: &LocalOnly) -> Verdict {
    let is_bound = candidate.queue.flag("use_only_local_data").is_some();
    let there = candidate.available_files.max(candidate.reachable_files);
    let missing = case.task.total_files.saturating_sub(there);
    if is_bound && missing > 0 {
        return object(&FILE_UNAVAILABLE, f64::from(missing), 0.0);
    }
    Verdict::Pass
}
