//! Keeps full chains at their nucleus, and other work off queues for full chains alone.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Bare, Candidate, Case, QueueFilter};
use crate::event::FullChain;
use crate::policy::declare::NoParams;
use crate::policy::verdict::object;
use crate::policy::{Reason, Verdict};

const FULL_CHAIN: Reason = Reason::new("full_chain", "the full chain stays at its nucleus");
const NOT_FULL_CHAIN: Reason = Reason::new("not_full_chain", "the queue is for full chains alone");

pub(super) const FILTER: QueueFilter = queue_filter!(NoParams {
    name: "full_chain",
    spec: "atlas F19d, 7",
    help: "a full chain at a nucleus for full chains stays on its queues; other work goes to no \
           queue for full chains alone",
    reasons: &[&FULL_CHAIN, &NOT_FULL_CHAIN],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(judge),
});

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    let is_chain = case.task.options.full_chain != FullChain::No && case.nucleus.bare != Bare::No;
    if is_chain {
        let is_there = candidate.queue.site == case.task.nucleus;
        return if is_there { Verdict::Pass } else { object(&FULL_CHAIN, 0.0, 1.0) };
    }
    if Bare::of(candidate.queue) == Bare::Only {
        return object(&NOT_FULL_CHAIN, 0.0, 1.0);
    }
    Verdict::Pass
}
