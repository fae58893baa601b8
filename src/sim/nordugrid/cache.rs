//! The cache of a cluster: files by when they were last used, some of them held by jobs.

use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::unit::Millis;

/// Files in a cluster's cache, with their last use and the jobs that hold them.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// Its size; bytes.
    pub capacity: u64,
    /// Files in it, with when they were last used.
    files: BTreeMap<u32, Millis>,
    /// How many jobs hold a file, in the cache already or on its way.
    held: BTreeMap<u32, u32>,
    /// Bytes of the files in it.
    used: u64,
    /// Bytes of the files that jobs hold.
    held_bytes: u64,
    /// Files that came or went since the last report.
    changed: BTreeSet<u32>,
}

impl Cache {
    /// An empty cache.
    pub fn new(capacity: u64) -> Cache {
        Cache { capacity, ..Cache::default() }
    }

    /// Whether a file is in it.
    pub fn has(&self, file: u32) -> bool {
        self.files.contains_key(&file)
    }

    /// Bytes that further jobs can use: files that no job holds make room.
    pub fn free(&self) -> u64 {
        self.capacity.saturating_sub(self.held_bytes)
    }

    /// A job needs a file: it stays until the job lets it go.
    pub fn hold(&mut self, file: u32, size: u64) {
        let jobs = self.held.entry(file).or_default();
        *jobs += 1;
        if *jobs == 1 {
            self.held_bytes += size;
        }
    }

    /// A job needs a file no longer.
    pub fn let_go(&mut self, file: u32, size: u64) {
        let Some(jobs) = self.held.get_mut(&file) else { return };
        *jobs -= 1;
        if *jobs == 0 {
            self.held.remove(&file);
            self.held_bytes -= size;
        }
    }

    /// A file was brought, or used again. Files that no job holds make room, the least recently
    /// used first; a file for which there is no room is not kept.
    pub fn put(&mut self, file: u32, now: Millis, size_of: impl Fn(u32) -> u64) {
        if let Some(last_used) = self.files.get_mut(&file) {
            *last_used = now;
            return;
        }
        let size = size_of(file);
        while self.used + size > self.capacity {
            let unheld = self.files.iter().filter(|(file, _)| !self.held.contains_key(file));
            let Some(oldest) = unheld.min_by_key(|(file, at)| (**at, **file)).map(|it| *it.0)
            else {
                return;
            };
            self.files.remove(&oldest);
            self.used -= size_of(oldest);
            self.changed.insert(oldest);
        }
        self.files.insert(file, now);
        self.used += size;
        self.changed.insert(file);
    }

    /// Files that came (true) or went since the last report.
    pub fn take_changed(&mut self) -> Vec<(u32, bool)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|file| (file, self.has(file))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_no_job_holds_make_room_the_least_recently_used_first() {
        let mut cache = Cache::new(30);
        let size = |_| 10;
        (1..=3).for_each(|file| cache.put(file, i64::from(file), size));
        cache.hold(1, 10);
        cache.put(2, 9, size);
        cache.put(4, 10, size);
        assert_eq!([1, 2, 3, 4].map(|file| cache.has(file)), [true, true, false, true]);
        assert_eq!(cache.free(), 20);
        assert_eq!(cache.take_changed(), [(1, true), (2, true), (3, false), (4, true)]);
        [2, 4].iter().for_each(|file| cache.hold(*file, 10));
        cache.put(5, 11, size);
        assert!(!cache.has(5), "there is no room");
        cache.let_go(1, 10);
        cache.put(5, 12, size);
        assert!(cache.has(5) && !cache.has(1));
    }
}
