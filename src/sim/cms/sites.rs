//! Sites: what they have, what each class and group gets of it, and what is held of it.

use crate::dice::{Dice, Quantiles};
use std::collections::BTreeMap;
use std::ops::Range;
use yardmaster_core::event::{Class, ExtraBlock, Site as SiteRecord, SlotQuota, Tier};
use yardmaster_core::unit::{HOUR, Millis};

/// Countries, as they stand in names of sites; in small letters they are regions.
const COUNTRIES: [&str; 8] = ["DE", "US", "IT", "FR", "UK", "ES", "CH", "EE"];

/// A kind of site: how many there are at scale 1, the fewest, and how large they are.
struct Shape {
    tier: Tier,
    count: f64,
    least: u32,
    cores: Quantiles,
    pilot_life: Millis,
}

const fn shape(tier: Tier, count: f64, least: u32, cores: Quantiles, hours: Millis) -> Shape {
    Shape { tier, count, least, cores, pilot_life: hours * HOUR }
}

/// Seventy-four sites with some 250,000 cores.
const SHAPES: [Shape; 5] = [
    shape(Tier::T1, 7.0, 1, [6e3, 8e3, 12e3, 16e3, 19e3, 20e3, 22e3], 60),
    shape(Tier::T2, 50.0, 6, [600.0, 1.5e3, 2.8e3, 4.5e3, 6.5e3, 8e3, 10e3], 60),
    shape(Tier::T3, 10.0, 1, [60.0, 150.0, 300.0, 600.0, 1e3, 1.3e3, 1.5e3], 30),
    shape(Tier::Opportunistic, 4.0, 1, [500.0, 2e3, 4e3, 8e3, 12e3, 14e3, 16e3], 24),
    shape(Tier::Cloud, 3.0, 1, [400.0, 1e3, 2e3, 3.5e3, 5e3, 6e3, 8e3], 48),
];

/// Fewest cores of a site.
const CORES_MIN: f64 = 96.0;
/// HighIO jobs that a storage serves at scale 1, and at least (C-44).
const HIGH_IO: (f64, f64) = (25.0, 5.0);

/// A site.
#[derive(Clone, Debug)]
pub struct Site {
    /// Name.
    pub name: String,
    /// Tier.
    pub tier: Tier,
    /// Its quota in force.
    pub quota: SlotQuota,
    /// The newest revision that was published.
    pub revision: i64,
    /// Cores.
    pub cores: i64,
    /// Its nodes, by their numbers.
    pub nodes: Range<u32>,
    /// How long a pilot lives there.
    pub pilot_life: Millis,
    /// Whether pilots of a node that is drained go on offering what is free (C-56).
    pub backfills: bool,
    /// Until when jobs fail there.
    pub failing_until: Millis,
    /// Resources of it that jobs hold.
    pub held: Held,
}

/// Weight and jobs that are held at a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Weight of all jobs.
    pub weight: i64,
    /// Weight by class of jobs that are charged to no restricted pool.
    pub open: [i64; 2],
    /// Weight by restricted group: what its members hold.
    pub members: BTreeMap<String, i64>,
    /// HighIO jobs that read its storage.
    pub high_io: i64,
    /// Jobs elsewhere that read its storage.
    pub overflow: i64,
}

impl Site {
    /// Thousandths that a core of it weighs (F-1).
    pub fn kappa_milli(&self) -> i64 {
        match self.quota.corepower_mhs06 {
            0 => 1_000,
            power => round_half_up(1_000 * power, 10_000),
        }
    }

    /// Slots that all may use: the pledge, and what is for no group alone (C-30).
    pub fn shared_slots(&self) -> i64 {
        let open = self.quota.extra_blocks.iter().filter(|it| it.restricted_group.is_none());
        self.quota.pledged_slots + open.map(|it| it.slots).sum::<i64>()
    }

    /// Slots for central jobs (C-26), those of extra blocks at T2 left out.
    pub fn central_slots(&self) -> i64 {
        let SlotQuota { pledged_slots, central_permille, central_slots, .. } = self.quota;
        match self.tier {
            Tier::T1 => self.shared_slots(),
            Tier::T2 => round_half_up(pledged_slots * central_permille, 1_000),
            Tier::T3 | Tier::Opportunistic | Tier::Cloud => central_slots.unwrap_or(0),
        }
    }

    /// Slots for analysis.
    pub fn analysis_slots(&self) -> i64 {
        self.shared_slots() - self.central_slots()
    }

    /// Most slots a class uses outside of restricted pools: not the blocks of the other (A.13 6).
    pub fn ceiling_slots(&self, class: Class) -> Option<i64> {
        let others = self.quota.extra_blocks.iter();
        let others = others.filter(|it| it.class_only == Some(class.other()));
        let kept: i64 = others.map(|it| it.slots).sum();
        (kept > 0).then(|| self.shared_slots() - kept)
    }

    /// Slots for one group alone (C-30); `None`: it has none there.
    pub fn restricted_slots(&self, group: &str) -> Option<i64> {
        let blocks = self.quota.extra_blocks.iter();
        let own = blocks.filter(|it| it.restricted_group.as_deref() == Some(group));
        own.map(|it| it.slots).reduce(|a, b| a + b)
    }

    /// The group that the block of a label is for alone.
    pub fn group_of_block(&self, label: &str) -> Option<&str> {
        let mut blocks = self.quota.extra_blocks.iter();
        let block = blocks.find(|it| it.label.as_deref() == Some(label))?;
        block.restricted_group.as_deref()
    }

    /// Groups that have slots of their own there.
    pub fn restricted_groups(&self) -> Vec<String> {
        let blocks = self.quota.extra_blocks.iter();
        blocks.filter_map(|it| it.restricted_group.clone()).collect()
    }

    /// Whether it keeps data: central work is whitelisted there.
    pub fn keeps_data(&self) -> bool {
        matches!(self.tier, Tier::T1 | Tier::T2)
    }

    /// Its record with a quota.
    pub fn record(&self, quota: &SlotQuota, now: Millis) -> SiteRecord {
        SiteRecord {
            name: self.name.clone(),
            changed_at: now,
            active: true,
            tier: (self.tier as u32 + 1).min(4),
            slot_quota: Some(quota.clone()),
            ..SiteRecord::default()
        }
    }
}

/// Sites of a seed. Both their number and their sizes go with the root of the scale.
pub fn make(seed: u64, root: f64) -> Vec<Site> {
    let mut dice = Dice::new(seed, "cms sites");
    let mut sites = Vec::new();
    for shape in &SHAPES {
        let count = ((shape.count * root + 0.5) as u32).max(shape.least);
        for number in 0..count {
            let is_last = number + 1 == count;
            sites.push(site(&mut dice, shape, (number, is_last), root));
        }
    }
    sites
}

fn site(dice: &mut Dice, shape: &Shape, (number, is_last): (u32, bool), root: f64) -> Site {
    let country = COUNTRIES[number as usize % COUNTRIES.len()];
    let name = format!("{}_{country}_{:02}", shape.tier.name(), number + 1);
    let region = country.to_lowercase();
    // Nodes have 8 cores at least.
    let cores = ((dice.measured(&shape.cores) * root).max(CORES_MIN) as i64) / 8 * 8;
    let extra_blocks = blocks(shape.tier, number, &region, cores);
    let extra: i64 = extra_blocks.iter().map(|it| it.slots).sum();
    // A fourth of the sites gives more than was agreed (C-29).
    let agreed = if number % 4 == 3 { cores * 9 / 10 } else { cores };
    let pledged_slots = agreed - extra;
    let storage = if matches!(shape.tier, Tier::T1 | Tier::T2) { 1 } else { 0 };
    let percent = if shape.tier == Tier::T1 { 5 } else { 2 };
    let corepower_mhs06 = match (shape.tier, is_last) {
        (Tier::T3, true) => 0,
        _ => dice.between(80, 160) * 100,
    };
    let quota = SlotQuota {
        revision: 1,
        tier: shape.tier.name().to_owned(),
        region: Some(region),
        pledged_slots,
        central_permille: 500,
        central_slots: central_slots(shape.tier, pledged_slots, is_last),
        extra_blocks,
        overflow_slots: storage * (cores * percent / 100).max(6),
        high_io_slots: (HIGH_IO.0 * root).max(HIGH_IO.1) as i64,
        corepower_mhs06,
        ..SlotQuota::default()
    };
    Site {
        name,
        tier: shape.tier,
        quota,
        revision: 1,
        cores,
        nodes: 0..0,
        pilot_life: shape.pilot_life,
        backfills: number % 2 == 1,
        failing_until: 0,
        held: Held::default(),
    }
}

/// Slots that operations set for central jobs; `None` for the last of the clouds (C-26).
fn central_slots(tier: Tier, slots: i64, is_last: bool) -> Option<i64> {
    match tier {
        Tier::T1 | Tier::T2 => None,
        Tier::T3 => Some(slots / 10),
        Tier::Opportunistic => Some(slots * 6 / 10),
        Tier::Cloud => (!is_last).then_some(slots / 2),
    }
}

/// Resources on top of the pledge: each kind of them somewhere (C-25, C-30, C-31, A.13 6).
fn blocks(tier: Tier, number: u32, region: &str, cores: i64) -> Vec<ExtraBlock> {
    let part = |percent: i64| (cores * percent / 100).max(8);
    let block = match (tier, number) {
        (Tier::T1, 0) => ExtraBlock { slots: part(5), ..ExtraBlock::default() },
        (Tier::T2, 0) => ExtraBlock {
            label: Some("local".to_owned()),
            slots: part(25),
            restricted_group: Some(local_group(region)),
            ..ExtraBlock::default()
        },
        (Tier::T2, 1) => ExtraBlock {
            slots: part(25),
            central_slots: Some(0),
            priority_group: Some(physics_group(region)),
            ..ExtraBlock::default()
        },
        (Tier::T2, 2) => {
            let class_only = Some(Class::Analysis);
            ExtraBlock { slots: part(25), class_only, ..ExtraBlock::default() }
        }
        (Tier::T2, 3) => {
            let class_only = Some(Class::Central);
            ExtraBlock { slots: part(25), class_only, ..ExtraBlock::default() }
        }
        (Tier::T2, 4) => {
            let central_slots = Some(part(20) / 4);
            ExtraBlock { slots: part(20), central_slots, ..ExtraBlock::default() }
        }
        _ => return Vec::new(),
    };
    vec![block]
}

/// A ratio of numbers that are not negative to the nearest whole number, a half up.
fn round_half_up(dividend: i64, divisor: i64) -> i64 {
    (2 * dividend + divisor) / (2 * divisor)
}

/// The group that has slots of its own in a region.
pub fn local_group(region: &str) -> String {
    format!("{region}-local")
}

/// The group that goes first on some slots of a region.
pub fn physics_group(region: &str) -> String {
    format!("{region}-physics")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_have_the_sizes_of_cms_and_every_kind_of_block() {
        let all = make(1, 1.0);
        let cores: i64 = all.iter().map(|site| site.cores).sum();
        assert_eq!(all.len(), 74);
        assert!((200_000..320_000).contains(&cores), "{cores}");
        for root in [0.1, 1.0] {
            let sites = make(2, root);
            let blocks = || sites.iter().flat_map(|site| &site.quota.extra_blocks);
            assert!(blocks().any(|it| it.restricted_group.is_some()));
            assert!(blocks().any(|it| it.priority_group.is_some()));
            assert!(blocks().any(|it| it.class_only == Some(Class::Analysis)));
            assert!(blocks().any(|it| it.class_only == Some(Class::Central)));
            for site in &sites {
                assert!(site.quota.pledged_slots > 0 && site.cores >= 96, "{site:?}");
                for block in &site.quota.extra_blocks {
                    let Some(class) = block.class_only else { continue };
                    let left = site.shared_slots() - block.slots;
                    assert_eq!(site.ceiling_slots(class.other()), Some(left), "A.13 6");
                    assert_eq!(site.ceiling_slots(class), None);
                }
                let central = site.central_slots();
                assert!((0..=site.shared_slots()).contains(&central), "{site:?}");
            }
            let missing = |it: &&Site| it.tier == Tier::Cloud && it.quota.central_slots.is_none();
            assert_eq!(sites.iter().filter(missing).count(), 1);
        }
    }
}
