//! Sites (C-24..C-26, C-36).

use super::class::{Class, PerClass};

/// The tier of a site, in the order in which their offers are served (C-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Large, for central jobs.
    T1,
    /// Shared half and half by default.
    T2,
    /// Small, for analysis by default.
    T3,
    /// Opportunistic resources.
    Opportunistic,
    /// Rented resources.
    Cloud,
}

impl Tier {
    const NAMES: [(Tier, &'static str); 5] = [
        (Tier::T1, "T1"),
        (Tier::T2, "T2"),
        (Tier::T3, "T3"),
        (Tier::Opportunistic, "OPP"),
        (Tier::Cloud, "CLOUD"),
    ];

    /// The tier of a name.
    pub fn from_name(name: &str) -> Option<Tier> {
        Tier::NAMES.into_iter().find(|(_, known)| *known == name).map(|(tier, _)| tier)
    }
}

/// Whether a site takes jobs (C-36).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteStatus {
    /// It does.
    Online,
    /// No new ones.
    Drain,
    /// None.
    Offline,
    /// Those of workflows that are flagged as site tests.
    Test,
}

impl SiteStatus {
    /// The status of a name.
    pub fn from_name(name: &str) -> Option<SiteStatus> {
        match name {
            "online" => Some(SiteStatus::Online),
            "drain" => Some(SiteStatus::Drain),
            "offline" => Some(SiteStatus::Offline),
            "test" => Some(SiteStatus::Test),
            _ => None,
        }
    }
}

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
}
