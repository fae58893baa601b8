//! Files: their sizes, their replicas, and the caches that have them (N-15, N-16, N-27).

use super::facts::{CacheReport, CacheTag};
use super::names::Names;
use crate::unit::{Bytes, Millis, SECOND};

/// Sizes, replicas and cached copies of files.
#[derive(Clone, Debug, Default)]
pub struct Files {
    sources: Names,
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

/// A job that brings a file into a cache.
#[derive(Clone, Debug)]
pub struct TagRow {
    job_id: String,
    /// Where one of its attempts was sent; `None`: not stated.
    pub target: Option<u32>,
    /// Which attempt.
    pub attempt: u64,
    /// When.
    pub tagged_at: Millis,
}

impl Files {
    /// The entry of a file; `None`: no record named it.
    pub fn find(&self, source: &str) -> Option<&FileRow> {
        self.rows.get(self.sources.find(source)? as usize)
    }

    /// Takes the size and the replicas of a file.
    pub fn put(&mut self, source: &str, size_bytes: Option<Bytes>, replicas: Vec<u32>) {
        let row = self.row(source);
        (row.size_bytes, row.replicas) = (size_bytes, replicas);
    }

    /// Takes a report of a cluster's cache, unless a newer one is known. It ends the tags that are
    /// not newer.
    pub fn put_report(&mut self, cluster: u32, report: &CacheReport) {
        let as_of = report.as_of.unwrap_or(Millis::MIN);
        let row = self.row(&report.source).cache(cluster);
        if row.report.is_none_or(|(newest, _)| newest <= as_of) {
            row.report = Some((as_of, report.is_present));
        }
    }

    /// Forgets what caches reported of a file.
    pub fn remove_reports(&mut self, source: &str) {
        if let Some(number) = self.sources.find(source)
            && let Some(row) = self.rows.get_mut(number as usize)
        {
            row.caches.iter_mut().for_each(|cache| cache.report = None);
        }
    }

    /// Takes a tag. Of several of one attempt of a job at a target the latest counts.
    pub fn put_tag(&mut self, cluster: u32, target: Option<u32>, tag: &CacheTag) {
        let row = self.row(&tag.source).cache(cluster);
        let is_same = |it: &&mut TagRow| {
            it.job_id == tag.job_id && (it.target, it.attempt) == (target, tag.attempt)
        };
        match row.tags.iter_mut().find(is_same) {
            Some(known) => known.tagged_at = tag.tagged_at.max(known.tagged_at),
            None => {
                let CacheTag { attempt, tagged_at, .. } = *tag;
                row.tags.push(TagRow { job_id: tag.job_id.clone(), target, attempt, tagged_at });
            }
        }
    }

    /// Ends those tags of a job that have ended.
    pub fn remove_tags(
        &mut self,
        cluster: u32,
        source: &str,
        job_id: &str,
        has_ended: impl Fn(&TagRow) -> bool,
    ) {
        let tags = &mut self.row(source).cache(cluster).tags;
        tags.retain(|tag| tag.job_id != job_id || !has_ended(tag));
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
