//! Which queues have what a generic job needs: space, time, cores, memory.

use super::super::bound::whole;
use super::super::cpucore::{CPUCORE, FILTER as CPUCORE_FILTER};
use super::super::memory::{FILTER as MEMORY_FILTER, HIGH, LOW};
use super::super::scratch::{DISK, FILTER as SCRATCH_FILTER, output, reads_directly};
use super::super::walltime::FILTER as WALLTIME_FILTER;
use super::place::{OfNamed, is_asked};
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::{ChunkKind, Queue, RamUnit};
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Unit, Verdict};
use crate::unit::MIB;

params! {
    /// Parameters of `scratch` for generic jobs.
    Scratch {
        output_scaled: bool = Param::flag("output_scaled", true, false).help(
            "whether a task's output counts for each event or MB of a job's input, or once",
        ),
        work_margin: f64 = Param::int("work_margin_mb", 300, 300)
            .unit(Unit::Mb)
            .help("added to the task's work space, where it states one"),
    }
}

pub(super) const SCRATCH: QueueFilter = queue_filter!(Scratch {
    name: SCRATCH_FILTER.filter.name,
    spec: "panda-generic F2",
    help: SCRATCH_FILTER.filter.help,
    reasons: &[&DISK],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(scratch),
});

fn scratch(case: &Case<'_>, candidate: &Candidate<'_>, params: &Scratch) -> Verdict {
    let (task, space) = (case.task, f64::from(candidate.queue.max_wdir_mb));
    if space == 0.0 {
        return Verdict::Pass;
    }
    let written = match params.output_scaled {
        true => output(task),
        false => task.output_per_event.or(task.output_per_mb).unwrap_or(0.0),
    };
    let margin = params.work_margin * MIB as f64;
    let work = task.work_bytes.map_or(0.0, |bytes| bytes as f64 + margin);
    // Input that is to be copied is copied even where the queue reads all directly.
    let is_copied = task.use_local_io || !reads_directly(case, candidate);
    let input = if is_copied { task.atom_bytes as f64 } else { 0.0 };
    let need = whole((written + work + input) / MIB as f64);
    if need > space { object(&DISK, need, space) } else { Verdict::Pass }
}

params! {
    /// Parameters of `space`.
    Space {
        least: f64 = Param::int("least_gb", 200, 200)
            .unit(Unit::Gb)
            .help("free space at the queue's storage"),
    }
}

const SPACE_LOW: Reason =
    Reason::new("space", "{measured} GB are free at the queue's storage; limit {limit} GB");

pub(super) const SPACE: QueueFilter = queue_filter!(Space {
    name: "space",
    spec: "panda-generic F3",
    help: "the storage of the queue has free space, where that is stated of the queue",
    reasons: &[&SPACE_LOW],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(space),
});

fn space(_: &Case<'_>, candidate: &Candidate<'_>, params: &Space) -> Verdict {
    let free = f64::from(candidate.queue.space_gb);
    match free != 0.0 && free < params.least {
        true => object(&SPACE_LOW, free, params.least),
        false => Verdict::Pass,
    }
}

params! {
    /// Parameters of `walltime` for generic jobs.
    Walltime {
        null_fails: bool = Param::flag("null_fails", false, true).help(
            "whether a task with a walltime is rejected where the longest time of a queue is null or \
             no number, at which PanDA's broker fails; else a null is no limit",
        ),
    }
}

const SHORT: Reason = Reason::new(
    "shortwalltime",
    "the task states a walltime of {measured} seconds, the queue takes {limit} seconds at most",
);
const LONG: Reason = Reason::new(
    "longwalltime",
    "the task states a walltime of {measured} seconds, the queue takes {limit} seconds at least",
);
pub(super) const MAXTIME_FAILS: Reason = Reason::new(
    "maxtime_fails",
    "the queue's longest time is null or no number: PanDA's broker fails",
);

pub(super) const WALLTIME: QueueFilter = queue_filter!(Walltime {
    name: WALLTIME_FILTER.filter.name,
    spec: "panda-generic F4",
    help: "the task's walltime lies between the queue's shortest and longest time; not asked of a \
           task that states none",
    reasons: &[&SHORT, &LONG, &MAXTIME_FAILS],
    reads: &[],
    temporary: false,
    applies: When(walltime_applies),
    judge: Before(walltime),
});

fn walltime_applies(case: &Case<'_>, _: &Walltime) -> bool {
    case.task.options.walltime_s != 0
}

fn walltime(case: &Case<'_>, candidate: &Candidate<'_>, params: &Walltime) -> Verdict {
    let (queue, need) = (candidate.queue, f64::from(case.task.options.walltime_s));
    if params.null_fails && queue.has_fault(Queue::NULL_MAXTIME) {
        return object(&MAXTIME_FAILS, 0.0, 1.0);
    }
    let (most, least) = (f64::from(queue.max_time_s), f64::from(queue.min_time_s));
    if most != 0.0 && need > most {
        return object(&SHORT, need, most);
    }
    if least != 0.0 && need < least {
        return object(&LONG, need, least);
    }
    Verdict::Pass
}

pub(super) const CORES: QueueFilter = queue_filter!(OfNamed {
    name: CPUCORE_FILTER.filter.name,
    spec: "panda-generic F5",
    help: "single-core jobs go to single-core queues, others to queues of as many cores or more; a \
           queue that states no cores takes all",
    reasons: &[&CPUCORE],
    reads: &[],
    temporary: false,
    applies: When(is_asked),
    judge: Before(cores),
});

fn cores(case: &Case<'_>, candidate: &Candidate<'_>, _: &OfNamed) -> Verdict {
    let has = candidate.queue.cores;
    let (fits, wanted) = match case.task.core_count {
        None | Some(0) => (true, 0),
        Some(1) => (has <= 1, 1),
        Some(wanted) => (has == 0 || has >= wanted, wanted),
    };
    if fits { Verdict::Pass } else { object(&CPUCORE, f64::from(has), f64::from(wanted)) }
}

pub(super) const MEMORY: QueueFilter = queue_filter!(OfNamed {
    name: MEMORY_FILTER.filter.name,
    spec: "panda-generic F6",
    help: MEMORY_FILTER.filter.help,
    reasons: &[&LOW, &HIGH],
    reads: &[],
    temporary: false,
    applies: When(is_asked),
    judge: Before(memory),
});

fn memory(case: &Case<'_>, candidate: &Candidate<'_>, _: &OfNamed) -> Verdict {
    let need = need_mb(case, candidate.queue);
    let (most, least) =
        (f64::from(candidate.queue.max_rss_mb), f64::from(candidate.queue.min_rss_mb));
    if need == 0.0 {
        return Verdict::Pass;
    }
    if most > 0.0 && need > most {
        return object(&LOW, need, most);
    }
    if least > 0.0 && need < least {
        return object(&HIGH, need, least);
    }
    Verdict::Pass
}

/// Least memory of a merge job that states any; MB.
const MERGE_LEAST_MB: u32 = 2_000;

/// Memory of a job in a slot of the queue; MB; 0 where the task states none.
fn need_mb(case: &Case<'_>, queue: &Queue) -> f64 {
    let task = case.task;
    let ram = match task.chunk {
        ChunkKind::Merge => match task.merge_ram_mb.unwrap_or(0) {
            0 => 0,
            stated => stated.max(MERGE_LEAST_MB),
        },
        ChunkKind::Normal | ChunkKind::Scout => task.ram_count_mb.unwrap_or(0),
    };
    if ram == 0 || task.ram_unit == RamUnit::Mb {
        return f64::from(ram);
    }
    let cores = match (queue.cores, task.core_count) {
        (0, Some(wanted)) => wanted.max(1),
        (0, None) => 1,
        (has, _) => has,
    };
    f64::from(ram) * f64::from(cores) + f64::from(task.base_ram_mb.unwrap_or(0))
}
