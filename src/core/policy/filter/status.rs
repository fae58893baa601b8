//! Keeps queues that are in service.

use super::object;
use crate::core::event::QueueStatus;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Preassigned, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "status",
    spec: "atlas F2, DIFF-10",
    help: "the queue is online; not asked of pre-assigned queues",
    reasons: &[
        ("brokeroff", "the queue is brokeroff"),
        ("test", "the queue is in test"),
        ("offline", "the queue is offline"),
        ("standby", "the queue is on standby"),
        ("paused", "the queue is paused"),
    ],
    params: &[Param::flag("standby", false, true)
        .help("whether a queue on standby counts as online (DIFF-10)")],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(judge),
};

const STANDBY: usize = 0;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let status = candidate.queue.status;
    let kept = match status {
        QueueStatus::Online => true,
        QueueStatus::Standby => args.flag(STANDBY),
        QueueStatus::Brokeroff | QueueStatus::Test | QueueStatus::Offline | QueueStatus::Paused => {
            false
        }
    };
    if kept || case.preassigned != Preassigned::No {
        return Verdict::Pass;
    }
    object(status.name(), f64::from(status as u8), f64::from(QueueStatus::Online as u8))
}
