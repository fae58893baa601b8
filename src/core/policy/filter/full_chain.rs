//! Keeps full chains at their nucleus, and other work off queues for full chains alone.

use super::object;
use crate::core::event::FullChain;
use crate::core::policy::{Args, Bare, Candidate, Case, Filter, Judge, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "full_chain",
    spec: "atlas F19d, 7",
    help: "a full chain at a nucleus for full chains stays on its queues; other work goes to no \
           queue for full chains alone",
    reasons: &[
        ("full_chain", "the full chain stays at its nucleus"),
        ("not_full_chain", "the queue is for full chains alone"),
    ],
    params: &[],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(judge),
};

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &Args) -> Verdict {
    let is_chain = case.task.options.full_chain != FullChain::No && case.nucleus.bare != Bare::No;
    if is_chain {
        let is_there = candidate.queue.site == case.task.nucleus;
        return if is_there { Verdict::Pass } else { object("full_chain", 0.0, 1.0) };
    }
    if Bare::of(candidate.queue) == Bare::Only {
        return object("not_full_chain", 0.0, 1.0);
    }
    Verdict::Pass
}
