//! The owner of work: a user or working group with its jobs, quotas and classes, and the same at
//! one queue (spec atlas 8.1, 8.5).

use crate::policy::rule::Rule;
use crate::state::ledger::Totals;
use crate::unit::Millis;

/// The one a task is for: its working group if it has one, else its user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owner {
    /// Jobs and cores of it on the whole grid; `None`: not known.
    pub totals: Option<Totals>,
    /// Its own cap on running jobs, and half of the one on queued ones; `None`: the general one.
    pub cap_jobs: Option<u64>,
    /// The same for cores.
    pub cap_cores: Option<u64>,
    /// Cores the user has running, which its tasks are classified by; `None`: not known.
    pub slots: Option<Slots>,
    /// Use of the task's share relative to its target; 1: all of it.
    pub share_usage: Option<f64>,
    /// The same of the share's part of the first level (spec atlas 10.4).
    pub level1_usage: Option<f64>,
    /// Class of the task: 2 S, 1 A, 0 B, -1 C; `None`: not classified (spec atlas 8.1.2).
    pub task_class: Option<i8>,
    /// Slots at hi-sites the user may still use before its tasks leave class A.
    pub remaining_slots: Option<f64>,
    /// The fullest of its global quotas: used over limit.
    pub quota_used: Option<f64>,
    /// Endpoints at which its quota is used up.
    pub full_endpoints: Vec<String>,
    /// Rules by which it is throttled, or the task: set before, and not lifted yet.
    pub throttled: Vec<Rule>,
    /// Jobs of the share queued at all queues.
    pub share_queued: u64,
    /// Jobs of the share running at all queues.
    pub share_running: u64,
    /// How far back jobs of the task that ended count; ms (spec atlas G16).
    pub outcomes_ms: Millis,
}

/// Shares whose tasks have classes (spec atlas 8.1.2).
pub const CLASSED: [&str; 2] = ["User Analysis", "Express Analysis"];

/// Cores of a user's jobs that run in [`CLASSED`] shares, by class of the sites (spec atlas 8.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// At hi-sites.
    pub hi: u64,
    /// At hi- and mid-sites.
    pub hi_mid: u64,
}

/// Jobs of a user, and of all users, at one queue in the task's share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UserView {
    /// Whether the user has any job here, or one reserved; merge jobs do not count.
    pub present: bool,
    /// The user's queued jobs, with those reserved by decisions and not yet seen; without merge
    /// jobs.
    pub queued: u32,
    /// The user's running jobs, without merge jobs.
    pub running: u32,
    /// Running jobs of all users, without merge jobs; `None`: not distinguished from the share's.
    pub all_running: Option<u32>,
    /// Users with any job here; `None`: nothing is known of users here.
    pub users: Option<u32>,
    /// Jobs that start an hour, of all shares (spec atlas 8.5).
    pub starts_per_hour: f64,
    /// Class of the site: 1 hi, 0 mid or not known, -1 lo (spec atlas 8.1.3).
    pub site_class: i8,
    /// Jobs of the task that finished lately (spec atlas G16).
    pub finished: u32,
    /// Jobs of the task that failed lately.
    pub failed: u32,
    /// Jobs of the task that were closed lately.
    pub closed: u32,
}
