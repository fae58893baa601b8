//! NorduGrid: a job that describes itself, and the queues of clusters that it may be sent to.

/// Records of topics.
pub(crate) mod event;
/// How a target was chosen, and until when it is held, as text.
pub(crate) mod explain;
/// Targets as judging wants them, and the way from a job to its answer.
pub(crate) mod judge;
/// Resources that a job takes at its target.
pub mod output;
/// Which target a job gets: discovery, filters, ranks.
pub mod policy;
/// Clusters and their queues at a glance.
pub(crate) mod view;
/// Job descriptions: text to jobs.
pub mod xrsl;
