//! Inputs of judging nuclei: the case of a task, a nucleus, and the flags that filters set.

use super::input::{InputAtNucleus, Total};
use crate::domain::atlas::policy::{Bare, Stores};
use crate::event::{Storage, Task};
use crate::policy::{Verdict, Wait};
use crate::unit::Millis;

/// A request for a nucleus, with the facts that hold for every nucleus.
pub struct TaskCase<'a> {
    /// The request.
    pub task: &'a Task,
    /// The cycle's now.
    pub now: Millis,
    /// State of the task it was made of.
    pub parent: Parent<'a>,
    /// The input that counts for locality (spec atlas 1.6).
    pub total: Total,
    /// Whether every input has a whole copy that can be read from afar (spec atlas N1).
    pub remote_source: bool,
    /// Whether one of some queues, by their indices, could run the task's jobs (spec atlas N7).
    pub runs: &'a dyn Fn(&[u32]) -> bool,
}

/// State of the task that a task was made of (spec atlas 7).
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
    /// Its production queues, by their indices.
    pub queues: &'a [u32],
    /// Endpoints it writes that lie at its site, in order.
    pub outputs: Stores<'a>,
    /// Its default output endpoint.
    pub output: Option<&'a Storage>,
    /// Production output queued to it from all sources; files.
    pub queued_files: u64,
    /// When the newest figure in `queued_files` becomes too old to count; `None`: never.
    pub queued_until: Option<Millis>,
    /// Part of the counted input that lies there.
    pub held: InputAtNucleus,
    /// Work that remains of all tasks there; HS06 s (spec atlas 1.2, fullRW).
    pub work: f64,
    /// The same of tasks of the share with at least the task's priority (prioRW).
    pub work_ahead: f64,
}

/// A nucleus that is left when a filter is asked.
pub struct NucleusRow<'a> {
    /// The nucleus.
    pub nucleus: NucleusCandidate<'a>,
    /// The filter's verdict.
    pub verdict: Verdict,
}

/// All nuclei that are left when a filter is asked, with the flags of those before it.
pub struct NucleusRows<'a> {
    /// The nuclei.
    pub left: Vec<NucleusRow<'a>>,
    /// Flags for the filters and weights behind.
    pub course: Course,
}

/// Flags that a filter sets for the filters and weights after it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Course {
    /// The check of locality was dropped: where the input lies counts nowhere any more.
    pub locality_dropped: bool,
    /// The task as a whole must wait, whatever the verdict on each nucleus is.
    pub wait: Option<Wait>,
}
