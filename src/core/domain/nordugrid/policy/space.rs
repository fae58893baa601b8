//! Filters that look at the job's input files (N-15, N-17, N-19).

use super::declared::{TargetFilter, target_filter};
use super::staging::Staging;
use super::target::TargetCandidate;
use crate::policy::verdict::object;
use crate::policy::{Applies, Reason, Verdict};

const NO_LOCATION: Reason =
    Reason::new("no_location", "{measured} input files cannot come to the cluster");
const SIZE_UNKNOWN: Reason = Reason::new("size_unknown", "the size of an input file is not known");
const CACHE_SPACE: Reason = Reason::new(
    "cache_space",
    "input files want {limit:bytes} of the cluster's cache, {measured:bytes} are free",
);
const DISK_SPACE: Reason = Reason::new(
    "disk_space",
    "the job wants {limit:bytes} of the user's disk, {measured:bytes} are free",
);

pub(super) static LOCATION: TargetFilter = target_filter(
    "no_location",
    "cms-nordugrid N-17",
    "every input file can come to the cluster",
    &[&NO_LOCATION],
    Applies::Always,
    |case, target, _| location(&target.staging(case)),
);

pub(super) static SIZES: TargetFilter = target_filter(
    "size_unknown",
    "cms-nordugrid N-15",
    "the size of every input file is known; asked where size_unknown is reject",
    &[&SIZE_UNKNOWN],
    Applies::To(|case, _| case.rejects_unknown_sizes && case.is_size_unknown),
    |_, _, _| object(&SIZE_UNKNOWN, 0.0, 0.0),
);

pub(super) static CACHE: TargetFilter = target_filter(
    "cache_space",
    "cms-nordugrid N-19",
    "input files fit into what is free of the cluster's cache, if it has one",
    &[&CACHE_SPACE],
    Applies::Always,
    |case, target, _| cache(&target.staging(case)),
);

pub(super) static DISK: TargetFilter = target_filter(
    "disk_space",
    "cms-nordugrid N-19",
    "what the job stages and writes fits into what is free of the user's disk, if that is known",
    &[&DISK_SPACE],
    Applies::Always,
    |case, target, _| disk(target, &target.staging(case)),
);

fn location(staging: &Staging) -> Verdict {
    match staging.not_located {
        0 => Verdict::Pass,
        files => object(&NO_LOCATION, files as f64, 0.0),
    }
}

fn cache(staging: &Staging) -> Verdict {
    match staging.cache_free {
        Some(free) if staging.cache_sum > free => {
            object(&CACHE_SPACE, free as f64, staging.cache_sum as f64)
        }
        Some(_) | None => Verdict::Pass,
    }
}

fn disk(candidate: &TargetCandidate<'_>, staging: &Staging) -> Verdict {
    let wanted = staging.disk_sum();
    match candidate.disk_free() {
        Some(free) if wanted > free => object(&DISK_SPACE, free as f64, wanted as f64),
        Some(_) | None => Verdict::Pass,
    }
}
