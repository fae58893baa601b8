//! Keeps queues whose slots have the cores that the jobs want.

use super::object;
use crate::core::event::ChunkKind;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Preassigned, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "cpucore",
    spec: "atlas F9",
    help: "single-core jobs go to single-core queues, multi-core jobs to multi-core queues; \
           not asked of a single pre-assigned queue",
    reasons: &[
        ("cpucore", "the queue has {measured} cores a slot, the jobs want {limit}"),
        ("max_cpucore", "the queue has {measured} cores a slot, the jobs use at most {limit}"),
    ],
    params: &[Param::int("multi_core_priority", 900, 900)
        .help("from this priority on, and for scouts, jobs of any core count go multi-core only")],
    reads: &[],
    temporary: false,
    applies: Some(|case, _| case.preassigned != Preassigned::One),
    judge: Judge::Before(judge),
};

const MULTI_CORE_PRIORITY: usize = 0;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if case.preassigned == Preassigned::One {
        return Verdict::Pass;
    }
    let (task, cores) = (case.task, candidate.queue.cores);
    let wanted = match (task.chunk, task.merge_core_count) {
        (ChunkKind::Merge, Some(cores)) => Some(cores),
        (ChunkKind::Merge, None) | (ChunkKind::Normal | ChunkKind::Scout, _) => task.core_count,
    };
    let urgent = f64::from(task.priority) >= args.number(MULTI_CORE_PRIORITY);
    let fits = match wanted {
        Some(0) if urgent || task.chunk == ChunkKind::Scout => cores > 1,
        Some(0) => true,
        Some(1) | None => cores <= 1,
        Some(_) => cores > 1,
    };
    if !fits {
        return object("cpucore", f64::from(cores), f64::from(wanted.unwrap_or(1)));
    }
    match task.max_core_count {
        Some(most) if cores > most => object("max_cpucore", f64::from(cores), f64::from(most)),
        Some(_) | None => Verdict::Pass,
    }
}
