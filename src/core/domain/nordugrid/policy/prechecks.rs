//! Filters that look at a queue before the job is compared with it (N-06, N-10 to N-13), and the
//! one that comes last (N-25).

use super::case::JobCase;
use super::declared::{TargetFilter, target_filter};
use super::target::TargetCandidate;
use crate::policy::verdict::object;
use crate::policy::{Applies, Reason, Verdict};
use crate::unit::{Millis, SECOND};

const NO_INFORMATION: Reason =
    Reason::new("no_information", "the queue's facts are {measured:s} old, older than {limit:s}");
const QUEUE_STATUS: Reason = Reason::new("queue_status", "the queue's status is not active");
const NOT_AUTHORISED: Reason =
    Reason::new("not_authorised", "the queue does not list the user as authorised");
const QUEUE_FULL: Reason =
    Reason::new("queue_full", "{measured} jobs are queued, the queue takes at most {limit}");
const NO_CPUS: Reason =
    Reason::new("no_cpus", "neither the queue nor its cluster publishes a number of CPUs above 0");
const EXCLUDED: Reason = Reason::new("excluded", "the target refused the job before");

pub(super) static INFORMATION: TargetFilter = target_filter(
    "no_information",
    "cms-nordugrid N-06",
    "the facts of the queue are no older than info_ttl_s",
    &[&NO_INFORMATION],
    Applies::Always,
    |case, candidate, _| information(case, candidate),
);

pub(super) static STATUS: TargetFilter = target_filter(
    "queue_status",
    "cms-nordugrid N-10",
    "the queue's status is active; what stands behind a comma is a remark",
    &[&QUEUE_STATUS],
    Applies::Always,
    |_, candidate, _| status(candidate),
);

pub(super) static AUTHORISED: TargetFilter = target_filter(
    "not_authorised",
    "cms-nordugrid N-11",
    "the queue lists the user as authorised",
    &[&NOT_AUTHORISED],
    Applies::Always,
    |_, candidate, _| authorised(candidate),
);

pub(super) static FULL: TargetFilter = target_filter(
    "queue_full",
    "cms-nordugrid N-12",
    "fewer jobs are queued than the queue takes, those in front counted",
    &[&QUEUE_FULL],
    Applies::Always,
    |_, candidate, _| full(candidate),
);

pub(super) static CPUS: TargetFilter = target_filter(
    "no_cpus",
    "cms-nordugrid N-13",
    "the queue, else its cluster, has CPUs",
    &[&NO_CPUS],
    Applies::Always,
    |_, candidate, _| cpus(candidate),
);

pub(super) static NOT_EXCLUDED: TargetFilter = target_filter(
    "excluded",
    "cms-nordugrid N-25",
    "the target did not refuse the job before",
    &[&EXCLUDED],
    Applies::Always,
    |case, candidate, _| excluded(case, candidate),
);

fn information(case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> Verdict {
    let age = case.now.saturating_sub(candidate.share.as_of);
    let ttl = Millis::try_from(case.info_ttl_s).unwrap_or(Millis::MAX).saturating_mul(SECOND);
    if age <= ttl {
        return Verdict::Pass;
    }
    object(&NO_INFORMATION, age as f64 / SECOND as f64, case.info_ttl_s as f64)
}

fn status(candidate: &TargetCandidate<'_>) -> Verdict {
    match candidate.share.facts.status.split(',').next() {
        Some("active") => Verdict::Pass,
        Some(_) | None => object(&QUEUE_STATUS, 0.0, 0.0),
    }
}

fn authorised(candidate: &TargetCandidate<'_>) -> Verdict {
    match candidate.user {
        Some(user) if user.is_authorised => Verdict::Pass,
        Some(_) | None => object(&NOT_AUTHORISED, 0.0, 0.0),
    }
}

fn full(candidate: &TargetCandidate<'_>) -> Verdict {
    let Some(most) = candidate.share.facts.max_queuable_jobs else { return Verdict::Pass };
    let queued = candidate.queued_jobs();
    if queued < most { Verdict::Pass } else { object(&QUEUE_FULL, queued as f64, most as f64) }
}

fn cpus(candidate: &TargetCandidate<'_>) -> Verdict {
    match candidate.total_slots() {
        Some(0) | None => object(&NO_CPUS, 0.0, 1.0),
        Some(_) => Verdict::Pass,
    }
}

fn excluded(case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> Verdict {
    match case.excluded.has(candidate.share.target) {
        true => object(&EXCLUDED, 0.0, 0.0),
        false => Verdict::Pass,
    }
}
