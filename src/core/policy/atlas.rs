//! ATLAS production jobs: which queues are candidates, what is express, how jobs are divided.

use super::divide::{Share, divide};
use super::flavour::{Flavour, Select};
use super::param::{Args, Param};
use super::{Case, Objection, Preassigned, filter, weight};
use crate::core::dice::Dice;
use crate::core::event::{ChunkKind, Dataset, Queue, QueueStatus, Status, Task};
use crate::core::unit::{HOUR, Millis};

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
        Param::flag("preassigned_parent", false, true)
            .help("whether a unified queue that a task names is a candidate beside its parts"),
        Param::flag("merge_frozen", false, true).help(
            "whether merge jobs leave the queue they are bound to only when the task is also frozen \
             for 6 h and its dataset has changed since it was made",
        ),
        Param::flag("completeness", false, true)
            .help("whether a task waits until its input is complete somewhere (spec atlas F1)"),
        Param::int("MAX_MISSING_INPUT_FILES", 10, 10)
            .gdp("jobbroker/MAX_MISSING_INPUT_FILES")
            .help("files that may be missing of a complete copy; files"),
        Param::float("MIN_INPUT_COMPLETENESS", (0.0, 100.0), 90.0, 90.0)
            .gdp("jobbroker/MIN_INPUT_COMPLETENESS")
            .help("part of the files that makes a copy complete; %"),
    ],
    filters: filter::PRODUCTION_JOB,
    weights: weight::PRODUCTION_JOB,
    lists,
    admits,
    express,
    preassigned,
    turns_at,
    hold,
    select,
    defer: HOUR,
    plan: None,
};

const EXCLUDE_TEST: usize = 0;
const EXPRESS_PRIORITY: usize = 1;
const QUEUE_LIMIT: usize = 2;
const DIVISION_DEFINED: usize = 3;
const PREASSIGNED_PARENT: usize = 4;
const MERGE_FROZEN: usize = 5;
const COMPLETENESS: usize = 6;
const MISSING_MOST: usize = 7;
const COMPLETE_PERCENT: usize = 8;

/// How long merge jobs wait for the queue they are bound to (spec atlas 2.1).
const MERGE_PATIENCE: Millis = 24 * HOUR;
/// For how long a task must have made no progress before its merge jobs go elsewhere.
const FROZEN: Millis = 6 * HOUR;

/// The candidate list of a task that names no queues (spec atlas 2.1).
fn lists(queue: &Queue, args: &Args) -> bool {
    let is_kept_back = is_parent(queue) || args.flag(EXCLUDE_TEST) && says_test(&queue.name);
    queue.production && !queue.cloud.is_empty() && !is_kept_back
}

/// The candidate list of a task that names queues, or whose chunk is bound to one (spec atlas 2.1).
fn admits(case: &Case<'_>, home: Option<&Queue>, queue: &Queue, args: &Args) -> bool {
    let task = case.task;
    if sites(task).next().is_some() {
        let is_it = |site: &str| site == queue.name || site == queue.unified;
        let is_kept_back = is_parent(queue) && !args.flag(PREASSIGNED_PARENT);
        return !is_kept_back && sites(task).any(is_it);
    }
    if case.preassigned == Preassigned::No {
        return lists(queue, args);
    }
    let bound = task.options.chunk_site.as_str();
    let reads_it = || {
        let output = home.and_then(|home| home.endpoints.write.first());
        output.is_some_and(|output| queue.endpoints.read.contains(output))
    };
    queue.name == bound
        || queue.status == QueueStatus::Online
            && !is_parent(queue)
            && queue.production
            && reads_it()
}

/// Whether a queue is the parent of pseudo-queues: those are on lists, it never is.
pub(super) fn is_parent(queue: &Queue) -> bool {
    queue.ucore && queue.resource_type.is_empty()
}

fn express(task: &Task, args: &Args) -> bool {
    task.processing_type == "urgent" || f64::from(task.priority) >= args.number(EXPRESS_PRIORITY)
}

fn preassigned(task: &Task, now: Millis, args: &Args) -> Preassigned {
    match sites(task).count() {
        0 if is_bound(task, now, args) => Preassigned::List,
        0 => Preassigned::No,
        1 => Preassigned::One,
        _ => Preassigned::List,
    }
}

/// Whether a chunk still waits for the queue it is bound to.
fn is_bound(task: &Task, now: Millis, args: &Args) -> bool {
    if task.options.chunk_site.is_empty() {
        return false;
    }
    let Some(primary) = task.input.datasets.iter().find(|dataset| dataset.primary) else {
        return true;
    };
    let is_late = primary.modified_at > 0 && now - primary.modified_at > MERGE_PATIENCE;
    let is_frozen = task.options.frozen_at.is_some_and(|at| now - at > FROZEN);
    let is_changed = primary.modified_at > primary.created_at;
    !(is_late && (!args.flag(MERGE_FROZEN) || is_frozen && is_changed))
}

/// When a chunk that is bound to a queue may stop waiting for it.
fn turns_at(task: &Task, now: Millis, _: &Args) -> Option<Millis> {
    if task.options.chunk_site.is_empty() {
        return None;
    }
    let primary = task.input.datasets.iter().find(|dataset| dataset.primary);
    let late = primary.map(|it| it.modified_at.saturating_add(MERGE_PATIENCE + 1));
    let frozen = task.options.frozen_at.map(|at| at.saturating_add(FROZEN + 1));
    [late, frozen].into_iter().flatten().filter(|at| *at > now).min()
}

/// Why the task as a whole must wait: its nucleus is not known, or its input is nowhere complete
/// (spec atlas F1).
fn hold(case: &Case<'_>, args: &Args) -> Option<Objection> {
    let because = |reason| Objection { reason, measured: 0.0, limit: 1.0, recheck_at: None };
    if !case.nucleus.known && !case.task.nucleus.is_empty() {
        return Some(because("unknown_nucleus"));
    }
    if !args.flag(COMPLETENESS) || case.task.options.input_prestaging {
        return None;
    }
    let complete = |dataset: &Dataset| {
        dataset.replicas.iter().any(|replica| {
            let missing = replica.files_total.saturating_sub(replica.files) as f64;
            let enough = args.number(COMPLETE_PERCENT) / 100.0 * replica.files_total as f64;
            !replica.is_virtual
                && (missing <= args.number(MISSING_MOST) || replica.files as f64 >= enough)
        })
    };
    let datasets = || {
        let all = case.task.input.datasets.iter();
        all.filter(|it| !it.pseudo && !it.distributed && it.container.is_empty())
    };
    if datasets().any(|dataset| !complete(dataset)) {
        return Some(because("input_incomplete"));
    }
    (!case.readable_source).then(|| because("input_endpoints_down"))
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
