//! Filters that are asked once the weights are known.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter, Row, Weighed};
use crate::event::{ChunkKind, Status};
use crate::policy::typed::params;
use crate::policy::verdict::{object, object_until};
use crate::policy::{Param, Reads, Reason, Verdict};

params! {
    /// Parameters of `non_local`.
    LocalOnly {
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const NON_LOCAL: Reason =
    Reason::new("non_local", "{measured} files of the input are missing at the queue");

pub(super) const LOCAL_ONLY: QueueFilter = queue_filter!(LocalOnly {
    name: "non_local",
    spec: "atlas 2.5.3, 2.5.7",
    help: "a queue with the flag use_only_local_data has all of the input; not asked of a task \
           without a byte of input",
    reasons: &[&NON_LOCAL],
    reads: &[],
    temporary: false,
    applies: When(local_only_applies),
    judge: After(local_only),
});

fn local_only_applies(case: &Case<'_>, params: &LocalOnly) -> bool {
    params.active && case.task.total_bytes > 0
}

fn local_only(case: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, _: &LocalOnly) -> Verdict {
    let is_bound = candidate.queue.flag("use_only_local_data").is_some();
    let missing = case.task.total_files.saturating_sub(candidate.available_files);
    if is_bound && missing > 0 {
        return object(&NON_LOCAL, f64::from(missing), 0.0);
    }
    Verdict::Pass
}

params! {
    /// Parameters of `network_weight`.
    NetworkWeight {
        threshold: f64 = Param::float("NW_THRESHOLD", (0.0, 1e6), 1.7, 1.7)
            .gdp("jobbroker/NW_THRESHOLD")
            .help("least network weight"),
        multiplier: f64 = Param::float("NW_WEIGHT_MULTIPLIER", (0.0, 1e6), 1.0, 1.0)
            .gdp("jobbroker/NW_WEIGHT_MULTIPLIER")
            .help("multiplies the threshold"),
        active: bool = Param::flag("NW_ACTIVE", true, false)
            .gdp("jobbroker/NW_ACTIVE")
            .help("whether the network counts (DIFF-18)"),
        always: bool = Param::flag("always", true, false)
            .help("whether it counts whatever NW_ACTIVE says (DIFF-18)"),
    }
}

const LOW_NETWORK_WEIGHT: Reason =
    Reason::new("lowNetworkWeight", "the network weight is {measured}; limit {limit}");

pub(super) const NETWORK_WEIGHT: QueueFilter = queue_filter!(NetworkWeight {
    name: "network_weight",
    spec: "atlas F22, 4.3, DIFF-18",
    help: "express chunks go over links whose network weight reaches the threshold",
    reasons: &[&LOW_NETWORK_WEIGHT],
    reads: &[Reads::Link],
    temporary: false,
    applies: When(network_weight_applies),
    judge: After(network_weight),
});

fn network_weight_applies(case: &Case<'_>, params: &NetworkWeight) -> bool {
    let counts = params.active || params.always;
    counts && case.express && !case.task.nucleus.is_empty()
}

fn network_weight(
    _: &Case<'_>,
    candidate: &Candidate<'_>,
    weighed: &Weighed,
    params: &NetworkWeight,
) -> Verdict {
    let least = params.threshold * params.multiplier;
    if weighed.network < least {
        let until = candidate.link.until;
        return object_until(&LOW_NETWORK_WEIGHT, weighed.network, least, until);
    }
    Verdict::Pass
}

params! {
    /// Parameters of `min_weight` for production jobs.
    MinWeight {
        least: f64 = Param::float("MIN_WEIGHT", (0.0, 1e12), 0.0, 0.0)
            .gdp("jobbroker/MIN_WEIGHT_managed")
            .help("least weight; 0: none"),
        least_of_share: f64 = Param::float("MIN_WEIGHT_GSHARE", (0.0, 1e12), 0.0, 0.0)
            .gdp("jobbroker/MIN_WEIGHT_managed_<gshare>")
            .help("least weight of one share, which wins; 0: none"),
    }
}

impl MinWeight {
    /// The share's own least weight before that of all.
    fn least(&self) -> f64 {
        if self.least_of_share > 0.0 { self.least_of_share } else { self.least }
    }
}

const BELOW_MIN_WEIGHT: Reason =
    Reason::new("below_min_weight", "the weight is {measured}; limit {limit}");

pub(super) const MIN_WEIGHT: QueueFilter = queue_filter!(MinWeight {
    name: "min_weight",
    spec: "atlas 2.5.7",
    help: "the weight reaches the least weight of managed jobs",
    reasons: &[&BELOW_MIN_WEIGHT],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(min_weight_applies),
    judge: Last(min_weight),
});

fn min_weight_applies(case: &Case<'_>, params: &MinWeight) -> bool {
    case.task.label == "managed" && params.least() > 0.0
}

fn min_weight(_: &Case<'_>, rows: &mut [Row<'_>], params: &MinWeight) {
    let least = params.least();
    for row in rows.iter_mut().filter(|row| !row.ahead && row.weight < least) {
        row.verdict = object(&BELOW_MIN_WEIGHT, row.weight, least);
    }
}

params! {
    /// Parameters of `bootstrap`.
    Bootstrap {
        active: bool = Param::flag("active", false, true)
            .help("whether this is done at all (Q-29)"),
        priority_most: f64 = Param::int("MAX_PRIO_TO_BOOTSTRAP", 150, 150)
            .gdp("jobbroker/MAX_PRIO_TO_BOOTSTRAP")
            .help("highest priority of such work"),
    }
}

pub(super) const BOOTSTRAP: QueueFilter = queue_filter!(Bootstrap {
    name: "bootstrap",
    spec: "atlas 2.5.7, Q-29",
    help: "a queue with no job at all goes ahead of all others, for work of low priority; objects \
           to nothing",
    reasons: &[],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(bootstrap_applies),
    judge: Last(bootstrap),
});

fn bootstrap_applies(case: &Case<'_>, params: &Bootstrap) -> bool {
    let task = case.task;
    let is_low = f64::from(task.priority) <= params.priority_most;
    params.active && is_low && task.chunk != ChunkKind::Merge && !case.express
}

fn bootstrap(_: &Case<'_>, rows: &mut [Row<'_>], _: &Bootstrap) {
    for row in rows {
        let candidate = row.candidate;
        let queued: f64 = [Status::Activated, Status::Assigned, Status::Starting]
            .into_iter()
            .map(|status| candidate.jobs(status))
            .sum();
        row.ahead |= row.running + queued + candidate.defined() == 0.0;
    }
}
