//! What is asked once the weights are known.

use super::object;
use crate::core::event::{ChunkKind, Status};
use crate::core::policy::{
    Args, Candidate, Case, Filter, Judge, Param, Reads, Row, Verdict, Weighed,
};

pub(super) const LOCK: Filter = Filter {
    name: "lock",
    spec: "atlas 2.5.7",
    help: "no other process brokers to the queue at this moment",
    reasons: &[("lock", "another process brokers to the queue")],
    params: &[Param::flag("active", false, true).help("whether this is asked at all")],
    reads: &[],
    temporary: false,
    applies: Some(|_, args| args.flag(0)),
    judge: Judge::After(lock),
};

fn lock(_: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, args: &Args) -> Verdict {
    if args.flag(0) && candidate.locked { object("lock", 1.0, 0.0) } else { Verdict::Pass }
}

pub(super) const LOCAL_ONLY: Filter = Filter {
    name: "non_local",
    spec: "atlas 2.5.3, 2.5.7",
    help: "a queue with the flag use_only_local_data has all of the input",
    reasons: &[("non_local", "{measured} files of the input are missing at the queue")],
    params: &[Param::flag("active", false, true).help("whether this is asked at all")],
    reads: &[],
    temporary: false,
    applies: Some(|_, args| args.flag(0)),
    judge: Judge::After(local_only),
};

fn local_only(case: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, args: &Args) -> Verdict {
    let is_bound = args.flag(0) && candidate.queue.flag("use_only_local_data").is_some();
    let missing = case.task.total_files.saturating_sub(candidate.available_files);
    if is_bound && missing > 0 {
        return object("non_local", f64::from(missing), 0.0);
    }
    Verdict::Pass
}

pub(super) const NETWORK_WEIGHT: Filter = Filter {
    name: "network_weight",
    spec: "atlas F22, 4.3, DIFF-18",
    help: "express chunks go over links whose network weight reaches the threshold",
    reasons: &[("lowNetworkWeight", "the network weight is {measured}; limit {limit}")],
    params: &[
        Param::float("NW_THRESHOLD", (0.0, 1e6), 1.7, 1.7)
            .gdp("jobbroker/NW_THRESHOLD")
            .help("least network weight; no unit"),
        Param::float("NW_WEIGHT_MULTIPLIER", (0.0, 1e6), 1.0, 1.0)
            .gdp("jobbroker/NW_WEIGHT_MULTIPLIER")
            .help("multiplies the threshold"),
        Param::flag("NW_ACTIVE", true, false)
            .gdp("jobbroker/NW_ACTIVE")
            .help("whether the network counts (DIFF-18)"),
        Param::flag("always", true, false)
            .help("whether it counts whatever NW_ACTIVE says (DIFF-18)"),
    ],
    reads: &[Reads::Link],
    temporary: false,
    applies: Some(|case, _| case.express && !case.task.nucleus.is_empty()),
    judge: Judge::After(network_weight),
};

fn network_weight(case: &Case<'_>, _: &Candidate<'_>, weighed: &Weighed, args: &Args) -> Verdict {
    let least = args.number(0) * args.number(1);
    let is_asked = case.express && !case.task.nucleus.is_empty();
    if is_asked && (args.flag(2) || args.flag(3)) && weighed.network < least {
        return object("lowNetworkWeight", weighed.network, least);
    }
    Verdict::Pass
}

pub(super) const MIN_WEIGHT: Filter = Filter {
    name: "min_weight",
    spec: "atlas 2.5.7",
    help: "the weight reaches the least weight of managed jobs",
    reasons: &[("below_min_weight", "the weight is {measured}; limit {limit}")],
    params: &[
        Param::float("MIN_WEIGHT", (0.0, 1e12), 0.0, 0.0)
            .gdp("jobbroker/MIN_WEIGHT_managed")
            .help("least weight; 0: none"),
        Param::float("MIN_WEIGHT_GSHARE", (0.0, 1e12), 0.0, 0.0)
            .gdp("jobbroker/MIN_WEIGHT_managed_<gshare>")
            .help("least weight of one share, which wins; 0: none"),
    ],
    reads: &[Reads::Load],
    temporary: false,
    applies: Some(|case, args| case.task.label == "managed" && least_of(args) > 0.0),
    judge: Judge::Last(min_weight),
};

/// The share's own least weight before that of all.
fn least_of(args: &Args) -> f64 {
    if args.number(1) > 0.0 { args.number(1) } else { args.number(0) }
}

fn min_weight(case: &Case<'_>, rows: &mut [Row<'_>], args: &Args) {
    let least = least_of(args);
    if case.task.label != "managed" {
        return;
    }
    for row in rows.iter_mut().filter(|row| !row.ahead && row.weight < least) {
        row.verdict = object("below_min_weight", row.weight, least);
    }
}

pub(super) const BOOTSTRAP: Filter = Filter {
    name: "bootstrap",
    spec: "atlas 2.5.7, Q-29",
    help: "a queue with no job at all goes ahead of all others, for work of low priority; objects \
           to nothing",
    reasons: &[],
    params: &[
        Param::flag("active", false, true).help("whether this is done at all (Q-29)"),
        Param::int("MAX_PRIO_TO_BOOTSTRAP", 150, 150)
            .gdp("jobbroker/MAX_PRIO_TO_BOOTSTRAP")
            .help("highest priority of such work"),
    ],
    reads: &[Reads::Load],
    temporary: false,
    applies: Some(|_, args| args.flag(0)),
    judge: Judge::Last(bootstrap),
};

fn bootstrap(case: &Case<'_>, rows: &mut [Row<'_>], args: &Args) {
    let task = case.task;
    let is_low = f64::from(task.priority) <= args.number(1);
    if !args.flag(0) || !is_low || task.chunk == ChunkKind::Merge || case.express {
        return;
    }
    for row in rows {
        let candidate = row.candidate;
        let queued: f64 = [Status::Activated, Status::Assigned, Status::Starting]
            .into_iter()
            .map(|status| candidate.jobs(status))
            .sum();
        row.ahead |= row.running + queued + candidate.defined() == 0.0;
    }
}
