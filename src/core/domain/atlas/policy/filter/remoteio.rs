//! Keeps queues that read input directly, for tasks that only do so.

use super::bound::ALWAYS_DIRECT;
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::ChunkKind;
use crate::policy::declare::NoParams;
use crate::policy::verdict::object;
use crate::policy::{Reason, Verdict};

const REMOTEIO: Reason =
    Reason::new("remoteio", "the queue does not read input directly from local storage");

pub(super) const FILTER: QueueFilter = queue_filter!(NoParams {
    name: "remoteio",
    spec: "atlas F12",
    help: "a task that reads input only directly goes to queues that do",
    reasons: &[&REMOTEIO],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(case: &Case<'_>, _: &NoParams) -> bool {
    case.task.options.input_lan_only && case.task.chunk != ChunkKind::Merge
}

fn judge(_: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    let queue = candidate.queue;
    let is_direct = queue.direct_access_lan || queue.max_input_mb == ALWAYS_DIRECT;
    if is_direct { Verdict::Pass } else { object(&REMOTEIO, 0.0, 1.0) }
}
