//! From what the state keeps of clusters, queues, users, jobs and decisions to the facts of the
//! policy.

use crate::event::{
    BatchFacts, ChildKind, ClusterFacts, OutcomeKind, Registration as Registered,
    RegistrationStatus, Status, UserShare as Shared,
};
use crate::policy::nordugrid::changes::TargetChanges;
use crate::policy::nordugrid::facts::{
    ChildKind as Child, Cluster, JobRecord, Registration, Share, Submission, UserShare,
};
use crate::policy::nordugrid::grid_facts::split_target;
use crate::policy::nordugrid::job_state::JobState;
use crate::state::State;
use crate::state::record::{Job, Placement};
use crate::xrsl::NodeAccess;

/// A registration.
pub(super) fn registration(record: &Registered) -> Registration {
    Registration {
        registry_id: record.registry.clone(),
        child_id: record.child.clone(),
        child_kind: match record.kind {
            ChildKind::Unknown => None,
            ChildKind::Registry => Some(Child::Registry),
            ChildKind::Computing => Some(Child::Computing),
            ChildKind::Storage => Some(Child::Storage),
        },
        is_purged: record.status == RegistrationStatus::Purged,
        has_address: record.addressed,
        refreshed_at: record.expires.then_some(record.changed_at),
        ttl_s: record.ttl_s,
        announced_refresh_s: record.announced_refresh_s,
    }
}

/// A cluster.
pub(super) fn cluster_of(name: &str, facts: &ClusterFacts) -> Cluster {
    let stated = |text: &String| Some(text).filter(|text| !text.is_empty()).cloned();
    let access = [(facts.inbound, NodeAccess::Inbound), (facts.outbound, NodeAccess::Outbound)];
    Cluster {
        name: name.to_owned(),
        answered: facts.answered,
        alias: stated(&facts.alias),
        total_slots: facts.total_slots,
        node_memory_mb: facts.node_memory_mb,
        clock_mhz: facts.clock_mhz,
        architecture: stated(&facts.architecture),
        middleware: facts.middleware.clone(),
        runtime_environments: facts.runtime_environments.clone(),
        operating_systems: facts.operating_systems.clone(),
        node_access: access.into_iter().filter(|(has, _)| *has).map(|(_, it)| it).collect(),
        local_storage: facts.local_storage.clone(),
        cache_free_bytes: facts.cache_free_bytes,
    }
}

/// A queue.
pub(super) fn share(name: &str, as_of: i64, facts: &BatchFacts) -> Share {
    let (cluster, queue) = split_target(name);
    Share {
        cluster: cluster.to_owned(),
        queue: queue.to_owned(),
        status: Some(&facts.status).filter(|status| !status.is_empty()).cloned(),
        as_of,
        total_slots: facts.total_slots,
        max_slots_per_job: facts.max_slots_per_job,
        max_queuable_jobs: facts.max_queuable_jobs,
        grid_queued_jobs: facts.grid_queued_jobs,
        local_queued_jobs: facts.local_queued_jobs,
        min_cpu_time_s: facts.min_cpu_time_s,
        max_cpu_time_s: facts.max_cpu_time_s,
        max_total_cpu_time_s: facts.max_total_cpu_time_s,
        default_cpu_time_s: facts.default_cpu_time_s,
        default_wall_time_s: facts.default_wall_time_s,
        min_wall_time_s: facts.min_wall_time_s,
        max_wall_time_s: facts.max_wall_time_s,
        max_memory_mb: facts.max_memory_mb,
    }
}

/// A job at a target as its state says; `None`: it is at none. ARC's word in the sub-state counts
/// before the state it was mapped to.
pub(super) fn record(state: &State, job: &Job, name: &str) -> Option<JobRecord> {
    let target = state.names.text(job.names[0]);
    if !target.contains('/') {
        return None;
    }
    let word = state.names.text(job.sub_status);
    let times = state.asked_times.get(&job.key).copied();
    let (cpu_time_s, wall_time_s) = times.unwrap_or_default();
    let known = |seconds: u32| Some(u64::from(seconds)).filter(|seconds| *seconds > 0);
    let when = |at: i64| Some(at).filter(|at| *at > 0);
    Some(JobRecord {
        job_id: name.to_owned(),
        target: target.to_owned(),
        state: JobState::parse(word).unwrap_or_else(|| state_of(job.status)),
        count: job.cores.into(),
        cpu_time_s: known(cpu_time_s),
        wall_time_s: known(wall_time_s),
        changed_at: when(job.over_at()),
        reached_batch_at: when(job.activated_at),
        is_staged: job.activated_at > 0 || job.started_at > 0,
    })
}

/// Limits of a user at a queue.
pub(super) fn user_share(record: &Shared) -> UserShare {
    let (cluster, queue) = split_target(&record.queue);
    UserShare {
        cluster: cluster.to_owned(),
        queue: queue.to_owned(),
        user: record.user.clone(),
        is_authorised: record.authorised,
        free_slots: record.free_slots.clone(),
        disk_free_bytes: record.disk_free_bytes,
        as_of: Some(record.changed_at),
    }
}

/// The state at a cluster that a job's status stands for.
fn state_of(status: Option<Status>) -> JobState {
    match status {
        None | Some(Status::Pending | Status::Defined | Status::Assigned | Status::Throttled) => {
            JobState::PreBatch
        }
        Some(
            Status::Activated | Status::Sent | Status::Starting | Status::Running | Status::Holding,
        ) => JobState::InBatch,
        Some(Status::Merging | Status::Transferring) => JobState::Leaving,
        Some(Status::Finished | Status::Failed | Status::Cancelled | Status::Closed) => {
            JobState::Ended
        }
    }
}

/// Changes at a placement's target, as its decision stated them.
pub(super) fn changes(placement: &Placement) -> TargetChanges {
    let placed = &placement.placed;
    TargetChanges {
        target: placement.target.clone(),
        count: placed.count,
        time_s: placed.time_s,
        disk_bytes: placed.disk_bytes,
        cache_bytes: placed.cache_bytes,
        tags: placed.tags.iter().cloned().collect(),
        ..TargetChanges::default()
    }
}

/// Result of a submission.
pub(super) fn submission(kind: OutcomeKind) -> Submission {
    match kind {
        OutcomeKind::Accepted => Submission::Accepted,
        OutcomeKind::Refused | OutcomeKind::Failed | OutcomeKind::Expired => Submission::Failed,
    }
}
