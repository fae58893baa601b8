//! Sends nothing more to a queue where the jobs that are ready exceed twice the running ones.

use super::object;
use crate::core::event::Status;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Verdict, Weighed};

pub(super) const FILTER: Filter = Filter {
    name: "cap",
    spec: "atlas 2.5.7 C1, DIFF-22",
    help: "activated and starting jobs of the share are at most twice the running figure",
    reasons: &[("cap", "{measured} jobs are ready to run; limit {limit}")],
    params: &[
        Param::int("NQUEUELIMITSITE", 20, 20)
            .gdp("jobbroker/NQUEUELIMITSITE_<gshare>")
            .help("floor of the limit; jobs; 0 gives the seed's letter (DIFF-22)"),
        Param::flag("assigned", false, true)
            .help("whether assigned jobs count, unless the input is local"),
        Param::flag("ucore", true, false).help("whether unified queues are asked"),
        Param::flag("express", true, false).help("whether express chunks are asked"),
    ],
    reads: &[Reads::Load, Reads::Pilot],
    temporary: false,
    applies: None,
    judge: Judge::After(judge),
};

const FLOOR: usize = 0;
const ASSIGNED: usize = 1;
const UCORE: usize = 2;
const EXPRESS: usize = 3;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, weighed: &Weighed, args: &Args) -> Verdict {
    if (candidate.queue.ucore && !args.flag(UCORE)) || (case.express && !args.flag(EXPRESS)) {
        return Verdict::Pass;
    }
    let mut ready = candidate.jobs(Status::Activated) + candidate.jobs(Status::Starting);
    if args.flag(ASSIGNED) && !case.is_local(candidate) {
        ready += candidate.jobs(Status::Assigned);
    }
    let limit = args.number(FLOOR).max(2.0 * weighed.running);
    if ready > limit { object("cap", ready, limit) } else { Verdict::Pass }
}
