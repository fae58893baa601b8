//! Sends nothing more to a queue where all jobs that wait exceed twice the running ones.

use super::object;
use crate::core::event::Status;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Verdict, Weighed};

pub(super) const FILTER: Filter = Filter {
    name: "cap_rt",
    spec: "atlas 2.5.7 C2, DIFF-22",
    help: "defined, assigned, activated and starting jobs are at most twice the running figure; \
           assigned ones do not count when the input is local",
    reasons: &[("cap_rt", "{measured} jobs are queued; limit {limit}")],
    params: &[
        Param::int("NQUEUELIMITSITE", 20, 20)
            .gdp("jobbroker/NQUEUELIMITSITE_<gshare>")
            .help("floor of the limit; jobs; 0 gives the seed's letter (DIFF-22)"),
        Param::word("scope", &["share", "resource_type"], "share", "resource_type").help(
            "what is counted: the share, or the resource types of the task in the share, then against \
             the larger of their running jobs and the running figure",
        ),
        Param::flag("express", true, false).help("whether express chunks are asked"),
    ],
    reads: &[Reads::Load, Reads::Pilot],
    temporary: false,
    applies: Some(|case, args| !case.express || args.flag(EXPRESS)),
    judge: Judge::After(judge),
};

const FLOOR: usize = 0;
const SCOPE: usize = 1;
const SHARE: usize = 0;
const EXPRESS: usize = 2;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, weighed: &Weighed, args: &Args) -> Verdict {
    if case.express && !args.flag(EXPRESS) {
        return Verdict::Pass;
    }
    let of_type = args.word(SCOPE) != SHARE;
    let jobs =
        |status| if of_type { candidate.jobs_of_task(status) } else { candidate.jobs(status) };
    let running =
        if of_type { weighed.running.max(jobs(Status::Running)) } else { weighed.running };
    let mut queued = jobs(Status::Defined)
        + f64::from(candidate.promised)
        + jobs(Status::Activated)
        + jobs(Status::Starting);
    if !case.is_local(candidate) {
        queued += jobs(Status::Assigned);
    }
    let limit = args.number(FLOOR).max(2.0 * running);
    if queued > limit { object("cap_rt", queued, limit) } else { Verdict::Pass }
}
