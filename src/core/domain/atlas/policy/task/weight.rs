//! Weights of nuclei (spec atlas 1.7). Only + - * /, so that the bytes agree on every machine;
//! never NaN, never infinite.

use super::declare::{NucleusWeight, nucleus_weight};
use super::space::{demand_gb, tightest};
use super::usable::endpoints;
use super::{Course, NucleusCandidate, TaskCase};
use crate::policy::typed::{params, words};
use crate::policy::{Param, Reads, Unit};

/// Largest figure of a parameter.
const MOST: f64 = 1e12;

words! {
    /// Divisor of an idle nucleus.
    Idle {
        Offset = "offset",
        One = "one",
    }
}

params! {
    /// Parameters of `work`.
    Work {
        offset: f64 = Param::float("offset", (1.0, MOST), 50.0, 50.0)
            .unit(Unit::Hs06Seconds)
            .help("work up to which a nucleus counts as idle"),
        idle: Idle = Idle::param("idle", Idle::Offset, Idle::One)
            .help("what an idle nucleus is divided by: the offset, or 1 (DIFF-7)"),
    }
}

pub(super) const WORK: NucleusWeight = nucleus_weight!(Work {
    name: "work",
    spec: "atlas 1.7, DIFF-7",
    help: "the more work of the share and of at least the task's priority remains at the nucleus, \
           the lighter",
    figures: &[],
    reads: &[],
    weigh: Factor(work),
});

words! {
    /// Level of an I/O intensity that is not set.
    Unset {
        Low = "low",
        High = "high",
    }
}

params! {
    /// Parameters of `local_input`.
    LocalInput {
        io_from: f64 =
            Param::float("MIN_IO_INTENSITY_WITH_LOCAL_DATA", (0.0, MOST), 200.0, 200.0)
                .unit(Unit::KbPerSecond)
                .gdp("taskbrokerage/MIN_IO_INTENSITY_WITH_LOCAL_DATA")
                .help("above it an I/O intensity is high"),
        unset: Unset = Unset::param("unset", Unset::Low, Unset::High)
            .help("whether an I/O intensity that is not set counts as low or as high"),
        last_part: bool = Param::flag("last_part", false, true)
            .help("whether of a container the last part alone counts as all there is (Q-2)"),
    }
}

pub(super) const LOCAL_INPUT: NucleusWeight = nucleus_weight!(LocalInput {
    name: "local_input",
    spec: "atlas 1.7",
    help: "the part of the input's bytes that lies at the nucleus, for tasks of high I/O intensity",
    figures: &[],
    reads: &[],
    weigh: Factor(local_input),
});

params! {
    /// Parameters of `tape`.
    Tape {
        tape: f64 = Param::float("tape", (0.0, MOST), 0.001, 0.001).help("weight of input on tape"),
        last_part: bool = Param::flag("last_part", false, true)
            .help("whether of a container the last part alone counts as all there is (Q-2)"),
    }
}

pub(super) const TAPE: NucleusWeight = nucleus_weight!(Tape {
    name: "tape",
    spec: "atlas 1.7",
    help: "a nucleus that has more of the input on tape than on disk is lighter",
    figures: &[],
    reads: &[],
    weigh: Factor(tape),
});

params! {
    /// Parameters of `free_part`.
    FreePart {
        net: bool = Param::flag("net", false, true)
            .help("whether what the work that remains will write counts as taken"),
        usable: bool = Param::flag("usable", false, true)
            .help("whether space to be left free and space that is unavailable counts as taken"),
        unknown_size: f64 = Param::float("unknown_size", (0.0, 1.0), 0.001, 1.0).help(
            "free part of an endpoint whose size is not known: next to nothing, so that it is used \
             where no other is left; PanDA takes it for empty",
        ),
    }
}

pub(super) const SPACE: NucleusWeight = nucleus_weight!(FreePart {
    name: "free_part",
    spec: "atlas 1.7",
    help: "the part of the storage for the output that is free",
    figures: &[],
    reads: &[Reads::Storage],
    weigh: Factor(free_part),
});

params! {
    /// Parameters of `free_disk`.
    FreeDisk {
        counted: bool = Param::flag("counted", false, true)
            .help("whether it counts at all (DIFF-8)"),
        cutoff: f64 = Param::float("FREE_DISK_CUTOFF", (0.0, MOST), 1_000.0, 1_000.0)
            .unit(Unit::Tb)
            .gdp("taskbrokerage/FREE_DISK_CUTOFF")
            .help("space beyond which more makes no difference; TB of 1024 GB"),
    }
}

pub(super) const DISK: NucleusWeight = nucleus_weight!(FreeDisk {
    name: "free_disk",
    spec: "atlas 1.7, DIFF-8",
    help: "what is left of the storage for the output, up to a cutoff; whole TB",
    figures: &[],
    reads: &[Reads::Storage],
    weigh: Factor(free_disk),
});

/// Output of a core in a day, GB, and the power of a core, HS06 (spec atlas 1.5).
const GB_PER_CORE_DAY: f64 = 0.25;
const CORE_POWER: f64 = 10.0;

fn work(_: &TaskCase<'_>, nucleus: &NucleusCandidate<'_>, params: &Work, _: &mut Course) -> f64 {
    let work = nucleus.work_ahead;
    if work >= params.offset {
        return 1.0 / work.min(f64::MAX);
    }
    match params.idle {
        Idle::One => 1.0,
        Idle::Offset => 1.0 / params.offset,
    }
}

fn local_input(
    case: &TaskCase<'_>,
    nucleus: &NucleusCandidate<'_>,
    params: &LocalInput,
    course: &mut Course,
) -> f64 {
    let (bytes, _) = case.total.counted(params.last_part);
    let is_high = match case.task.io_intensity_kbps {
        Some(kbps) => f64::from(kbps) > params.io_from,
        None => params.unset == Unset::High,
    };
    if course.locality_dropped || !case.total.is_there || !is_high || bytes <= 0.0 {
        return 1.0;
    }
    nucleus.held.any_bytes as f64 / bytes
}

fn tape(
    case: &TaskCase<'_>,
    nucleus: &NucleusCandidate<'_>,
    params: &Tape,
    course: &mut Course,
) -> f64 {
    let (bytes, _) = case.total.counted(params.last_part);
    if course.locality_dropped || bytes <= 0.0 {
        return 1.0;
    }
    if nucleus.held.any_bytes > nucleus.held.disk_bytes { params.tape } else { 1.0 }
}

fn demand(nucleus: &NucleusCandidate<'_>) -> f64 {
    demand_gb(nucleus.work, CORE_POWER, GB_PER_CORE_DAY)
}

fn free_part(
    case: &TaskCase<'_>,
    nucleus: &NucleusCandidate<'_>,
    params: &FreePart,
    _: &mut Course,
) -> f64 {
    if endpoints(case, nucleus).next().is_none() {
        return 1.0;
    }
    tightest(case, nucleus, demand(nucleus), params.usable).map_or(params.unknown_size, |space| {
        let free = if params.net { space.net_gb } else { space.free_gb };
        free.max(0.0) / space.total_gb
    })
}

fn free_disk(
    case: &TaskCase<'_>,
    nucleus: &NucleusCandidate<'_>,
    params: &FreeDisk,
    _: &mut Course,
) -> f64 {
    if !params.counted {
        return 1.0;
    }
    let left = tightest(case, nucleus, demand(nucleus), true);
    left.map_or(1.0, |space| (space.net_gb / 1_024.0).floor().clamp(0.0, params.cutoff))
}
