//! What a site's configuration comes to: quotas, pools, limits (C-24..C-26, C-30..C-32).

use super::facts::{Class, ExtraBlock, MilliWeight, PerClass, SiteConfig, SiteStatus, Tier};
use super::settings::{Settings, round_half_up};

/// The part of a site that one group alone may use (C-30).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestrictedPool {
    /// Group.
    pub group: String,
    /// Its size.
    pub milli: MilliWeight,
}

/// The analysis part of an extra block that a group is served first on (C-31).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionalPart {
    /// Group.
    pub group: String,
    /// Its size.
    pub milli: MilliWeight,
}

/// What holds at a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteTerms {
    /// The configuration it is made of.
    pub revision: i64,
    /// Tier.
    pub tier: Tier,
    /// Whether it takes jobs.
    pub status: SiteStatus,
    /// Scope of regional grants.
    pub region: Option<String>,
    /// Thousandths that a core weighs.
    pub kappa_milli: i64,
    /// Whether its benchmark is missing (C-32).
    pub corepower_missing: bool,
    /// Whether operations set no central slots where they must (C-26).
    pub quota_missing: bool,
    /// Quotas in slots.
    pub slots: PerClass<i64>,
    /// Quotas in weight.
    pub quota: PerClass<MilliWeight>,
    /// Pledge and unrestricted extras in weight: what all share (C-30).
    pub shared_milli: MilliWeight,
    /// What a class may never exceed: all but the blocks of the other class (A.13 6).
    pub ceiling: PerClass<Option<MilliWeight>>,
    /// Parts for one group alone.
    pub restricted: Vec<RestrictedPool>,
    /// Labels of the blocks for one group alone, with the group.
    pub restricted_labels: Vec<(String, String)>,
    /// Parts with an implicit grant.
    pub regional: Vec<RegionalPart>,
    /// Remote readers its storage may serve.
    pub overflow_slots: i64,
    /// HighIO jobs its storage may serve.
    pub high_io_slots: i64,
    /// Whether a class may exceed its quota.
    pub accept_surplus: PerClass<bool>,
}

/// Why a configuration is rejected; the revision before it stays in force (C-26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadConfig {
    /// No tier of that name.
    UnknownTier,
    /// A negative number, or more central slots than there are.
    BadQuota,
}

impl BadConfig {
    /// Its code (A.9).
    pub const fn code(self) -> &'static str {
        match self {
            BadConfig::UnknownTier => "unknown_tier",
            BadConfig::BadQuota => "bad_quota",
        }
    }
}

/// The terms of a configuration.
///
/// # Errors
/// Why it cannot be in force.
pub fn terms(config: &SiteConfig, settings: &Settings) -> Result<SiteTerms, BadConfig> {
    let tier = config.tier.ok_or(BadConfig::UnknownTier)?;
    if has_bad_number(config) {
        return Err(BadConfig::BadQuota);
    }
    let open = || config.extra_blocks.iter().filter(|block| block.restricted_group.is_none());
    let total = config.pledged_slots + open().map(|block| block.slots).sum::<i64>();
    let quota_missing =
        matches!(tier, Tier::Opportunistic | Tier::Cloud) && config.central_slots.is_none();
    let of_blocks = |part: fn(&ExtraBlock, &SiteConfig, Tier) -> i64| -> i64 {
        open().map(|block| part(block, config, tier)).sum()
    };
    let central = match tier {
        Tier::T1 => config.pledged_slots + of_blocks(central_of_block),
        Tier::T2 => central_of(config.pledged_slots, config) + of_blocks(central_of_block),
        Tier::T3 => config.central_slots.unwrap_or(0) + of_blocks(central_of_block),
        Tier::Opportunistic | Tier::Cloud => config.central_slots.unwrap_or(0),
    };
    if central > total {
        return Err(BadConfig::BadQuota);
    }
    let slots = match quota_missing {
        true => PerClass::default(),
        false => PerClass { central, analysis: total - central },
    };
    let kappa = settings.kappa_milli(config.corepower_mhs06);
    let ceiling = |class: Class| {
        let others = open().filter(|block| block.class_only == Some(class.other()));
        let kept: i64 = others.map(|block| block.slots).sum();
        (kept > 0).then(|| (total - kept) * kappa)
    };
    Ok(SiteTerms {
        revision: config.revision,
        tier,
        status: config.status,
        region: config.region.clone(),
        kappa_milli: kappa,
        corepower_missing: config.corepower_mhs06 == 0,
        quota_missing,
        slots,
        quota: PerClass { central: slots.central * kappa, analysis: slots.analysis * kappa },
        shared_milli: total * kappa,
        ceiling: PerClass { central: ceiling(Class::Central), analysis: ceiling(Class::Analysis) },
        restricted: restricted_pools(config, kappa),
        restricted_labels: restricted_labels(config),
        regional: regional_parts(config, tier, kappa),
        overflow_slots: config.overflow_slots,
        high_io_slots: config.high_io_slots,
        accept_surplus: PerClass {
            central: config.accept_surplus.central.unwrap_or(true),
            analysis: config.accept_surplus.analysis.unwrap_or(tier != Tier::T1),
        },
    })
}

fn has_bad_number(config: &SiteConfig) -> bool {
    let counts = [
        config.pledged_slots,
        config.overflow_slots,
        config.high_io_slots,
        config.corepower_mhs06,
        config.central_slots.unwrap_or(0),
    ];
    let is_bad_block = |block: &ExtraBlock| {
        let central = block.central_slots.unwrap_or(0);
        let against = match block.class_only {
            Some(Class::Analysis) => central > 0,
            Some(Class::Central) => block.central_slots.is_some_and(|slots| slots < block.slots),
            None => false,
        };
        block.slots < 0 || central < 0 || central > block.slots || against
    };
    counts.iter().any(|count| *count < 0)
        || !(0..=1000).contains(&config.central_permille)
        || config.extra_blocks.iter().any(is_bad_block)
}

/// Central slots among some of a T2, half up (C-26, F-8).
fn central_of(slots: i64, config: &SiteConfig) -> i64 {
    round_half_up(slots * config.central_permille, 1000)
}

/// Central slots of an extra block (C-25, C-26): its own mix, else that of the pledge.
fn central_of_block(block: &ExtraBlock, config: &SiteConfig, tier: Tier) -> i64 {
    match (block.class_only, tier) {
        (Some(Class::Central), _) => block.slots,
        (Some(Class::Analysis), _) => 0,
        (None, Tier::T1) => block.slots,
        (None, Tier::T2) => block.central_slots.unwrap_or_else(|| central_of(block.slots, config)),
        (None, Tier::T3) => block.central_slots.unwrap_or(0),
        (None, Tier::Opportunistic | Tier::Cloud) => 0,
    }
}

fn restricted_pools(config: &SiteConfig, kappa: i64) -> Vec<RestrictedPool> {
    let mut pools: Vec<RestrictedPool> = Vec::new();
    for block in &config.extra_blocks {
        let Some(group) = &block.restricted_group else { continue };
        let milli = block.slots * kappa;
        match pools.iter_mut().find(|pool| pool.group == *group) {
            Some(pool) => pool.milli += milli,
            None => pools.push(RestrictedPool { group: group.clone(), milli }),
        }
    }
    pools.sort_by(|a, b| a.group.cmp(&b.group));
    pools
}

fn restricted_labels(config: &SiteConfig) -> Vec<(String, String)> {
    let labelled = config.extra_blocks.iter();
    labelled
        .filter_map(|block| Some((block.label.clone()?, block.restricted_group.clone()?)))
        .collect()
}

fn regional_parts(config: &SiteConfig, tier: Tier, kappa: i64) -> Vec<RegionalPart> {
    let blocks = config.extra_blocks.iter();
    blocks
        .filter_map(|block| {
            let group = block.priority_group.clone()?;
            let analysis = block.slots - central_of_block(block, config, tier);
            Some(RegionalPart { group, milli: analysis * kappa })
        })
        .collect()
}
