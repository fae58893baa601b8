//! Sends a queue no more than it has room for.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::policy::declare::NoParams;
use crate::policy::verdict::object;
use crate::policy::{Reads, Reason, Verdict};

const NO_ROOM: Reason = Reason::new("no_room", "{measured} jobs wait for a core; limit {limit}");

pub(super) const FILTER: QueueFilter = queue_filter!(NoParams {
    name: "room",
    spec: "not in atlas",
    help: "jobs of all shares that wait for a core are fewer than the running ones allow, or than \
           room_least; not asked of express chunks, nor where room_per_running is 0",
    reasons: &[&NO_ROOM],
    reads: &[Reads::Load],
    temporary: true,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(case: &Case<'_>, _: &NoParams) -> bool {
    case.room.is_limited() && !case.express
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    let (waiting, limit) = case.room.of(candidate);
    if waiting >= limit { object(&NO_ROOM, waiting, limit) } else { Verdict::Pass }
}
