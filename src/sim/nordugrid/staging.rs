//! Input of jobs: from far away, from close by, or from the cache of their cluster.

use super::NorduGrid;
use super::catalogue::Catalogue;
use super::clusters::Cluster;
use super::jobs::NordugridJob;
use crate::grid::Handle;
use yardmaster_core::unit::{MINUTE, Millis, SECOND};

/// Least and most time that an empty input takes.
const OVERHEAD: (Millis, Millis) = (5 * SECOND, MINUTE);

impl NorduGrid {
    /// Counts what a job reads, by where it comes from; how long that takes.
    pub(super) fn staged(&mut self, handle: Handle) -> Millis {
        let overhead = self.dice.between(OVERHEAD.0, OVERHEAD.1);
        let Some(job) = self.jobs.get(handle) else { return overhead };
        let cluster = &self.clusters[self.queues[job.queue as usize].cluster as usize];
        let [remote, local, cached] = sources(&self.catalogue, cluster, job);
        self.count.remote_bytes += remote.1;
        self.count.local_bytes += local.1;
        self.count.cached_bytes += cached.1;
        if !job.wanted.no_cache {
            self.count.cacheable.0 += job.wanted.files.len() as u64;
            self.count.cacheable.1 += cached.0;
        }
        let (far, close) = cluster.throughput;
        let seconds = remote.1 / far.max(1) + local.1 / close.max(1);
        overhead + Millis::try_from(seconds).unwrap_or(Millis::MAX / 2_000) * SECOND
    }

    /// Puts the files that a job brought into the cache.
    pub(super) fn fill_cache(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle).filter(|job| !job.wanted.no_cache) else { return };
        let cluster = self.queues[job.queue as usize].cluster;
        let Some(cache) = &mut self.clusters[cluster as usize].cache else { return };
        for file in &job.wanted.files {
            cache.put(*file, self.now, |it| self.catalogue.file(it).bytes);
        }
    }

    /// A job takes space for its session directory, and its files stay in the cache.
    pub(super) fn take_space(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        let cluster = &mut self.clusters[self.queues[job.queue as usize].cluster as usize];
        cluster.disk.1 += session_bytes(&self.catalogue, cluster.cache.is_some(), job);
        if let Some(cache) = cluster.cache.as_mut().filter(|_| !job.wanted.no_cache) {
            job.wanted.files.iter().for_each(|it| cache.hold(*it, self.catalogue.file(*it).bytes));
        }
    }

    /// A job is over: see [`NorduGrid::take_space`].
    pub(super) fn give_space(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        let cluster = &mut self.clusters[self.queues[job.queue as usize].cluster as usize];
        cluster.disk.1 -= session_bytes(&self.catalogue, cluster.cache.is_some(), job);
        if let Some(cache) = cluster.cache.as_mut().filter(|_| !job.wanted.no_cache) {
            let files = job.wanted.files.iter();
            files.for_each(|it| cache.let_go(*it, self.catalogue.file(*it).bytes));
        }
    }
}

/// Files and bytes from far away, from close by, and from the cache.
fn sources(catalogue: &Catalogue, cluster: &Cluster, job: &NordugridJob) -> [(u64, u64); 3] {
    let mut sums = [(0, job.wanted.upload_bytes.unwrap_or(0)), (0, 0), (0, 0)];
    for number in &job.wanted.files {
        let file = catalogue.file(*number);
        let is_cached = cluster.cache.as_ref().is_some_and(|cache| cache.has(*number));
        let is_close = cluster.close.iter().any(|it| file.at.contains(it));
        let from = match (is_cached && !job.wanted.no_cache, is_close) {
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => 0,
        };
        sums[from].0 += 1;
        sums[from].1 += file.bytes;
    }
    sums
}

/// Disk that a job's session directory takes; bytes.
fn session_bytes(catalogue: &Catalogue, has_cache: bool, job: &NordugridJob) -> u64 {
    let wanted = &job.wanted;
    let files: u64 = match has_cache && !wanted.no_cache {
        true => 0,
        false => wanted.files.iter().map(|it| catalogue.file(*it).bytes).sum(),
    };
    wanted.disk_bytes + wanted.upload_bytes.unwrap_or(0) + files
}
