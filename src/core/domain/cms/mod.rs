//! CMS: a pilot offers slots, and the jobs of a pool that wait are its candidates.

/// Records of topics.
pub(crate) mod event;
/// Offers, matches, jobs and what they wait for, as text.
pub mod explain;
mod fold;
/// Commands beside the assignment of jobs.
pub(crate) mod govern;
/// The pool as judging wants it, and its answers in a cycle.
pub(crate) mod judge;
/// The job that got offered slots.
pub mod output;
/// Which job gets an offer: filters, rank keys, quotas, drains.
pub mod policy;
/// Records of the pool.
pub mod state;
/// Sites, offers, idle jobs and workflows at a glance.
pub(crate) mod view;
