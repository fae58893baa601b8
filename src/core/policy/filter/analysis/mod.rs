//! Filters of ATLAS analysis jobs, where their rule is not that of production (spec atlas 8.3).

mod choice;
mod crowd;
mod place;
mod size;
mod software;
mod storage;

use super::{cpucore, disk_io, io_intensity, object, remoteio, walltime, whole, zeroshare};
use crate::core::policy::Filter;

/// Filters of ATLAS analysis jobs, in the order of the specification.
pub(in crate::core::policy) const FILTERS: &[&Filter] = &[
    &place::LOCALITY,
    &place::STATUS,
    &ZEROSHARE,
    &DISK_IO,
    &io_intensity::FILTER,
    &place::AVOID_VP,
    &size::CORES,
    &software::GPU,
    &crowd::CLOSED,
    &software::FILTER,
    &size::MEMORY,
    &remoteio::FILTER,
    &size::SCRATCH,
    &storage::FILTER,
    &walltime::ANALYSIS,
    &walltime::DAY_ALONE,
    &crowd::PILOTS,
    &place::CHOSEN,
    &place::PREASSIGNED,
    &place::HOSPITAL,
    &crowd::OVERLOAD,
    &crowd::CAP,
    &crowd::IDLE,
    &crowd::STABILIZER,
    &crowd::FAILURES,
    &choice::USED_FIRST,
    &choice::MIN_WEIGHT,
    &choice::LOCAL_ONLY,
];

const ZEROSHARE: Filter = Filter {
    spec: "atlas G3, 2.6, DIFF-23",
    help: "the queue's fairsharepolicy gives the task a share; not asked of a pre-assigned queue",
    judge: crate::core::policy::Judge::Before(|case, candidate, args| {
        use crate::core::policy::{Preassigned, Verdict};
        match case.preassigned {
            Preassigned::One => Verdict::Pass,
            Preassigned::No | Preassigned::List => zeroshare::judge(case, candidate, args),
        }
    }),
    ..zeroshare::FILTER
};

/// As in production, but for good, and with the exact division.
const DISK_IO: Filter = Filter {
    spec: "atlas G4",
    params: &[disk_io::LIMIT_PARAM, disk_io::EXACT],
    temporary: false,
    applies: None,
    judge: crate::core::policy::Judge::Before(disk_io::judge_unified),
    ..disk_io::FILTER
};
