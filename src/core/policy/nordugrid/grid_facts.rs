//! All that is known of a NorduGrid grid, and how facts and decisions change it.
//!
//! The order in which facts come changes no choice: figures are sums, and of facts about one thing
//! the newest counts.

use super::ahead::Ahead;
use super::discovery::Registry;
use super::facts::{
    CacheReport, CacheTag, Cluster, FileRecord, JobRecord, Registration, Share, Submission,
    TargetReservation, UserShare,
};
use super::files::{Files, TagRow};
use super::job_state::JobState;
use super::names::Names;
use super::software::Catalogue;
use super::windows::Windows;
use crate::unit::{Bytes, Millis};
use std::collections::{BTreeMap, BTreeSet};

/// Facts about clusters, queues, users, files and jobs, ready to be judged.
#[derive(Clone, Debug, Default)]
pub struct GridFacts {
    /// Names of clusters, index servers and storage elements.
    pub names: Names,
    /// Registrations at index servers.
    pub registry: Registry,
    /// Software that clusters publish.
    pub software: Catalogue,
    /// Clusters by their numbers; `None`: the name is known and nothing else.
    clusters: Vec<Option<ClusterRow>>,
    /// Clusters that list a storage element as local, by the number of the element.
    listed_at: Vec<BTreeSet<u32>>,
    /// Names of targets, `cluster/queue`.
    pub targets: Names,
    shares: Vec<Option<ShareRow>>,
    /// Numbers of targets in the order of their names.
    order: Vec<u32>,
    /// Numbers of targets, by the number of their cluster.
    targets_of: Vec<Vec<u32>>,
    /// By user, then by the number of the target.
    users: BTreeMap<String, Vec<Option<UserRow>>>,
    /// Jobs in front.
    pub ahead: Ahead,
    /// Files.
    pub files: Files,
    /// Files that a job brings into caches: (job, cluster, source).
    tags: BTreeSet<(String, u32, String)>,
}

/// A cluster's facts, prepared to be compared.
#[derive(Clone, Debug)]
pub struct ClusterRow {
    /// Its number.
    pub number: u32,
    /// As published.
    pub facts: Cluster,
    /// Name and second name in lower case.
    pub lower_names: Vec<String>,
    /// Middleware, by numbers of the catalogue, ascending; the same for the two below.
    pub middleware: Vec<u32>,
    /// Runtime environments.
    pub runtime_environments: Vec<u32>,
    /// Operating systems.
    pub operating_systems: Vec<u32>,
}

/// A queue's facts with its place.
#[derive(Clone, Debug)]
pub struct ShareRow {
    /// Number of the target.
    pub target: u32,
    /// Number of the cluster.
    pub cluster: u32,
    /// As published.
    pub facts: Share,
}

/// A user's facts at a queue, prepared.
#[derive(Clone, Debug)]
pub struct UserRow {
    /// Whether the user may submit there.
    pub is_authorised: bool,
    /// Free CPUs.
    pub windows: Windows,
    /// Free space of session directories; `None`: not known.
    pub disk_free_bytes: Option<Bytes>,
    /// When the facts were true; `None`: when those of the queue were.
    pub as_of: Option<Millis>,
}

impl GridFacts {
    /// Takes a registration.
    pub fn put_registration(&mut self, registration: &Registration) {
        self.registry.put(&mut self.names, registration);
    }

    /// Forgets what is registered of a child at an index server.
    pub fn remove_registration(&mut self, registry: &str, child: &str) {
        if self.names.find(registry).and(self.names.find(child)).is_some() {
            let (registry_id, child_id) = (registry.to_owned(), child.to_owned());
            let gone = Registration { registry_id, child_id, ..Registration::default() };
            self.registry.put(&mut self.names, &gone);
        }
    }

    /// Takes a cluster's facts in the place of earlier ones.
    pub fn put_cluster(&mut self, facts: Cluster) {
        let number = self.names.number(&facts.name);
        self.remove_local_storage(number);
        for element in &facts.local_storage {
            let element = self.names.number(element) as usize;
            if self.listed_at.len() <= element {
                self.listed_at.resize_with(element + 1, BTreeSet::new);
            }
            self.listed_at[element].insert(number);
        }
        let names = [Some(&facts.name), facts.alias.as_ref()];
        let row = ClusterRow {
            number,
            lower_names: names.into_iter().flatten().map(|name| name.to_lowercase()).collect(),
            middleware: self.software.numbers(&facts.middleware),
            runtime_environments: self.software.numbers(&facts.runtime_environments),
            operating_systems: self.software.numbers(&facts.operating_systems),
            facts,
        };
        *slot(&mut self.clusters, number) = Some(row);
    }

    /// Forgets a cluster.
    pub fn remove_cluster(&mut self, name: &str) {
        let Some(number) = self.names.find(name) else { return };
        if self.cluster(number).is_some() {
            self.remove_local_storage(number);
            *slot(&mut self.clusters, number) = None;
        }
    }

    fn remove_local_storage(&mut self, cluster: u32) {
        for listed in &mut self.listed_at {
            listed.remove(&cluster);
        }
    }

    /// Takes a queue's facts, unless newer ones are known.
    pub fn put_share(&mut self, facts: Share) {
        let cluster = self.names.number(&facts.cluster);
        let target = self.target(&target_id(&facts.cluster, &facts.queue));
        let row = slot(&mut self.shares, target);
        if row.as_ref().is_none_or(|known| known.facts.as_of <= facts.as_of) {
            *row = Some(ShareRow { target, cluster, facts });
        }
    }

    /// Forgets a queue.
    pub fn remove_share(&mut self, cluster: &str, queue: &str) {
        if let Some(target) = self.targets.find(&target_id(cluster, queue)) {
            *slot(&mut self.shares, target) = None;
        }
    }

    /// Takes a user's facts at a queue, unless newer ones are known.
    pub fn put_user_share(&mut self, facts: &UserShare) {
        let target = self.target(&target_id(&facts.cluster, &facts.queue));
        let rows = self.users.entry(facts.user.clone()).or_default();
        let row = slot(rows, target);
        if row.as_ref().is_none_or(|known| known.as_of <= facts.as_of) {
            *row = Some(UserRow {
                is_authorised: facts.is_authorised,
                windows: Windows::parse(&facts.free_slots),
                disk_free_bytes: facts.disk_free_bytes,
                as_of: facts.as_of,
            });
        }
    }

    /// Forgets what a queue published for a user.
    pub fn remove_user_share(&mut self, target: &str, user: &str) {
        let rows = self.users.get_mut(user);
        if let Some((rows, target)) = rows.zip(self.targets.find(target)) {
            *slot(rows, target) = None;
        }
    }

    /// Takes the newest record of a job. One that ended before its inputs were staged ends the tags
    /// that it had made (N-27).
    pub fn put_job(&mut self, record: JobRecord) {
        let target = self.target(&record.target);
        if record.state == JobState::Ended && !record.is_staged {
            self.remove_tags(&record.job_id, |tag| {
                tag.attempt == 0 || ended_after(&record, tag.tagged_at)
            });
        }
        self.ahead.put_record(target, record);
    }

    /// Forgets a job: its record, its reservations, its tags.
    pub fn forget_job(&mut self, job_id: &str) {
        self.ahead.remove(job_id);
        for tag in self.remove_tags(job_id, |_| true) {
            self.tags.remove(&tag);
        }
    }

    /// Takes a reservation.
    pub fn put_reservation(&mut self, reservation: TargetReservation) {
        let target = self.target(&reservation.target);
        self.ahead.put_reservation(target, reservation);
    }

    /// Takes what became of the submission of an attempt: a refusal releases its reservation and
    /// ends the tags that it made (N-25).
    pub fn put_outcome(&mut self, job_id: &str, target: &str, attempt: u64, outcome: Submission) {
        let number = self.target(target);
        self.ahead.put_outcome(job_id, number, attempt, outcome);
        if outcome == Submission::Failed {
            self.remove_tags(job_id, |tag| (tag.target, tag.attempt) == (Some(number), attempt));
        }
    }

    /// Takes the size and the replicas of a file.
    pub fn put_file(&mut self, record: &FileRecord) {
        let replicas = record.replicas.iter().map(|name| self.names.number(name)).collect();
        self.files.put(&record.source, record.size_bytes, replicas);
    }

    /// Takes a report of a cluster's cache.
    pub fn put_cache_report(&mut self, report: &CacheReport) {
        let cluster = self.names.number(&report.cluster);
        self.files.put_report(cluster, report);
    }

    /// Forgets what caches of clusters reported of a file.
    pub fn remove_cache_reports(&mut self, source: &str) {
        self.files.remove_reports(source);
    }

    /// Takes a tag, unless its job is known to have ended before its inputs were staged, or its
    /// target to have refused the job.
    pub fn put_tag(&mut self, tag: &CacheTag) {
        let is_over = |job: &JobRecord| {
            let is_of_this = tag.attempt == 0 || ended_after(job, tag.tagged_at);
            job.state == JobState::Ended && !job.is_staged && is_of_this
        };
        let is_refused = |target: &String| self.is_refused(&tag.job_id, target, tag.attempt);
        if self.ahead.record(&tag.job_id).is_some_and(is_over)
            || tag.target.as_ref().is_some_and(is_refused)
        {
            return;
        }
        let cluster = self.names.number(&tag.cluster);
        let target = tag.target.as_ref().map(|target| self.target(target));
        let key = (tag.job_id.clone(), cluster, tag.source.clone());
        self.tags.insert(key);
        self.files.put_tag(cluster, target, tag);
    }

    /// Ends those tags of a job that have ended. Gives where it made any.
    fn remove_tags(
        &mut self,
        job_id: &str,
        has_ended: impl Fn(&TagRow) -> bool,
    ) -> Vec<(String, u32, String)> {
        let first = (job_id.to_owned(), 0, String::new());
        let of_job = self.tags.range(first..).take_while(|(job, _, _)| job == job_id);
        let of_job: Vec<(String, u32, String)> = of_job.cloned().collect();
        for (_, cluster, source) in &of_job {
            self.files.remove_tags(*cluster, source, job_id, &has_ended);
        }
        of_job
    }

    /// Whether a target refused an attempt of a job.
    fn is_refused(&self, job_id: &str, target: &str, attempt: u64) -> bool {
        let target = self.targets.find(target);
        let outcome = target.and_then(|at| self.ahead.outcome(job_id, at, attempt));
        outcome == Some(Submission::Failed)
    }

    /// The number of a target, which takes its place in the order of names when it is first seen.
    fn target(&mut self, id: &str) -> u32 {
        let known = self.targets.count();
        let number = self.targets.number(id);
        if self.targets.count() > known {
            let at = self.order.partition_point(|other| self.targets.name(*other) < id);
            self.order.insert(at, number);
            let cluster = self.names.number(split_target(id).0) as usize;
            if self.targets_of.len() <= cluster {
                self.targets_of.resize_with(cluster + 1, Vec::new);
            }
            self.targets_of[cluster].push(number);
        }
        number
    }

    /// A cluster's facts.
    #[inline]
    pub fn cluster(&self, number: u32) -> Option<&ClusterRow> {
        self.clusters.get(number as usize)?.as_ref()
    }

    /// Numbers of the clusters with a name or second name, which is given in lower case.
    pub fn clusters_named(&self, lower: &str) -> Vec<u32> {
        let rows = self.clusters.iter().flatten();
        let named = rows.filter(|row| row.lower_names.iter().any(|name| name == lower));
        named.map(|row| row.number).collect()
    }

    /// Queues whose facts are known, in the order of their targets' names.
    pub fn shares(&self) -> impl Iterator<Item = &ShareRow> {
        self.order.iter().filter_map(|target| self.shares.get(*target as usize)?.as_ref())
    }

    /// The queue of a target.
    pub fn share(&self, target: u32) -> Option<&ShareRow> {
        self.shares.get(target as usize)?.as_ref()
    }

    /// Targets of a cluster that anything is known of.
    pub fn targets_of(&self, cluster: u32) -> &[u32] {
        self.targets_of.get(cluster as usize).map_or(&[], Vec::as_slice)
    }

    /// A user's facts, by the number of the target.
    pub fn user(&self, user: &str) -> &[Option<UserRow>] {
        self.users.get(user).map_or(&[], Vec::as_slice)
    }

    /// Clusters that list a storage element as local.
    pub fn listed_at(&self, element: u32) -> impl Iterator<Item = u32> + '_ {
        self.listed_at.get(element as usize).into_iter().flatten().copied()
    }
}

/// Whether a job that ended did so no earlier than at a moment; so it did if nobody stated when.
fn ended_after(record: &JobRecord, moment: Millis) -> bool {
    record.changed_at.is_none_or(|at| at >= moment)
}

/// The name of a target.
pub fn target_id(cluster: &str, queue: &str) -> String {
    format!("{cluster}/{queue}")
}

/// The cluster and the queue of a target's name.
pub fn split_target(target: &str) -> (&str, &str) {
    target.split_once('/').unwrap_or((target, ""))
}

/// A place in a list of rows, which is made longer where it is not.
fn slot<T>(rows: &mut Vec<Option<T>>, number: u32) -> &mut Option<T> {
    if rows.len() <= number as usize {
        rows.resize_with(number as usize + 1, || None);
    }
    &mut rows[number as usize]
}
