//! The slots that a site gives to a pool, and how many of its slots each class has (spec
//! cms-nordugrid C-24 to C-26).

use super::pool::{Class, SiteStatus, Tier};
use crate::record::record;

/// Above any number of slots that a site can have, and of their power.
pub const MAX_SLOTS: i64 = 1_000_000_000;

/// Resources of a site on top of its pledge (C-25, C-30, C-31; A.13 6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraBlock {
    /// Its label, which an offer may name.
    pub label: Option<String>,
    /// Slots.
    pub slots: i64,
    /// Slots of these for central jobs; if absent, the mix of the pledge.
    pub central_slots: Option<i64>,
    /// The only group that may use it (C-30).
    pub restricted_group: Option<String>,
    /// The group that goes first on its analysis slots (C-31).
    pub priority_group: Option<String>,
    /// The only class that may use it (A.13 6).
    pub class_only: Option<Class>,
}

/// The slots that a site gives to a pool: the quota set that operations publish (C-24).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotQuota {
    /// The highest valid revision is in force.
    pub revision: i64,
    /// Name of its tier: T1, T2, T3, OPP or CLOUD.
    pub tier: String,
    /// Whether it takes jobs.
    pub status: SiteStatus,
    /// Scope of regional grants; `None`: it is in no region.
    pub region: Option<String>,
    /// Pledged slots.
    pub pledged_slots: i64,
    /// Thousandths of the pledge for central jobs; read at T2 (C-26).
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
    /// Whether central jobs may exceed their quota; `None`: as the tier has it (CD-03).
    pub surplus_central: Option<bool>,
    /// The same for analysis.
    pub surplus_analysis: Option<bool>,
}

/// Why a quota set cannot be in force; the revision before it stays (C-26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadQuota {
    /// No tier of that name.
    UnknownTier,
    /// A negative number, one beyond all bounds, or more central slots than there are.
    BadQuota,
}

impl BadQuota {
    /// Its code (A.9).
    pub const fn code(self) -> &'static str {
        match self {
            BadQuota::UnknownTier => "unknown_tier",
            BadQuota::BadQuota => "bad_quota",
        }
    }
}

/// The parts of a site's quotas.
#[derive(Clone, Copy, Debug)]
pub struct SlotParts<'a> {
    /// Tier; `None`: a name that is none.
    pub tier: Option<Tier>,
    /// Pledged slots.
    pub pledged_slots: i64,
    /// Thousandths of the pledge for central jobs; read at T2.
    pub central_permille: i64,
    /// Slots for central jobs, where operations set them.
    pub central_slots: Option<i64>,
    /// Resources on top of the pledge.
    pub extra_blocks: &'a [ExtraBlock],
    /// Remote readers of its storage.
    pub overflow_slots: i64,
    /// HighIO jobs on its storage.
    pub high_io_slots: i64,
    /// Benchmark per core in thousandths of HS06.
    pub corepower_mhs06: i64,
}

/// Slots of a site that are not restricted to a group (C-26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotsOfSite {
    /// Tier.
    pub tier: Tier,
    /// Those for central jobs.
    pub central: i64,
    /// All of them.
    pub total: i64,
}

impl SlotQuota {
    /// The parts of its quotas.
    pub fn parts(&self) -> SlotParts<'_> {
        SlotParts {
            tier: Tier::from_name(&self.tier),
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

impl SlotParts<'_> {
    /// The slots that are not restricted to a group.
    ///
    /// # Errors
    /// Why the quota set cannot be in force.
    pub fn count(&self) -> Result<SlotsOfSite, BadQuota> {
        let tier = self.tier.ok_or(BadQuota::UnknownTier)?;
        if self.has_bad_number() {
            return Err(BadQuota::BadQuota);
        }
        let open = || self.extra_blocks.iter().filter(|block| block.restricted_group.is_none());
        let total = self.pledged_slots + open().map(|block| block.slots).sum::<i64>();
        let of_blocks = || open().map(|block| self.central_of_block(block, tier)).sum::<i64>();
        let central = match tier {
            Tier::T1 => self.pledged_slots + of_blocks(),
            Tier::T2 => self.central_of(self.pledged_slots) + of_blocks(),
            Tier::T3 => self.central_slots.unwrap_or(0) + of_blocks(),
            Tier::Opportunistic | Tier::Cloud => self.central_slots.unwrap_or(0),
        };
        match central > total {
            true => Err(BadQuota::BadQuota),
            false => Ok(SlotsOfSite { tier, central, total }),
        }
    }

    fn has_bad_number(&self) -> bool {
        let counts = [
            self.pledged_slots,
            self.overflow_slots,
            self.high_io_slots,
            self.corepower_mhs06,
            self.central_slots.unwrap_or(0),
        ];
        let is_bad_block = |block: &ExtraBlock| {
            let central = block.central_slots.unwrap_or(0);
            let against = match block.class_only {
                Some(Class::Analysis) => central > 0,
                Some(Class::Central) => block.central_slots.is_some_and(|it| it < block.slots),
                None => false,
            };
            block.slots < 0 || central < 0 || central > block.slots || against
        };
        let is_bad = |count: i64| !(0..=MAX_SLOTS).contains(&count);
        let blocks = self.extra_blocks.iter().map(|block| block.slots);
        let all = blocks.fold(self.pledged_slots, i64::saturating_add);
        counts.iter().any(|count| is_bad(*count))
            || is_bad(all)
            || !(0..=1000).contains(&self.central_permille)
            || self.extra_blocks.iter().any(is_bad_block)
    }

    /// Central slots among some of a T2, half up (C-26, F-8).
    fn central_of(&self, slots: i64) -> i64 {
        (2 * slots * self.central_permille + 1000).div_euclid(2 * 1000)
    }

    /// Central slots of an extra block (C-25, C-26): its own mix, else that of the pledge.
    pub fn central_of_block(&self, block: &ExtraBlock, tier: Tier) -> i64 {
        match (block.class_only, tier) {
            (Some(Class::Central), _) => block.slots,
            (Some(Class::Analysis), _) => 0,
            (None, Tier::T1) => block.slots,
            (None, Tier::T2) => block.central_slots.unwrap_or_else(|| self.central_of(block.slots)),
            (None, Tier::T3) => block.central_slots.unwrap_or(0),
            (None, Tier::Opportunistic | Tier::Cloud) => 0,
        }
    }
}

record!(ExtraBlock { label, slots, central_slots, restricted_group, priority_group, class_only });
record!(SlotQuota {
    revision,
    tier,
    status,
    region,
    pledged_slots,
    central_permille,
    central_slots,
    extra_blocks,
    overflow_slots,
    high_io_slots,
    corepower_mhs06,
    surplus_central,
    surplus_analysis,
});
