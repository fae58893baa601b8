//! Sends nothing to a queue where no pilot has been seen lately.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Verdict};

params! {
    /// Parameters of `nopilot` for production jobs.
    NoPilot {
        test_exempt: bool = Param::flag("test_exempt", false, true)
            .help("whether jobs with a test label are let through, unless express"),
        slots_exempt: bool = Param::flag("slots_exempt", false, true)
            .help("whether a queue with a slot figure is let through"),
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether pre-assigned queues are not asked"),
    }
}

pub(super) const NOPILOT: Reason =
    Reason::new("nopilot", "no pilot[ in the last {node_window_h} h]");

pub(super) const FILTER: QueueFilter = queue_filter!(NoPilot {
    name: "nopilot",
    spec: "atlas F19e",
    help: "a node asked for a job or updated one[ within {node_window_h} h]",
    reasons: &[&NOPILOT],
    reads: &[Reads::Pilot],
    temporary: true,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(case: &Case<'_>, params: &NoPilot) -> bool {
    let is_test = params.test_exempt && !case.express && case.task.label.contains("test");
    let is_named = params.preassigned_exempt && case.preassigned != Preassigned::No;
    !is_named && !is_test
}

fn judge(_: &Case<'_>, candidate: &Candidate<'_>, params: &NoPilot) -> Verdict {
    let has_slots = params.slots_exempt && candidate.slots.is_some();
    if candidate.pilots > 0 || has_slots { Verdict::Pass } else { object(&NOPILOT, 0.0, 1.0) }
}
