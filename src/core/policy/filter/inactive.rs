//! Sends nothing that must not wait to a queue that starts nothing.

use super::object;
use crate::core::event::ChunkKind;
use crate::core::policy::{
    Args, Candidate, Case, Filter, Judge, Param, Preassigned, Reads, Verdict,
};

pub(super) const FILTER: Filter = Filter {
    name: "inactive",
    spec: "atlas F5",
    help: "jobs of high priority, scouts, merge jobs and tasks whose output is merged go to no \
           queue where jobs are ready and none started for 2 h; not asked of pre-assigned queues",
    reasons: &[("inactive", "jobs are ready there and none started in the last 2 h")],
    params: &[Param::int("priority", 800, 800).help("from this priority on")],
    reads: &[Reads::Load],
    temporary: true,
    applies: Some(is_asked),
    judge: Judge::Before(judge),
};

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let is_bad = candidate.inactive && is_asked(case, args);
    if is_bad { object("inactive", 0.0, 1.0) } else { Verdict::Pass }
}

/// Whether the work must not wait at a queue where nothing starts.
fn is_asked(case: &Case<'_>, args: &Args) -> bool {
    let task = case.task;
    let is_urgent = f64::from(task.priority) >= args.number(0)
        || task.chunk != ChunkKind::Normal
        || task.options.merge_output;
    is_urgent && case.preassigned == Preassigned::No
}
