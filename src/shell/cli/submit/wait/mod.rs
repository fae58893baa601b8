//! `submit --wait`: jobs are handed over to the clusters that decisions name, and followed to their
//! ends. Clusters are asked over TLS: a program that is built without it has the flags alone, and
//! refuses them.

pub(super) mod args;
#[cfg(feature = "tls")]
mod carry;
#[cfg(feature = "tls")]
mod clusters;
#[cfg(feature = "tls")]
mod decision_log;
#[cfg(feature = "tls")]
mod ends;
#[cfg(feature = "tls")]
mod fetched;
#[cfg(feature = "tls")]
mod handing;
#[cfg(feature = "tls")]
mod job;
#[cfg(feature = "tls")]
mod lines;
#[cfg(feature = "tls")]
mod resumed;
#[cfg(feature = "tls")]
mod strays;
#[cfg(feature = "tls")]
mod submission;
#[cfg(feature = "tls")]
mod waiting;

#[cfg(feature = "tls")]
pub(super) use submission::Submission;
#[cfg(feature = "tls")]
pub(super) use waiting::WaitedJobs;
