//! Running against queued jobs: work goes where it is being done.

use crate::domain::atlas::policy::queues::queue_weight;
use crate::domain::atlas::policy::{Candidate, Case, QueueWeight, Weighed};
use crate::event::Status;
use crate::policy::Reads;
use crate::policy::typed::{params, words};

words! {
    /// How the ratio of assigned to activated jobs is taken.
    ManyAssigned {
        Ratio = "ratio",
        PlusOne = "plus_one",
    }
}

params! {
    /// Parameters of `basic` for production jobs.
    Basic {
        many_assigned: ManyAssigned = ManyAssigned::param(
            "many_assigned", ManyAssigned::Ratio, ManyAssigned::PlusOne,
        ).help(
            "the ratio of assigned to activated jobs as it is, or with 1 added to both (DIFF-21)",
        ),
    }
}

pub(crate) const WEIGHT: QueueWeight = queue_weight!(Basic {
    name: "basic",
    spec: "atlas 2.5.2, DIFF-21",
    help: "(R + 1) over the jobs queued in the share plus 10; assigned jobs count, once more by \
           their ratio to activated ones, unless the input is local",
    figures: &[
        ("activated", "jobs"),
        ("assigned", "jobs"),
        ("starting", "jobs"),
        ("defined", "jobs, without those reserved"),
        ("promised", "jobs reserved by decisions and not yet seen; they count as defined"),
        ("queued", "jobs that the weight counts as queued"),
        ("manyAssigned", "1..=2; 1 when the input is local"),
    ],
    reads: &[Reads::Load, Reads::Pilot],
    weigh: Factor(basic),
});

/// Added to the queued jobs, so that a queue without any is not beyond all measure.
const QUEUED_OFFSET: f64 = 10.0;

fn basic(case: &Case<'_>, candidate: &Candidate<'_>, params: &Basic, weighed: &mut Weighed) -> f64 {
    let [activated, assigned, starting] =
        [Status::Activated, Status::Assigned, Status::Starting].map(|s| candidate.jobs(s));
    let ready = activated + starting + candidate.defined();
    let (queued, many) = match case.is_local(candidate) {
        true => (ready, 1.0),
        false => (ready + assigned, many_assigned(assigned, activated, params)),
    };
    weighed.leave(|| {
        let (defined, reserved) = (candidate.jobs(Status::Defined), f64::from(candidate.reserved));
        [activated, assigned, starting, defined, reserved, queued, many]
    });
    (weighed.running + 1.0) / ((queued + QUEUED_OFFSET) * many)
}

fn many_assigned(assigned: f64, activated: f64, params: &Basic) -> f64 {
    let ratio = match params.many_assigned {
        ManyAssigned::Ratio if activated > 0.0 => assigned / activated,
        // The seed's ratio has no value here; these are the ends of its range.
        ManyAssigned::Ratio if assigned > 0.0 => 2.0,
        ManyAssigned::Ratio => 1.0,
        ManyAssigned::PlusOne => (assigned + 1.0) / (activated + 1.0),
    };
    ratio.clamp(1.0, 2.0)
}
