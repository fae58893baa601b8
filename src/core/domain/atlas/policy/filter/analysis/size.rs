//! Whether jobs of an analysis task fit into a slot of the queue: cores, memory, scratch space.

use super::super::bound::{ALWAYS_DIRECT, whole};
use super::super::cpucore::{CPUCORE, MAX_CPUCORE};
use super::super::memory::{HIGH, LOW};
use super::super::scratch::{DISK, Fit, Scaling, slot_cores};
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::{ChunkKind, RamUnit};
use crate::policy::declare::NoParams;
use crate::policy::param::Default;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Unit, Verdict};
use crate::unit::MIB;

pub(super) const CORES: QueueFilter = queue_filter!(NoParams {
    name: "cpucore",
    spec: "atlas G7",
    help: "single-core jobs go to single-core queues, multi-core jobs to multi-core queues, jobs \
           of any core count anywhere",
    reasons: &[&CPUCORE, &MAX_CPUCORE],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(cores),
});

fn cores(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    let (task, cores) = (case.task, candidate.queue.cores);
    let fits = match task.core_count {
        Some(0) => true,
        Some(1) | None => cores <= 1,
        Some(_) => cores > 1,
    };
    if !fits {
        return object(&CPUCORE, f64::from(cores), f64::from(task.core_count.unwrap_or(1)));
    }
    match task.max_core_count {
        Some(most) if cores > most => object(&MAX_CPUCORE, f64::from(cores), f64::from(most)),
        Some(_) | None => Verdict::Pass,
    }
}

params! {
    /// Parameters of `memory` for analysis jobs.
    Memory {
        compensation: f64 = Param::float("compensation", (0.0, 10.0), 0.9, 0.9)
            .help("factor on the expected memory, so that a need close to a limit stays below it"),
        base: bool = Param::flag("base", true, false)
            .help("whether baseRamCount is added (DIFF-38)"),
        merge_least: f64 = Param::int("merge_least_mb", 0, 2_000)
            .tuned(Default::Int(2_000))
            .unit(Unit::Mb)
            .help("least memory of a merge job that states any; the document has none"),
    }
}

pub(super) const MEMORY: QueueFilter = queue_filter!(Memory {
    name: "memory",
    spec: "atlas G11, DIFF-38",
    help: "the memory a job is expected to need lies between the queue's minimum and maximum",
    reasons: &[&LOW, &HIGH],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(memory),
});

fn memory(case: &Case<'_>, candidate: &Candidate<'_>, params: &Memory) -> Verdict {
    let task = case.task;
    let base = if params.base { f64::from(task.base_ram_mb.unwrap_or(0)) } else { 0.0 };
    let ram = match (task.chunk, task.ram_unit) {
        (ChunkKind::Merge, _) => match f64::from(task.merge_ram_mb.unwrap_or(0)) {
            0.0 => 0.0,
            ram => ram.max(params.merge_least),
        },
        (_, RamUnit::MbPerCore) => f64::from(task.ram_count_mb.unwrap_or(0)) * candidate.cores(),
        (_, RamUnit::Mb) => f64::from(task.ram_count_mb.unwrap_or(0)),
    };
    let need = whole((ram + base) * params.compensation);
    if need <= 0.0 {
        return Verdict::Pass;
    }
    let (most, least) = (candidate.queue.max_rss_mb, candidate.queue.min_rss_mb);
    if most > 0 && need > f64::from(most) {
        return object(&LOW, need, f64::from(most));
    }
    if least > 0 && need < f64::from(least) {
        return object(&HIGH, need, f64::from(least));
    }
    Verdict::Pass
}

params! {
    /// Parameters of `scratch` for analysis jobs.
    Scratch {
        work_margin: f64 = Param::int("work_margin_mb", 0, 300)
            .unit(Unit::Mb)
            .help("added to the task's work space, where it states one (DIFF-14)"),
        scaling: Scaling =
            Scaling::param("scaling", Scaling::Always, Scaling::SingleCore).help(
                "whether maxwdir is divided by the unified queue's cores for every task, or only for \
                 tasks that are not multi-core (DIFF-15)",
            ),
        fit: Fit,
    }
}

pub(super) const SCRATCH: QueueFilter = queue_filter!(Scratch {
    name: "scratch",
    spec: "atlas G12a, DIFF-14, DIFF-15",
    help: "input, output and work files of a job fit into the scratch space of a slot",
    reasons: &[&DISK],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(scratch),
});

fn scratch(case: &Case<'_>, candidate: &Candidate<'_>, params: &Scratch) -> Verdict {
    let space = f64::from(candidate.queue.max_wdir_mb);
    if space == 0.0 {
        return Verdict::Pass;
    }
    let is_multi_core = case.task.core_count.unwrap_or(0) > 1;
    let is_undivided = params.scaling == Scaling::SingleCore && is_multi_core;
    let share = if is_undivided { space } else { space / slot_cores(candidate) };
    params.fit.judge(need_mb(case, candidate, params), share)
}

/// Expected scratch space of a job; MB.
fn need_mb(case: &Case<'_>, candidate: &Candidate<'_>, params: &Scratch) -> f64 {
    let (task, mib) = (case.task, MIB as f64);
    let atom = task.atom_bytes as f64;
    if task.chunk == ChunkKind::Merge {
        return params.fit.need_mb(2.0 * atom);
    }
    let rate = task.output_per_event.or(task.output_per_mb).filter(|rate| *rate > 0.0);
    let rate = rate.unwrap_or(0.0);
    let work = task.work_bytes.map_or(0.0, |work| work as f64 + params.work_margin * mib);
    let output = rate * task.atom_effective_mb;
    let size_mb = task.options.gb_per_job.map(|size| f64::from(size) * 1024.0);
    if reads_directly(case, candidate) {
        let need = params.fit.need_mb(output + work);
        let of_size = size_mb.filter(|_| !task.use_local_io);
        return of_size.map_or(need, |size| need.max((rate * size + work) / mib));
    }
    let need = params.fit.need_mb(output + work + atom);
    size_mb.map_or(need, |size| need.max(size))
}

/// Whether input is read from storage instead of being copied to scratch.
fn reads_directly(case: &Case<'_>, candidate: &Candidate<'_>) -> bool {
    let (task, queue) = (case.task, candidate.queue);
    let over_lan = task.allow_input_lan && !task.use_local_io && queue.direct_access_lan;
    queue.max_input_mb == ALWAYS_DIRECT || over_lan
}
