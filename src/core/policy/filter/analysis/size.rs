//! Whether jobs of an analysis task fit into a slot of the queue: cores, memory, scratch space.

use super::super::{ALWAYS_DIRECT, scratch};
use super::{object, whole};
use crate::core::event::{ChunkKind, RamUnit};
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Verdict};
use crate::core::unit::MIB;

pub(super) const CORES: Filter = Filter {
    name: "cpucore",
    spec: "atlas G7",
    help: "single-core jobs go to single-core queues, multi-core jobs to multi-core queues, jobs \
           of any core count anywhere",
    reasons: super::cpucore::FILTER.reasons,
    params: &[],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(cores),
};

fn cores(case: &Case<'_>, candidate: &Candidate<'_>, _: &Args) -> Verdict {
    let (task, cores) = (case.task, candidate.queue.cores);
    let fits = match task.core_count {
        Some(0) => true,
        Some(1) | None => cores <= 1,
        Some(_) => cores > 1,
    };
    if !fits {
        return object("cpucore", f64::from(cores), f64::from(task.core_count.unwrap_or(1)));
    }
    match task.max_core_count {
        Some(most) if cores > most => object("max_cpucore", f64::from(cores), f64::from(most)),
        Some(_) | None => Verdict::Pass,
    }
}

pub(super) const MEMORY: Filter = Filter {
    name: "memory",
    spec: "atlas G11, DIFF-38",
    help: "the memory a job is expected to need lies between the queue's minimum and maximum",
    reasons: &[
        ("lowmemory", "a job needs {measured} MB, the queue has {limit} MB"),
        ("highmemory", "a job needs {measured} MB, the queue is for {limit} MB and more"),
    ],
    params: &[
        Param::float("compensation", (0.0, 10.0), 0.9, 0.9)
            .help("factor on the expected memory, so that a need close to a limit stays below it"),
        Param::flag("base", true, false).help("whether baseRamCount is added (DIFF-38)"),
        Param::int("merge_least_mb", 2_000, 2_000).help("least memory of a merge job; MB"),
    ],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(memory),
};

fn memory(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let task = case.task;
    let base = if args.flag(1) { f64::from(task.base_ram_mb.unwrap_or(0)) } else { 0.0 };
    let ram = f64::from(task.ram_count_mb.unwrap_or(0));
    let plain = match (task.chunk, task.ram_unit) {
        (ChunkKind::Merge, _) => match task.merge_ram_mb {
            None | Some(0) => return Verdict::Pass,
            Some(ram) => f64::from(ram).max(args.number(2)),
        },
        _ if ram == 0.0 => return Verdict::Pass,
        (_, RamUnit::MbPerCore) => ram * candidate.cores() + base,
        (_, RamUnit::Mb) => ram + base,
    };
    let need = whole(plain * args.number(0));
    let (most, least) = (candidate.queue.max_rss_mb, candidate.queue.min_rss_mb);
    if most > 0 && need > f64::from(most) {
        return object("lowmemory", need, f64::from(most));
    }
    if least > 0 && need < f64::from(least) {
        return object("highmemory", need, f64::from(least));
    }
    Verdict::Pass
}

pub(super) const SCRATCH: Filter = Filter {
    name: "scratch",
    spec: "atlas G12a, DIFF-14, DIFF-15",
    help: "input, output and work files of a job fit into the scratch space of a slot",
    reasons: &[("disk", "a job needs {measured} MB of scratch space, a slot has {limit} MB")],
    params: &[
        Param::int("work_margin_mb", 300, 300).help(
            "added to the task's work space, where it states one; MB (DIFF-14; the seed's formula has \
             none, the readings recorded of it do)",
        ),
        Param::word("scaling", &["always", "single_core"], "single_core", "single_core").help(
            "whether maxwdir is divided by the unified queue's cores for every task, or only for \
             tasks that are not multi-core (DIFF-15)",
        ),
    ],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(scratch),
};

fn scratch(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let space = f64::from(candidate.queue.max_wdir_mb);
    if space == 0.0 {
        return Verdict::Pass;
    }
    let is_multi_core = case.task.core_count.unwrap_or(0) > 1;
    let is_undivided = args.word(1) == 1 && is_multi_core;
    let share = if is_undivided { space } else { space / scratch::slot_cores(candidate) };
    let need = need_mb(case, candidate, args);
    if need > share { object("disk", need, share) } else { Verdict::Pass }
}

/// Expected scratch space of a job; MB.
fn need_mb(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> f64 {
    let (task, mib) = (case.task, MIB as f64);
    let atom = task.atom_bytes as f64;
    if task.chunk == ChunkKind::Merge {
        return whole(2.0 * atom / mib);
    }
    let rate = task.output_per_event.or(task.output_per_mb).filter(|rate| *rate > 0.0);
    let rate = rate.unwrap_or(0.0);
    let work = task.work_bytes.map_or(0.0, |work| work as f64 + args.number(0) * mib);
    let output = rate * task.atom_effective_mb;
    let size_mb = task.options.gb_per_job.map(|size| f64::from(size) * 1024.0);
    if reads_directly(case, candidate) {
        let need = whole((output + work) / mib);
        let of_size = size_mb.filter(|_| !task.use_local_io);
        return of_size.map_or(need, |size| need.max((rate * size + work) / mib));
    }
    let need = whole((output + work + atom) / mib);
    size_mb.map_or(need, |size| need.max(size))
}

/// Whether input is read from storage instead of being copied to scratch.
fn reads_directly(case: &Case<'_>, candidate: &Candidate<'_>) -> bool {
    let (task, queue) = (case.task, candidate.queue);
    let over_lan = task.allow_input_lan && !task.use_local_io && queue.direct_access_lan;
    queue.max_input_mb == ALWAYS_DIRECT || over_lan
}
