//! Sends nothing while too many files wait to be aggregated at the nucleus.

use super::bound::Boundary;
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::policy::typed::params;
use crate::policy::verdict::object_until;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};

params! {
    /// Parameters of `nucleus_queue`.
    NucleusQueue {
        cap: f64 = Param::int("NQUEUED_NUC_CAP_FOR_JOBS", 10_000, 10_000)
            .unit(Unit::Files)
            .gdp("jobbroker/NQUEUED_NUC_CAP_FOR_JOBS")
            .help("files queued to the nucleus"),
        boundary: Boundary = Boundary::param("boundary", Boundary::Above, Boundary::AtLeast)
            .help("objects above the limit, or at it already (DIFF-11)"),
        own_queues: bool = Param::flag("own_queues", true, false)
            .help("whether the nucleus's own queues are held back too (seed: skip all queues)"),
    }
}

const LINKS_FULL: Reason =
    Reason::new("links_full", "{measured} files are queued to the nucleus; limit {limit}");

pub(super) const FILTER: QueueFilter = queue_filter!(NucleusQueue {
    name: "nucleus_queue",
    spec: "atlas F3 rule 3, DIFF-11",
    help: "not too many files are queued to the nucleus from all sources together",
    reasons: &[&LINKS_FULL],
    reads: &[Reads::Nucleus],
    temporary: true,
    applies: When(is_full),
    judge: Before(judge),
});

/// Whether too much is queued to the nucleus.
fn is_full(case: &Case<'_>, params: &NucleusQueue) -> bool {
    let queued = case.queued_to_nucleus as f64;
    !case.task.nucleus.is_empty() && params.boundary.is_beyond(queued, params.cap)
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &NucleusQueue) -> Verdict {
    if candidate.at_nucleus && !params.own_queues {
        return Verdict::Pass;
    }
    let queued = case.queued_to_nucleus as f64;
    object_until(&LINKS_FULL, queued, params.cap, case.queued_to_nucleus_until)
}
