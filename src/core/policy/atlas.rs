//! ATLAS production jobs: which queues are candidates, what is express, how jobs are divided.

use super::divide::{Share, divide};
use super::flavour::{Flavour, Select};
use super::param::{Args, Param};
use super::{Preassigned, filter, weight};
use crate::core::dice::Dice;
use crate::core::event::{ChunkKind, Queue, Status, Task};

/// Brokerage of ATLAS production jobs.
pub(super) static PRODUCTION_JOB: Flavour = Flavour {
    name: "atlas-production-job",
    spec: "atlas 2, 4",
    help: "queues for the jobs of an ATLAS production task whose nucleus is known",
    params: &[
        Param::flag("exclude_test", true, false).help(
            "whether queues with `test` in their name are no candidates, unless pre-assigned \
             (DIFF-9)",
        ),
        Param::int("express_priority", 1_000, 1_001)
            .help("a task is express from this priority on, or when it is urgent (DIFF-1)"),
        Param::int("NQUEUELIMITSITE", 20, 20)
            .gdp("jobbroker/NQUEUELIMITSITE_<gshare>")
            .help("division: least number of queued jobs at which a queue takes no more; jobs"),
        Param::flag("division_defined", true, false)
            .help("division: whether defined and promised jobs count as queued"),
    ],
    filters: filter::PRODUCTION_JOB,
    weights: weight::PRODUCTION_JOB,
    lists,
    admits,
    express,
    preassigned,
    select,
};

const EXCLUDE_TEST: usize = 0;
const EXPRESS_PRIORITY: usize = 1;
const QUEUE_LIMIT: usize = 2;
const DIVISION_DEFINED: usize = 3;

/// The candidate list of a task that names no queues (spec atlas 2.1).
fn lists(queue: &Queue, args: &Args) -> bool {
    let is_kept_back = is_parent(queue) || args.flag(EXCLUDE_TEST) && says_test(&queue.name);
    queue.production && !queue.cloud.is_empty() && !is_kept_back
}

/// The candidate list of a task: the queues it names, if it names any (spec atlas 2.1).
fn admits(task: &Task, queue: &Queue, args: &Args) -> bool {
    match preassigned(task) {
        Preassigned::No => lists(queue, args),
        Preassigned::One | Preassigned::List => {
            let is_it = |site: &str| site == queue.name || site == queue.unified;
            !is_parent(queue) && sites(task).any(is_it)
        }
    }
}

/// Whether a queue is the parent of pseudo-queues: those are on lists, it never is.
fn is_parent(queue: &Queue) -> bool {
    queue.ucore && queue.resource_type.is_empty()
}

fn express(task: &Task, args: &Args) -> bool {
    task.processing_type == "urgent" || f64::from(task.priority) >= args.number(EXPRESS_PRIORITY)
}

fn preassigned(task: &Task) -> Preassigned {
    match sites(task).count() {
        0 => Preassigned::No,
        1 => Preassigned::One,
        _ => Preassigned::List,
    }
}

/// The names in `task.site`.
fn sites(task: &Task) -> impl Iterator<Item = &str> {
    task.site.split(',').map(str::trim).filter(|site| !site.is_empty())
}

/// Whether a name holds `test`, in letters of any case.
fn says_test(name: &str) -> bool {
    let name = name.as_bytes();
    let starts = |at: &usize| name[*at] | 0x20 == b't' && name[at + 1] | 0x20 == b'e';
    (0..name.len().saturating_sub(3))
        .filter(starts)
        .any(|at| name[at..at + 4].eq_ignore_ascii_case(b"test"))
}

/// The chunk's jobs in bunches (spec atlas 2.7).
fn select(select: &Select<'_>, dice: &mut Dice) -> Vec<u32> {
    let (case, args) = (select.case, select.own);
    let chosen = select.judgement.ranked.iter().zip(select.ranked);
    let shares: Vec<Share> = chosen
        .map(|(chosen, candidate)| {
            let mut queued = candidate.jobs(Status::Activated) + candidate.jobs(Status::Starting);
            if !case.is_local(candidate) {
                queued += candidate.jobs(Status::Assigned);
            }
            if args.flag(DIVISION_DEFINED) {
                queued += candidate.defined();
            }
            let cap = args.number(QUEUE_LIMIT).max(2.0 * chosen.weighed.running);
            let cap = (!case.express).then_some(cap);
            Share { weight: chosen.weighed.total, queued, cap }
        })
        .collect();
    let spec = &select.policy.spec;
    let bunch = match case.task.chunk {
        ChunkKind::Scout => spec.bunch_scout,
        ChunkKind::Normal | ChunkKind::Merge => spec.bunch,
    };
    divide(case.task.jobs, bunch, &shares, dice)
}
