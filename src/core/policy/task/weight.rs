//! What makes one nucleus likelier than another (spec atlas 1.7). Only + - * /, so that the bytes
//! agree on every machine; never NaN, never infinite.

use super::space::{demand_gb, tightest};
use super::{Course, NucleusCandidate, TaskCase};
use crate::core::policy::{Args, Param, Reads, Weigh, Weight};

/// Largest figure of a parameter.
const MOST: f64 = 1e12;

pub(super) const WORK: Weight = Weight {
    name: "work",
    spec: "atlas 1.7, DIFF-7",
    help: "the more work of the share and of at least the task's priority remains at the nucleus, \
           the lighter",
    params: &[
        Param::float("offset", (1.0, MOST), 50.0, 50.0)
            .help("work up to which a nucleus counts as idle; HS06 s"),
        Param::word("idle", &["offset", "one"], "offset", "one")
            .help("what an idle nucleus is divided by: the offset, or 1 (DIFF-7)"),
    ],
    figures: &[],
    reads: &[],
    weigh: Weigh::Nucleus(work),
};

pub(super) const LOCAL_INPUT: Weight = Weight {
    name: "local_input",
    spec: "atlas 1.7",
    help: "the part of the input's bytes that lies at the nucleus, for tasks of high I/O intensity",
    params: &[
        Param::float("MIN_IO_INTENSITY_WITH_LOCAL_DATA", (0.0, MOST), 200.0, 200.0)
            .gdp("taskbrokerage/MIN_IO_INTENSITY_WITH_LOCAL_DATA")
            .help("above it an I/O intensity is high; kB/s"),
        Param::word("unset", &["low", "high"], "low", "high")
            .help("whether an I/O intensity that is not set counts as low or as high"),
        Param::flag("last_part", false, true)
            .help("whether of a container the last part alone counts as all there is (Q-2)"),
    ],
    figures: &[],
    reads: &[],
    weigh: Weigh::Nucleus(local_input),
};

pub(super) const TAPE: Weight = Weight {
    name: "tape",
    spec: "atlas 1.7",
    help: "a nucleus that has more of the input on tape than on disk is lighter",
    params: &[
        Param::float("tape", (0.0, MOST), 0.001, 0.001).help("weight of input on tape"),
        Param::flag("last_part", false, true)
            .help("whether of a container the last part alone counts as all there is (Q-2)"),
    ],
    figures: &[],
    reads: &[],
    weigh: Weigh::Nucleus(tape),
};

pub(super) const SPACE: Weight = Weight {
    name: "free_part",
    spec: "atlas 1.7",
    help: "the part of the storage for the output that is free",
    params: &[
        Param::flag("net", false, true)
            .help("whether what the work that remains will write counts as taken"),
        Param::flag("usable", false, true)
            .help("whether space to be left free and space that is unavailable counts as taken"),
    ],
    figures: &[],
    reads: &[Reads::Storage],
    weigh: Weigh::Nucleus(space),
};

pub(super) const DISK: Weight = Weight {
    name: "free_disk",
    spec: "atlas 1.7, DIFF-8",
    help: "what is left of the storage for the output, up to a cutoff; whole TB",
    params: &[
        Param::flag("counted", false, true).help("whether it counts at all (DIFF-8)"),
        Param::float("FREE_DISK_CUTOFF", (0.0, MOST), 1_000.0, 1_000.0)
            .gdp("taskbrokerage/FREE_DISK_CUTOFF")
            .help("space beyond which more makes no difference; TB of 1024 GB"),
    ],
    figures: &[],
    reads: &[Reads::Storage],
    weigh: Weigh::Nucleus(free_disk),
};

/// Output of a core in a day, GB, and the power of a core, HS06 (spec atlas 1.5).
const GB_PER_CORE_DAY: f64 = 0.25;
const CORE_POWER: f64 = 10.0;

fn work(_: &TaskCase<'_>, nucleus: &NucleusCandidate<'_>, _: &Course, args: &Args) -> f64 {
    let (work, offset) = (nucleus.work_ahead, args.number(0));
    if work >= offset {
        return 1.0 / work.min(f64::MAX);
    }
    if args.word(1) == 1 { 1.0 } else { 1.0 / offset }
}

fn local_input(
    case: &TaskCase<'_>,
    nucleus: &NucleusCandidate<'_>,
    course: &Course,
    args: &Args,
) -> f64 {
    let (bytes, _) = case.total.counted(args.flag(2));
    let is_high = match case.task.io_intensity_kbps {
        Some(kbps) => f64::from(kbps) > args.number(0),
        None => args.word(1) == 1,
    };
    if course.locality_dropped || !case.total.is_there || !is_high || bytes <= 0.0 {
        return 1.0;
    }
    nucleus.held.any_bytes as f64 / bytes
}

fn tape(case: &TaskCase<'_>, nucleus: &NucleusCandidate<'_>, course: &Course, args: &Args) -> f64 {
    let (bytes, _) = case.total.counted(args.flag(1));
    if course.locality_dropped || bytes <= 0.0 {
        return 1.0;
    }
    if nucleus.held.any_bytes > nucleus.held.disk_bytes { args.number(0) } else { 1.0 }
}

fn demand(nucleus: &NucleusCandidate<'_>) -> f64 {
    demand_gb(nucleus.work, CORE_POWER, GB_PER_CORE_DAY)
}

fn space(case: &TaskCase<'_>, nucleus: &NucleusCandidate<'_>, _: &Course, args: &Args) -> f64 {
    tightest(case, nucleus, demand(nucleus), args.flag(1)).map_or(1.0, |space| {
        let free = if args.flag(0) { space.net_gb } else { space.free_gb };
        free.max(0.0) / space.total_gb
    })
}

fn free_disk(case: &TaskCase<'_>, nucleus: &NucleusCandidate<'_>, _: &Course, args: &Args) -> f64 {
    if !args.flag(0) {
        return 1.0;
    }
    let left = tightest(case, nucleus, demand(nucleus), true);
    left.map_or(1.0, |space| (space.net_gb / 1_024.0).floor().clamp(0.0, args.number(1)))
}
