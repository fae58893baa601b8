//! ATLAS: tasks that want a nucleus, and chunks of tasks whose jobs are divided among queues.

/// Fast rebrokerage.
pub(crate) mod govern;
/// Candidates with their figures, and the way from a request to its answer.
pub mod judge;
/// Kinds of policy, filters, weights, and judging with them.
pub mod policy;
/// Waiting requests evaluated, and the throttles of owners and tasks.
pub(crate) mod request;
/// Queues at a glance.
pub(crate) mod view;
