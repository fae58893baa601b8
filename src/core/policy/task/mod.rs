//! ATLAS production tasks: which nucleus a task's output is gathered at (spec atlas 1, 7).
//!
//! Here nuclei are judged, not queues. Filters and weights are declared as those of queues are, so
//! that topology files, explanations and metrics show them alike; a filter sees all nuclei that are
//! left, since what it says of one may hang on the others.

mod chain;
mod choice;
mod input;
mod locality;
mod place;
mod space;
mod token;
mod weight;

#[cfg(test)]
mod tests;

pub use choice::{Choice, Passed};
pub use input::{Held, Total, groups, is_whole, total};
pub use token::{endpoint, is_distributed};

use super::flavour::{Flavour, Select};
use super::param::{Args, Param};
use super::{Bare, Case, Objection, PolicySpec, Preassigned, Stores, Verdict};
use crate::core::dice::Dice;
use crate::core::event::{Queue, Storage, Task};
use crate::core::unit::{MINUTE, Millis};

/// Brokerage of ATLAS production tasks.
pub(super) static PRODUCTION_TASK: Flavour = Flavour {
    name: "atlas-production-task",
    spec: "atlas 1, 7",
    help: "the nucleus of an ATLAS production task",
    params: &[
        Param::flag("remote_source", false, true).help(
            "whether a task waits until every input has a whole copy that can be read from afar \
             (spec atlas N1)",
        ),
        Param::flag("wait_for_parent", false, true)
            .help("whether a part of a full chain waits while nothing is known of its parent task"),
        Param::word("all_zero", &["uniform", "first"], "uniform", "first")
            .help("which nucleus is drawn when all weights are 0"),
    ],
    filters: &[
        &place::STATUS,
        &place::BACKLOG,
        &place::STORAGE,
        &place::BLACKLIST,
        &space::FILTER,
        &place::JOB,
        &locality::FILTER,
        &chain::FILTER,
    ],
    weights: &[&weight::WORK, &weight::LOCAL_INPUT, &weight::TAPE, &weight::SPACE, &weight::DISK],
    lists: |_: &Queue, _: &Args| false,
    admits: |_: &Case<'_>, _: Option<&Queue>, _: &Queue, _: &Args| false,
    express: |_: &Task, _: &Args| false,
    preassigned: |_: &Task, _: Millis, _: &Args| Preassigned::No,
    turns_at: |_: &Task, _: Millis, _: &Args| None,
    hold: |_: &Case<'_>, _: &Args| None,
    defer: 30 * MINUTE,
    plan: None,
    select: |_: &Select<'_>, _: &mut Dice| Vec::new(),
};

pub(super) const REMOTE_SOURCE: usize = 0;
pub(super) const WAIT_FOR_PARENT: usize = 1;
pub(super) const ALL_ZERO: usize = 2;

/// What is asked for a nucleus, when, and what holds for every nucleus.
pub struct TaskCase<'a> {
    /// The request.
    pub task: &'a Task,
    /// The cycle's now.
    pub now: Millis,
    /// What is known of the task it was made of.
    pub parent: Parent<'a>,
    /// The input that counts for locality (spec atlas 1.6).
    pub total: Total,
    /// Whether every input has a whole copy that can be read from afar (spec atlas N1).
    pub remote_source: bool,
    /// Whether one of some queues, by their places, could run the task's jobs (spec atlas N7).
    pub runs: &'a dyn Fn(&[u32]) -> bool,
}

/// What is known of the task that a task was made of (spec atlas 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parent<'a> {
    /// There is none.
    #[default]
    No,
    /// There is one and nothing is known of it.
    Unknown,
    /// It is no part of a full chain, or sits at no nucleus for full chains.
    Elsewhere,
    /// It is a part of a full chain, at this nucleus for full chains.
    At(&'a str),
}

/// A nucleus as seen by one judgement, with all that may be known about it.
#[derive(Clone, Copy)]
pub struct NucleusCandidate<'a> {
    /// Name.
    pub name: &'a str,
    /// Whether it is in service.
    pub active: bool,
    /// Whether it takes full chains.
    pub bare: Bare,
    /// Its production queues, by their places.
    pub queues: &'a [u32],
    /// Endpoints it writes that lie at its site, in order.
    pub outputs: Stores<'a>,
    /// Its default output endpoint.
    pub output: Option<&'a Storage>,
    /// Production output queued to it from all sources; files.
    pub queued_files: u64,
    /// When the newest figure in `queued_files` becomes too old to count; `None`: never.
    pub queued_until: Option<Millis>,
    /// What of the input that counts lies there.
    pub held: Held,
    /// Work that remains of all tasks there; HS06 s (spec atlas 1.2, fullRW).
    pub work: f64,
    /// The same of tasks of the share with at least the task's priority (prioRW).
    pub work_ahead: f64,
}

/// A nucleus that is left when a filter is asked.
pub struct NucleusRow<'a> {
    /// The nucleus.
    pub nucleus: NucleusCandidate<'a>,
    /// What the filter says of it.
    pub verdict: Verdict,
}

/// What a filter leaves behind for those that come after it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Course {
    /// The check of locality was dropped: where the input lies counts nowhere any more.
    pub locality_dropped: bool,
    /// The task as a whole must wait, whatever is said of each nucleus.
    pub held: Option<Objection>,
}

/// A judgement of all nuclei that are left.
pub type Nuclei = fn(&TaskCase<'_>, &mut [NucleusRow<'_>], &mut Course, &Args);

/// A factor of a nucleus's weight: finite, not negative.
pub type NucleusFactor = fn(&TaskCase<'_>, &NucleusCandidate<'_>, &Course, &Args) -> f64;

/// Filters that the dry run leaves out: the nucleus is what is looked for, so nothing is asked of
/// full chains, and a queue that starts no jobs at the moment may start them when the task has its
/// nucleus.
const NOT_IN_DRY_RUN: [&str; 2] = ["full_chain", "inactive"];

/// The dry run of job brokerage (spec atlas N7): the policy of jobs, cut after the filter that asks
/// for pilots.
pub fn job_check(jobs: &PolicySpec) -> PolicySpec {
    let mut check = PolicySpec { weights: Vec::new(), ..jobs.clone() };
    let all = super::flavour::kind(&jobs.kind).map_or(&[][..], |flavour| flavour.filters);
    let until = all.iter().position(|filter| filter.name == "nopilot").map_or(0, |at| at + 1);
    check.filters.retain(|step| {
        !NOT_IN_DRY_RUN.contains(&step.name.as_str())
            && all[..until].iter().any(|filter| filter.name == step.name)
    });
    check
}

/// An objection that falls only when a fact changes.
fn object(reason: &'static str, measured: f64, limit: f64) -> Verdict {
    Verdict::Object(Objection { reason, measured, limit, recheck_at: None })
}
