//! What is known of targets, as judging wants it: facts, jobs in front, tags of files. Derived from
//! the state, brought up to date by what it notes as touched.

use crate::core::draw::cut_id;
use crate::core::event::{
    BatchFacts, ChildKind, ClusterFacts, Configured, OutcomeKind, RegistrationStatus, Replica,
    ReplicaState, Status,
};
use crate::core::fold::is_newer;
use crate::core::id::Key;
use crate::core::policy::nordugrid::changes::TargetChanges;
use crate::core::policy::nordugrid::facts::{
    CacheReport, ChildKind as Child, Cluster, FileRecord, JobRecord, Registration, Share,
    Submission, UserShare,
};
use crate::core::policy::nordugrid::grid_facts::{GridFacts, split_target};
use crate::core::policy::nordugrid::job_state::JobState;
use crate::core::state::State;
use crate::core::state::record::{Fact, Job, Placement};
use crate::core::topic::Topic;
use crate::core::xrsl::NodeAccess;
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Default)]
pub struct Targets {
    /// What is known.
    pub facts: GridFacts,
    /// Name of the cut, for draws (spec cms-nordugrid S-02).
    pub cut_id: String,
    /// Names of jobs that have a record.
    jobs: BTreeMap<Key, String>,
}

impl Targets {
    /// Brings everything up to date with a cut that was just closed; all of it where `everything`.
    pub(in crate::core) fn update(&mut self, state: &mut State, everything: bool) {
        if !state.setting.judges_targets {
            return;
        }
        let facts = std::mem::take(&mut state.touched.facts);
        let jobs = std::mem::take(&mut state.touched.jobs);
        if everything || facts.iter().any(|(topic, name)| is_gone(state, *topic, name)) {
            self.make(state);
        } else {
            facts.iter().for_each(|(topic, name)| self.put_fact(state, *topic, name));
            let subjects = state.touched.subjects.iter();
            let mut names: BTreeSet<String> = subjects.cloned().collect();
            for key in jobs {
                names.insert(self.job_name(state, key));
            }
            names.iter().for_each(|name| self.put_job(state, name));
        }
        self.cut_id = input_cut_id(state);
    }

    /// Makes all of it from the state.
    fn make(&mut self, state: &State) {
        *self = Targets::default();
        for (topic, names) in [
            (Topic::Registration, names(&state.facts.registrations)),
            (Topic::Site, names(&state.facts.sites)),
            (Topic::Queue, names(&state.facts.queues)),
            (Topic::UserShare, names(&state.facts.user_shares)),
            (Topic::Replica, names(&state.facts.replicas)),
        ] {
            names.iter().for_each(|name| self.put_fact(state, topic, name));
        }
        let mut subjects: BTreeSet<String> = state.requests.by_name.keys().cloned().collect();
        for (_, job) in state.jobs.slab.iter().filter(|(_, job)| job.status.is_some()) {
            subjects.insert(self.job_name(state, job.key));
        }
        subjects.iter().for_each(|name| self.put_job(state, name));
    }

    /// The name of a job; of one that was forgotten since the last update as well.
    fn job_name(&mut self, state: &State, key: Key) -> String {
        if state.jobs.of(key).is_none() {
            return self.jobs.remove(&key).unwrap_or_else(|| state.job_name(key));
        }
        self.jobs.entry(key).or_insert_with(|| state.job_name(key)).clone()
    }

    fn put_fact(&mut self, state: &State, topic: Topic, name: &str) {
        match topic {
            Topic::Registration => {
                if let Some(record) = current(state.facts.registrations.of(name)) {
                    let new = registration(record);
                    // What it was registered as before is gone, whatever it is now.
                    self.facts.put_registration(&Registration { child_kind: None, ..new.clone() });
                    self.facts.put_registration(&new);
                }
            }
            Topic::Site => {
                let site = current(state.facts.sites.of(name));
                if let Some((site, cluster)) =
                    site.and_then(|site| Some((site, site.cluster.as_ref()?)))
                {
                    self.facts.put_cluster(cluster_of(&site.name, cluster));
                }
            }
            Topic::Queue => {
                let queue = current(state.facts.queues.of(name));
                if let Some((queue, batch)) =
                    queue.and_then(|queue| Some((queue, queue.batch.as_ref()?)))
                {
                    let share = share(&queue.name, queue.changed_at, batch);
                    self.facts.remove_share(&share.cluster, &share.queue);
                    self.facts.put_share(share);
                }
            }
            Topic::UserShare => {
                if let Some(record) = current(state.facts.user_shares.of(name)) {
                    let (cluster, queue) = split_target(&record.queue);
                    self.facts.remove_user_share(&record.queue, &record.user);
                    self.facts.put_user_share(&UserShare {
                        cluster: cluster.to_owned(),
                        queue: queue.to_owned(),
                        user: record.user.clone(),
                        is_authorised: record.authorised,
                        free_slots: record.free_slots.clone(),
                        disk_free_bytes: record.disk_free_bytes,
                        as_of: Some(record.changed_at),
                    });
                }
            }
            Topic::Replica => {
                let source = name.split_once('|').map_or(name, |(source, _)| source);
                self.put_file(state, source);
            }
            _ => {}
        }
    }

    /// A file: the record that lists every copy, and those that are about one endpoint.
    fn put_file(&mut self, state: &State, source: &str) {
        self.facts.remove_cache_reports(source);
        let mut file = FileRecord { source: source.to_owned(), ..FileRecord::default() };
        let mut replicas = BTreeSet::new();
        let (first, last) = (format!("{source}|"), format!("{source}}}"));
        let of_endpoints = state.facts.replicas.by_name.range(first..last).map(|(name, _)| name);
        let names = std::iter::once(source).chain(of_endpoints.map(String::as_str));
        for replica in names.filter_map(|name| current(state.facts.replicas.of(name))) {
            if replica.bytes > 0 {
                file.size_bytes = Some(replica.bytes);
            }
            if !replica.endpoint.is_empty() {
                replicas.remove(&replica.endpoint);
            }
            let readable = |it: &&crate::core::event::Location| {
                it.complete && it.state == ReplicaState::Available
            };
            for location in replica.locations.iter().filter(readable).filter(|it| !it.cache) {
                replicas.insert(location.endpoint.clone());
            }
            self.put_cached(source, replica);
        }
        file.replicas = replicas.into_iter().collect();
        self.facts.put_file(&file);
    }

    /// What a record says of a file in the caches of clusters.
    fn put_cached(&mut self, source: &str, replica: &Replica) {
        let report = |cluster: &str, is_present| CacheReport {
            cluster: cluster.to_owned(),
            source: source.to_owned(),
            is_present,
            as_of: Some(replica.changed_at),
        };
        if replica.locations.is_empty() && !replica.endpoint.is_empty() {
            self.facts.put_cache_report(&report(&replica.endpoint, false));
        }
        for location in replica.locations.iter().filter(|location| location.cache) {
            let is_present = location.complete && location.state == ReplicaState::Available;
            self.facts.put_cache_report(&report(&location.endpoint, is_present));
        }
    }

    /// All that is known of one job: its record, and where decisions placed it.
    pub(in crate::core) fn put_job(&mut self, state: &State, name: &str) {
        self.facts.forget_job(name);
        let job = state.jobs.of(Key::of(name.as_bytes())).filter(|job| job.status.is_some());
        if let Some(record) = job.and_then(|job| record(state, job, name)) {
            self.facts.put_job(record);
        }
        let Some(request) = state.requests.of(name) else { return };
        for placement in &request.placements {
            self.facts.fold_assignment(name, &changes(placement), placement.now);
            if let Some(outcome) = request.outcomes.get(&placement.decision) {
                let outcome = match outcome {
                    OutcomeKind::Accepted => Submission::Accepted,
                    OutcomeKind::Refused | OutcomeKind::Failed | OutcomeKind::Expired => {
                        Submission::Failed
                    }
                };
                self.facts.put_outcome(name, &placement.target, outcome);
            }
        }
    }
}

fn names<T>(table: &crate::core::state::NamedTable<T>) -> Vec<String> {
    table.by_name.keys().cloned().collect()
}

fn current<T: Configured>(fact: Option<&Fact<T>>) -> Option<&T> {
    fact?.current(is_newer)
}

/// Whether a record is no longer there, or no longer says anything of a target.
fn is_gone(state: &State, topic: Topic, name: &str) -> bool {
    let facts = &state.facts;
    match topic {
        Topic::Registration => current(facts.registrations.of(name)).is_none(),
        Topic::UserShare => current(facts.user_shares.of(name)).is_none(),
        Topic::Replica => current(facts.replicas.of(name)).is_none(),
        Topic::Site => current(facts.sites.of(name)).is_none_or(|site| site.cluster.is_none()),
        Topic::Queue => current(facts.queues.of(name)).is_none_or(|queue| queue.batch.is_none()),
        _ => false,
    }
}

/// Name of the cut by what was read of the topics that others write.
fn input_cut_id(state: &State) -> String {
    let mut positions = Vec::new();
    for topic in Topic::read().filter(|topic| !topic.is_own()) {
        for (lane, held) in state.times.lanes.of(topic) {
            positions.push((topic.name(), lane.partition, held.next));
        }
    }
    cut_id(&positions)
}

fn registration(record: &crate::core::event::Registration) -> Registration {
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

fn cluster_of(name: &str, facts: &ClusterFacts) -> Cluster {
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

fn share(name: &str, as_of: i64, facts: &BatchFacts) -> Share {
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
fn record(state: &State, job: &Job, name: &str) -> Option<JobRecord> {
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
        reached_batch_at: when(job.activated_at),
        is_staged: job.activated_at > 0 || job.started_at > 0,
    })
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

/// What a placement changes at its target, as its decision stated it.
fn changes(placement: &Placement) -> TargetChanges {
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

#[cfg(test)]
mod tests;
