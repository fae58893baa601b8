//! Keeps urgent work and scouts where they are sure to run.

use super::object;
use crate::core::event::ChunkKind;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Preassigned, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "opportunistic",
    spec: "atlas F4, DIFF-12",
    help: "jobs of high priority and scouts go to the nucleus's queues only (documented), or to \
           none that is opportunistic (panda); not asked of pre-assigned queues",
    reasons: &[
        ("not_nucleus", "priority {measured} or scout, and the queue is not the nucleus's"),
        ("opportunistic", "priority {measured} or scout, and the queue has no pledge"),
    ],
    params: &[
        Param::int("priority", 800, 800).help("from this priority on; scouts at any"),
        Param::word("keeps", &["nucleus", "pledged"], "nucleus", "pledged")
            .help("which queues are kept (DIFF-12)"),
    ],
    reads: &[],
    temporary: false,
    applies: Some(is_asked),
    judge: Judge::Before(judge),
};

const PRIORITY: usize = 0;
const KEEPS: usize = 1;

/// `pledgedcpu` of a queue without a pledge.
const NO_PLEDGE: i32 = -1;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let priority = f64::from(case.task.priority);
    if !is_asked(case, args) {
        return Verdict::Pass;
    }
    match args.word(KEEPS) {
        0 if case.task.nucleus.is_empty() || case.in_nucleus(candidate) => Verdict::Pass,
        0 => object("not_nucleus", priority, args.number(PRIORITY)),
        _ if candidate.queue.pledged_cpu == NO_PLEDGE => {
            object("opportunistic", priority, args.number(PRIORITY))
        }
        _ => Verdict::Pass,
    }
}

/// Whether the work is urgent, and free to go anywhere.
fn is_asked(case: &Case<'_>, args: &Args) -> bool {
    let is_urgent = f64::from(case.task.priority) >= args.number(PRIORITY);
    case.preassigned == Preassigned::No && (is_urgent || case.task.chunk == ChunkKind::Scout)
}
