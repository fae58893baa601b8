//! The filters of PanDA's generic jobs.

use super::{input, place, size};
use crate::domain::atlas::policy::QueueFilter;
use crate::policy::Reason;

/// Filters of PanDA's generic jobs, in the order of the specification.
pub(crate) const GENERIC_JOB: &[&QueueFilter] = &[
    &place::CLOUD,
    &place::NICKNAME,
    &place::STATUS,
    &place::PANDA_SITE,
    &size::SCRATCH,
    &size::SPACE,
    &size::WALLTIME,
    &size::CORES,
    &size::MEMORY,
    &place::PROCESSING,
    &place::PILOTS,
    &input::UNLISTED,
    &input::USED_FIRST,
    &input::INCOMPLETE,
    &input::INCOMPLETE_BEST,
];

/// Those that look at nothing of a candidate but its configuration.
pub(crate) const OF_THE_GENERIC_QUEUE: &[&QueueFilter] = &[
    &place::CLOUD,
    &place::NICKNAME,
    &place::STATUS,
    &place::PANDA_SITE,
    &size::SCRATCH,
    &size::SPACE,
    &size::WALLTIME,
    &size::CORES,
    &size::MEMORY,
    &place::PROCESSING,
];

/// Those by which a queue never takes the task, as both are configured.
pub(crate) const NO_QUEUE_FITS: &[&QueueFilter] = &[
    &place::CLOUD,
    &place::NICKNAME,
    &place::PANDA_SITE,
    &size::SCRATCH,
    &size::WALLTIME,
    &size::CORES,
    &size::MEMORY,
    &place::PROCESSING,
];

/// Objections at which PanDA's own broker fails: no candidate is looked at any more.
pub(crate) const FAILURES: [&Reason; 3] =
    [&place::NICKNAME_FAILS, &size::MAXTIME_FAILS, &place::PROCESSING_FAILS];
