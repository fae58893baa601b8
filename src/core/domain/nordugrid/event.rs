//! Records of a NorduGrid grid: clusters, their queues, what is free for each user, and what is
//! registered at index servers (spec cms-nordugrid B.11).

use crate::event::configured::{Configured, Touches};
use crate::event::field_name::{FieldName, longest};
use crate::record::{record, symbols};
use crate::unit::{Bytes, Millis};

/// A cluster as it publishes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// Whether it answered within the time limit when it was last asked (N-06).
    pub answered: bool,
    /// Second name; empty: none.
    pub alias: String,
    /// CPUs of the cluster.
    pub total_slots: Option<u64>,
    /// Memory of a node; MB.
    pub node_memory_mb: Option<u64>,
    /// Clock of a node; MHz.
    pub clock_mhz: Option<u64>,
    /// Processor architecture; empty: not published.
    pub architecture: String,
    /// Middleware, each `name[-version]`; empty: not published.
    pub middleware: Vec<String>,
    /// Runtime environments, each `name[-version]`; empty: not published.
    pub runtime_environments: Vec<String>,
    /// Operating systems, each `name[-version]`; empty: not published.
    pub operating_systems: Vec<String>,
    /// Whether nodes are reached from outside.
    pub inbound: bool,
    /// Whether nodes reach the outside.
    pub outbound: bool,
    /// Storage elements that it lists as local (`localse`).
    pub local_storage: Vec<String>,
    /// Free space of its cache; `None`: it has no cache, or nothing is known of it.
    pub cache_free_bytes: Option<Bytes>,
    /// Where jobs are handed over; empty: not published.
    pub submission_url: String,
}

/// A queue of a cluster as it publishes itself (GLUE2 `ComputingShare`), as of `changed_at`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchFacts {
    /// Status as published; empty: not published.
    pub status: String,
    /// CPUs of the queue.
    pub total_slots: Option<u64>,
    /// Most CPUs of one job.
    pub max_slots_per_job: Option<u64>,
    /// Most queued jobs; `None`: no limit is known.
    pub max_queuable_jobs: Option<u64>,
    /// Jobs of the grid that are queued.
    pub grid_queued_jobs: u64,
    /// Jobs that were queued locally.
    pub local_queued_jobs: u64,
    /// Least CPU time of a slot; s.
    pub min_cpu_time_s: Option<u64>,
    /// Most CPU time of a slot; s.
    pub max_cpu_time_s: Option<u64>,
    /// Most CPU time of a whole job; s.
    pub max_total_cpu_time_s: Option<u64>,
    /// CPU time of a job that states none; s.
    pub default_cpu_time_s: Option<u64>,
    /// Wall time of a job that states none; s.
    pub default_wall_time_s: Option<u64>,
    /// Least wall time; s.
    pub min_wall_time_s: Option<u64>,
    /// Most wall time; s.
    pub max_wall_time_s: Option<u64>,
    /// Most memory of a slot; MB.
    pub max_memory_mb: Option<u64>,
}

/// Kind of what is registered at an index server. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ChildKind {
    /// Not stated: it is passed over (N-04).
    #[default]
    Unknown = 0,
    /// Another index server.
    Registry = 1,
    /// A cluster.
    Computing = 2,
    /// A storage element: no place for jobs.
    Storage = 3,
}

impl ChildKind {
    /// Every kind, in order of their numbers.
    pub const ALL: [ChildKind; 4] =
        [ChildKind::Unknown, ChildKind::Registry, ChildKind::Computing, ChildKind::Storage];
}

/// Status of a registration. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RegistrationStatus {
    /// It is used.
    #[default]
    Valid = 0,
    /// It is used all the same.
    Invalid = 1,
    /// It is passed over.
    Purged = 2,
}

impl RegistrationStatus {
    /// Every status, in order of their numbers.
    pub const ALL: [RegistrationStatus; 3] =
        [RegistrationStatus::Valid, RegistrationStatus::Invalid, RegistrationStatus::Purged];
}

/// A registration at an index server (N-04).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// Index server.
    pub registry: String,
    /// The thing that is registered.
    pub child: String,
    /// When it was last refreshed.
    pub changed_at: Millis,
    /// Kind of the child.
    pub kind: ChildKind,
    /// Status.
    pub status: RegistrationStatus,
    /// Whether host, port and suffix are stated; one without is passed over.
    pub addressed: bool,
    /// Whether it lapses when it is not refreshed.
    pub expires: bool,
    /// How long it holds after a refresh; s. `None`: twice `announced_refresh_s`, at least the
    /// parameter `registration_min_ttl_s`.
    pub ttl_s: Option<u64>,
    /// How often it is refreshed; s; 0: not stated.
    pub announced_refresh_s: u64,
}

/// The figures that a queue publishes for one user, for the members of a virtual organisation
/// (`vo:NAME`), or for all (`*`). A user with none of these may not submit there (N-11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserShare {
    /// Queue, as `cluster/queue`.
    pub queue: String,
    /// User, `vo:NAME` or `*`.
    pub user: String,
    /// As of when it is.
    pub changed_at: Millis,
    /// Whether the user may submit there.
    pub authorised: bool,
    /// CPUs that are free for the user, as published: `n[:minutes]`, separated by blanks (N-07).
    pub free_slots: String,
    /// Disk that is free for the user; `None`: not known.
    pub disk_free_bytes: Option<Bytes>,
}

symbols!(ChildKind, RegistrationStatus);
record!(ClusterFacts {
    answered,
    alias,
    total_slots,
    node_memory_mb,
    clock_mhz,
    architecture,
    middleware,
    runtime_environments,
    operating_systems,
    inbound,
    outbound,
    local_storage,
    cache_free_bytes,
    submission_url,
});
record!(BatchFacts {
    status,
    total_slots,
    max_slots_per_job,
    max_queuable_jobs,
    grid_queued_jobs,
    local_queued_jobs,
    min_cpu_time_s,
    max_cpu_time_s,
    max_total_cpu_time_s,
    default_cpu_time_s,
    default_wall_time_s,
    min_wall_time_s,
    max_wall_time_s,
    max_memory_mb,
});
record!(Registration {
    registry,
    child,
    changed_at,
    kind,
    status,
    addressed,
    expires,
    ttl_s,
    announced_refresh_s,
});
record!(UserShare { queue, user, changed_at, authorised, free_slots, disk_free_bytes });

impl Configured for Registration {
    const IS_KEY_A_FIELD: bool = false;

    fn name(&self) -> String {
        format!("{} {}", self.registry, self.child)
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Registration {
        Registration { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        longest!(self: registry, child)
    }

    fn touches(&self) -> Touches {
        Touches::Targets
    }

    fn removed(_: &str) -> Touches {
        Touches::Targets
    }
}

impl Configured for UserShare {
    const IS_KEY_A_FIELD: bool = false;

    fn name(&self) -> String {
        format!("{} {}", self.queue, self.user)
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> UserShare {
        UserShare { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        longest!(self: queue, user)
    }

    fn touches(&self) -> Touches {
        Touches::Targets
    }

    fn removed(_: &str) -> Touches {
        Touches::Targets
    }
}
