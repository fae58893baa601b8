//! Keeps event service jobs and other jobs where they can run.

use super::object;
use crate::core::event::ChunkKind;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Preassigned, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "event_service",
    spec: "atlas F17",
    help: "event service jobs go where the queue's jobseed has them, others where it has others; \
           not asked of a single pre-assigned queue",
    reasons: &[
        ("nones", "the queue is for event service jobs alone"),
        ("es", "the queue takes no event service jobs"),
        (
            "eshigh",
            "the queue takes event service jobs of priority {limit} on; this has {measured}",
        ),
        ("es_ucore", "event service jobs take no single-core part of a unified queue"),
    ],
    params: &[
        Param::int("priority", 900, 900).help("from which `eshigh` takes jobs; scouts at any")
    ],
    reads: &[],
    temporary: false,
    applies: Some(|case, _| case.preassigned != Preassigned::One),
    judge: Judge::Before(judge),
};

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let (task, queue) = (case.task, candidate.queue);
    if case.preassigned == Preassigned::One {
        return Verdict::Pass;
    }
    let is_event_service = task.options.event_service && !task.options.job_cloning;
    let (priority, least) = (f64::from(task.priority), args.number(0));
    match (queue.jobseed.as_str(), is_event_service) {
        ("" | "std", true) => object("es", 0.0, 1.0),
        ("eshigh", true) if priority < least && task.chunk != ChunkKind::Scout => {
            object("eshigh", priority, least)
        }
        (_, true) if queue.ucore && queue.cores <= 1 => object("es_ucore", 1.0, 2.0),
        ("es", false) => object("nones", 0.0, 1.0),
        _ => Verdict::Pass,
    }
}
