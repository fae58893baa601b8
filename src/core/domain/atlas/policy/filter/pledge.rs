//! While work is short, keeps to the pledges.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, QueueFilter};
use crate::event::Status;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Verdict};

params! {
    /// Parameters of `pledge`.
    Pledge {
        work_shortage: bool = Param::flag("WORK_SHORTAGE", false, false)
            .gdp("core/WORK_SHORTAGE")
            .help("whether work is short"),
    }
}

const NON_PLEDGED: Reason =
    Reason::new("non_pledged", "work is short, and the queue has no pledge");
const OVER_PLEDGED: Reason = Reason::new(
    "over_pledged",
    "work is short, and {measured} cores are in use of {limit} pledged",
);

pub(super) const FILTER: QueueFilter = queue_filter!(Pledge {
    name: "pledge",
    spec: "atlas F19a",
    help: "while work is short, no queue without a pledge is used, nor one beyond its pledge",
    reasons: &[&NON_PLEDGED, &OVER_PLEDGED],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

fn applies(_: &Case<'_>, params: &Pledge) -> bool {
    params.work_shortage
}

fn judge(_: &Case<'_>, candidate: &Candidate<'_>, _: &Pledge) -> Verdict {
    let pledged = candidate.queue.pledged_cpu;
    if pledged < 0 {
        return object(&NON_PLEDGED, f64::from(pledged), 0.0);
    }
    let cores = |status: Status| candidate.load_all.by[status.index()].cores as f64;
    let used = cores(Status::Running) + cores(Status::Starting);
    if pledged > 0 && used > f64::from(pledged) {
        return object(&OVER_PLEDGED, used, f64::from(pledged));
    }
    Verdict::Pass
}
