//! Running against queued jobs: work goes where it is being done.

use crate::core::event::Status;
use crate::core::policy::{Args, Candidate, Case, Param, Reads, Weigh, Weighed, Weight};

pub(in crate::core::policy) const WEIGHT: Weight = Weight {
    name: "basic",
    spec: "atlas 2.5.2, DIFF-21",
    help: "(R + 1) over the jobs queued in the share plus 10; assigned jobs count, once more by \
           their ratio to activated ones, unless the input is local",
    params: &[Param::word("many_assigned", &["ratio", "plus_one"], "ratio", "plus_one").help(
        "the ratio of assigned to activated jobs as it is, or with 1 added to both (DIFF-21)",
    )],
    figures: &[
        ("activated", "jobs"),
        ("assigned", "jobs"),
        ("starting", "jobs"),
        ("defined", "jobs, without those promised"),
        ("promised", "jobs promised by decisions and not yet seen; they count as defined"),
        ("queued", "jobs that the weight counts as queued"),
        ("manyAssigned", "1..=2; 1 when the input is local"),
    ],
    reads: &[Reads::Load, Reads::Pilot],
    weigh: Weigh::Factor(basic),
};

const MANY_ASSIGNED: usize = 0;

/// Added to the queued jobs, so that a queue without any is not beyond all measure.
const QUEUED_OFFSET: f64 = 10.0;

fn basic(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args, weighed: &mut Weighed) -> f64 {
    let [activated, assigned, starting] =
        [Status::Activated, Status::Assigned, Status::Starting].map(|s| candidate.jobs(s));
    let ready = activated + starting + candidate.defined();
    let (queued, many) = match case.is_local(candidate) {
        true => (ready, 1.0),
        false => (ready + assigned, many_assigned(assigned, activated, args)),
    };
    weighed.leave(|| {
        let (defined, promised) = (candidate.jobs(Status::Defined), f64::from(candidate.promised));
        [activated, assigned, starting, defined, promised, queued, many]
    });
    (weighed.running + 1.0) / ((queued + QUEUED_OFFSET) * many)
}

fn many_assigned(assigned: f64, activated: f64, args: &Args) -> f64 {
    let ratio = match args.word(MANY_ASSIGNED) {
        0 if activated > 0.0 => assigned / activated,
        // The seed's ratio has no value here; these are the ends of its range.
        0 if assigned > 0.0 => 2.0,
        0 => 1.0,
        _ => (assigned + 1.0) / (activated + 1.0),
    };
    ratio.clamp(1.0, 2.0)
}
