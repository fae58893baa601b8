//! Sends nothing to a queue where no pilot has been seen for three hours.

use super::object;
use crate::core::policy::{
    Args, Candidate, Case, Filter, Judge, Param, Preassigned, Reads, Verdict,
};

pub(super) const FILTER: Filter = Filter {
    name: "nopilot",
    spec: "atlas F19e",
    help: "a node asked for a job or updated one within 3 h; not asked of pre-assigned queues, \
           of test jobs unless express, nor where slots are offered",
    reasons: &[("nopilot", "no pilot in the last 3 h")],
    params: &[
        Param::flag("test_exempt", true, true)
            .help("whether jobs with a test label are let through, unless express"),
        Param::flag("slots_exempt", true, true)
            .help("whether a queue with a slot figure is let through"),
    ],
    reads: &[Reads::Pilot],
    temporary: true,
    applies: Some(|case, _| case.preassigned == Preassigned::No),
    judge: Judge::Before(judge),
};

const TEST_EXEMPT: usize = 0;
const SLOTS_EXEMPT: usize = 1;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if candidate.pilots > 0 || case.preassigned != Preassigned::No {
        return Verdict::Pass;
    }
    let slots = args.flag(SLOTS_EXEMPT) && candidate.slots.is_some();
    let test = args.flag(TEST_EXEMPT) && !case.express && case.task.label.contains("test");
    if slots || test { Verdict::Pass } else { object("nopilot", 0.0, 1.0) }
}
