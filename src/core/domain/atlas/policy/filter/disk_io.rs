//! Sends no I/O-heavy task to a queue whose running jobs already do too much disk I/O.

use super::bound::whole;
use super::scratch::slot_cores;
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};

words! {
    /// How a task's disk I/O is divided by cores.
    Division {
        Exact = "exact",
        Floor = "floor",
    }
}

params! {
    /// Parameters of `diskIO`, and of those that have the same limit.
    DiskLimit {
        limit: f64 = Param::int("MAX_DISKIO_DEFAULT", 10_000_000_000, 10_000_000_000)
            .unit(Unit::KbPerSecond)
            .gdp_above_0("jobbroker/MAX_DISKIO_DEFAULT")
            .help("limit per core where the queue states none; 0: none"),
    }
}

params! {
    /// Parameters of `diskIO` for production jobs.
    DiskIo {
        disk: DiskLimit,
        division: Division = Division::param("division", Division::Exact, Division::Floor)
            .help("how the task's disk I/O is divided by the queue's cores (Q-22)"),
    }
}

params! {
    /// Parameters of `diskIO` for analysis jobs: nothing is cut off by itself.
    ExactDiskIo {
        disk: DiskLimit,
        division: Division = Division::param("division", Division::Exact, Division::Exact)
            .help("how the task's disk I/O is divided by the queue's cores (Q-22)"),
    }
}

const DISK_IO: Reason = Reason::new(
    "diskIO",
    "running jobs do {measured} kB/s per core, above {limit}, and so would the task",
);

pub(super) const FILTER: QueueFilter = queue_filter!(DiskIo {
    name: "diskIO",
    spec: "atlas F8",
    help: "the queue's mean disk I/O per core, or that of the task, is within the queue's limit",
    reasons: &[&DISK_IO],
    reads: &[Reads::Load],
    temporary: true,
    applies: When(applies),
    judge: Before(judge),
});

/// As in production, but for good, by the cores of the unified queue's slots.
pub(super) const ANALYSIS: QueueFilter = queue_filter!(ExactDiskIo {
    name: FILTER.filter.name,
    spec: "atlas G4",
    help: FILTER.filter.help,
    reasons: FILTER.filter.reasons,
    reads: FILTER.filter.reads,
    temporary: false,
    applies: When(applies_to_analysis),
    judge: Before(judge_unified),
});

fn applies(case: &Case<'_>, _: &DiskIo) -> bool {
    case.task.disk_io_kbps.is_some()
}

fn applies_to_analysis(case: &Case<'_>, _: &ExactDiskIo) -> bool {
    case.task.disk_io_kbps.is_some()
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &DiskIo) -> Verdict {
    overloaded(case, candidate, params, candidate.cores())
}

fn judge_unified(case: &Case<'_>, candidate: &Candidate<'_>, params: &ExactDiskIo) -> Verdict {
    let ExactDiskIo { disk, division } = *params;
    overloaded(case, candidate, &DiskIo { disk, division }, slot_cores(candidate))
}

fn overloaded(case: &Case<'_>, candidate: &Candidate<'_>, params: &DiskIo, cores: f64) -> Verdict {
    let (Some(usage), Some(task_io)) = (candidate.disk_io_kbps, case.task.disk_io_kbps) else {
        return Verdict::Pass;
    };
    let limit = match candidate.queue.max_disk_io_kbps {
        0 => params.disk.limit,
        own => f64::from(own),
    };
    let multi_core = case.task.core_count.unwrap_or(0) > 1;
    let share = if multi_core { cores } else { 1.0 };
    let per_core = match params.division {
        Division::Floor => whole(f64::from(task_io) / share),
        Division::Exact => f64::from(task_io) / share,
    };
    if limit > 0.0 && usage > limit && per_core > limit {
        return object(&DISK_IO, usage, limit);
    }
    Verdict::Pass
}
