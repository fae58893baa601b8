//! Keeps urgent work and scouts where they are sure to run.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

words! {
    /// Which queues are kept.
    Keeps {
        Nucleus = "nucleus",
        Pledged = "pledged",
    }
}

params! {
    /// Parameters of `opportunistic`.
    Opportunistic {
        priority: f64 = Param::int("priority", 800, 800)
            .help("from this priority on; scouts at any"),
        keeps: Keeps = Keeps::param("keeps", Keeps::Nucleus, Keeps::Pledged)
            .help("which queues are kept (DIFF-12)"),
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether pre-assigned queues are not asked"),
    }
}

const NOT_NUCLEUS: Reason =
    Reason::new("not_nucleus", "priority {measured} or scout, and the queue is not the nucleus's");
const OPPORTUNISTIC: Reason =
    Reason::new("opportunistic", "priority {measured} or scout, and the queue has no pledge");

pub(super) const FILTER: QueueFilter = queue_filter!(Opportunistic {
    name: "opportunistic",
    spec: "atlas F4, DIFF-12",
    help: "jobs of high priority and scouts go to the nucleus's queues only (documented), or to \
           none that is opportunistic (panda)",
    reasons: &[&NOT_NUCLEUS, &OPPORTUNISTIC],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

/// `pledgedcpu` of a queue without a pledge.
const NO_PLEDGE: i32 = -1;

/// Whether the work is urgent, and no queue is named for it that would be exempt.
fn applies(case: &Case<'_>, params: &Opportunistic) -> bool {
    let is_urgent = f64::from(case.task.priority) >= params.priority;
    let is_exempt = params.preassigned_exempt && case.preassigned != Preassigned::No;
    !is_exempt && (is_urgent || case.task.has_scouts())
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &Opportunistic) -> Verdict {
    let priority = f64::from(case.task.priority);
    match params.keeps {
        Keeps::Nucleus if case.task.nucleus.is_empty() || case.in_nucleus(candidate) => {
            Verdict::Pass
        }
        Keeps::Nucleus => object(&NOT_NUCLEUS, priority, params.priority),
        Keeps::Pledged if candidate.queue.pledged_cpu == NO_PLEDGE => {
            object(&OPPORTUNISTIC, priority, params.priority)
        }
        Keeps::Pledged => Verdict::Pass,
    }
}
