//! Sends no I/O-heavy task to a queue whose running jobs already do too much disk I/O.

use super::{object, whole};
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "diskIO",
    spec: "atlas F8",
    help: "the queue's mean disk I/O per core, or that of the task, is within the queue's limit",
    reasons: &[(
        "diskIO",
        "running jobs do {measured} kB/s per core, above {limit}, and so would the task",
    )],
    params: &[
        LIMIT_PARAM,
        Param::word("division", &["exact", "floor"], "exact", "floor")
            .help("how the task's disk I/O is divided by the queue's cores (Q-22)"),
    ],
    reads: &[Reads::Load],
    temporary: true,
    applies: None,
    judge: Judge::Before(judge),
};

pub(super) const LIMIT_PARAM: Param =
    Param::int("MAX_DISKIO_DEFAULT", 10_000_000_000, 10_000_000_000)
        .gdp("jobbroker/MAX_DISKIO_DEFAULT")
        .help("limit where the queue states none; kB/s per core; 0: none");
/// The division by cores where nothing is cut off.
pub(super) const EXACT: Param = Param::word("division", &["exact", "floor"], "exact", "exact")
    .help("how the task's disk I/O is divided by the queue's cores (Q-22)");

const LIMIT: usize = 0;
const DIVISION: usize = 1;
const FLOOR: usize = 1;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    overloaded(case, candidate, args, candidate.cores())
}

/// The same where a slot is one of the unified queue's.
pub(super) fn judge_unified(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    overloaded(case, candidate, args, super::scratch::slot_cores(candidate))
}

fn overloaded(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args, cores: f64) -> Verdict {
    let (Some(usage), Some(task_io)) = (candidate.disk_io_kbps, case.task.disk_io_kbps) else {
        return Verdict::Pass;
    };
    let limit = match candidate.queue.max_disk_io_kbps {
        0 => args.number(LIMIT),
        own => f64::from(own),
    };
    let multi_core = case.task.core_count.unwrap_or(0) > 1;
    let share = if multi_core { cores } else { 1.0 };
    let per_core = match args.word(DIVISION) {
        FLOOR => whole(f64::from(task_io) / share),
        _ => f64::from(task_io) / share,
    };
    if limit > 0.0 && usage > limit && per_core > limit {
        return object("diskIO", usage, limit);
    }
    Verdict::Pass
}
