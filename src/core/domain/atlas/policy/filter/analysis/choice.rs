//! The last steps that choose among queues for an analysis task (spec atlas 8.7).

use crate::domain::atlas::policy::locality::{Enough, availability};
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Case, QueueFilter, Row};
use crate::policy::typed::params;
use crate::policy::verdict::{BEYOND_THE_BEST, object};
use crate::policy::{Param, Reads, Reason};

params! {
    /// Parameters of `used_first`.
    UsedFirst {
        active: bool = Param::flag("active", false, true).help("whether this is done at all"),
    }
}

pub(super) const USED_FIRST: QueueFilter = queue_filter!(UsedFirst {
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

pub(super) const MIN_WEIGHT: QueueFilter = queue_filter!(MinWeight {
    name: "min_weight",
    spec: "atlas 8.7",
    help: "the weight reaches the least weight of users' jobs; asked of the best alone",
    reasons: &[&BELOW_MIN_WEIGHT, &BEYOND_THE_BEST],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(min_weight_applies),
    judge: Kept(min_weight),
});

impl MinWeight {
    /// The share's own least weight before that of all.
    fn least(&self) -> f64 {
        if self.least_of_share > 0.0 { self.least_of_share } else { self.least }
    }
}

fn min_weight_applies(case: &Case<'_>, params: &MinWeight) -> bool {
    case.task.label == "user" && params.least() > 0.0
}

fn min_weight(_: &Case<'_>, rows: &mut [Row<'_>], params: &MinWeight) {
    let least = params.least();
    for row in rows.iter_mut().filter(|row| row.weight < least) {
        row.verdict = object(&BELOW_MIN_WEIGHT, row.weight, least);
    }
}

params! {
    /// Parameters of `local_only`.
    LocalOnly {
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const FILE_UNAVAILABLE: Reason =
    Reason::new("fileunavailable", "{measured} files of the input are missing at the queue");

pub(super) const LOCAL_ONLY: QueueFilter = queue_filter!(LocalOnly {
    name: "local_only",
    spec: "atlas 8.7",
    help: "where data do not count, a queue with the flag use_only_local_data has all of the input \
           all the same; asked of the best alone",
    reasons: &[&FILE_UNAVAILABLE, &BEYOND_THE_BEST],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(local_only_applies),
    judge: Kept(local_only),
});

fn local_only_applies(case: &Case<'_>, params: &LocalOnly) -> bool {
    let waits_as_whole = case.locality.as_ref().is_some_and(|it| !it.union);
    params.active && !waits_as_whole && is_whole_on_disk(case)
}

/// Whether a dataset lies on a disk that can be read with no file missing. Where none does, PanDA
/// takes every file to be everywhere.
fn is_whole_on_disk(case: &Case<'_>) -> bool {
    let all = Enough { missing: 0.0, percent: 100.0 };
    let mut datasets = case.task.input.datasets.iter().enumerate();
    datasets.any(|(at, dataset)| {
        let sources = case.sources.get(at).map_or(&[][..], Vec::as_slice);
        !dataset.pseudo && availability(dataset, sources, all).whole_disk
    })
}

fn local_only(case: &Case<'_>, rows: &mut [Row<'_>], _: &LocalOnly) {
    for row in rows {
        let candidate = row.candidate;
        let is_bound = candidate.queue.flag("use_only_local_data").is_some();
        let there = candidate.available_files.max(candidate.reachable_files);
        let missing = case.task.total_files.saturating_sub(there);
        if is_bound && missing > 0 {
            row.verdict = object(&FILE_UNAVAILABLE, f64::from(missing), 0.0);
        }
    }
}
