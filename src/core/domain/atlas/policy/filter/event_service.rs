//! Keeps event service jobs and other jobs where they can run.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

params! {
    /// Parameters of `event_service`.
    EventService {
        priority: f64 = Param::int("priority", 900, 900)
            .help("from which `eshigh` takes jobs; scouts at any"),
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether a single pre-assigned queue is not asked"),
    }
}

const NONES: Reason = Reason::new("nones", "the queue is for event service jobs alone");
const ES: Reason = Reason::new("es", "the queue takes no event service jobs");
const ESHIGH: Reason = Reason::new(
    "eshigh",
    "the queue takes event service jobs of priority {limit} on; this has {measured}",
);
const ES_UCORE: Reason =
    Reason::new("es_ucore", "event service jobs take no single-core part of a unified queue");

pub(super) const FILTER: QueueFilter = queue_filter!(EventService {
    name: "event_service",
    spec: "atlas F17",
    help: "event service jobs go where the queue's jobseed has them, others where it has others",
    reasons: &[&NONES, &ES, &ESHIGH, &ES_UCORE],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(case: &Case<'_>, params: &EventService) -> bool {
    !params.preassigned_exempt || case.preassigned != Preassigned::One
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &EventService) -> Verdict {
    let (task, queue) = (case.task, candidate.queue);
    let is_event_service = task.options.event_service && !task.options.job_cloning;
    let (priority, least) = (f64::from(task.priority), params.priority);
    match (queue.jobseed.as_str(), is_event_service) {
        ("" | "std", true) => object(&ES, 0.0, 1.0),
        ("eshigh", true) if priority < least && !task.has_scouts() => {
            object(&ESHIGH, priority, least)
        }
        (_, true) if queue.ucore && queue.cores <= 1 => object(&ES_UCORE, 1.0, 2.0),
        ("es", false) => object(&NONES, 0.0, 1.0),
        _ => Verdict::Pass,
    }
}
