//! Weights of PanDA's generic jobs: running against waiting jobs, and input that is there.

use super::data::{WEIGHT as OF_DATA, data};
use crate::domain::atlas::policy::queues::queue_weight;
use crate::domain::atlas::policy::{Candidate, Case, QueueWeight, Weighed};
use crate::event::Status;
use crate::policy::declare::NoParams;
use crate::policy::typed::params;
use crate::policy::{Param, Reads};

pub(crate) const RATIO: QueueWeight = queue_weight!(NoParams {
    name: "ratio",
    spec: "panda-generic W",
    help: "(R + 1) / (A + D + 1) / (D + 1), of the running, activated and defined jobs of all \
           shares; reserved jobs count as defined",
    figures: &[
        ("running", "jobs of all shares"),
        ("queued", "jobs of all shares, activated and defined"),
        ("defined", "jobs of all shares, without those reserved"),
        ("promised", "jobs reserved by decisions and not yet seen; they count as defined"),
    ],
    reads: &[Reads::Load],
    weigh: Factor(ratio),
});

fn ratio(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams, weighed: &mut Weighed) -> f64 {
    let of = |status: Status| match case.is_apart(candidate) {
        true => 0.0,
        false => candidate.jobs_all(status),
    };
    let [running, activated, defined] =
        [Status::Running, Status::Activated, Status::Defined].map(of);
    let reserved = f64::from(candidate.reserved_all);
    let all = defined + reserved;
    weighed.running = running;
    weighed.leave(|| [running, activated + all, defined, reserved]);
    (running + 1.0) / (activated + all + 1.0) / (all + 1.0)
}

params! {
    /// Parameters of `data` for generic jobs.
    Data {
        active: bool = Param::flag("active", true, false)
            .help("whether the place of the input counts at all"),
    }
}

pub(crate) const DATA: QueueWeight = queue_weight!(Data {
    name: OF_DATA.weight.name,
    spec: "panda-generic 1.5",
    help: OF_DATA.weight.help,
    figures: OF_DATA.weight.figures,
    reads: OF_DATA.weight.reads,
    weigh: Factor(where_counted),
});

fn where_counted(
    case: &Case<'_>,
    candidate: &Candidate<'_>,
    params: &Data,
    weighed: &mut Weighed,
) -> f64 {
    let factor = data(case, candidate, weighed);
    if params.active { factor } else { 1.0 }
}
