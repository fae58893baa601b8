//! Values computed from a site's quota set: quotas, pools, limits (C-24..C-26, C-30..C-32).

use super::facts::{Class, MilliWeight, PerClass, SiteStatus, SlotQuota, Tier};
use super::settings::Settings;
use crate::event::{BadQuota, SlotParts, SlotsOfSite};

/// The part of a site that one group alone may use (C-30).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestrictedPool {
    /// Group.
    pub group: String,
    /// Its size.
    pub milli: MilliWeight,
    /// The parts of it that one class alone may use (A.13 6).
    pub kept: PerClass<MilliWeight>,
}

impl RestrictedPool {
    /// The part that both classes may use.
    fn open(&self) -> MilliWeight {
        self.milli - self.kept.total()
    }

    /// Weight that a class of the group holds beside the part that is for it alone.
    fn beside(&self, held: PerClass<MilliWeight>, class: Class) -> MilliWeight {
        held.of(class).saturating_sub(self.kept.of(class)).max(0)
    }

    /// Weight of it that a class may use.
    pub fn size_for(&self, class: Class) -> MilliWeight {
        self.kept.of(class) + self.open()
    }

    /// Used weight of the part that a class may use, where the group holds so much at the site.
    pub fn used_for(&self, held: PerClass<MilliWeight>, class: Class) -> MilliWeight {
        let of_other = self.beside(held, class.other()).min(self.open());
        held.of(class).saturating_add(of_other)
    }

    /// How much of what the group holds at the site is in the pool.
    pub fn inside(&self, held: PerClass<MilliWeight>) -> MilliWeight {
        let alone = |class: Class| held.of(class).min(self.kept.of(class));
        let beside = self.beside(held, Class::Central);
        let beside = beside.saturating_add(self.beside(held, Class::Analysis));
        alone(Class::Central) + alone(Class::Analysis) + beside.min(self.open())
    }
}

/// The analysis part of an extra block that a group is served first on (C-31).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionalPart {
    /// Group.
    pub group: String,
    /// Its size.
    pub milli: MilliWeight,
}

/// Quotas and limits of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteTerms {
    /// Revision of the quota set it is made of.
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
    /// Weight that a class may never exceed: all but the blocks of the other class (A.13 6).
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

impl SiteTerms {
    /// Whether the site is in a region.
    pub fn is_in(&self, region: &str) -> bool {
        self.region.as_deref() == Some(region)
    }
}

/// The terms of a quota set.
///
/// # Errors
/// Why it cannot be in force.
pub fn terms(quota: &SlotQuota, settings: &Settings) -> Result<SiteTerms, BadQuota> {
    let parts = quota.parts();
    let SlotsOfSite { tier, central, total } = parts.count()?;
    let open = || quota.extra_blocks.iter().filter(|block| block.restricted_group.is_none());
    let quota_missing =
        matches!(tier, Tier::Opportunistic | Tier::Cloud) && quota.central_slots.is_none();
    let slots = match quota_missing {
        true => PerClass::default(),
        false => PerClass { central, analysis: total - central },
    };
    let kappa = settings.kappa_milli(quota.corepower_mhs06);
    let ceiling = |class: Class| {
        let others = open().filter(|block| block.class_only == Some(class.other()));
        let kept: i64 = others.map(|block| block.slots).sum();
        (kept > 0).then(|| (total - kept) * kappa)
    };
    Ok(SiteTerms {
        revision: quota.revision,
        tier,
        status: quota.status,
        region: quota.region.clone(),
        kappa_milli: kappa,
        corepower_missing: quota.corepower_mhs06 == 0,
        quota_missing,
        slots,
        quota: PerClass { central: slots.central * kappa, analysis: slots.analysis * kappa },
        shared_milli: total * kappa,
        ceiling: PerClass { central: ceiling(Class::Central), analysis: ceiling(Class::Analysis) },
        restricted: restricted_pools(quota, kappa),
        restricted_labels: restricted_labels(quota),
        regional: regional_parts(&parts, tier, kappa),
        overflow_slots: quota.overflow_slots,
        high_io_slots: quota.high_io_slots,
        accept_surplus: PerClass {
            central: quota.surplus_central.unwrap_or(true),
            analysis: quota.surplus_analysis.unwrap_or(tier != Tier::T1),
        },
    })
}

fn restricted_pools(quota: &SlotQuota, kappa: i64) -> Vec<RestrictedPool> {
    let mut pools: Vec<RestrictedPool> = Vec::new();
    for block in &quota.extra_blocks {
        let Some(group) = &block.restricted_group else { continue };
        let milli = block.slots * kappa;
        let at = pools.iter().position(|pool| pool.group == *group).unwrap_or_else(|| {
            let kept = PerClass::default();
            pools.push(RestrictedPool { group: group.clone(), milli: 0, kept });
            pools.len() - 1
        });
        pools[at].milli += milli;
        if let Some(class) = block.class_only {
            *pools[at].kept.of_mut(class) += milli;
        }
    }
    pools.sort_by(|a, b| a.group.cmp(&b.group));
    pools
}

fn restricted_labels(quota: &SlotQuota) -> Vec<(String, String)> {
    let labelled = quota.extra_blocks.iter();
    labelled
        .filter_map(|block| Some((block.label.clone()?, block.restricted_group.clone()?)))
        .collect()
}

fn regional_parts(parts: &SlotParts<'_>, tier: Tier, kappa: i64) -> Vec<RegionalPart> {
    let blocks = parts.extra_blocks.iter();
    blocks
        .filter_map(|block| {
            let group = block.priority_group.clone()?;
            let analysis = block.slots - parts.central_of_block(block, tier);
            Some(RegionalPart { group, milli: analysis * kappa })
        })
        .collect()
}
