//! While work is short, keeps to the pledges.

use super::object;
use crate::core::event::Status;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Reads, Verdict};

pub(super) const FILTER: Filter = Filter {
    name: "pledge",
    spec: "atlas F19a",
    help: "while work is short, no queue without a pledge is used, nor one beyond its pledge",
    reasons: &[
        ("non_pledged", "work is short, and the queue has no pledge"),
        ("over_pledged", "work is short, and {measured} cores are in use of {limit} pledged"),
    ],
    params: &[Param::flag("WORK_SHORTAGE", false, false)
        .gdp("core/WORK_SHORTAGE")
        .help("whether work is short")],
    reads: &[Reads::Load],
    temporary: false,
    applies: Some(|_, args| args.flag(0)),
    judge: Judge::Before(judge),
};

fn judge(_: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if !args.flag(0) {
        return Verdict::Pass;
    }
    let pledged = candidate.queue.pledged_cpu;
    if pledged < 0 {
        return object("non_pledged", f64::from(pledged), 0.0);
    }
    let cores = |status: Status| candidate.load_all.by[status.index()].cores as f64;
    let used = cores(Status::Running) + cores(Status::Starting);
    if pledged > 0 && used > f64::from(pledged) {
        return object("over_pledged", used, f64::from(pledged));
    }
    Verdict::Pass
}
