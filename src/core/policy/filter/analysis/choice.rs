//! What decides at the end among queues for an analysis task (spec atlas 8.7).

use super::object;
use crate::core::policy::{
    Args, Candidate, Case, Filter, Judge, Param, Reads, Row, Verdict, Weighed,
};

pub(super) const USED_FIRST: Filter = Filter {
    name: "used_first",
    spec: "atlas 8.7",
    help: "a queue that has jobs of the task already goes before others; objects to nothing",
    reasons: &[],
    params: &[Param::flag("active", false, true).help("whether this is done at all")],
    reads: &[],
    temporary: false,
    applies: Some(|_, args| args.flag(0)),
    judge: Judge::Last(used_first),
};

fn used_first(case: &Case<'_>, rows: &mut [Row<'_>], args: &Args) {
    let used = &case.task.options.used_queues;
    for row in rows.iter_mut().filter(|_| args.flag(0)) {
        let queue = row.candidate.queue;
        row.preferred |= used.contains(&queue.unified) || used.contains(&queue.name);
    }
}

pub(super) const MIN_WEIGHT: Filter = Filter {
    name: "min_weight",
    spec: "atlas 8.7",
    help: "the weight reaches the least weight of users' jobs",
    reasons: &[("below_min_weight", "the weight is {measured}; limit {limit}")],
    params: &[
        Param::float("MIN_WEIGHT", (0.0, 1e12), 0.0, 0.0)
            .gdp("jobbroker/MIN_WEIGHT_user")
            .help("least weight; 0: none"),
        Param::float("MIN_WEIGHT_GSHARE", (0.0, 1e12), 0.0, 0.0)
            .gdp("jobbroker/MIN_WEIGHT_user_<gshare>")
            .help("least weight of one share, which wins; 0: none"),
    ],
    reads: &[Reads::Load],
    temporary: false,
    applies: None,
    judge: Judge::After(min_weight),
};

fn min_weight(case: &Case<'_>, _: &Candidate<'_>, weighed: &Weighed, args: &Args) -> Verdict {
    let least = if args.number(1) > 0.0 { args.number(1) } else { args.number(0) };
    if case.task.label == "user" && weighed.total < least {
        return object("below_min_weight", weighed.total, least);
    }
    Verdict::Pass
}

pub(super) const LOCAL_ONLY: Filter = Filter {
    name: "local_only",
    spec: "atlas 8.7",
    help: "where data do not count, a queue with the flag use_only_local_data has all of the input \
           all the same",
    reasons: &[("fileunavailable", "{measured} files of the input are missing at the queue")],
    params: &[Param::flag("active", false, true).help("whether this is asked at all")],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::After(local_only),
};

fn local_only(case: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, args: &Args) -> Verdict {
    let is_held = case.locality.as_ref().is_some_and(|it| !it.union);
    let is_bound = candidate.queue.flag("use_only_local_data").is_some();
    let there = candidate.available_files.max(candidate.reachable_files);
    let missing = case.task.total_files.saturating_sub(there);
    if args.flag(0) && is_bound && !is_held && missing > 0 {
        return object("fileunavailable", f64::from(missing), 0.0);
    }
    Verdict::Pass
}
