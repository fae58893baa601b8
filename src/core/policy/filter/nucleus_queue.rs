//! Sends nothing while too many files wait to be aggregated at the nucleus.

use super::{BOUNDARY, beyond, object_until};
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "nucleus_queue",
    spec: "atlas F3 rule 3, DIFF-11",
    help: "not too many files are queued to the nucleus from all sources together",
    reasons: &[("links_full", "{measured} files are queued to the nucleus; limit {limit}")],
    params: &[
        Param::int("NQUEUED_NUC_CAP_FOR_JOBS", 10_000, 10_000)
            .gdp("jobbroker/NQUEUED_NUC_CAP_FOR_JOBS")
            .help("files queued to the nucleus; files"),
        Param::word("boundary", BOUNDARY, "above", "at_least")
            .help("objects above the limit, or at it already (DIFF-11)"),
        Param::flag("own_queues", true, false)
            .help("whether the nucleus's own queues are held back too (seed: skip all queues)"),
    ],
    reads: &[Reads::Nucleus],
    temporary: true,
    applies: Some(is_full),
    judge: Judge::Before(judge),
};

const CAP: usize = 0;
const AT: usize = 1;
const OWN_QUEUES: usize = 2;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let is_spared = candidate.at_nucleus && !args.flag(OWN_QUEUES);
    if is_spared || !is_full(case, args) {
        return Verdict::Pass;
    }
    let (queued, cap) = (case.queued_to_nucleus as f64, args.number(CAP));
    object_until("links_full", queued, cap, case.queued_to_nucleus_until)
}

/// Whether too much is queued to the nucleus.
fn is_full(case: &Case<'_>, args: &Args) -> bool {
    let queued = case.queued_to_nucleus as f64;
    !case.task.nucleus.is_empty() && beyond(queued, args.number(CAP), args.word(AT))
}
