//! Offers of pilots.

use super::class::Seconds;

/// A free place that a pilot announced (A.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotOffer {
    /// Name.
    pub offer: String,
    /// Site.
    pub site: String,
    /// Free cores.
    pub cores_free: i64,
    /// Cores in all.
    pub cores_total: i64,
    /// Time left.
    pub wall_left_s: Seconds,
    /// Free memory, MB.
    pub mem_free_mb: i64,
    /// Label of the extra block it belongs to.
    pub block: Option<String>,
    /// Its node.
    pub node: Option<String>,
    /// Benchmark per core in thousandths of HS06; absent: the site's.
    pub corepower_mhs06: Option<i64>,
}

impl SlotOffer {
    /// An offer of a whole pilot with nothing else stated.
    pub fn new(
        offer: &str,
        site: &str,
        cores: i64,
        wall_left_s: Seconds,
        mem_mb: i64,
    ) -> SlotOffer {
        SlotOffer {
            offer: offer.to_owned(),
            site: site.to_owned(),
            cores_free: cores,
            cores_total: cores,
            wall_left_s,
            mem_free_mb: mem_mb,
            block: None,
            node: None,
            corepower_mhs06: None,
        }
    }
}
