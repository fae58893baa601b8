//! Keeps jumbo jobs and other jobs apart.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

params! {
    /// Parameters of `jumbo`.
    Jumbo {
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const JUMBO: Reason = Reason::new("jumbo", "the queue is for jumbo jobs, and the task has none");
const JUMBO_JOBS: Reason =
    Reason::new("jumbo_jobs", "the queue takes the task's jumbo jobs, and no others of it");
const FEWEVENTS: Reason =
    Reason::new("fewevents", "{measured} events are ready; the queue wants {limit}");

pub(super) const FILTER: QueueFilter = queue_filter!(Jumbo {
    name: "jumbo",
    spec: "atlas F7",
    help: "queues for jumbo jobs take those alone, which are not brokered here, but for chunks of \
           such jobs or in their place; a single pre-assigned queue is not asked",
    reasons: &[&JUMBO, &JUMBO_JOBS, &FEWEVENTS],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(_: &Case<'_>, params: &Jumbo) -> bool {
    params.active
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, _: &Jumbo) -> Verdict {
    if candidate.queue.flag("useJumboJobs").is_none() {
        return Verdict::Pass;
    }
    let options = &case.task.options;
    let is_named = case.preassigned == Preassigned::One;
    if !options.jumbo {
        return if is_named { Verdict::Pass } else { object(&JUMBO, 0.0, 1.0) };
    }
    let least = candidate.queue.flag("minEventsForJumbo").and_then(|text| text.parse().ok());
    let (least, ready) = (least.unwrap_or(0.0), options.ready_events.map(|ready| ready as f64));
    if let Some(ready) = ready.filter(|ready| !is_named && *ready < least) {
        return object(&FEWEVENTS, ready, least);
    }
    if options.jumbo_chunk { Verdict::Pass } else { object(&JUMBO_JOBS, 0.0, 1.0) }
}
