//! Jobs: waiting, holding a slot.

use super::class::{Class, MilliWeight, Seconds};
pub use crate::event::{Band, FailureClass};
use crate::event::{NeededLabel, Resource};
use std::sync::Arc;

/// The most cores a job uses (C-52..C-54).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoresMax {
    /// So many.
    Cores(i64),
    /// All that a node has left.
    Node,
}

/// A job as it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingJob {
    /// Name.
    pub job: Arc<str>,
    /// Its workflow; empty: none was stated.
    pub workflow: String,
    /// Place in the workflow, from 1.
    pub seq: i64,
    /// First submission; retries keep it (C-61).
    pub queued_at_s: Seconds,
    /// The class it states itself, if it does (C-01).
    pub class: Option<Class>,
    /// Sites with its input; absent: it may run anywhere (C-03).
    pub site_whitelist: Option<Vec<String>>,
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
    /// Most cores; absent: as `cores_min`.
    pub cores_max: Option<CoresMax>,
    /// Cores at which run time and memory are stated; absent: `cores_min`.
    pub base_cores: Option<i64>,
    /// Run time, if stated.
    pub max_wall_time_s: Option<Seconds>,
    /// Memory of the whole job, MB, if stated.
    pub max_rss_mb: Option<i64>,
    /// Order among one user's own jobs (C-21).
    pub user_priority: i64,
    /// Number of the attempt.
    pub attempt: i64,
    /// How the attempt before failed.
    pub last_failure: Option<FailureClass>,
    /// Its exit code, which says so where that is not stated.
    pub last_exit_code: Option<i64>,
    /// Amounts of named resources that it takes.
    pub resources: Vec<Resource<String>>,
    /// Labels that its slot must have.
    pub labels: Vec<NeededLabel<String>>,
    /// Announcements of offers where a match of it was not carried out.
    pub barred: Vec<(String, u32)>,
    /// Since when it fits nowhere it may run, if not since it was queued (C-55).
    pub not_fitted_since_s: Option<Seconds>,
}

impl PendingJob {
    /// A job with every default (A.2).
    pub fn new(job: &str, workflow: &str, seq: i64, queued_at_s: Seconds) -> PendingJob {
        PendingJob {
            job: job.into(),
            workflow: workflow.to_owned(),
            seq,
            queued_at_s,
            class: None,
            site_whitelist: None,
            allow_overflow: None,
            high_io: false,
            system_job: false,
            whole_node: false,
            cores_min: 1,
            cores_max: None,
            base_cores: None,
            max_wall_time_s: None,
            max_rss_mb: None,
            user_priority: 0,
            attempt: 0,
            last_failure: None,
            last_exit_code: None,
            resources: Vec::new(),
            labels: Vec::new(),
            barred: Vec::new(),
            not_fitted_since_s: None,
        }
    }

    /// Most cores.
    pub fn most_cores(&self) -> CoresMax {
        self.cores_max.unwrap_or(CoresMax::Cores(self.cores_min))
    }

    /// Cores at which run time and memory are stated (A.13 2).
    pub fn base(&self) -> i64 {
        self.base_cores.unwrap_or(self.cores_min)
    }
}

/// A job that runs, or that a decision reserved a slot for. Its class, user and weight are those of
/// the decision; later changes do not reach it (C-24).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldJob {
    /// The job as it waited.
    pub job: PendingJob,
    /// Class it is booked to.
    pub class: Class,
    /// User it is booked to.
    pub user: String,
    /// Site.
    pub run_site: String,
    /// Cores given to it.
    pub cores: i64,
    /// Memory given to it, MB.
    pub rss_mb: i64,
    /// Weight: cores by power (F-1, C-33).
    pub weight_milli: MilliWeight,
    /// The band it was chosen in.
    pub band: Band,
    /// The site whose storage serves it, where it overflows (C-39).
    pub overflow_source: Option<String>,
    /// The restricted pool it was charged to (CD-10).
    pub charged_group: Option<String>,
    /// Node, if known.
    pub node: Option<String>,
    /// When a slot was reserved, while it was not seen running (C-58).
    pub reserved_at_s: Option<Seconds>,
    /// From when its use counts in its user's decayed usage (F-3): the start.
    pub counts_from_s: Seconds,
    /// When it started, if known.
    pub started_at_s: Option<Seconds>,
    /// When it is expected to end, if known (F-7).
    pub expected_end_s: Option<Seconds>,
}
