//! Sends nothing to a queue whose outputs pile up on their way to the nucleus.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::Status;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};

params! {
    /// Parameters of `transferring`.
    Transferring {
        limit: f64 = Param::int("default_limit", 2_000, 2_000)
            .unit(Unit::Jobs)
            .help("limit where the queue states none"),
        running_factor: f64 = Param::int("running_factor", 2, 2)
            .help("the limit is at least this many times the running jobs"),
        stuck_exempt: bool = Param::flag("stuck_exempt", false, true)
            .help("whether jobs on their way to nuclei that cannot be written do not count"),
        nucleus_exempt: bool = Param::flag("nucleus_exempt", false, true)
            .help("whether queues of the nucleus are let through"),
    }
}

const TRANSFERRING: Reason =
    Reason::new("transferring", "{measured} jobs are transferring; limit {limit}");

pub(super) const FILTER: QueueFilter = queue_filter!(Transferring {
    name: "transferring",
    spec: "atlas F18",
    help: "the queue does not have too many jobs in transferring",
    reasons: &[&TRANSFERRING],
    reads: &[Reads::Load, Reads::Storage],
    temporary: true,
    applies: Always,
    judge: Before(judge),
});

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &Transferring) -> Verdict {
    let stated = match candidate.queue.transferring_limit {
        0 => params.limit,
        own => f64::from(own),
    };
    let running = candidate.jobs_all(Status::Running);
    let limit = stated.max(params.running_factor * running);
    let stuck = if params.stuck_exempt { f64::from(candidate.stuck_transferring) } else { 0.0 };
    let transferring = candidate.jobs_all(Status::Transferring) - stuck;
    let is_exempt = params.nucleus_exempt && case.in_nucleus(candidate);
    if transferring > limit && !is_exempt {
        return object(&TRANSFERRING, transferring, limit);
    }
    Verdict::Pass
}
