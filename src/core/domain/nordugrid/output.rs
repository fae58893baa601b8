//! Resources that an assignment of one job takes at its target, and how the target was chosen.

use crate::record::record;
use crate::unit::Bytes;

/// Resources that an assignment of one job takes at its target until the target's own facts contain
/// the job, and how it was chosen (spec cms-nordugrid N-27, B.10).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Which alternative of the description it is, from 0.
    pub alternative: u32,
    /// CPUs.
    pub count: u64,
    /// For how long; s. `None`: no limit.
    pub time_s: Option<u64>,
    /// Of the user's disk.
    pub disk_bytes: Bytes,
    /// Of the cluster's cache.
    pub cache_bytes: Bytes,
    /// Input files that it brings into the cluster's cache.
    pub tags: Vec<String>,
    /// Rule that decided between the targets.
    pub rule: String,
    /// The draw between equal targets, if there was one.
    pub draw: Option<Draw>,
}

impl Placed {
    /// About what it takes when it is published, at least as much as it does; bytes.
    pub(crate) fn bytes(&self) -> usize {
        let tags = self.tags.iter().map(|tag| tag.len() + 4).sum::<usize>();
        self.rule.len() + tags + self.draw.as_ref().map_or(0, Draw::bytes) + 80
    }
}

/// A seeded weighted draw, with all that is needed to make it again (spec cms-nordugrid B.10).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draw {
    /// Its name and version.
    pub algorithm: String,
    /// Name of the cut in its seed; 16 hex digits.
    pub cut_id: String,
    /// Which draw of the decision, from 0.
    pub round: u32,
    /// First 16 bytes of the seed's SHA-256; 32 hex digits.
    pub digest: String,
    /// The number drawn, below the sum of the weights.
    pub x: u64,
    /// The candidates in the order of the draw; of more than 1000 the first 1000, and a note of
    /// the decision has the sum, the number drawn and the digest of all.
    pub weights: Vec<DrawWeight>,
}

impl Draw {
    fn bytes(&self) -> usize {
        let weights = self.weights.iter().map(|it| it.name.len() + 14).sum::<usize>();
        self.algorithm.len() + self.cut_id.len() + self.digest.len() + weights + 40
    }
}

/// A candidate of a draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawWeight {
    /// Name.
    pub name: String,
    /// Weight.
    pub weight: u64,
}

record!(DrawWeight { name, weight });
record!(Draw { algorithm, cut_id, round, digest, x, weights });
record!(Placed { alternative, count, time_s, disk_bytes, cache_bytes, tags, rule, draw });
