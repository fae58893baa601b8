//! Keeps tasks off nuclei whose storage will not hold their output.

use super::declare::{NucleusFilter, nucleus_filter};
use super::usable::{each, endpoints};
use super::{NucleusCandidate, NucleusRows, TaskCase};
use crate::domain::atlas::policy::filter::Boundary;
use crate::event::Storage;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};
use crate::unit::GIB;

/// Threshold of a share that sets none.
const UNSET: f64 = -1.0;
/// Largest figure of a parameter of space; TB.
const TB_MAX: f64 = 1e12;

params! {
    /// Parameters of `space`.
    Space {
        threshold: f64 = Param::float("DISK_THRESHOLD", (UNSET, TB_MAX), 100.0, 100.0)
            .unit(Unit::Tb)
            .gdp("taskbrokerage/DISK_THRESHOLD")
            .help("least space that must be left; TB of 1024 GB"),
        share_threshold: f64 = Param::float("share_threshold", (UNSET, TB_MAX), UNSET, UNSET)
            .unit(Unit::Tb)
            .gdp("taskbrokerage/DISK_THRESHOLD_<gshare>")
            .help("the same for a share, in place of the general one; -1: none"),
        boundary: Boundary = Boundary::param("boundary", Boundary::Above, Boundary::AtLeast)
            .help("keeps above the threshold, or at it already (DIFF-3)"),
        usable: bool = Param::flag("usable", false, true)
            .help("whether space to be left free and space that is unavailable counts as taken"),
        gb_per_core_day: f64 = Param::float("gb_per_core_day", (0.0, 1e9), 0.25, 0.25)
            .unit(Unit::Gb)
            .help("output of a core in a day"),
        core_power: f64 = Param::float("core_power", (0.001, 1e9), 10.0, 10.0)
            .unit(Unit::Hs06)
            .help("power of a core"),
    }
}

const SPACE: Reason = Reason::new(
    "space",
    "{measured} GB will be left at an endpoint of the output; limit {limit} GB",
);

pub(super) const FILTER: NucleusFilter = nucleus_filter!(Space {
    name: "space",
    spec: "atlas N6, 1.5, DIFF-3",
    help: "what is free at every endpoint of the output, less what the work that remains at the \
           nucleus will write, is above a threshold",
    reasons: &[&SPACE],
    reads: &[Reads::Storage, Reads::Work],
    temporary: false,
    applies: Always,
    judge: Whole(judge),
});

const SECONDS_PER_DAY: f64 = 86_400.0;

/// Output of the work that remains at a nucleus; whole GB.
pub(super) fn demand_gb(work: f64, core_power: f64, gb_per_core_day: f64) -> f64 {
    (work.max(0.0) / core_power / SECONDS_PER_DAY * gb_per_core_day).floor()
}

/// Free space at an endpoint, expired data included; GB.
pub(super) fn free_gb(storage: &Storage, usable: bool) -> f64 {
    let gb = |bytes: u64| bytes as f64 / GIB as f64;
    let free = gb(storage.free_bytes) + gb(storage.expired_bytes);
    match usable {
        true => free - gb(storage.min_free_bytes) - gb(storage.unavailable_bytes),
        false => free,
    }
}

/// Space at the endpoint of a task's output that will be fullest.
pub(super) struct Tightest {
    /// Free now; GB.
    pub(super) free_gb: f64,
    /// Free when the work that remains has been written; GB.
    pub(super) net_gb: f64,
    /// All of it; GB, above 0.
    pub(super) total_gb: f64,
}

/// The endpoint of a task's output that will be fullest; `None` when there is none of known size.
pub(super) fn tightest(
    case: &TaskCase<'_>,
    nucleus: &NucleusCandidate<'_>,
    demand_gb: f64,
    usable: bool,
) -> Option<Tightest> {
    let sized = endpoints(case, nucleus).filter(|storage| storage.total_bytes > 0);
    let spaces = sized.map(|storage| {
        let free_gb = free_gb(storage, usable);
        let total_gb = storage.total_bytes as f64 / GIB as f64;
        Tightest { free_gb, net_gb: free_gb - demand_gb, total_gb }
    });
    spaces.min_by(|a, b| (a.net_gb / a.total_gb).total_cmp(&(b.net_gb / b.total_gb)))
}

fn judge(case: &TaskCase<'_>, rows: &mut NucleusRows<'_>, params: &Space) {
    let own = params.share_threshold;
    let limit = 1_024.0 * if own == UNSET { params.threshold } else { own };
    each(rows, |nucleus| {
        let demand = demand_gb(nucleus.work, params.core_power, params.gb_per_core_day);
        for storage in endpoints(case, nucleus) {
            let left = free_gb(storage, params.usable) - demand;
            if !params.boundary.is_beyond(left, limit) {
                return object(&SPACE, left, limit);
            }
        }
        Verdict::Pass
    });
}
