//! Facts about a NorduGrid grid, as records state them (spec cms-nordugrid B.11).

use super::job_state::JobState;
use crate::unit::{Bytes, Millis};
use crate::xrsl::NodeAccess;
use std::collections::BTreeSet;

/// Registration of a child at an index server (N-04). The newest of (registry, child, kind) counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// Name of the index server.
    pub registry_id: String,
    /// Name of what is registered there.
    pub child_id: String,
    /// Kind of the child; `None`: lacking, and the registration is skipped.
    pub child_kind: Option<ChildKind>,
    /// Whether it was withdrawn (status PURGED). One that is INVALID is used.
    pub is_purged: bool,
    /// Whether host, port and suffix are all given; if not, the registration is skipped.
    pub has_address: bool,
    /// When it was last refreshed; `None`: it never expires.
    pub refreshed_at: Option<Millis>,
    /// How long it lives after a refresh; s. `None`: the default.
    pub ttl_s: Option<u64>,
    /// How often it is refreshed, as announced; s.
    pub announced_refresh_s: u64,
}

/// Kind of a child that is registered at an index server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChildKind {
    /// Another index server.
    Registry,
    /// A cluster.
    Computing,
    /// A storage element: no place for jobs.
    Storage,
}

/// Facts that a cluster publishes about itself. The newest of a name counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Name.
    pub name: String,
    /// Whether it answered within the time limit (N-06).
    pub answered: bool,
    /// Second name.
    pub alias: Option<String>,
    /// CPUs of the cluster.
    pub total_slots: Option<u64>,
    /// Memory of a node; MB.
    pub node_memory_mb: Option<u64>,
    /// Clock of a node; MHz.
    pub clock_mhz: Option<u64>,
    /// Processor architecture.
    pub architecture: Option<String>,
    /// Middleware, each `name[-version]`; empty: not published.
    pub middleware: Vec<String>,
    /// Runtime environments, each `name[-version]`; empty: not published.
    pub runtime_environments: Vec<String>,
    /// Operating systems, each `name[-version]`; empty: not published.
    pub operating_systems: Vec<String>,
    /// Network access of nodes; empty: none, or not published.
    pub node_access: BTreeSet<NodeAccess>,
    /// Storage elements that it lists as local (`localse`).
    pub local_storage: Vec<String>,
    /// Free space of the cache. `None`: it has no cache, or nothing is known of it.
    pub cache_free_bytes: Option<Bytes>,
}

/// Facts that a queue publishes (GLUE2 `ComputingShare`). The newest of (cluster, queue) counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Name of its cluster.
    pub cluster: String,
    /// Name of the queue.
    pub queue: String,
    /// Status as published; `None`: not published.
    pub status: Option<String>,
    /// When the facts were true.
    pub as_of: Millis,
    /// CPUs of the queue.
    pub total_slots: Option<u64>,
    /// Most CPUs of one job.
    pub max_slots_per_job: Option<u64>,
    /// Most jobs that may be queued.
    pub max_queuable_jobs: Option<u64>,
    /// Jobs of the grid that are queued; jobs.
    pub grid_queued_jobs: u64,
    /// Jobs that were queued locally; jobs.
    pub local_queued_jobs: u64,
    /// Least CPU time of a slot; s.
    pub min_cpu_time_s: Option<u64>,
    /// Most CPU time of a slot; s.
    pub max_cpu_time_s: Option<u64>,
    /// Most CPU time of a whole job; s.
    pub max_total_cpu_time_s: Option<u64>,
    /// CPU time of a job that states none; s.
    pub default_cpu_time_s: Option<u64>,
    /// Wall time of a job that states none; s.
    pub default_wall_time_s: Option<u64>,
    /// Least wall time; s.
    pub min_wall_time_s: Option<u64>,
    /// Most wall time; s.
    pub max_wall_time_s: Option<u64>,
    /// Most memory of a job's slot; MB.
    pub max_memory_mb: Option<u64>,
}

/// Facts that a queue publishes for a user. The newest of (cluster, queue, user) counts. A user
/// without one is not authorised there (N-11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserShare {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the queue.
    pub queue: String,
    /// Who.
    pub user: String,
    /// Whether the user may submit there.
    pub is_authorised: bool,
    /// Free CPUs as published: `n[:minutes]`, separated by blanks (N-07).
    pub free_slots: String,
    /// Free space of session directories; `None`: not known.
    pub disk_free_bytes: Option<Bytes>,
    /// When the facts were true; `None`: when those of the queue were.
    pub as_of: Option<Millis>,
}

/// The newest state of a job at a cluster, of whatever user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// Name of the job.
    pub job_id: String,
    /// Where it is, `cluster/queue`.
    pub target: String,
    /// State.
    pub state: JobState,
    /// CPUs.
    pub count: u64,
    /// CPU time asked for, of the whole job; s.
    pub cpu_time_s: Option<u64>,
    /// Wall time asked for; s.
    pub wall_time_s: Option<u64>,
    /// When its state last changed: when it ended, once it did. `None`: not stated.
    pub changed_at: Option<Millis>,
    /// When it reached the batch system, once it did.
    pub reached_batch_at: Option<Millis>,
    /// Whether its inputs were staged before it ended.
    pub is_staged: bool,
}

/// Resources that a decision of this broker reserves at its target (N-27), until the target's own
/// facts contain the job, or for a limited time if no record of the job is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetReservation {
    /// Name of the job.
    pub job_id: String,
    /// Which attempt of the job it is, from 0.
    pub attempt: u64,
    /// Where it was sent, `cluster/queue`.
    pub target: String,
    /// CPUs.
    pub count: u64,
    /// For how long; s. `None`: no limit.
    pub time_s: Option<u64>,
    /// Of the free space of session directories.
    pub disk_bytes: Bytes,
    /// Of the free space of the cluster's cache.
    pub cache_bytes: Bytes,
    /// When it was decided.
    pub decided_at: Millis,
    /// Whether it is so old that it holds nothing without a record of the job.
    pub is_expired: bool,
    /// Result of the submission; `None`: not known yet.
    pub outcome: Option<Submission>,
}

/// Result of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Submission {
    /// The target took the job.
    Accepted,
    /// The target refused it: the reservation is released (N-25).
    Failed,
}

/// Size and replicas of a file (N-15). The newest of a source counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRecord {
    /// Where it is asked for: a logical name or a URL.
    pub source: String,
    /// Size; `None`: not known.
    pub size_bytes: Option<Bytes>,
    /// Where it is: names of storage elements, or of clusters that have it themselves.
    pub replicas: Vec<String>,
}

/// Whether a cluster's cache has a file, as it reports. The newest of (cluster, source) counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheReport {
    /// Name of the cluster.
    pub cluster: String,
    /// The file.
    pub source: String,
    /// Whether it is in the cache.
    pub is_present: bool,
    /// When that was so; `None`: some time before any decision of ours.
    pub as_of: Option<Millis>,
}

/// A file that a job of ours brings into a cluster's cache (N-27).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheTag {
    /// Name of the cluster.
    pub cluster: String,
    /// The file.
    pub source: String,
    /// Name of the job.
    pub job_id: String,
    /// Which attempt of the job it is, from 0.
    pub attempt: u64,
    /// The target that the job was sent to, `cluster/queue`: a refusal there ends the tag. `None`:
    /// not stated.
    pub target: Option<String>,
    /// When it was tagged.
    pub tagged_at: Millis,
}
