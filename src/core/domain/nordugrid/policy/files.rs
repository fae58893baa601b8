//! Files: their sizes, their replicas, and the caches that have them (N-15, N-16, N-27).
//!
//! Of the record that lists every copy and those about one endpoint the newest counts, endpoint by
//! endpoint (S-03).

use super::names::NumberedNames;
use crate::event::{Location, Replica, ReplicaState};
use crate::unit::{Bytes, Millis, SECOND};
use std::collections::BTreeMap;

/// Sizes, replicas and cached copies of files.
#[derive(Clone, Debug, Default)]
pub struct Files {
    sources: NumberedNames,
    rows: Vec<FileRow>,
}

/// Size, replicas and cached copies of one file.
#[derive(Clone, Debug, Default)]
pub struct FileRow {
    /// Size; `None`: not known.
    pub size_bytes: Option<Bytes>,
    /// Numbers of the storage elements and clusters that have it.
    pub replicas: Vec<u32>,
    /// Reports and tags of caches, one entry for each cluster.
    pub caches: Vec<CacheRow>,
}

/// Report and tags of a file in the cache of one cluster.
#[derive(Clone, Debug)]
pub struct CacheRow {
    /// Number of the cluster.
    pub cluster: u32,
    /// The newest report: whether it is there, and when that was so.
    report: Option<(Millis, bool)>,
    /// Jobs that bring it there.
    tags: Vec<TagRow>,
}

/// An attempt of a job that brings a file into a cache.
#[derive(Clone, Debug)]
struct TagRow {
    job: String,
    /// When it was decided.
    tagged_at: Millis,
}

impl Files {
    /// The entry of a file; `None`: no record named it.
    pub fn find(&self, source: &str) -> Option<&FileRow> {
        self.rows.get(self.sources.find(source)? as usize)
    }

    /// Takes the records about a file that hold, in the place of earlier ones.
    pub fn put(&mut self, names: &mut NumberedNames, source: &str, records: &[&Replica]) {
        let row = self.row(source);
        row.size_bytes = size_of(records);
        row.replicas = endpoints(records).into_iter().map(|name| names.number(name)).collect();
        row.caches.iter_mut().for_each(|cache| cache.report = None);
        for record in records {
            for (cluster, is_present) in reports(record) {
                let cache = row.cache(names.number(cluster));
                if cache.report.is_none_or(|(newest, _)| newest <= record.changed_at) {
                    cache.report = Some((record.changed_at, is_present));
                }
            }
        }
    }

    /// Takes an attempt of a job that brings a file into the cache of a cluster.
    pub fn tag(&mut self, cluster: u32, source: &str, job: &str, tagged_at: Millis) {
        let tags = &mut self.row(source).cache(cluster).tags;
        tags.push(TagRow { job: job.to_owned(), tagged_at });
    }

    /// Takes away the tags of a job.
    pub fn remove_tags(&mut self, cluster: u32, source: &str, job: &str) {
        self.row(source).cache(cluster).tags.retain(|tag| tag.job != job);
    }

    fn row(&mut self, source: &str) -> &mut FileRow {
        let number = self.sources.number(source) as usize;
        if self.rows.len() <= number {
            self.rows.resize_with(number + 1, FileRow::default);
        }
        &mut self.rows[number]
    }
}

impl FileRow {
    fn cache(&mut self, cluster: u32) -> &mut CacheRow {
        let at = match self.caches.iter().position(|row| row.cluster == cluster) {
            Some(at) => at,
            None => {
                self.caches.push(CacheRow { cluster, report: None, tags: Vec::new() });
                self.caches.len() - 1
            }
        };
        &mut self.caches[at]
    }
}

impl CacheRow {
    /// Whether the cache has the file: as the newest report states, or because of a tag that is
    /// newer than the report and younger than `tag_ttl_s`.
    pub fn has_file(&self, now: Millis, tag_ttl_s: u64) -> bool {
        let ttl = Millis::try_from(tag_ttl_s).unwrap_or(Millis::MAX).saturating_mul(SECOND);
        let counts = |tag: &TagRow| {
            let is_newer = self.report.is_none_or(|(as_of, _)| as_of < tag.tagged_at);
            is_newer && now.saturating_sub(tag.tagged_at) < ttl
        };
        self.report.is_some_and(|(_, is_present)| is_present) || self.tags.iter().any(counts)
    }
}

/// The size of a file by the newest record that states one; `None`: not known.
fn size_of(records: &[&Replica]) -> Option<Bytes> {
    let stated = records.iter().filter(|record| record.bytes > 0);
    stated.max_by_key(|record| record.changed_at).map(|record| record.bytes)
}

/// Endpoints with a copy of a file outside caches. Two records of one time: the one about the
/// endpoint counts.
fn endpoints<'r>(records: &[&'r Replica]) -> Vec<&'r str> {
    let lists = records.iter().filter(|record| record.endpoint.is_empty());
    let listed_at = lists.map(|record| record.changed_at).max().unwrap_or(Millis::MIN);
    let mut copies: BTreeMap<&str, (Millis, bool)> = BTreeMap::new();
    for record in records.iter().filter(|record| record.changed_at >= listed_at) {
        let at = record.changed_at;
        let mut put = |endpoint: &'r str, is_there| {
            let known = copies.entry(endpoint).or_insert((at, is_there));
            if known.0 <= at {
                *known = (at, is_there);
            }
        };
        if !record.endpoint.is_empty() {
            put(&record.endpoint, false);
        }
        for location in record.locations.iter().filter(|it| !it.cache && is_readable(it)) {
            put(&location.endpoint, true);
        }
    }
    let there = copies.into_iter().filter(|(_, (_, is_there))| *is_there);
    there.map(|(endpoint, _)| endpoint).collect()
}

/// Presence of a file in the caches of clusters, by one record. A list of copies says nothing of
/// caches that it does not name: who publishes copies need not know what is in caches.
fn reports(record: &Replica) -> Vec<(&str, bool)> {
    if record.locations.is_empty() && !record.endpoint.is_empty() {
        return vec![(&record.endpoint, false)];
    }
    let in_caches = record.locations.iter().filter(|location| location.cache);
    in_caches.map(|location| (location.endpoint.as_str(), is_readable(location))).collect()
}

fn is_readable(location: &Location) -> bool {
    location.complete && location.state == ReplicaState::Available
}
