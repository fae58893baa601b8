//! Keeps jumbo jobs and other jobs apart.

use super::object;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "jumbo",
    spec: "atlas F7",
    help: "queues for jumbo jobs take those alone, which are not brokered here",
    reasons: &[
        ("jumbo", "the queue is for jumbo jobs, and the task has none"),
        ("jumbo_jobs", "the queue takes the task's jumbo jobs, and no others of it"),
        ("fewevents", "{measured} events are ready; the queue wants {limit}"),
    ],
    params: &[Param::flag("active", false, true).help("whether this is asked at all")],
    reads: &[],
    temporary: false,
    applies: Some(|_, args| args.flag(ACTIVE)),
    judge: Judge::Before(judge),
};

const ACTIVE: usize = 0;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if !args.flag(ACTIVE) || candidate.queue.flag("useJumboJobs").is_none() {
        return Verdict::Pass;
    }
    let options = &case.task.options;
    if !options.jumbo {
        return object("jumbo", 0.0, 1.0);
    }
    let least = candidate.queue.flag("minEventsForJumbo").and_then(|text| text.parse().ok());
    let (least, ready) = (least.unwrap_or(0.0), options.ready_events.unwrap_or(0) as f64);
    if least > ready {
        return object("fewevents", ready, least);
    }
    object("jumbo_jobs", 0.0, 1.0)
}
