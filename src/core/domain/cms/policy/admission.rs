//! Admission: the checks of a job when its first record is read (C-01..C-08).

use super::bounds::{MAX_MB, MAX_SECONDS, MAX_SLOTS};
use super::counters::is_high_io;
use super::effective::{effective_test_jobs, is_test_member};
use super::entry::WorkflowEntry;
use super::facts::{Class, CoresMax, PendingJob, Seconds, Workflow};
use super::pool::Pool;
use super::settings::Settings;
use crate::event::WorkflowFacts;

/// Why a job is rejected (A.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It states another class than its workflow (C-01).
    ClassConflict,
    /// It states no workflow (C-02).
    NoWorkflow,
    /// Its workflow did not come in time (C-02).
    WorkflowUnknown,
    /// Its whitelist is there, and empty (C-03).
    EmptyWhitelist,
    /// It reads heavily from nowhere (C-04).
    HighIoWithoutWhitelist,
    /// Its submitter may not flag system jobs (C-05).
    SystemFlagUnauthorised,
    /// Its cores make no sense (C-07).
    BadCoreRequest,
    /// Its run time or memory makes no sense (C-08).
    BadResourceRequest,
}

impl Rejection {
    /// Its code.
    pub const fn code(self) -> &'static str {
        match self {
            Rejection::ClassConflict => "class_conflict",
            Rejection::NoWorkflow => "no_workflow",
            Rejection::WorkflowUnknown => "workflow_unknown",
            Rejection::EmptyWhitelist => "empty_whitelist",
            Rejection::HighIoWithoutWhitelist => "highio_without_whitelist",
            Rejection::SystemFlagUnauthorised => "system_flag_unauthorised",
            Rejection::BadCoreRequest => "bad_core_request",
            Rejection::BadResourceRequest => "bad_resource_request",
        }
    }
}

/// A job that was accepted: defaults and inheritance applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Class of its workflow.
    pub class: Class,
    /// Whether it may overflow (C-06).
    pub allow_overflow: bool,
    /// Whether it counts as HighIO (C-04).
    pub high_io: bool,
    /// Most cores.
    pub cores_max: CoresMax,
    /// Run time.
    pub max_wall_time_s: Seconds,
    /// Memory, MB.
    pub max_rss_mb: i64,
    /// Whether it is a test job (C-47).
    pub test_member: bool,
    /// Known sites of its whitelist, in its order, if it has one (C-03).
    pub site_whitelist: Option<Vec<String>>,
    /// Unknown sites of its whitelist.
    pub unknown_sites: Vec<String>,
}

/// Result of the admission of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It waits among the others.
    Accept(Admitted),
    /// It waits until then for its workflow's record.
    Hold(Seconds),
    /// It never runs.
    Reject(Rejection),
}

/// Judges a job that was first seen at a moment.
pub fn admit(pool: &Pool, job: &PendingJob, first_seen_s: Seconds, now_s: Seconds) -> Admission {
    let settings = pool.settings();
    if job.workflow.is_empty() {
        return Admission::Reject(Rejection::NoWorkflow);
    }
    let entry = pool.name(&job.workflow).and_then(|name| pool.workflow(name));
    let Some(workflow) = entry.and_then(WorkflowEntry::workflow) else {
        let until_s = first_seen_s.saturating_add(settings.workflow_hold_s);
        return match now_s < until_s {
            true => Admission::Hold(until_s),
            false => Admission::Reject(Rejection::WorkflowUnknown),
        };
    };
    match rejection(pool, job, workflow) {
        Some(why) => Admission::Reject(why),
        None => Admission::Accept(admitted(pool, job, workflow)),
    }
}

fn rejection(pool: &Pool, job: &PendingJob, workflow: Workflow<'_>) -> Option<Rejection> {
    let settings = pool.settings();
    let bare_high_io = job.high_io && job.site_whitelist.is_none();
    if job.class.is_some_and(|class| class != workflow.facts().class) {
        Some(Rejection::ClassConflict)
    } else if job.site_whitelist.as_ref().is_some_and(Vec::is_empty) {
        Some(Rejection::EmptyWhitelist)
    } else if bare_high_io && !settings.ignores_bare_high_io {
        Some(Rejection::HighIoWithoutWhitelist)
    } else if job.system_job && !may_flag_system_jobs(pool, workflow) {
        Some(Rejection::SystemFlagUnauthorised)
    } else if has_bad_cores(pool, job) {
        Some(Rejection::BadCoreRequest)
    } else if is_beyond(job.max_wall_time_s, MAX_SECONDS)
        || is_beyond(job.max_rss_mb, MAX_MB)
        || job.resources.iter().any(|it| !(0..=MAX_MB).contains(&it.amount))
    {
        Some(Rejection::BadResourceRequest)
    } else {
        None
    }
}

/// Whether a number is stated, and makes no sense.
fn is_beyond(stated: Option<i64>, most: i64) -> bool {
    stated.is_some_and(|value| !(1..=most).contains(&value))
}

/// Whether a workflow's user may flag system jobs: by a role, or so many at once.
fn may_flag_system_jobs(pool: &Pool, workflow: Workflow<'_>) -> bool {
    let user = pool.name(&workflow.record.user);
    pool.settings().system_cap_user > 0 || user.is_some_and(|it| pool.may_flag_system_jobs(it))
}

fn has_bad_cores(pool: &Pool, job: &PendingJob) -> bool {
    let most = job.most_cores();
    let is_above_nodes = match (job.whole_node, most) {
        (true, CoresMax::Cores(cores)) => {
            cores == job.cores_min && pool.nodes().next().is_some() && cores > pool.largest_node()
        }
        (true, CoresMax::Node) | (false, _) => false,
    };
    let is_bad = |cores: i64| !(1..=MAX_SLOTS).contains(&cores);
    let has_bad_most = match most {
        CoresMax::Cores(cores) => is_bad(cores) || cores < job.cores_min,
        CoresMax::Node => false,
    };
    is_bad(job.cores_min) || is_bad(job.base()) || has_bad_most || is_above_nodes
}

fn admitted(pool: &Pool, job: &PendingJob, workflow: Workflow<'_>) -> Admitted {
    let (settings, facts) = (pool.settings(), workflow.facts());
    let is_known = |site: &str| pool.name(site).is_some_and(|name| pool.site(name).is_some());
    let (known, unknown_sites): (Vec<String>, Vec<String>) =
        job.site_whitelist.iter().flatten().cloned().partition(|site| is_known(site));
    let high_io = is_high_io(job, settings);
    let is_off = job.system_job && !settings.system_overflow;
    let flag = job.allow_overflow.unwrap_or(facts.allow_overflow);
    let wall = job.max_wall_time_s.unwrap_or(settings.default_wall_time_s);
    let rss = job.max_rss_mb.unwrap_or_else(|| settings.default_rss_mb(job.base()));
    Admitted {
        class: facts.class,
        allow_overflow: flag && !is_off && job.site_whitelist.is_some(),
        high_io,
        cores_max: job.most_cores(),
        max_wall_time_s: wall,
        max_rss_mb: rss,
        test_member: is_test_member(job.seq, effective_test_jobs(facts, settings)),
        site_whitelist: job.site_whitelist.is_some().then_some(known),
        unknown_sites,
    }
}

/// The most sites a workflow overflows to; `None`: no limit (C-40).
pub fn max_overflow_sites(facts: &WorkflowFacts, settings: &Settings) -> Option<i64> {
    match facts.max_overflow_sites {
        Some(most) => Some(most).filter(|most| *most >= 0),
        None => settings.max_overflow_sites.of(facts.class),
    }
}
