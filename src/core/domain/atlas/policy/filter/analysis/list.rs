//! The filters of ATLAS analysis jobs.

use super::super::{disk_io, io_intensity, remoteio, room, walltime, zeroshare};
use super::{choice, crowd, size, software, storage, usable};
use crate::domain::atlas::policy::QueueFilter;

/// Filters of ATLAS analysis jobs, in the order of the specification.
pub(crate) const ANALYSIS_JOB: &[&QueueFilter] = &[
    &usable::LOCALITY,
    &usable::STATUS,
    &zeroshare::ANALYSIS,
    &disk_io::ANALYSIS,
    &io_intensity::FILTER,
    &usable::AVOID_VP,
    &size::CORES,
    &software::GPU,
    &crowd::CLOSED,
    &software::FILTER,
    &size::MEMORY,
    &remoteio::FILTER,
    &size::SCRATCH,
    &storage::FILTER,
    &walltime::ANALYSIS,
    &walltime::DAY_ALONE,
    &crowd::PILOTS,
    &room::FILTER,
    &usable::CHOSEN,
    &usable::PREASSIGNED,
    &usable::HOSPITAL,
    &crowd::OVERLOAD,
    &crowd::CAP,
    &crowd::IDLE,
    &crowd::STABILIZER,
    &crowd::FAILURES,
    &choice::USED_FIRST,
    &choice::MIN_WEIGHT,
    &choice::LOCAL_ONLY,
];

/// Those that object for what is bad for the user, and for nothing that lasts.
pub(crate) const OF_THE_USER: &[&QueueFilter] =
    &[&crowd::STABILIZER, &crowd::FAILURES, &crowd::IDLE];

/// Those that look at nothing of a candidate but its configuration.
pub(crate) const OF_THE_QUEUE: &[&QueueFilter] = &[
    &usable::LOCALITY,
    &usable::STATUS,
    &zeroshare::ANALYSIS,
    &io_intensity::FILTER,
    &usable::AVOID_VP,
    &size::CORES,
    &software::GPU,
    &software::FILTER,
    &size::MEMORY,
    &remoteio::FILTER,
    &size::SCRATCH,
    &walltime::ANALYSIS,
    &walltime::DAY_ALONE,
];

/// Those before weighing that look at what is known of the user at a queue.
pub(crate) const USER_EARLY: &[&QueueFilter] = &[&crowd::CLOSED];
