//! Sends nothing that must not wait to a queue that starts nothing.

use crate::core::event::ChunkKind;
use crate::core::policy::declare::filter;
use crate::core::policy::typed::params;
use crate::core::policy::verdict::object;
use crate::core::policy::{Candidate, Case, Filter, Param, Preassigned, Reads, Reason, Verdict};

params! {
    /// Parameters of `inactive`.
    Inactive {
        priority: f64 = Param::int("priority", 800, 800).help("from this priority on"),
    }
}

const INACTIVE: Reason =
    Reason::new("inactive", "jobs are ready there and none started in the last 2 h");

pub(super) const FILTER: Filter = filter!(Inactive {
    name: "inactive",
    spec: "atlas F5",
    help: "jobs of high priority, scouts, merge jobs and tasks whose output is merged go to no \
           queue where jobs are ready and none started for 2 h; not asked of pre-assigned queues",
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
    is_urgent && case.preassigned == Preassigned::No
}

fn judge(_: &Case<'_>, candidate: &Candidate<'_>, _: &Inactive) -> Verdict {
    if candidate.inactive { object(&INACTIVE, 0.0, 1.0) } else { Verdict::Pass }
}
