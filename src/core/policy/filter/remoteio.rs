//! Keeps queues that read input directly, for tasks that only do so.

use super::{ALWAYS_DIRECT, object};
use crate::core::event::ChunkKind;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "remoteio",
    spec: "atlas F12",
    help: "a task that reads input only directly goes to queues that do",
    reasons: &[("remoteio", "the queue does not read input directly from local storage")],
    params: &[],
    reads: &[],
    temporary: false,
    applies: Some(|case, _| case.task.options.input_lan_only),
    judge: Judge::Before(judge),
};

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &Args) -> Verdict {
    let queue = candidate.queue;
    let is_direct = queue.direct_access_lan || queue.max_input_mb == ALWAYS_DIRECT;
    if case.task.options.input_lan_only && case.task.chunk != ChunkKind::Merge && !is_direct {
        return object("remoteio", 0.0, 1.0);
    }
    Verdict::Pass
}
