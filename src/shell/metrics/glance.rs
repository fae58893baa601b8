//! A pool of slots or a grid of clusters at a glance, as metrics; other domains have none of these.

use super::OTHER;
use super::current::Current;
use super::table::Metric;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use yardmaster_core::engine::Engine;
use yardmaster_core::unit::{Bytes, Millis, SECOND};
use yardmaster_core::view::{GridGlance, PoolGlance, RowKind, View, ViewRow};

/// States of cores of a pool.
pub(super) const POOL_CORES: [&str; 4] = ["pledged", "used", "offered", "wanted"];
/// Kinds of status of a pool's site.
pub(super) const SITES: [&str; 6] = ["online", "drain", "offline", "test", "invalid", "unknown"];
/// States of open workflows.
pub(super) const WORKFLOWS: [&str; 3] = ["served", "waiting", "empty"];
/// States of CPUs of clusters.
pub(super) const CPUS: [&str; 3] = ["total", "free", "used"];
/// States of jobs at clusters.
pub(super) const CLUSTER_JOBS: [&str; 4] = ["accepted", "queued", "running", "finishing"];
/// Storage of clusters.
pub(super) const FREE: [&str; 2] = ["disk", "cache"];

/// Shows what the process's domain has, of so many sites by name.
pub(super) fn record(current: &Current, engine: &Engine, shown_max: usize) {
    match RowKind::of(engine.policies()) {
        RowKind::Sites => pool(current, engine, shown_max),
        RowKind::ClusterQueues => clusters(current, engine, shown_max),
        RowKind::Queues | RowKind::Own => {}
    }
}

/// Shows none.
pub(super) fn forget(current: &Current) {
    for metric in [
        Metric::IdleJobs,
        Metric::PoolCores,
        Metric::FreeCores,
        Metric::PoolSites,
        Metric::Workflows,
        Metric::ClassUse,
        Metric::ClassQuota,
        Metric::Clusters,
        Metric::ClusterQueues,
        Metric::Cpus,
        Metric::ClusterJobs,
    ] {
        current.set(metric, std::iter::empty::<([&str; 1], f64)>());
    }
    current.set(Metric::ClusterFree, std::iter::empty::<([&str; 2], f64)>());
    for metric in [Metric::LiveOffers, Metric::OldestOffer, Metric::OfferAge, Metric::Drains] {
        current.set(metric, std::iter::empty::<([&str; 0], f64)>());
    }
}

fn pool(current: &Current, engine: &Engine, shown_max: usize) {
    let Some(glance) = PoolGlance::of(engine) else { return };
    let rows = View::of(engine).rows;
    let idle = glance.idle_by_reason.iter().map(|it| ([it.filter], it.jobs as f64));
    current.set(Metric::IdleJobs, idle);
    let sum = |of: fn(&ViewRow) -> u64| rows.iter().map(of).fold(0, u64::saturating_add);
    let cores = [
        sum(|row| row.pledged_cores.unwrap_or(0)),
        sum(|row| row.running_cores),
        glance.offers.cores_free,
        glance.idle_cores,
    ];
    set(current, Metric::PoolCores, POOL_CORES, cores);
    free(current, &rows, shown_max);
    let mut sites = [0; SITES.len()];
    rows.iter().for_each(|row| sites[site(row)] += 1);
    set(current, Metric::PoolSites, SITES, sites);
    let served = glance.workflows_served;
    let waiting = glance.workflows_waiting;
    let empty = glance.workflows_open.saturating_sub(served + waiting);
    set(current, Metric::Workflows, WORKFLOWS, [served, waiting, empty]);
    let one = |metric, value: u64| current.set(metric, [([], value as f64)].into_iter());
    one(Metric::LiveOffers, glance.offers.live);
    one(Metric::Drains, glance.drains_open);
    let newest = rows.iter().filter_map(|row| row.last_offer_at).max();
    let age = |at: Millis| ([], (glance.now - at).max(0) as f64 / SECOND as f64);
    current.set(Metric::OfferAge, newest.map(age).into_iter());
    current.set(Metric::OldestOffer, glance.offers.oldest_at.map(age).into_iter());
    let classes = || glance.classes.iter();
    current.set(Metric::ClassUse, classes().map(|it| ([it.class], it.part)));
    current.set(Metric::ClassQuota, classes().map(|it| ([it.class], it.quota)));
}

/// Free cores by site, the most first.
fn free(current: &Current, rows: &[ViewRow], shown_max: usize) {
    let free = |row: &ViewRow| row.free_cores.unwrap_or(0);
    let mut sites: Vec<(&str, u64)> = rows.iter().map(|row| (&*row.name, free(row))).collect();
    sites.sort_by_key(|(name, cores)| (Reverse(*cores), *name));
    if sites.len() > shown_max {
        let others = sites.drain(shown_max..).map(|(_, cores)| cores);
        let other = others.fold(0, u64::saturating_add);
        sites.push((OTHER, other));
    }
    let samples = sites.into_iter().map(|(name, cores)| ([name], cores as f64));
    current.set(Metric::FreeCores, samples);
}

/// Which kind a site's status is of.
fn site(row: &ViewRow) -> usize {
    let (invalid, unknown) = (SITES.len() - 2, SITES.len() - 1);
    match row.status.as_str() {
        "" => unknown,
        status => SITES.iter().position(|it| *it == status).unwrap_or(invalid),
    }
}

fn clusters(current: &Current, engine: &Engine, shown_max: usize) {
    let rows = View::of(engine).rows;
    let glance = GridGlance::of(&engine.state, &rows);
    let samples = |of: &BTreeMap<&'static str, u64>| {
        of.iter().map(|(status, count)| ([*status], *count as f64)).collect::<Vec<_>>()
    };
    current.set(Metric::Clusters, samples(&glance.clusters).into_iter());
    current.set(Metric::ClusterQueues, samples(&glance.queues).into_iter());
    let cpus = glance.cpus;
    set(current, Metric::Cpus, CPUS, [cpus.total, cpus.free, cpus.used]);
    let jobs = glance.jobs;
    let jobs = [jobs.accepted, jobs.queued, jobs.running, jobs.finishing];
    set(current, Metric::ClusterJobs, CLUSTER_JOBS, jobs);
    let of: [fn(&ViewRow) -> Option<Bytes>; 2] =
        [|row| row.disk_free_bytes, |row| row.cache_free_bytes];
    let free = FREE.into_iter().zip(of).flat_map(|(storage, of)| {
        let clusters = least(&rows, shown_max, of).into_iter();
        clusters.map(move |(name, bytes)| ([name, storage], bytes as f64))
    });
    current.set(Metric::ClusterFree, free);
}

/// The clusters with the least of something, and how much: that of the queue that has the most.
fn least(rows: &[ViewRow], most: usize, of: fn(&ViewRow) -> Option<Bytes>) -> Vec<(&str, Bytes)> {
    let mut clusters: BTreeMap<&str, Bytes> = BTreeMap::new();
    for row in rows {
        let Some(bytes) = of(row) else { continue };
        let known = clusters.entry(&row.site).or_default();
        *known = bytes.max(*known);
    }
    let mut clusters: Vec<_> = clusters.into_iter().collect();
    clusters.sort_by_key(|(name, bytes)| (*bytes, *name));
    clusters.truncate(most);
    clusters
}

fn set<const COUNT: usize>(
    current: &Current,
    metric: Metric,
    labels: [&str; COUNT],
    values: [u64; COUNT],
) {
    let samples = labels.into_iter().zip(values).map(|(label, value)| ([label], value as f64));
    current.set(metric, samples);
}
