//! Keeps queues that are in service.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::event::QueueStatus;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

params! {
    /// Parameters of `status` for production jobs.
    InService {
        standby: bool = Param::flag("standby", false, true)
            .help("whether a queue on standby counts as online (DIFF-10)"),
    }
}

const BROKEROFF: Reason = Reason::new("brokeroff", "the queue is brokeroff, not online");
const TEST: Reason = Reason::new("test", "the queue is in test, not online");
const OFFLINE: Reason = Reason::new("offline", "the queue is offline, not online");
const STANDBY: Reason = Reason::new("standby", "the queue is on standby, not online");
const PAUSED: Reason = Reason::new("paused", "the queue is paused, not online");
const NO_CLOUD: Reason =
    Reason::new("no_cloud", "the queue belongs to no cloud, so nobody sends it production");

/// Reasons of `status`.
pub(super) const REASONS: &[&Reason] = &[&BROKEROFF, &TEST, &OFFLINE, &STANDBY, &PAUSED];

pub(super) const FILTER: QueueFilter = queue_filter!(InService {
    name: "status",
    spec: "atlas F2, DIFF-10",
    help: "the queue is online, and belongs to a cloud; not asked of pre-assigned queues",
    reasons: &[&BROKEROFF, &TEST, &OFFLINE, &STANDBY, &PAUSED, &NO_CLOUD],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(case: &Case<'_>, _: &InService) -> bool {
    case.preassigned == Preassigned::No
}

fn judge(_: &Case<'_>, candidate: &Candidate<'_>, params: &InService) -> Verdict {
    if candidate.queue.cloud.is_empty() {
        return object(&NO_CLOUD, 0.0, 1.0);
    }
    let status = candidate.queue.status;
    let is_kept = match status {
        QueueStatus::Online => true,
        QueueStatus::Standby => params.standby,
        QueueStatus::Brokeroff | QueueStatus::Test | QueueStatus::Offline | QueueStatus::Paused => {
            false
        }
    };
    if is_kept { Verdict::Pass } else { object_to(status) }
}

/// The objection to a queue in a status; none to one that is online.
pub(super) fn object_to(status: QueueStatus) -> Verdict {
    let reason = match status {
        QueueStatus::Online => return Verdict::Pass,
        QueueStatus::Standby => &STANDBY,
        QueueStatus::Brokeroff => &BROKEROFF,
        QueueStatus::Test => &TEST,
        QueueStatus::Offline => &OFFLINE,
        QueueStatus::Paused => &PAUSED,
    };
    object(reason, f64::from(status as u8), f64::from(QueueStatus::Online as u8))
}
