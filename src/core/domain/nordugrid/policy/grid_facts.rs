//! All that is known of a NorduGrid grid, and how facts and decisions change it.
//!
//! The order in which facts come changes no choice: figures are sums, and of facts about one thing
//! the newest counts.

use super::ahead::{Ahead, Held, KnownJob, contributions};
use super::discovery::Registry;
use super::files::Files;
use super::names::NumberedNames;
use super::software::Catalogue;
use super::windows::Windows;
use crate::event::{BatchFacts, ClusterFacts, Registration, Replica, UserShare};
use crate::unit::{Bytes, Millis};
use std::collections::{BTreeMap, BTreeSet};

/// Facts about clusters, queues, users, files and jobs, ready to be judged.
#[derive(Clone, Debug, Default)]
pub struct GridFacts {
    /// Names of clusters, index servers and storage elements.
    pub names: NumberedNames,
    /// Registrations at index servers.
    pub registry: Registry,
    /// Software that clusters publish.
    pub software: Catalogue,
    /// Clusters by their numbers; `None`: the name is known and nothing else.
    clusters: Vec<Option<ClusterRow>>,
    /// Clusters that list a storage element as local, by the number of the element.
    listed_at: Vec<BTreeSet<u32>>,
    /// Names of targets, `cluster/queue`.
    pub targets: NumberedNames,
    shares: Vec<Option<ShareRow>>,
    /// Numbers of targets in the order of their names.
    order: Vec<u32>,
    /// Numbers of targets, by the number of their cluster.
    targets_of: Vec<Vec<u32>>,
    /// By user, `vo:NAME` or `*`, then by the number of the target.
    users: BTreeMap<String, Vec<Option<UserRow>>>,
    /// Virtual organisations of users, as they are named among `users`; none is left out.
    vos: BTreeMap<String, Vec<String>>,
    /// Jobs in front.
    pub ahead: Ahead,
    /// Files.
    pub files: Files,
    /// Files that a job brings into the caches of clusters.
    tags: BTreeMap<String, BTreeSet<(u32, String)>>,
}

/// A cluster's facts, prepared to be compared.
#[derive(Clone, Debug)]
pub struct ClusterRow {
    /// Its number.
    pub number: u32,
    /// As published.
    pub facts: ClusterFacts,
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
    /// When the facts were true.
    pub as_of: Millis,
    /// As published.
    pub facts: BatchFacts,
}

/// A user's facts at a queue, prepared. There is one for each user at each queue: it has no names.
#[derive(Clone, Debug)]
pub struct UserRow {
    /// Whether the user may submit there.
    pub is_authorised: bool,
    /// Free CPUs.
    pub windows: Windows,
    /// Free space of session directories; `None`: not known.
    pub disk_free_bytes: Option<Bytes>,
    /// When the facts were true.
    pub as_of: Millis,
}

impl GridFacts {
    /// Takes a registration.
    pub fn put_registration(&mut self, registration: &Registration) {
        self.registry.put(&mut self.names, registration);
    }

    /// Forgets what is registered of a child at an index server.
    pub fn remove_registration(&mut self, registry: &str, child: &str) {
        self.registry.remove(&self.names, registry, child);
    }

    /// Takes a cluster's facts in the place of earlier ones.
    pub fn put_cluster(&mut self, name: &str, facts: &ClusterFacts) {
        let number = self.names.number(name);
        self.remove_local_storage(number);
        for element in &facts.local_storage {
            let element = self.names.number(element) as usize;
            if self.listed_at.len() <= element {
                self.listed_at.resize_with(element + 1, BTreeSet::new);
            }
            self.listed_at[element].insert(number);
        }
        let alias = Some(facts.alias.as_str()).filter(|alias| !alias.is_empty());
        let names = std::iter::once(name).chain(alias);
        let row = ClusterRow {
            number,
            lower_names: names.map(str::to_lowercase).collect(),
            middleware: self.software.numbers(&facts.middleware),
            runtime_environments: self.software.numbers(&facts.runtime_environments),
            operating_systems: self.software.numbers(&facts.operating_systems),
            facts: facts.clone(),
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
    pub fn put_share(&mut self, name: &str, as_of: Millis, facts: &BatchFacts) {
        let target = self.target(&target_id(name));
        let cluster = self.names.number(split_target(name).0);
        let row = slot(&mut self.shares, target);
        if row.as_ref().is_none_or(|known| known.as_of <= as_of) {
            *row = Some(ShareRow { target, cluster, as_of, facts: facts.clone() });
        }
    }

    /// Forgets a queue.
    pub fn remove_share(&mut self, name: &str) {
        if let Some(target) = self.targets.find(&target_id(name)) {
            *slot(&mut self.shares, target) = None;
        }
    }

    /// Takes a user's facts at a queue, unless newer ones are known.
    pub fn put_user_share(&mut self, facts: &UserShare) {
        let target = self.target(&target_id(&facts.queue));
        let rows = self.users.entry(facts.user.clone()).or_default();
        let row = slot(rows, target);
        if row.as_ref().is_none_or(|known| known.as_of <= facts.changed_at) {
            *row = Some(UserRow {
                is_authorised: facts.authorised,
                windows: Windows::parse(&facts.free_slots),
                disk_free_bytes: facts.disk_free_bytes,
                as_of: facts.changed_at,
            });
        }
    }

    /// Forgets what a queue published for a user.
    pub fn remove_user_share(&mut self, target: &str, user: &str) {
        let rows = self.users.get_mut(user);
        if let Some((rows, target)) = rows.zip(self.targets.find(&target_id(target))) {
            *slot(rows, target) = None;
        }
    }

    /// Takes the virtual organisations of a user in the place of those before.
    pub fn put_user(&mut self, user: &str, vos: &[String]) {
        match vos.is_empty() {
            true => drop(self.vos.remove(user)),
            false => {
                let vos = vos.iter().map(|vo| format!("vo:{vo}")).collect();
                self.vos.insert(user.to_owned(), vos);
            }
        }
    }

    /// Takes all that is known of a job in the place of what was known before. An attempt that was
    /// refused brings no files into a cache (N-25), nor does one that ended before its inputs were
    /// staged (N-27).
    pub fn put_job(&mut self, job: &KnownJob<'_>) {
        for (cluster, source) in self.tags.remove(job.name).unwrap_or_default() {
            self.files.remove_tags(cluster, &source, job.name);
        }
        let placements = job.placements().iter();
        let held: Vec<Held<'_>> =
            placements.map(|it| job.held(self.target(&it.target), it)).collect();
        let is_over = |held: &Held<'_>| {
            let (attempt, decided_at) = (held.placement.attempt, held.placement.now);
            job.record.is_some_and(|(_, record)| record.ended_unstaged(attempt, decided_at))
        };
        for it in held.iter().filter(|it| !it.is_refused && !is_over(it)) {
            self.put_tags(job.name, it);
        }
        let record = job.record.map(|(target, record)| (self.target(target), record));
        self.ahead.put(job.name, contributions(record, &held));
    }

    /// Takes the files that a placement brings into the cache of its cluster.
    fn put_tags(&mut self, job: &str, held: &Held<'_>) {
        let cluster = self.names.number(split_target(&held.placement.target).0);
        for source in &held.placement.placed.tags {
            let tags = self.tags.entry(job.to_owned()).or_default();
            tags.insert((cluster, source.clone()));
            self.files.tag(cluster, source, job, held.placement.now);
        }
    }

    /// Takes the records about a file that hold, in the place of earlier ones. A file that no
    /// record was ever about gets no entry.
    pub fn put_file(&mut self, source: &str, records: &[&Replica]) {
        if !records.is_empty() || self.files.find(source).is_some() {
            self.files.put(&mut self.names, source, records);
        }
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

    /// The facts that hold for a user, by the number of the target: its own, else those of the
    /// first of its virtual organisations that may submit there, else those of all.
    pub fn user(&self, user: &str) -> Vec<Option<&UserRow>> {
        let rows = |name: &str| self.users.get(name).map_or(&[][..], Vec::as_slice);
        let (own, all) = (rows(user), rows("*"));
        let vos = self.vos.get(user).into_iter().flatten();
        let vos: Vec<&[Option<UserRow>]> = vos.map(|vo| rows(vo)).collect();
        let lengths = vos.iter().chain([&own, &all]).map(|rows| rows.len());
        let of = |target: usize| {
            let mut of_vos = vos.iter().filter_map(|rows| row_at(rows, target));
            let of_vo = || of_vos.find(|row| row.is_authorised);
            row_at(own, target).or_else(of_vo).or_else(|| row_at(all, target))
        };
        (0..lengths.max().unwrap_or(0)).map(of).collect()
    }

    /// Clusters that list a storage element as local.
    pub fn listed_at(&self, element: u32) -> impl Iterator<Item = u32> + '_ {
        self.listed_at.get(element as usize).into_iter().flatten().copied()
    }
}

/// The target of a queue's name: one without a slash is that of a cluster.
fn target_id(name: &str) -> String {
    let (cluster, queue) = split_target(name);
    format!("{cluster}/{queue}")
}

/// The cluster and the queue of a target's name.
pub fn split_target(target: &str) -> (&str, &str) {
    target.split_once('/').unwrap_or((target, ""))
}

fn row_at(rows: &[Option<UserRow>], target: usize) -> Option<&UserRow> {
    rows.get(target)?.as_ref()
}

/// A place in a list of rows, which is made longer where it is not.
fn slot<T>(rows: &mut Vec<Option<T>>, number: u32) -> &mut Option<T> {
    if rows.len() <= number as usize {
        rows.resize_with(number as usize + 1, || None);
    }
    &mut rows[number as usize]
}
