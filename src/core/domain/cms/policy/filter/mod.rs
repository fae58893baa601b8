//! The filters of the kind `cms`, in the order in which they are asked (A.5 2a). The first that
//! objects gives the reason.

mod class;
mod fit;
mod high_io;
mod overflow;
mod place;
mod restricted;
mod t1;

use crate::domain::cms::policy::declare::JobFilter;
pub use t1::{may_run_at_t1, waits_for_t1};

/// All of them, in order.
pub const FILTERS: &[&JobFilter] = &[
    &place::SITE_STATUS,
    &place::WORKFLOW_UNKNOWN,
    &place::NO_KNOWN_SITE,
    &place::WHITELIST,
    &overflow::OFF,
    &overflow::LIMIT,
    &overflow::MAX_SITES,
    &overflow::IDLE,
    &overflow::FAILED_BEFORE,
    &fit::CORES,
    &fit::WALL,
    &fit::MEM,
    &fit::RESOURCES,
    &fit::LABELS,
    &fit::NOT_AGAIN,
    &fit::DRAINING_NODE,
    &high_io::LIMIT,
    &restricted::POOL,
    &class::NOT_ADMITTED,
    &class::OVER_QUOTA,
    &t1::FIRST,
];
