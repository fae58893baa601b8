//! Sends nothing that must not wait to a queue that starts nothing.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::event::ChunkKind;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Verdict};

params! {
    /// Parameters of `inactive`.
    Inactive {
        priority: f64 = Param::int("priority", 800, 800).help("from this priority on"),
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether pre-assigned queues are not asked"),
    }
}

const INACTIVE: Reason =
    Reason::new("inactive", "jobs are ready there and none started in the last 2 h");

pub(super) const FILTER: QueueFilter = queue_filter!(Inactive {
    name: "inactive",
    spec: "atlas F5",
    help: "jobs of high priority, scouts, merge jobs and tasks whose output is merged go to no \
           queue where jobs are ready and none started for 2 h",
    reasons: &[&INACTIVE],
    reads: &[Reads::Load],
    temporary: true,
    applies: When(applies),
    judge: Before(judge),
});

/// Whether the work must not wait at a queue where nothing starts.
fn applies(case: &Case<'_>, params: &Inactive) -> bool {
    let task = case.task;
    let is_urgent = f64::from(task.priority) >= params.priority
        || task.chunk != ChunkKind::Normal
        || task.options.merge_output;
    let is_exempt = params.preassigned_exempt && case.preassigned != Preassigned::No;
    is_urgent && !is_exempt
}

fn judge(_: &Case<'_>, candidate: &Candidate<'_>, _: &Inactive) -> Verdict {
    if candidate.inactive { object(&INACTIVE, 0.0, 1.0) } else { Verdict::Pass }
}
