//! Records of a pool of slots (spec cms-nordugrid A.2): its workflows, what waiting jobs
//! want, free places that pilots offer.

use crate::record::{Attempt, record, symbols};
use crate::unit::Millis;

macro_rules! words {
    ($(#[doc = $doc:literal] $name:ident {
        $($(#[$mark:ident])? $variant:ident = $number:literal $text:literal $help:literal,)*
    })*) => {
        $(
            #[doc = $doc]
            ///
            /// The numbers are persisted.
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[repr(u8)]
            pub enum $name { $($(#[$mark])? #[doc = $help] $variant = $number,)* }

            impl $name {
                /// All of them, in order of their numbers.
                pub const ALL: [$name; [$($text),*].len()] = [$($name::$variant,)*];

                /// Its name in records.
                pub const fn name(self) -> &'static str {
                    match self { $($name::$variant => $text,)* }
                }

                /// That of a name.
                pub fn from_name(name: &str) -> Option<$name> {
                    $name::ALL.into_iter().find(|it| it.name() == name)
                }
            }

            symbols!($name);
        )*
    };
}

words! {
    /// The class of a workflow and of its jobs (C-01), in the order of a tie (C-27).
    Class {
        #[default]
        Central = 0 "central" "Run by operations; one accounting principal.",
        Analysis = 1 "analysis" "Of many principals.",
    }

    /// How an attempt of a job failed (C-42, C-49).
    FailureClass {
        #[default]
        Payload = 0 "payload" "By its own program.",
        Site = 1 "site" "By the site.",
        Infrastructure = 2 "infrastructure" "By the infrastructure.",
        RemoteOpen = 3 "remote_open" "Opening remote data.",
    }

    /// The tier of a site, in the order in which its offers are served (C-17).
    Tier {
        #[default]
        T1 = 0 "T1" "Large, for central jobs.",
        T2 = 1 "T2" "Shared half and half by default.",
        T3 = 2 "T3" "Small, for analysis by default.",
        Opportunistic = 3 "OPP" "Opportunistic resources.",
        Cloud = 4 "CLOUD" "Rented resources.",
    }

    /// Whether a site takes jobs (C-36).
    SiteStatus {
        #[default]
        Online = 0 "online" "It does.",
        Drain = 1 "drain" "No new ones.",
        Offline = 2 "offline" "None.",
        Test = 3 "test" "Those of workflows that are flagged as site tests.",
    }

    /// The order in which jobs are judged: what a job was chosen as (C-11).
    Band {
        System = 0 "system" "System jobs.",
        Test = 1 "test" "Test jobs.",
        #[default]
        Normal = 2 "normal" "All others.",
    }

    /// Which kind of principal a grant is for (C-19).
    PrincipalKind {
        #[default]
        User = 0 "user" "A user.",
        Group = 1 "group" "The members of a group.",
    }

    /// Where a grant holds (C-19).
    GrantScopeKind {
        #[default]
        Global = 0 "global" "Everywhere.",
        Region = 1 "region" "At the sites of a region.",
        Site = 2 "site" "At a site.",
    }
}

impl Class {
    /// The other one.
    pub const fn other(self) -> Class {
        match self {
            Class::Central => Class::Analysis,
            Class::Analysis => Class::Central,
        }
    }
}

impl Band {
    /// Its number: 0, 1 or 2.
    pub const fn number(self) -> i64 {
        self as i64
    }
}

/// A workflow as `task` carries it (A.2). Its name, user and working group are the task's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowFacts {
    /// Its class.
    pub class: Class,
    /// Priority, 0 to 1 000 000 (C-13).
    pub priority: i64,
    /// The priority of the highest revision is in force (C-14).
    pub priority_revision: i64,
    /// Whether that priority ends a boost of the tail (C-16).
    pub override_tail: bool,
    /// Number of its jobs; `None`: not known (C-16).
    pub total_jobs: Option<i64>,
    /// Whether its jobs may overflow (C-06).
    pub allow_overflow: bool,
    /// The only sites it may overflow to; `None`: any (C-40).
    pub overflow_sites: Option<Vec<String>>,
    /// Most sites it overflows to, -1: no limit; `None`: as its class has it (C-40).
    pub max_overflow_sites: Option<i64>,
    /// Number of its test jobs; `None`: as its class has it (C-47).
    pub test_jobs: Option<i64>,
    /// Thousandths of its jobs that are done when its tail begins; `None`: as the policy has it
    /// (C-16).
    pub tail_permille: Option<i64>,
    /// Whether it tests sites (C-36).
    pub site_test: bool,
}

/// An amount of something that has a name of its own: `gpus`, `disk_mb`, `io_slots`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource<Text> {
    /// Its name, with the unit where there is one.
    pub name: Text,
    /// How much of it.
    pub amount: i64,
}

/// A property of a slot that is no amount: an operating system, an architecture, the kind of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label<Text> {
    /// Its name.
    pub name: Text,
    /// Its values; a slot may have several.
    pub values: Vec<Text>,
}

/// A label that a job needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededLabel<Text> {
    /// Its name.
    pub name: Text,
    /// The values of which the slot must have one; none: any value.
    pub any_of: Vec<Text>,
    /// The version that one of the slot's values must reach; `None`: any.
    pub at_least: Option<Text>,
}

/// The wishes of a job of a pool (A.2); `Text` is borrowed in a report, and owned where it is kept.
/// The job's workflow is its task, its site its queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements<Text> {
    /// Place in the workflow, from 1; `None`: not known, the first that are seen come first (C-47).
    pub seq: Option<i64>,
    /// The class it states itself, if it does (C-01).
    pub class: Option<Class>,
    /// Sites with its input, comma separated; `None`: it may run anywhere (C-03).
    pub site_whitelist: Option<Text>,
    /// Whether it may overflow; `None`: as its workflow (C-06).
    pub allow_overflow: Option<bool>,
    /// Whether it reads heavily (C-44).
    pub high_io: bool,
    /// Whether it frees resources when done (C-05).
    pub system_job: bool,
    /// Whether it takes a node alone (C-54).
    pub whole_node: bool,
    /// Fewest cores.
    pub cores_min: i64,
    /// Most cores; `None`: as `cores_min`.
    pub cores_max: Option<i64>,
    /// Whether it uses all cores that a node has left, instead of `cores_max` (C-53).
    pub all_cores: bool,
    /// Cores at which run time and memory are stated; `None`: `cores_min`.
    pub base_cores: Option<i64>,
    /// Longest run time, s; `None`: the policy's default (C-08).
    pub max_wall_time_s: Option<i64>,
    /// Most memory of the whole job, MB; `None`: the policy's default (C-08).
    pub max_rss_mb: Option<i64>,
    /// Order among one user's own jobs (C-21).
    pub user_priority: i64,
    /// How the attempt before failed, if one did (C-42).
    pub last_failure: Option<FailureClass>,
    /// How this attempt failed; `None`: not stated.
    pub failure: Option<FailureClass>,
    /// Whether no other attempt follows if this one fails (C-16).
    pub last_attempt: bool,
    /// Largest memory of this attempt as measured, MB; 0: not known (C-50).
    pub used_rss_mb: i64,
    /// Amounts of named resources that it takes.
    pub resources: Vec<Resource<Text>>,
    /// Labels that its slot must have.
    pub labels: Vec<NeededLabel<Text>>,
    /// The exit code of this attempt, which stands for `failure` where that is not stated.
    pub exit_code: Option<i64>,
}

/// Requirements that own their text.
pub type OwnRequirements = Requirements<String>;

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn own_resources(resources: &[Resource<&str>]) -> Vec<Resource<String>> {
    let own = |it: &Resource<&str>| Resource { name: it.name.to_owned(), amount: it.amount };
    resources.iter().map(own).collect()
}

impl Requirements<&str> {
    /// The same with its own text.
    pub fn to_own(&self) -> OwnRequirements {
        Requirements {
            seq: self.seq,
            class: self.class,
            site_whitelist: self.site_whitelist.map(str::to_owned),
            allow_overflow: self.allow_overflow,
            high_io: self.high_io,
            system_job: self.system_job,
            whole_node: self.whole_node,
            cores_min: self.cores_min,
            cores_max: self.cores_max,
            all_cores: self.all_cores,
            base_cores: self.base_cores,
            max_wall_time_s: self.max_wall_time_s,
            max_rss_mb: self.max_rss_mb,
            user_priority: self.user_priority,
            last_failure: self.last_failure,
            failure: self.failure,
            last_attempt: self.last_attempt,
            used_rss_mb: self.used_rss_mb,
            resources: own_resources(&self.resources),
            labels: self.labels.iter().map(NeededLabel::to_own).collect(),
            exit_code: self.exit_code,
        }
    }
}

impl NeededLabel<&str> {
    fn to_own(&self) -> NeededLabel<String> {
        NeededLabel {
            name: self.name.to_owned(),
            any_of: own(&self.any_of),
            at_least: self.at_least.map(str::to_owned),
        }
    }
}

impl<Text: AsRef<str>> Requirements<Text> {
    /// The sites of its whitelist; `None`: it has none.
    pub fn whitelist(&self) -> Option<Vec<String>> {
        let sites = listed_sites(self.site_whitelist.as_ref()?.as_ref());
        Some(sites.map(str::to_owned).collect())
    }
}

/// The sites of a whitelist. An empty text is an empty list.
pub fn listed_sites(whitelist: &str) -> impl Iterator<Item = &str> {
    whitelist.split(',').map(str::trim).filter(|site| !site.is_empty())
}

/// A free place that a pilot announced (A.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotOffer<Text> {
    /// Name.
    pub offer: Text,
    /// Which announcement of this offer it is, from 0: a pilot that announces it again raises it.
    pub attempt: u32,
    /// Free cores.
    pub cores_free: i64,
    /// Cores in all.
    pub cores_total: i64,
    /// Time left, s.
    pub wall_left_s: i64,
    /// Free memory, MB.
    pub mem_free_mb: i64,
    /// Label of the extra block it belongs to; empty: none.
    pub block: Text,
    /// Its node; empty: not known.
    pub node: Text,
    /// Benchmark per core in thousandths of HS06; `None`: the site's.
    pub corepower_mhs06: Option<i64>,
    /// When it is gone; 0: as the limits have it.
    pub expires_at: Millis,
    /// Amounts of named resources that are free; of one that is not named there is none.
    pub resources: Vec<Resource<Text>>,
    /// Its labels.
    pub labels: Vec<Label<Text>>,
}

/// A slot offer that owns its text.
pub type OwnSlotOffer = SlotOffer<String>;

impl SlotOffer<&str> {
    /// The same with its own text.
    pub fn to_own(&self) -> OwnSlotOffer {
        SlotOffer {
            offer: self.offer.to_owned(),
            attempt: self.attempt,
            cores_free: self.cores_free,
            cores_total: self.cores_total,
            wall_left_s: self.wall_left_s,
            mem_free_mb: self.mem_free_mb,
            block: self.block.to_owned(),
            node: self.node.to_owned(),
            corepower_mhs06: self.corepower_mhs06,
            expires_at: self.expires_at,
            resources: own_resources(&self.resources),
            labels: self.labels.iter().map(Label::to_own).collect(),
        }
    }
}

impl Label<&str> {
    fn to_own(&self) -> Label<String> {
        Label { name: self.name.to_owned(), values: own(&self.values) }
    }
}

record!(Resource<Text> { name, amount });
record!(Label<Text> { name, values });
record!(NeededLabel<Text> { name, any_of, at_least });
record!(WorkflowFacts {
    class,
    priority,
    priority_revision,
    override_tail,
    total_jobs,
    allow_overflow,
    overflow_sites,
    max_overflow_sites,
    test_jobs,
    tail_permille,
    site_test,
});
record!(Requirements<Text> {
    seq,
    class,
    site_whitelist,
    allow_overflow,
    high_io,
    system_job,
    whole_node,
    cores_min,
    cores_max,
    all_cores,
    base_cores,
    max_wall_time_s,
    max_rss_mb,
    user_priority,
    last_failure,
    failure,
    last_attempt,
    used_rss_mb,
    resources,
    labels,
    exit_code,
});
record!(SlotOffer<Text> {
    offer,
    attempt as Attempt,
    cores_free,
    cores_total,
    wall_left_s,
    mem_free_mb,
    block,
    node,
    corepower_mhs06,
    expires_at,
    resources,
    labels,
});
