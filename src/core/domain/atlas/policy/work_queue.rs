//! Work queues: a share and resource type, with its jobs and the limits that gdpconfig states for
//! it (spec atlas 10.5).

use crate::policy::rule::Rule;

/// Jobs of a share that count against one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Those of the resource type.
    #[default]
    Type = 0,
    /// Those of all resource types of many cores, or of all others.
    Family = 1,
    /// All of them.
    Share = 2,
}

/// Jobs of a share within some reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Jobs in defined.
    pub defined: u64,
    /// Jobs reserved by decisions and not yet seen: they will be in defined.
    pub reserved: u64,
    /// Jobs in assigned, activated and starting.
    pub queued: u64,
    /// Jobs in running.
    pub running: u64,
}

impl Backlog {
    /// Adds other jobs.
    pub fn add(&mut self, other: &Backlog) {
        self.defined += other.defined;
        self.reserved += other.reserved;
        self.queued += other.queued;
        self.running += other.running;
    }

    /// Jobs in defined, with those reserved.
    pub(super) fn defined(&self) -> f64 {
        (self.defined + self.reserved) as f64
    }

    /// Jobs that wait to run.
    pub(super) fn waiting(&self) -> f64 {
        self.defined() + self.queued as f64
    }
}

/// A limit that gdpconfig states, and the jobs that count against it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobLimit {
    /// Jobs; above 0.
    pub jobs: f64,
    /// Which.
    pub reach: Reach,
}

/// Limits that gdpconfig states for a share and resource type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobLimits {
    /// `NQUEUELIMIT_*`.
    pub queue_limit: Option<JobLimit>,
    /// `NRUNNINGCAP_*`.
    pub running_cap: Option<JobLimit>,
    /// `NQUEUECAP_*`.
    pub queue_cap: Option<JobLimit>,
    /// `THROTTLE_THRESHOLD`.
    pub threshold: Option<f64>,
    /// `THROTTLE_THRESHOLD_FOR_WORK_SHORTAGE`.
    pub shortage_threshold: Option<f64>,
}

/// A share and resource type, for which jobs are made: what JEDI calls a work queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorkQueue {
    /// Jobs of the share, by [`Reach`].
    pub backlogs: [Backlog; 3],
    /// Which of them are its own.
    pub reach: Reach,
    /// Highest priority of its jobs that wait to run; 0 where none waits.
    pub top_priority: i32,
    /// How many jobs of that priority wait to run.
    pub top_jobs: u64,
    /// Limits that gdpconfig states for it.
    pub limits: JobLimits,
    /// Rules by which it is throttled: set before, and not lifted yet.
    pub throttled: Vec<Rule>,
}

impl WorkQueue {
    /// Its own jobs.
    pub(super) fn own(&self) -> &Backlog {
        &self.backlogs[self.reach as usize]
    }
}
