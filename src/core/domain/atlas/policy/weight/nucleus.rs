//! Weights of queues at the nucleus, and of queues with the processors a task prefers.

use crate::domain::atlas::policy::queues::queue_weight;
use crate::domain::atlas::policy::{Candidate, Case, QueueWeight, Weighed};
use crate::policy::typed::params;
use crate::policy::{Param, Unit};

params! {
    /// Parameters of `nucleus`.
    Nucleus {
        active: bool = Param::flag("active", false, true).help("whether this counts at all"),
        urgent_priority: f64 = Param::int("urgent_priority", 900, 900)
            .help("from this priority on work is urgent"),
        fast: f64 = Param::int("fast_kbps", 500, 500)
            .unit(Unit::KbPerSecond)
            .help("above this rate a task reads fast"),
    }
}

pub(crate) const NUCLEUS: QueueWeight = queue_weight!(Nucleus {
    name: "nucleus",
    spec: "atlas 2.5.4, Q-37",
    help: "the task's t1Weight for queues of the nucleus, or that share its storage; 4 for tasks \
           that read fast and state none; at least 100 for urgent jobs and scouts",
    figures: &[],
    reads: &[],
    weigh: Factor(nucleus),
});

/// Weight of the nucleus for tasks that read fast.
const FAST: f64 = 4.0;
/// Least weight of the nucleus for urgent work.
const URGENT: f64 = 100.0;

fn nucleus(case: &Case<'_>, candidate: &Candidate<'_>, params: &Nucleus, _: &mut Weighed) -> f64 {
    let task = case.task;
    if !params.active || !case.in_nucleus(candidate) {
        return 1.0;
    }
    let reads_fast = task.io_intensity_kbps.is_some_and(|it| f64::from(it) > params.fast);
    let weight = match task.options.t1_weight {
        0 if reads_fast => FAST,
        0 => 1.0,
        given if given < 0 => 1.0,
        given => f64::from(given),
    };
    let is_urgent = f64::from(task.priority) >= params.urgent_priority || task.has_scouts();
    if is_urgent && !task.options.event_service { weight.max(URGENT) } else { weight }
}
