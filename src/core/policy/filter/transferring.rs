//! Sends nothing to a queue whose outputs pile up on their way to the nucleus.

use super::object;
use crate::core::event::Status;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "transferring",
    spec: "atlas F18",
    help: "a queue outside the nucleus does not have too many jobs in transferring",
    reasons: &[("transferring", "{measured} jobs are transferring; limit {limit}")],
    params: &[
        Param::int("default_limit", 2_000, 2_000).help("limit where the queue states none; jobs"),
        Param::int("running_factor", 2, 2)
            .help("the limit is at least this many times the running jobs"),
        Param::flag("stuck_exempt", false, true)
            .help("whether jobs on their way to nuclei that cannot be written do not count"),
    ],
    reads: &[Reads::Load, Reads::Storage],
    temporary: true,
    applies: None,
    judge: Judge::Before(judge),
};

const LIMIT: usize = 0;
const RUNNING_FACTOR: usize = 1;
const STUCK_EXEMPT: usize = 2;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let stated = match candidate.queue.transferring_limit {
        0 => args.number(LIMIT),
        own => f64::from(own),
    };
    let running = candidate.jobs_all(Status::Running);
    let limit = stated.max(args.number(RUNNING_FACTOR) * running);
    let stuck = if args.flag(STUCK_EXEMPT) { f64::from(candidate.stuck_transferring) } else { 0.0 };
    let transferring = candidate.jobs_all(Status::Transferring) - stuck;
    if transferring > limit && !case.in_nucleus(candidate) {
        return object("transferring", transferring, limit);
    }
    Verdict::Pass
}
