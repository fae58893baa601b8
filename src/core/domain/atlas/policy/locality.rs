//! Which queues hold the input of an analysis task: what was found (spec atlas 8.4).

use crate::event::{Dataset, DatasetReplica};

/// How a place of a dataset's copy may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Whether it is tape.
    pub tape: bool,
    /// Whether it may be read over the LAN.
    pub lan: bool,
    /// Whether it may be read from afar.
    pub wan: bool,
}

impl Source {
    /// A place of which nothing is known: it is taken for disk that is in service.
    pub const UNKNOWN: Source = Source { tape: false, lan: true, wan: true };
}

/// Completeness from which a copy counts as whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    /// Files that may be missing.
    pub missing: f64,
    /// Part of the files that is enough; %.
    pub percent: f64,
}

impl Enough {
    /// Whether a copy counts as whole; a virtual one never does.
    pub(super) fn is_met(&self, replica: &DatasetReplica) -> bool {
        let missing = replica.files_total.saturating_sub(replica.files) as f64;
        let part = replica.files as f64 / replica.files_total.max(1) as f64 * 100.0;
        let is_enough = missing <= self.missing || part >= self.percent;
        let is_whole = replica.files == replica.files_total;
        !replica.is_virtual && (is_whole || replica.files > 0 && is_enough)
    }
}

/// Where a dataset can be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    /// Whole enough on disk that can be read.
    pub disk: bool,
    /// Whole on disk that can be read, nothing missing.
    pub whole_disk: bool,
    /// Whole enough on tape that can be read.
    pub tape: bool,
    /// Any part of it where it can be read from afar.
    pub remote: bool,
    /// Whole enough anywhere, readable or not.
    pub anywhere: bool,
}

/// Where a dataset can be had, by what is known of the places of its copies.
pub fn availability(dataset: &Dataset, sources: &[Source], enough: Enough) -> Availability {
    let mut found = Availability::default();
    for (at, replica) in dataset.replicas.iter().enumerate() {
        let source = sources.get(at).copied().unwrap_or(Source::UNKNOWN);
        if replica.is_virtual {
            continue;
        }
        found.remote |= source.wan;
        if !enough.is_met(replica) {
            continue;
        }
        found.anywhere = true;
        if !source.lan && !source.wan {
            continue;
        }
        let is_whole = replica.files == replica.files_total;
        found.disk |= !source.tape;
        found.whole_disk |= !source.tape && is_whole;
        found.tape |= source.tape;
    }
    found
}

/// A queue's part of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Holding {
    /// Whether it is among the queues to be used.
    pub kept: bool,
    /// One for each dataset on disk, 0.001 for each on tape only.
    pub weight: f64,
    /// Whether it holds all of it, or some of it where no queue holds all, without virtual copies.
    pub is_real: bool,
}

/// Which queues hold the input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Locality {
    /// Unified names with their gists, in the order of these: nearly every candidate is asked for,
    /// and few hold anything.
    pub(super) holdings: Vec<(u64, String, Holding)>,
    /// Whether queues count that hold a part of the datasets, since none holds all.
    pub union: bool,
    /// Whether virtual placement is avoided for the sake of the input.
    pub avoid_virtual: bool,
    /// Whether a dataset is distributed: its files lie at several places on purpose.
    pub distributed: bool,
    /// Whether a dataset has no whole copy on disk.
    pub incomplete: bool,
}

/// A word by which most names differ: less to find than a hash, and to compare than a name.
#[inline]
pub(super) fn gist(name: &str) -> u64 {
    let name = name.as_bytes();
    let edge = |chunk: Option<&[u8; 8]>| chunk.map_or(0, |chunk| u64::from_le_bytes(*chunk));
    let (first, last) = (edge(name.first_chunk()), edge(name.last_chunk()));
    first.rotate_left(29) ^ last ^ name.len() as u64
}

impl Locality {
    /// A queue's part of the input; the default if it holds none.
    pub fn of(&self, unified: &str) -> Holding {
        let wanted = (gist(unified), unified);
        let is_before = |it: &(u64, String, Holding)| (it.0, it.1.as_str()) < wanted;
        let held = self.holdings.get(self.holdings.partition_point(is_before));
        held.filter(|it| it.1 == unified).map_or_else(Holding::default, |it| it.2)
    }

    /// How many queues are among those to be used.
    pub fn kept_count(&self) -> usize {
        self.holdings.iter().filter(|(_, _, holding)| holding.kept).count()
    }
}
