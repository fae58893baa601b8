//! Clusters of a NorduGrid grid and their queues at a glance, by what they publish.

use crate::domain::nordugrid::policy::grid_facts::split_target;
use crate::domain::nordugrid::policy::info_ttl_s;
use crate::domain::nordugrid::policy::windows::Windows;
use crate::engine::Engine;
use crate::event::{ClusterFacts, UserShare, is_newer};
use crate::state::State;
use crate::unit::{Millis, SECOND};
use crate::view::row::{ViewRow, ViewRows};
use std::collections::BTreeMap;

/// Most users of a queue whose free CPUs are looked at, where it publishes none for all.
const USERS_MAX: usize = 64;
/// The status of a queue whose cluster did not answer, or whose facts are too old to be used.
const SILENT: &str = "silent";
/// Countries of a NorduGrid's clusters, by the end of their names.
const COUNTRIES: [(&str, &str); 14] = [
    ("ch", "Switzerland"),
    ("de", "Germany"),
    ("dk", "Denmark"),
    ("ee", "Estonia"),
    ("fi", "Finland"),
    ("is", "Iceland"),
    ("lt", "Lithuania"),
    ("lv", "Latvia"),
    ("no", "Norway"),
    ("se", "Sweden"),
    ("si", "Slovenia"),
    ("sk", "Slovakia"),
    ("ua", "Ukraine"),
    ("uk", "United Kingdom"),
];

/// CPUs of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    /// As clusters publish them, else their largest queues.
    pub total: u64,
    /// Free, as published: of each cluster the most of its queues, which share its nodes.
    pub free: u64,
    /// Taken by jobs that run and are known.
    pub used: u64,
}

/// Sums over a NorduGrid grid as of a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GridGlance {
    /// Clusters by status: that of the best of their queues.
    pub clusters: BTreeMap<&'static str, u64>,
    /// Queues by status.
    pub queues: BTreeMap<&'static str, u64>,
    /// CPUs of clusters.
    pub cpus: Cpus,
    /// Jobs at clusters that are known.
    pub jobs: ClusterJobs,
}

/// Jobs by where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterJobs {
    /// Before the batch system: their input is on its way, or they wait for that.
    pub accepted: u64,
    /// Waiting in the batch system.
    pub queued: u64,
    /// Running.
    pub running: u64,
    /// Behind the batch system: their output is on its way.
    pub finishing: u64,
}

/// Kinds of status, the best first. A queue publishes a word, perhaps with a remark behind a comma.
pub const STATUSES: [&str; 4] = ["active", "inactive", SILENT, "other"];

/// Adds what clusters and their queues publish.
pub(crate) fn describe(rows: &mut ViewRows, engine: &Engine) {
    let state = &engine.state;
    let ttl = info_ttl(engine);
    for (_, fact) in state.facts.queues.iter() {
        let Some(queue) = fact.current(is_newer) else { continue };
        let Some(batch) = &queue.batch else { continue };
        let row = rows.at(&queue.name);
        let cluster = cluster(state, split_target(&queue.name).0);
        row.answered = cluster.map(|it| it.answered);
        row.as_of = Some(queue.changed_at);
        let is_old = state.now.saturating_sub(queue.changed_at) > ttl;
        let is_silent = row.answered == Some(false) || is_old;
        row.status = if is_silent { SILENT.to_owned() } else { batch.status.clone() };
        row.pledged_cores = batch.total_slots.or(cluster.and_then(|it| it.total_slots));
        let shares = shares(state, &queue.name);
        row.free_cores = free_cpus(&shares);
        row.disk_free_bytes = shares.iter().filter_map(|it| it.disk_free_bytes).max();
        row.cache_free_bytes = cluster.and_then(|it| it.cache_free_bytes);
        row.grid_queued = Some(batch.grid_queued_jobs);
        row.local_queued = Some(batch.local_queued_jobs);
    }
    for row in rows.all().filter(|row| !row.name.is_empty()) {
        row.site = split_target(&row.name).0.to_owned();
        row.group = country(&row.site);
    }
}

/// The age from which on the facts of a queue are not used.
fn info_ttl(engine: &Engine) -> Millis {
    let look_up = |component: &str, key: &str| engine.state.parameter(component, key);
    let policy = engine.policies().iter().find(|it| it.flavour.judges_targets());
    let ttl_s = policy.map(|policy| info_ttl_s(&policy.resolve(&look_up, "").own));
    ttl_s.unwrap_or(Millis::MAX).saturating_mul(SECOND)
}

fn cluster<'s>(state: &'s State, name: &str) -> Option<&'s ClusterFacts> {
    state.facts.sites.of(name)?.current(is_newer)?.cluster.as_ref()
}

/// What a queue publishes as free for all, else for some of its users.
fn shares<'s>(state: &'s State, queue: &str) -> Vec<&'s UserShare> {
    let shares = &state.facts.user_shares;
    let of_all = shares.of(&format!("{queue} *"));
    let (first, last) = (format!("{queue} "), format!("{queue}!"));
    let of_users = || {
        let names = shares.by_name.range(first..last).take(USERS_MAX);
        names.filter_map(|(name, _)| shares.of(name)).collect()
    };
    let facts = of_all.map_or_else(of_users, |fact| vec![fact]);
    facts.into_iter().filter_map(|fact| fact.current(is_newer)).collect()
}

/// The CPUs that are free for any time, for the user that has the most.
fn free_cpus(shares: &[&UserShare]) -> Option<u64> {
    let free = |text: &str| Windows::parse(text).all().first().map_or(0, |it| it.slots);
    shares.iter().map(|share| free(&share.free_slots)).max()
}

/// The country that a cluster's name ends with; the end itself where it is none that is known.
fn country(cluster: &str) -> String {
    let end = cluster.rsplit('.').next().unwrap_or(cluster);
    let known = COUNTRIES.iter().find(|(short, _)| *short == end);
    known.map_or(end, |(_, name)| name).to_owned()
}

impl GridGlance {
    /// The sums over the rows of a view.
    pub fn of(state: &State, rows: &[ViewRow]) -> GridGlance {
        let mut glance = GridGlance {
            clusters: STATUSES.map(|status| (status, 0)).into(),
            queues: STATUSES.map(|status| (status, 0)).into(),
            ..GridGlance::default()
        };
        let mut clusters: BTreeMap<&str, (usize, u64, u64)> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.as_of.is_some()) {
            let status = kind(&row.status);
            *glance.queues.entry(STATUSES[status]).or_default() += 1;
            glance.cpus.used += row.running_cores;
            glance.jobs.accepted += row.assigned;
            glance.jobs.queued += row.queued.saturating_sub(row.assigned);
            glance.jobs.running += row.running;
            glance.jobs.finishing += row.transferring;
            let (best, total, free) = clusters.entry(&row.site).or_insert((status, 0, 0));
            *best = status.min(*best);
            *total = row.pledged_cores.unwrap_or(0).max(*total);
            *free = row.free_cores.unwrap_or(0).max(*free);
        }
        for (name, (status, largest, free)) in clusters {
            *glance.clusters.entry(STATUSES[status]).or_default() += 1;
            let stated = cluster(state, name).and_then(|it| it.total_slots);
            glance.cpus.total = glance.cpus.total.saturating_add(stated.unwrap_or(largest));
            glance.cpus.free = glance.cpus.free.saturating_add(free);
        }
        glance
    }
}

/// Which kind a status is of.
fn kind(status: &str) -> usize {
    let word = status.split(',').next().unwrap_or_default();
    STATUSES.iter().position(|it| *it == word).unwrap_or(STATUSES.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_of_its_country_or_of_the_end_of_its_name() {
        assert_eq!(country("grid52.nbi.dk"), "Denmark");
        assert_eq!(country("arc.example.org"), "org");
        assert_eq!(country("localhost"), "localhost");
        assert!(COUNTRIES.is_sorted());
    }

    #[test]
    fn the_remark_behind_a_status_does_not_count() {
        let kinds = ["active", "inactive, grid-manager is down", SILENT, "", "draining"];
        assert_eq!(kinds.map(kind), [0, 1, 2, 3, 3]);
    }
}
