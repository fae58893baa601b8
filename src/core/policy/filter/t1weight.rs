//! Keeps tasks that are bound to their nucleus there.

use super::object;
use crate::core::event::{ChunkKind, Status};
use crate::core::policy::Candidate;
use crate::core::policy::{Args, Case, Filter, Judge, Param, Reads, Row, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "t1weight",
    spec: "atlas F19b",
    help: "ordinary jobs of a task with a negative t1Weight go to queues of the nucleus, or that \
           share its storage",
    reasons: &[("t1weight", "the task is bound to its nucleus (t1Weight {measured})")],
    params: &[],
    reads: &[],
    temporary: false,
    applies: Some(|case, _| case.task.options.t1_weight < 0),
    judge: Judge::Before(judge),
};

pub(super) const LARGEST: Filter = Filter {
    name: "t1_largest",
    spec: "atlas 2.5.7, Q-34",
    help: "of the nucleus's queues, a task with a negative t1Weight uses the one with most running \
           jobs",
    reasons: &[("t1_weight", "{measured} jobs run; another queue of the nucleus has {limit}")],
    params: &[Param::flag("active", false, true).help("whether this is asked at all (Q-34)")],
    reads: &[Reads::Load],
    temporary: false,
    applies: Some(|case, args| args.flag(0) && case.task.options.t1_weight < 0),
    judge: Judge::Last(largest),
};

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &Args) -> Verdict {
    let weight = case.task.options.t1_weight;
    if weight < 0 && case.task.chunk != ChunkKind::Merge && !case.in_nucleus(candidate) {
        return object("t1weight", f64::from(weight), 0.0);
    }
    Verdict::Pass
}

fn largest(case: &Case<'_>, rows: &mut [Row<'_>], args: &Args) {
    if !args.flag(0) || case.task.options.t1_weight >= 0 || case.task.chunk == ChunkKind::Merge {
        return;
    }
    let running = |row: &Row<'_>| row.candidate.jobs_all(Status::Running);
    let Some(first) = (0..rows.len())
        .reduce(|best, at| if running(&rows[at]) > running(&rows[best]) { at } else { best })
    else {
        return;
    };
    let most = running(&rows[first]);
    for (at, row) in rows.iter_mut().enumerate() {
        if at != first {
            row.verdict = object("t1_weight", running(row), most);
        }
    }
}
