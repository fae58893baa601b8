//! Keeps tasks that are bound to their nucleus there.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter, Row};
use crate::event::{ChunkKind, Status};
use crate::policy::declare::NoParams;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Verdict};

const T1WEIGHT: Reason =
    Reason::new("t1weight", "the task is bound to its nucleus (t1Weight {measured})");

pub(super) const FILTER: QueueFilter = queue_filter!(NoParams {
    name: "t1weight",
    spec: "atlas F19b",
    help: "ordinary jobs of a task with a negative t1Weight go to queues of the nucleus, or that \
           share its storage",
    reasons: &[&T1WEIGHT],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

params! {
    /// Parameters of `t1_largest`.
    Largest {
        active: bool = Param::flag("active", false, true)
            .help("whether this is asked at all (Q-34)"),
    }
}

const T1_WEIGHT: Reason =
    Reason::new("t1_weight", "{measured} jobs run; another queue of the nucleus has {limit}");

pub(super) const LARGEST: QueueFilter = queue_filter!(Largest {
    name: "t1_largest",
    spec: "atlas 2.5.7, Q-34",
    help: "of the nucleus's queues, a task with a negative t1Weight uses the one with most running \
           jobs",
    reasons: &[&T1_WEIGHT],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(largest_applies),
    judge: Last(largest),
});

/// Whether the task is bound to its nucleus.
fn is_bound(case: &Case<'_>) -> bool {
    case.task.options.t1_weight < 0 && case.task.chunk != ChunkKind::Merge
}

fn applies(case: &Case<'_>, _: &NoParams) -> bool {
    is_bound(case)
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    if case.in_nucleus(candidate) {
        return Verdict::Pass;
    }
    object(&T1WEIGHT, f64::from(case.task.options.t1_weight), 0.0)
}

fn largest_applies(case: &Case<'_>, params: &Largest) -> bool {
    params.active && is_bound(case)
}

fn largest(_: &Case<'_>, rows: &mut [Row<'_>], _: &Largest) {
    let running = |row: &Row<'_>| row.candidate.jobs_all(Status::Running);
    let Some(first) = (0..rows.len())
        .reduce(|best, at| if running(&rows[at]) > running(&rows[best]) { at } else { best })
    else {
        return;
    };
    let most = running(&rows[first]);
    for (at, row) in rows.iter_mut().enumerate() {
        if at != first {
            row.verdict = object(&T1_WEIGHT, running(row), most);
        }
    }
}
