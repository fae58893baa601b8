//! ATLAS production jobs: which queues are candidates, what is express, how jobs are divided.

use super::caps::Margins;
use super::case::{Case, Preassigned, Times, WholeCopies};
use super::completeness::{Completeness, asked_datasets};
use super::divide::{QueueShare, divide};
use super::filter::{OF_THE_MAKE, OF_THE_QUEUE, PRODUCTION_JOB as FILTERS};
use super::job_throttler::{self, JobThrottler, gauges};
use super::room::RoomParams;
use super::throttling::Throttling;
use super::weight::PRODUCTION_JOB as WEIGHTS;
use crate::dice::Dice;
use crate::event::{ChunkKind, Dataset, Queue, QueueStatus, Status, Task};
use crate::policy::declare::{RuleBook, typed};
use crate::policy::flavour::{Flavour, QueueStyle, Select, Style};
use crate::policy::param::{Param, Unit};
use crate::policy::typed::{params, read};
use crate::policy::wait::{Wait, WaitReason};
use crate::unit::{HOUR, Millis};

params! {
    /// Parameters of the kind.
    Own {
        exclude_test: bool = Param::flag("exclude_test", true, false).help(
            "whether queues with `test` in their name are no candidates, unless pre-assigned \
             (DIFF-9)",
        ),
        express_priority: f64 = Param::int("express_priority", 1_000, 1_001)
            .help("a task is express from this priority on, or when it is urgent (DIFF-1)"),
        queue_limit: f64 = Param::int("NQUEUELIMITSITE", 20, 20)
            .unit(Unit::Jobs)
            .gdp_above_0("jobbroker/NQUEUELIMITSITE_<gshare>")
            .help("division: least number of queued jobs at which a queue takes no more"),
        division_defined: bool = Param::flag("division_defined", true, false)
            .help("division: whether defined and reserved jobs count as queued"),
        room: RoomParams,
        preassigned_parent: bool = Param::flag("preassigned_parent", false, true)
            .help("whether a unified queue that a task names is a candidate beside its parts"),
        merge_frozen: bool = Param::flag("merge_frozen", false, true).help(
            "whether merge jobs leave the queue they are bound to only when the task is also frozen \
             for 6 h and its dataset has changed since it was made",
        ),
        throttler: JobThrottler,
        margins: Margins,
        completeness: bool = Param::flag("completeness", false, true)
            .help("whether a task waits until its input is complete somewhere (spec atlas F1)"),
        complete: Completeness,
        whole_copies: bool = Param::flag("whole_copies", false, true).help(
            "whether only whole copies count for a queue: of secondary datasets, and of all where \
             the task reads faster than IO_INTENSITY_CUTOFF without inputPreStaging",
        ),
        io_cutoff: f64 = Param::int("IO_INTENSITY_CUTOFF", 200, 200)
            .unit(Unit::KbPerSecond)
            .gdp("jobbroker/IO_INTENSITY_CUTOFF")
            .help("how fast that is"),
    }
}

/// Brokerage of ATLAS production jobs.
pub(crate) static PRODUCTION_JOB: Flavour = Flavour {
    name: "atlas-production-job",
    spec: "atlas 2, 4",
    help: "queues for the jobs of an ATLAS production task whose nucleus is known",
    params: Own::DECLARED,
    defer: HOUR,
    style: Style::Queues(QueueStyle {
        rules: RuleBook { filters: FILTERS, weights: WEIGHTS },
        lists: typed!(Own: lists(queue)),
        admits: typed!(Own: admits(case, home, queue)),
        express: typed!(Own: express(task)),
        whole_copies: typed!(Own: whole_copies(task)),
        preassigned: typed!(Own: preassigned(task, now)),
        turns_at: |task, times, _| turns_at(task, times),
        waits: typed!(Own: wait(case)),
        room: |values| read!(Own, values).room.room(),
        select: |select, dice| divide_jobs(select, &read!(Own, select.own), dice),
        of_make: OF_THE_MAKE,
        of_queue: OF_THE_QUEUE,
        throttling: Some(&THROTTLING),
        plan: None,
    }),
};

/// The rules of 10.5.
static THROTTLING: Throttling = Throttling {
    margin: |values| read!(Own, values).margins.margin(),
    of_owners: None,
    component: "prod_job_throttler",
    throttles_jobs: |values| read!(Own, values).throttler.active,
    of_work_queue: |work, values| gauges(work, &read!(Own, values).throttler),
};

/// How long merge jobs wait for the queue they are bound to (spec atlas 2.1).
const MERGE_PATIENCE: Millis = 24 * HOUR;
/// For how long a task must have made no progress before its merge jobs go elsewhere.
const FROZEN: Millis = 6 * HOUR;

/// The candidate list of a task that names no queues (spec atlas 2.1).
fn lists(queue: &Queue, own: &Own) -> bool {
    let is_kept_back = is_parent(queue) || own.exclude_test && names_test(&queue.name);
    queue.production && !is_kept_back
}

/// The candidate list of a task that names queues, or whose chunk is bound to one (spec atlas 2.1).
fn admits(case: &Case<'_>, home: Option<&Queue>, queue: &Queue, own: &Own) -> bool {
    let task = case.task;
    if sites(task).next().is_some() {
        let is_it = |site: &str| site == queue.name || site == queue.unified;
        let is_kept_back = is_parent(queue) && !own.preassigned_parent;
        return !is_kept_back && sites(task).any(is_it);
    }
    if case.preassigned == Preassigned::No {
        return lists(queue, own);
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

fn express(task: &Task, own: &Own) -> bool {
    task.processing_type == "urgent" || f64::from(task.priority) >= own.express_priority
}

/// Files that are merged are wherever their dataset is.
fn whole_copies(task: &Task, own: &Own) -> WholeCopies {
    if !own.whole_copies || task.chunk == ChunkKind::Merge {
        return WholeCopies::OfNone;
    }
    let reads_fast = task.io_intensity_kbps.is_some_and(|it| f64::from(it) > own.io_cutoff);
    match reads_fast && !task.options.input_prestaging {
        true => WholeCopies::OfAll,
        false => WholeCopies::OfSecondary,
    }
}

fn preassigned(task: &Task, times: Times, own: &Own) -> Preassigned {
    match sites(task).count() {
        0 if is_bound(task, times, own) => Preassigned::List,
        0 => Preassigned::No,
        1 => Preassigned::One,
        _ => Preassigned::List,
    }
}

/// Whether a chunk still waits for the queue it is bound to.
fn is_bound(task: &Task, times: Times, own: &Own) -> bool {
    if task.options.chunk_site.is_empty() {
        return false;
    }
    let now = times.now;
    let is_late = skipped_since(task, times).is_some_and(|since| now - since > MERGE_PATIENCE);
    let is_frozen = task.options.frozen_at.is_some_and(|at| now - at > FROZEN);
    let is_changed = primary(task).is_some_and(|it| it.modified_at > it.created_at);
    !(is_late && (!own.merge_frozen || is_frozen && is_changed))
}

/// Since when the queue that a chunk is bound to has been skipped: as the request states it by its
/// primary dataset, else since the chunk was first deferred. `None`: it was not deferred yet.
fn skipped_since(task: &Task, times: Times) -> Option<Millis> {
    let stated = primary(task).map(|it| it.modified_at).filter(|at| *at > 0);
    stated.or(times.first_answered_at)
}

fn primary(task: &Task) -> Option<&Dataset> {
    task.input.datasets.iter().find(|dataset| dataset.primary)
}

/// When a chunk that is bound to a queue may stop waiting for it.
fn turns_at(task: &Task, times: Times) -> Option<Millis> {
    if task.options.chunk_site.is_empty() {
        return None;
    }
    let late = skipped_since(task, times).map(|since| since.saturating_add(MERGE_PATIENCE + 1));
    let frozen = task.options.frozen_at.map(|at| at.saturating_add(FROZEN + 1));
    [late, frozen].into_iter().flatten().filter(|at| *at > times.now).min()
}

/// Why the task as a whole must wait: too many jobs of its share wait (spec atlas 10.5), its
/// nucleus is not known, or its input is nowhere complete (spec atlas F1).
fn wait(case: &Case<'_>, own: &Own) -> Option<Wait> {
    let held = job_throttler::throttled(case, &own.throttler, &own.margins.margin());
    if held.is_some() {
        return held;
    }
    if !case.nucleus.known && !case.task.nucleus.is_empty() {
        return Some(WaitReason::UnknownNucleus.plain());
    }
    if !own.completeness || case.task.options.input_prestaging {
        return None;
    }
    let enough = own.complete.enough();
    let is_complete = |dataset: &Dataset| dataset.replicas.iter().any(|it| enough.is_met(it));
    if asked_datasets(case.task).any(|dataset| !is_complete(dataset)) {
        return Some(WaitReason::InputIncomplete.plain());
    }
    (!case.readable_source).then(|| WaitReason::InputEndpointsDown.plain())
}

/// The names in `task.site`.
fn sites(task: &Task) -> impl Iterator<Item = &str> {
    task.site.split(',').map(str::trim).filter(|site| !site.is_empty())
}

/// Whether a name holds `test`, in letters of any case.
fn names_test(name: &str) -> bool {
    let name = name.as_bytes();
    let starts = |at: &usize| name[*at] | 0x20 == b't' && name[at + 1] | 0x20 == b'e';
    (0..name.len().saturating_sub(3))
        .filter(starts)
        .any(|at| name[at..at + 4].eq_ignore_ascii_case(b"test"))
}

/// The chunk's jobs in bunches (spec atlas 2.7).
fn divide_jobs(select: &Select<'_>, own: &Own, dice: &mut Dice) -> Vec<u32> {
    let case = select.case;
    let chosen = select.judgement.ranked.iter().zip(select.ranked);
    let shares: Vec<QueueShare> = chosen
        .map(|(chosen, candidate)| {
            let mut queued = candidate.jobs(Status::Activated) + candidate.jobs(Status::Starting);
            if !case.is_local(candidate) {
                queued += candidate.jobs(Status::Assigned);
            }
            if own.division_defined {
                queued += candidate.defined();
            }
            let cap = own.queue_limit.max(2.0 * chosen.weighed.running);
            let cap = (!case.express).then_some(cap);
            let room = if case.express { f64::INFINITY } else { case.room.left(candidate) };
            QueueShare { weight: chosen.weighed.total, queued: Some(queued), cap, room }
        })
        .collect();
    let spec = select.spec;
    let bunch = match case.task.chunk {
        ChunkKind::Scout => spec.bunch_scout,
        ChunkKind::Normal | ChunkKind::Merge => spec.bunch,
    };
    divide(case.task.jobs, bunch, &shares, dice)
}
