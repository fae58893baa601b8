//! Names of rules that are no more: no record says that another process brokers to a queue, nor how
//! many of its cores have a CPU level. Topology files and the policies in logs that name them are
//! read as before.

use super::queues::{queue_filter, queue_weight};
use super::{Candidate, Case, QueueFilter, QueueWeight, Weighed};
use crate::policy::typed::params;
use crate::policy::{Param, Verdict};

/// The names, of filters and weights of production jobs.
pub const RETIRED: [&str; 2] = [LOCK.filter.name, CPU_LEVEL.weight.name];

params! {
    /// Parameters of a rule that is no more.
    Retired {
        active: bool = Param::flag("active", false, true).help("without effect"),
    }
}

pub(super) const LOCK: QueueFilter = queue_filter!(Retired {
    name: "lock",
    spec: "atlas 2.5.7",
    help: "retired: passes every queue",
    reasons: &[],
    reads: &[],
    temporary: false,
    applies: When(lock_applies),
    judge: After(lock),
});

fn lock_applies(_: &Case<'_>, params: &Retired) -> bool {
    params.active
}

fn lock(_: &Case<'_>, _: &Candidate<'_>, _: &Weighed, _: &Retired) -> Verdict {
    Verdict::Pass
}

pub(super) const CPU_LEVEL: QueueWeight = queue_weight!(Retired {
    name: "cpu_level",
    spec: "atlas 2.5.6",
    help: "retired: 1 for every queue",
    figures: &[],
    reads: &[],
    weigh: Factor(cpu_level),
});

fn cpu_level(_: &Case<'_>, _: &Candidate<'_>, _: &Retired, _: &mut Weighed) -> f64 {
    1.0
}
