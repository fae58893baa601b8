//! Keeps queues whose slots have the cores that the jobs want.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::event::ChunkKind;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

params! {
    /// Parameters of `cpucore`.
    CpuCore {
        multi_core_urgent: bool = Param::flag("multi_core_urgent", false, true).help(
            "whether urgent jobs and scouts of any core count go multi-core only; the document does \
             not have it",
        ),
        multi_core_priority: f64 = Param::int("multi_core_priority", 900, 900)
            .help("from this priority on jobs are urgent"),
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether a single pre-assigned queue is not asked"),
    }
}

pub(super) const CPUCORE: Reason =
    Reason::new("cpucore", "the queue has {measured} cores a slot, the jobs want {limit}");
pub(super) const MAX_CPUCORE: Reason = Reason::new(
    "max_cpucore",
    "the queue has {measured} cores a slot, the jobs use at most {limit}",
);

pub(super) const FILTER: QueueFilter = queue_filter!(CpuCore {
    name: "cpucore",
    spec: "atlas F9",
    help: "single-core jobs go to single-core queues, multi-core jobs to multi-core queues",
    reasons: &[&CPUCORE, &MAX_CPUCORE],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(case: &Case<'_>, params: &CpuCore) -> bool {
    !params.preassigned_exempt || case.preassigned != Preassigned::One
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &CpuCore) -> Verdict {
    let (task, cores) = (case.task, candidate.queue.cores);
    let wanted = match (task.chunk, task.merge_core_count) {
        (ChunkKind::Merge, Some(cores)) => Some(cores),
        (ChunkKind::Merge, None) | (ChunkKind::Normal | ChunkKind::Scout, _) => task.core_count,
    };
    let is_urgent = || f64::from(task.priority) >= params.multi_core_priority;
    let fits = match wanted {
        Some(0) if params.multi_core_urgent && (is_urgent() || task.has_scouts()) => cores > 1,
        Some(0) => true,
        Some(1) | None => cores <= 1,
        Some(_) => cores > 1,
    };
    if !fits {
        return object(&CPUCORE, f64::from(cores), f64::from(wanted.unwrap_or(1)));
    }
    match task.max_core_count {
        Some(most) if cores > most => object(&MAX_CPUCORE, f64::from(cores), f64::from(most)),
        Some(_) | None => Verdict::Pass,
    }
}
