//! Requests of ATLAS: what their blockers read, whether one that waits would be answered now, and
//! the throttles of owners and tasks.

pub(crate) mod look;
mod nucleus;
pub(crate) mod throttles;
pub(crate) mod touch;
mod work_queues;
