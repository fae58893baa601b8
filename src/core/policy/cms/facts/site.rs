//! Sites (C-24..C-26, C-36).

use super::class::PerClass;
use crate::event::SlotParts;
pub use crate::event::{ExtraBlock, SiteStatus, Tier};

/// The configuration of a site as operations publish it (C-24).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteConfig {
    /// Name.
    pub site: String,
    /// The highest valid revision is in force.
    pub revision: i64,
    /// Tier; `None`: a name that is none.
    pub tier: Option<Tier>,
    /// Whether it takes jobs.
    pub status: SiteStatus,
    /// Scope of regional grants.
    pub region: Option<String>,
    /// Pledged slots.
    pub pledged_slots: i64,
    /// Thousandths of the pledge for central jobs; read at T2.
    pub central_permille: i64,
    /// Slots for central jobs: OPP and CLOUD as set by operations, T3 the dedicated part.
    pub central_slots: Option<i64>,
    /// Resources on top of the pledge.
    pub extra_blocks: Vec<ExtraBlock>,
    /// How many remote readers its storage may serve: jobs, or cores (CD-07).
    pub overflow_slots: i64,
    /// How many HighIO jobs may read its storage (C-44).
    pub high_io_slots: i64,
    /// Benchmark per core in thousandths of HS06; 0: missing (C-32).
    pub corepower_mhs06: i64,
    /// Whether a class may exceed its quota, where stated (CD-03).
    pub accept_surplus: PerClass<Option<bool>>,
}

impl SiteConfig {
    /// A site of a tier with every default (A.2).
    pub fn new(site: &str, tier: Tier) -> SiteConfig {
        SiteConfig {
            site: site.to_owned(),
            revision: 0,
            tier: Some(tier),
            status: SiteStatus::Online,
            region: None,
            pledged_slots: 0,
            central_permille: 500,
            central_slots: None,
            extra_blocks: Vec::new(),
            overflow_slots: 0,
            high_io_slots: 25,
            corepower_mhs06: 10_000,
            accept_surplus: PerClass::default(),
        }
    }

    /// The fields that its quotas are computed from.
    pub fn parts(&self) -> SlotParts<'_> {
        SlotParts {
            tier: self.tier,
            pledged_slots: self.pledged_slots,
            central_permille: self.central_permille,
            central_slots: self.central_slots,
            extra_blocks: &self.extra_blocks,
            overflow_slots: self.overflow_slots,
            high_io_slots: self.high_io_slots,
            corepower_mhs06: self.corepower_mhs06,
        }
    }
}
