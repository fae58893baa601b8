//! `queue`: a queue or pseudo-queue as configured.

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::domain::nordugrid::event::BatchFacts;
use crate::record::{record, symbols};
use crate::unit::{Cores, Millis};

/// Status of a queue. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum QueueStatus {
    /// Takes jobs.
    #[default]
    Online = 0,
    /// Takes no new jobs from brokerage.
    Brokeroff = 1,
    /// Takes test jobs only.
    Test = 2,
    /// Takes nothing.
    Offline = 3,
    /// Takes jobs when others are short (code: as online; documented: not).
    Standby = 4,
    /// Frozen: no timeout rule applies.
    Paused = 5,
}

impl QueueStatus {
    /// Every status, in order of their numbers.
    pub const ALL: [QueueStatus; 6] = [
        QueueStatus::Online,
        QueueStatus::Brokeroff,
        QueueStatus::Test,
        QueueStatus::Offline,
        QueueStatus::Standby,
        QueueStatus::Paused,
    ];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            QueueStatus::Online => "online",
            QueueStatus::Brokeroff => "brokeroff",
            QueueStatus::Test => "test",
            QueueStatus::Offline => "offline",
            QueueStatus::Standby => "standby",
            QueueStatus::Paused => "paused",
        }
    }
}

/// Storage endpoints of a queue, in order of preference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoints {
    /// Read over the LAN; the first is the default.
    pub read: Vec<String>,
    /// Written over the LAN; the first is the default.
    pub write: Vec<String>,
}

/// A queue or pseudo-queue, as configured (spec atlas 0.3, 12.1). A unified queue is published as
/// one record per resource type, named `<queue>/<resource type>`, with `unified` the parent's name.
/// 0 means "not set" in every limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    /// Name: the candidate's name in decisions.
    pub name: String,
    /// Name under which its jobs and pilots are counted; its own name but for pseudo-queues.
    pub unified: String,
    /// Resource type of a pseudo-queue; empty otherwise.
    pub resource_type: String,
    /// When this was last changed.
    pub changed_at: Millis,
    /// Status.
    pub status: QueueStatus,
    /// Whether production jobs may run here (type production or unified, or grandly_unified).
    pub production: bool,
    /// Whether analysis jobs may run here.
    pub analysis: bool,
    /// Cloud; of several, with commas between, the first counts.
    pub cloud: String,
    /// Site it belongs to.
    pub site: String,
    /// Site of its default write endpoint: the source in network matrix keys.
    pub storage_site: String,
    /// Cores of one job slot.
    pub cores: Cores,
    /// Cores of a slot of the unified queue, to which scratch space belongs; 0: as `cores`.
    pub unified_cores: Cores,
    /// Core power; milli-HS06 per core.
    pub core_power_mhs06: u32,
    /// Most memory of a job; MB.
    pub max_rss_mb: u32,
    /// Least memory of a job; MB.
    pub min_rss_mb: u32,
    /// Longest walltime; s.
    pub max_time_s: u32,
    /// Shortest walltime; s.
    pub min_time_s: u32,
    /// Scratch space of a slot; MB.
    pub max_wdir_mb: u32,
    /// Most input of a job; MB. -1: input is always read directly.
    pub max_input_mb: i32,
    /// Disk I/O limit; kB/s per core.
    pub max_disk_io_kbps: u32,
    /// Limit on transferring jobs; jobs.
    pub transferring_limit: u32,
    /// Pledged cores; -1: opportunistic.
    pub pledged_cpu: i32,
    /// Zero-share policy.
    pub fairshare_policy: String,
    /// Workflow (pull_ups, push ...).
    pub workflow: String,
    /// Unified queue (capability ucore).
    pub ucore: bool,
    /// Network of its worker nodes, `net#ip`; empty when not known.
    pub wn_connectivity: String,
    /// Input may be read directly over the LAN.
    pub direct_access_lan: bool,
    /// Input may be read directly over the WAN.
    pub direct_access_wan: bool,
    /// Software: ["AUTO"], ["ANY"], or names.
    pub releases: Vec<String>,
    /// Event service mode (std, es, eshigh, all).
    pub jobseed: String,
    /// Free-form flags, comma separated key[=value].
    pub catchall: String,
    /// Storage endpoints of scope default.
    pub endpoints: Endpoints,
    /// Storage endpoints of scope analysis; empty where the queue has no such scope.
    pub analysis_endpoints: Endpoints,
    /// Kind of resource that it is on (GRID, hpc, cloud ...); empty when not known.
    pub facility: String,
    /// The figures that a queue of a NorduGrid cluster publishes; `None`: it is none. Its name is
    /// `cluster/queue`.
    pub batch: Option<BatchFacts>,
    /// Free space at its storage, as PanDA's table of queues states it; GB (spec panda-generic F3).
    pub space_gb: u32,
    /// Faults of its configuration at which PanDA's generic broker fails: see
    /// [`Queue::NULL_MAXTIME`] and those beside it.
    pub faults: Vec<String>,
}

/// Ordinary resources of the grid, which others are measured by (spec atlas 8.1.3).
const GRID: &str = "GRID";

impl Queue {
    /// Fault: its longest time is null, or no number.
    pub const NULL_MAXTIME: &'static str = "maxtime";
    /// Fault: its nickname is not its name, or missing: PanDA finds no configuration of it.
    pub const OTHER_NICKNAME: &'static str = "nickname";
    /// Fault: its list of processing types is no text.
    pub const PROCESSING_LIST: &'static str = "processing";

    /// The cloud that it is of; empty: none.
    pub fn first_cloud(&self) -> &str {
        self.cloud.split(',').next().unwrap_or("").trim()
    }

    /// Whether PanDA's map of queues has it: one for production that is of no cloud is left out.
    pub fn is_mapped(&self) -> bool {
        !self.production || !self.first_cloud().is_empty()
    }

    /// Whether its configuration has a fault.
    pub fn has_fault(&self, fault: &str) -> bool {
        self.faults.iter().any(|it| it == fault)
    }

    /// Whether it is on an ordinary resource of the grid; so it is where nothing else is stated.
    pub fn is_grid(&self) -> bool {
        self.facility.is_empty() || self.facility == GRID
    }

    /// The value of a free-form flag; empty for a flag without one, `None` when it is not set.
    pub fn flag(&self, name: &str) -> Option<&str> {
        // Most queues do not have it, and are asked at each judgement.
        if !self.catchall.contains(name) {
            return None;
        }
        self.catchall.split(',').map(str::trim).find_map(|flag| match flag.split_once('=') {
            Some((key, value)) => (key.trim() == name).then(|| value.trim()),
            None => (flag == name).then_some(""),
        })
    }
}

/// For which kind of work a queue's endpoints are (spec atlas 0.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Any work.
    #[default]
    Default,
    /// Analysis, where the queue has endpoints for it.
    Analysis,
}

impl Queue {
    /// The endpoints it reads in a scope, the default first.
    pub fn reads(&self, scope: Scope) -> &[String] {
        match scope {
            Scope::Analysis if !self.analysis_endpoints.read.is_empty() => {
                &self.analysis_endpoints.read
            }
            Scope::Default | Scope::Analysis => &self.endpoints.read,
        }
    }

    /// The endpoints it writes in a scope, the default first.
    pub fn writes(&self, scope: Scope) -> &[String] {
        match scope {
            Scope::Analysis if !self.analysis_endpoints.write.is_empty() => {
                &self.analysis_endpoints.write
            }
            Scope::Default | Scope::Analysis => &self.endpoints.write,
        }
    }
}

symbols!(QueueStatus);
record!(Endpoints { read, write });
record!(Queue {
    name,
    unified,
    resource_type,
    changed_at,
    status,
    production,
    analysis,
    cloud,
    site,
    storage_site,
    cores,
    core_power_mhs06,
    max_rss_mb,
    min_rss_mb,
    max_time_s,
    min_time_s,
    max_wdir_mb,
    max_input_mb,
    max_disk_io_kbps,
    transferring_limit,
    pledged_cpu,
    fairshare_policy,
    workflow,
    ucore,
    wn_connectivity,
    direct_access_lan,
    direct_access_wan,
    releases,
    jobseed,
    catchall,
    endpoints,
    analysis_endpoints,
    unified_cores,
    facility,
    batch,
    space_gb,
    faults,
});

impl Configured for Queue {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Queue {
        Queue { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        let both = [&self.endpoints, &self.analysis_endpoints];
        let endpoints = both.into_iter().flat_map(|it| it.read.iter().chain(&it.write));
        longest!(self: name, unified, resource_type, cloud, site, storage_site, workflow)
            .or_in("endpoints", endpoints.map(String::as_str))
    }

    fn touches(&self) -> Touches {
        Touches::Queues
    }

    fn removed(_: &str) -> Touches {
        Touches::Queues
    }
}
