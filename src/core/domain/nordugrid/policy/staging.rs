//! Input files at one cluster: their classes and sums (N-16 to N-18), and the cache they go to.

use super::ahead::left;
use super::case::{JobCase, JobInput};
use super::grid_facts::ClusterRow;
use super::target::amount_ahead;
use crate::domain::nordugrid::xrsl::CacheOption;
use crate::unit::Bytes;

/// How a file comes to a job at a cluster (N-16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileClass {
    /// From far away, through the cache.
    Remote,
    /// From close by, through the cache.
    Local,
    /// From far away, to the session directory.
    RemoteNoCache,
    /// From close by, to the session directory.
    LocalNoCache,
    /// It is in the cache.
    Cached,
    /// It cannot come.
    NoLocation,
}

/// The input files of a job at one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Staging {
    /// Number of the cluster.
    pub cluster: u32,
    /// Files that cannot come.
    pub not_located: u64,
    /// Bytes that go to the cache (N-18).
    pub cache_sum: Bytes,
    /// Bytes that go to the session directory, with what the job writes (N-18).
    pub session_sum: Bytes,
    /// Bytes from far away (N-21).
    pub remote_bytes: Bytes,
    /// Bytes from close by (N-22).
    pub local_bytes: Bytes,
    /// Free space of the cache, less what earlier decisions reserve. `None`: there is no cache.
    pub cache_free: Option<Bytes>,
}

impl FileClass {
    /// Its name in records and answers.
    pub const fn name(self) -> &'static str {
        match self {
            FileClass::Remote => "REMOTE",
            FileClass::Local => "LOCAL",
            FileClass::RemoteNoCache => "REMOTENOCACHE",
            FileClass::LocalNoCache => "LOCALNOCACHE",
            FileClass::Cached => "CACHED",
            FileClass::NoLocation => "NOLOCATION",
        }
    }

    /// Whether the file goes to the cache.
    pub const fn is_for_cache(self) -> bool {
        matches!(self, FileClass::Remote | FileClass::Local)
    }

    /// The class of a file at a cluster; the first line of N-16 that matches.
    #[inline]
    pub fn of(input: &JobInput, cluster: u32, has_cache: bool) -> FileClass {
        let uses_cache = input.kind.cache != CacheOption::No;
        let takes_cached = uses_cache && input.kind.cache != CacheOption::Renew;
        if input.kind.is_uploaded {
            FileClass::RemoteNoCache
        } else if takes_cached && has_cache && input.cached.has(cluster) {
            FileClass::Cached
        } else if input.local.has(cluster) {
            if uses_cache { FileClass::Local } else { FileClass::LocalNoCache }
        } else if input.kind.is_local || !input.kind.is_found {
            FileClass::NoLocation
        } else if uses_cache {
            FileClass::Remote
        } else {
            FileClass::RemoteNoCache
        }
    }
}

impl Staging {
    /// The input files of a job at a cluster.
    pub fn of(case: &JobCase<'_>, cluster: &ClusterRow) -> Staging {
        let has_cache = cluster.facts.cache_free_bytes.is_some();
        let (cluster, cache_free) = (cluster.number, cache_free(case, cluster));
        Staging { cache_free, ..Staging::sums(case, cluster, has_cache) }
    }

    /// The same at a cluster that has a file of the job neither close by nor in its cache: equal at
    /// all of these but for the free space of the cache.
    pub fn elsewhere(case: &JobCase<'_>) -> Staging {
        Staging::sums(case, u32::MAX, false)
    }

    /// The same at a cluster, where `elsewhere` is what holds at all that have none of the files.
    pub fn from(case: &JobCase<'_>, cluster: &ClusterRow, elsewhere: &Staging) -> Staging {
        if case.holders.has(cluster.number) {
            return Staging::of(case, cluster);
        }
        let cache_free = cache_free(case, cluster);
        Staging { cluster: cluster.number, cache_free, ..elsewhere.clone() }
    }

    fn sums(case: &JobCase<'_>, cluster: u32, has_cache: bool) -> Staging {
        let mut sums = Staging { cluster, session_sum: case.job.disk_bytes, ..Staging::default() };
        sums.add(FileClass::RemoteNoCache, case.implied_bytes);
        // By the first input of a source: whether one of them goes to the cache already. It counts
        // once there.
        let has_same = case.inputs.iter().any(|input| input.same_as.is_some());
        let mut is_in_cache = vec![false; if has_same { case.inputs.len() } else { 0 }];
        for (at, input) in case.inputs.iter().enumerate() {
            let class = FileClass::of(input, cluster, has_cache);
            if class.is_for_cache()
                && let Some(is_in_cache) = is_in_cache.get_mut(input.same_as.unwrap_or(at))
                && std::mem::replace(is_in_cache, true)
            {
                continue;
            }
            sums.add(class, input.size_bytes);
        }
        sums
    }

    fn add(&mut self, class: FileClass, size: Bytes) {
        let (goes_to, comes_from) = match class {
            FileClass::Remote => (&mut self.cache_sum, &mut self.remote_bytes),
            FileClass::Local => (&mut self.cache_sum, &mut self.local_bytes),
            FileClass::RemoteNoCache => (&mut self.session_sum, &mut self.remote_bytes),
            FileClass::LocalNoCache => (&mut self.session_sum, &mut self.local_bytes),
            FileClass::Cached => return,
            FileClass::NoLocation => return self.not_located += 1,
        };
        *goes_to = goes_to.saturating_add(size);
        *comes_from = comes_from.saturating_add(size);
    }

    /// Bytes that go to the user's disk: without a cache, all of them (N-19).
    pub fn disk_sum(&self) -> Bytes {
        match self.cache_free {
            Some(_) => self.session_sum,
            None => self.session_sum.saturating_add(self.cache_sum),
        }
    }

    /// Bytes that go to the cache; none without one.
    pub fn cached_sum(&self) -> Bytes {
        self.cache_free.map_or(0, |_| self.cache_sum)
    }
}

/// Free space of a cluster's cache, less what jobs in front reserve.
fn cache_free(case: &JobCase<'_>, cluster: &ClusterRow) -> Option<Bytes> {
    let free = cluster.facts.cache_free_bytes?;
    Some(left(free, cache_reserved(case, cluster)))
}

/// Bytes of a cluster's cache that jobs in front at all its queues reserve.
pub fn cache_reserved(case: &JobCase<'_>, cluster: &ClusterRow) -> u128 {
    let targets = case.facts.targets_of(cluster.number).iter();
    targets.map(|target| amount_ahead(case, *target).cache_bytes).sum()
}
