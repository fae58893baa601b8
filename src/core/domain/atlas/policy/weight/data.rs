//! Input that is there already: work goes where its data lie.

use crate::domain::atlas::policy::queues::queue_weight;
use crate::domain::atlas::policy::{Candidate, Case, QueueWeight, Weighed};
use crate::policy::declare::NoParams;

pub(crate) const WEIGHT: QueueWeight = queue_weight!(NoParams {
    name: "data",
    spec: "atlas 2.5.3",
    help: "(available + total) over total input, less the more files are missing; 2 when all \
           input is on disk there, 1 when there is none",
    figures: &[
        ("availableBytes", "bytes of the input on disk there"),
        ("missingFiles", "files of the input not on disk there"),
    ],
    reads: &[],
    weigh: Factor(of_all),
});

/// Missing files that halve the factor.
const HALVING_FILES: f64 = 100.0;

fn of_all(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams, weighed: &mut Weighed) -> f64 {
    data(case, candidate, weighed)
}

/// The factor of the input that is there.
pub(super) fn data(case: &Case<'_>, candidate: &Candidate<'_>, weighed: &mut Weighed) -> f64 {
    let total = case.task.total_bytes as f64;
    let available = candidate.available_bytes.min(case.task.total_bytes) as f64;
    let missing = f64::from(case.task.total_files.saturating_sub(candidate.available_files));
    weighed.leave(|| [available, missing]);
    if total == 0.0 {
        return 1.0;
    }
    (available + total) / (total * (missing / HALVING_FILES + 1.0))
}
