//! Sends nothing more to a queue where all jobs that wait exceed twice the running ones.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter, Weighed};
use crate::event::Status;
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};

words! {
    /// Group of jobs that is counted.
    Scope {
        Share = "share",
        ResourceType = "resource_type",
    }
}

params! {
    /// Parameters of `cap_rt`.
    CapRt {
        floor: f64 = Param::int("NQUEUELIMITSITE", 20, 20)
            .unit(Unit::Jobs)
            .gdp_above_0("jobbroker/NQUEUELIMITSITE_<gshare>")
            .help("floor of the limit; 0 in the topology: the seed's letter (DIFF-22)"),
        scope: Scope = Scope::param("scope", Scope::Share, Scope::ResourceType).help(
            "what is counted: the share, or the task's resource type in the share, then against \
             the larger of their running jobs and the running figure",
        ),
        express: bool = Param::flag("express", true, false)
            .help("whether express chunks are asked"),
    }
}

const CAP_RT: Reason = Reason::new("cap_rt", "{measured} jobs are queued; limit {limit}");

pub(super) const FILTER: QueueFilter = queue_filter!(CapRt {
    name: "cap_rt",
    spec: "atlas 2.5.7 C2, DIFF-22",
    help: "defined, assigned, activated and starting jobs are at most twice the running figure; \
           assigned ones do not count when the input is local",
    reasons: &[&CAP_RT],
    reads: &[Reads::Load, Reads::Pilot],
    temporary: false,
    applies: When(applies),
    judge: After(judge),
});

fn applies(case: &Case<'_>, params: &CapRt) -> bool {
    !case.express || params.express
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, weighed: &Weighed, params: &CapRt) -> Verdict {
    let of_type = params.scope == Scope::ResourceType;
    let jobs =
        |status| if of_type { candidate.jobs_of_type(status) } else { candidate.jobs(status) };
    let running =
        if of_type { weighed.running.max(jobs(Status::Running)) } else { weighed.running };
    let mut queued = jobs(Status::Defined)
        + f64::from(candidate.reserved)
        + jobs(Status::Activated)
        + jobs(Status::Starting);
    if !case.is_local(candidate) {
        queued += jobs(Status::Assigned);
    }
    let limit = params.floor.max(2.0 * running);
    if queued > limit { object(&CAP_RT, queued, limit) } else { Verdict::Pass }
}
