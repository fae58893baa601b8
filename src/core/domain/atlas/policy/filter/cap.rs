//! Sends nothing more to a queue where the jobs that are ready exceed twice the running ones.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter, Weighed};
use crate::event::Status;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};

params! {
    /// Parameters of `cap`.
    Cap {
        floor: f64 = Param::int("NQUEUELIMITSITE", 20, 20)
            .unit(Unit::Jobs)
            .gdp_above_0("jobbroker/NQUEUELIMITSITE_<gshare>")
            .help("floor of the limit; 0 in the topology: the seed's letter (DIFF-22)"),
        assigned: bool = Param::flag("assigned", false, true)
            .help("whether assigned jobs count, unless the input is local"),
        ucore: bool = Param::flag("ucore", true, false).help("whether unified queues are asked"),
        express: bool = Param::flag("express", true, false)
            .help("whether express chunks are asked"),
    }
}

const CAP: Reason = Reason::new("cap", "{measured} jobs are ready to run; limit {limit}");

pub(super) const FILTER: QueueFilter = queue_filter!(Cap {
    name: "cap",
    spec: "atlas 2.5.7 C1, DIFF-22",
    help: "activated and starting jobs of the share are at most twice the running figure",
    reasons: &[&CAP],
    reads: &[Reads::Load, Reads::Pilot],
    temporary: false,
    applies: When(applies),
    judge: After(judge),
});

fn applies(case: &Case<'_>, params: &Cap) -> bool {
    !case.express || params.express
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, weighed: &Weighed, params: &Cap) -> Verdict {
    if candidate.queue.ucore && !params.ucore {
        return Verdict::Pass;
    }
    let mut ready = candidate.jobs(Status::Activated) + candidate.jobs(Status::Starting);
    if params.assigned && !case.is_local(candidate) {
        ready += candidate.jobs(Status::Assigned);
    }
    let limit = params.floor.max(2.0 * weighed.running);
    if ready > limit { object(&CAP, ready, limit) } else { Verdict::Pass }
}
