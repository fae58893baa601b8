//! ATLAS analysis jobs: which tasks must wait, which queues are candidates, when locality is given
//! up.

use super::caps;
use super::caps::{Caps, Margins};
use super::case::{Case, Preassigned, Times, WholeCopies};
use super::class::{Classes, class_of};
use super::divide::{QueueShare, divide};
use super::filter::{
    ANALYSIS_JOB as FILTERS, OF_THE_ANALYSIS_QUEUE, OF_THE_USER, PREASSIGNED, USER_EARLY,
};
use super::holder::reads_any;
use super::job_throttler::{self, JobThrottler, gauges};
use super::locality::{Availability, Enough, Locality, availability};
use super::owner::Owner;
use super::room::RoomParams;
use super::site::{SiteClasses, SiteRules};
use super::throttling::{Gauge, Margin, OwnerThrottling, Throttling};
use super::weight::ANALYSIS_JOB as WEIGHTS;
use crate::dice::Dice;
use crate::event::{ChunkKind, Queue, Scope, Task};
use crate::output::throttle::SubjectKind;
use crate::policy::declare::{RuleBook, typed};
use crate::policy::flavour::{Flavour, Found, Plan, QueueStyle, Select, Style};
use crate::policy::param::{Param, Unit};
use crate::policy::typed::{params, read, words};
use crate::policy::wait::{Wait, WaitReason};
use crate::unit::{HOUR, MINUTE, Millis};
use std::sync::Arc;

words! {
    /// Meaning of a task's flag that it need not go where its data lie.
    WithoutData {
        Suppressed = "suppressed",
        SecondPass = "second_pass",
    }
}

params! {
    /// Parameters of the kind.
    Own {
        caps: Caps,
        throttler: JobThrottler,
        completeness: bool = Param::flag("completeness", false, true)
            .help("whether a task waits until its input is complete somewhere (spec atlas G0)"),
        missing_most: f64 = Param::int("MAX_MISSING_INPUT_FILES", 10, 10)
            .unit(Unit::Files)
            .gdp("anal_jobbroker/MAX_MISSING_INPUT_FILES")
            .help("files that may be missing of a complete copy"),
        complete_percent: f64 = Param::float("MIN_INPUT_COMPLETENESS", (0.0, 100.0), 90.0, 90.0)
            .unit(Unit::Percent)
            .gdp("anal_jobbroker/MIN_INPUT_COMPLETENESS")
            .help("part of the files that makes a copy complete"),
        io_cutoff: f64 = Param::float("IO_INTENSITY_CUTOFF_USER", (0.0, 1e9), 0.0, 0.0)
            .unit(Unit::KbPerSecond)
            .gdp("anal_jobbroker/IO_INTENSITY_CUTOFF_USER")
            .help("a task that reads no faster need not go where its data lie; 0: none"),
        io_zero: bool = Param::flag("io_zero", true, false)
            .help("whether a task that reads at 0 kB/s is such a task, or states nothing by it"),
        whole_copies: bool = Param::flag("whole_copies", false, true)
            .help("whether of secondary datasets only whole copies count for a queue"),
        locality_priority: f64 = Param::int("locality_priority", 2_000, 2_000)
            .help("from this task priority on a task need not go where its data lie"),
        check_timeout: f64 = Param::float("DATA_CHECK_TIMEOUT_USER", (0.0, 1e6), 0.0, 0.0)
            .unit(Unit::Hours)
            .gdp("anal_jobbroker/DATA_CHECK_TIMEOUT_USER")
            .help("nor need a task that made no progress for so long; 0: never"),
        locality: WithoutData = WithoutData::param(
            "locality", WithoutData::Suppressed, WithoutData::SecondPass,
        ).help(
            "what that means: data do not count at all, or they count first, and no more when every \
             queue that has them is bad for the user",
        ),
        wan_needed: bool = Param::flag("wan_needed", false, true)
            .help("whether data count always where some of them cannot be read from afar"),
        preassigned_final: bool = Param::flag("preassigned_final", false, true).help(
            "whether a task that names one queue is rejected for good where another passes all \
             filters up to `preassigned`, and that one does not (spec atlas G15)",
        ),
        queue_limit: f64 = Param::int("NQUEUELIMITSITE", 20, 20)
            .unit(Unit::Jobs)
            .gdp_above_0("jobbroker/NQUEUELIMITSITE_<gshare>")
            .help("division: least number of queued jobs at which a queue takes no more"),
        room: RoomParams,
        classes: Classes,
        done_window: f64 = Param::float("TW_DONE_JOB_STAT", (0.0, 168.0), 6.0, 6.0)
            .unit(Unit::Hours)
            .gdp("anal_jobbroker/TW_DONE_JOB_STAT")
            .help("how far back failed, closed and finished jobs of the task count"),
        sites: SiteClasses,
        margins: Margins,
    }
}

/// Reason of a task that is rejected for good: see `preassigned_final`.
pub const PREASSIGNED_REFUSED: &str = "preassigned_refused";

/// Brokerage of ATLAS analysis jobs.
pub(crate) static ANALYSIS_JOB: Flavour = Flavour {
    name: "atlas-analysis-job",
    spec: "atlas 8",
    help: "queues for the jobs of an ATLAS user's or working group's task",
    params: Own::DECLARED,
    defer: 20 * MINUTE,
    style: Style::Queues(QueueStyle {
        rules: RuleBook { filters: FILTERS, weights: WEIGHTS },
        lists: |queue, _| lists(queue),
        admits: |case, _, queue, _| admits(case, queue),
        express: |_, _| false,
        whole_copies: typed!(Own: whole_copies(task)),
        preassigned: |task, _, _| preassigned(task),
        turns_at: typed!(Own: turns_at(task, times)),
        waits: typed!(Own: wait(case)),
        room: |values| read!(Own, values).room.room(),
        select: |select, dice| divide_jobs(select, &read!(Own, select.own), dice),
        of_make: &[],
        of_queue: OF_THE_ANALYSIS_QUEUE,
        throttling: Some(&THROTTLING),
        plan: Some(&Plan {
            scope: |_| Scope::Analysis,
            sites: typed!(Own: sites()),
            owner: typed!(Own: completed(task, owner)),
            generic: |_, known, _| known,
            user_early: USER_EARLY,
            first_pass: typed!(Own: first_pass(case, queues)),
            next_pass,
            again: typed!(Own: again(case, found)),
            rejects: typed!(Own: rejects(found)),
            most,
        }),
    }),
};

/// The rules of 8.1 and 10.5.
static THROTTLING: Throttling = Throttling {
    margin: typed!(Own: margin()),
    of_owners: Some(OwnerThrottling {
        of_owner: typed!(Own: of_owner(owner, kind)),
        of_task: typed!(Own: of_task(case)),
    }),
    component: "anal_job_throttler",
    throttles_jobs: |values| read!(Own, values).throttler.active,
    of_work_queue: |work, values| gauges(work, &read!(Own, values).throttler),
};

fn margin(own: &Own) -> Margin {
    own.margins.margin()
}

fn of_owner(owner: &Owner, kind: SubjectKind, own: &Own) -> Vec<Gauge> {
    caps::of_owner(owner, kind, &own.caps)
}

fn of_task(case: &Case<'_>, own: &Own) -> Option<Gauge> {
    caps::of_task(case, &own.caps)
}

/// All queues for analysis (spec atlas 8.2).
fn lists(queue: &Queue) -> bool {
    queue.analysis && !super::production::is_parent(queue)
}

/// All queues for analysis, and those the task names.
fn admits(case: &Case<'_>, queue: &Queue) -> bool {
    lists(queue) || is_named(case.task, queue) && !super::production::is_parent(queue)
}

fn is_named(task: &Task, queue: &Queue) -> bool {
    !task.site.is_empty() && (task.site == queue.name || task.site == queue.unified)
}

fn preassigned(task: &Task) -> Preassigned {
    match (task.site.is_empty(), task.options.included_sites.is_empty()) {
        (false, _) => Preassigned::One,
        (true, false) => Preassigned::List,
        (true, true) => Preassigned::No,
    }
}

fn whole_copies(task: &Task, own: &Own) -> WholeCopies {
    match own.whole_copies && task.chunk != ChunkKind::Merge {
        true => WholeCopies::OfSecondary,
        false => WholeCopies::OfNone,
    }
}

fn enough(own: &Own) -> Enough {
    Enough { missing: own.missing_most, percent: own.complete_percent }
}

/// Why the task as a whole must wait (spec atlas 8.1, G0).
fn wait(case: &Case<'_>, own: &Own) -> Option<Wait> {
    let margin = own.margins.margin();
    let throttled = job_throttler::throttled(case, &own.throttler, &margin)
        .or_else(|| caps::throttled(case, &own.caps, &margin));
    if throttled.is_some() || !own.completeness || case.task.options.incomplete_input {
        return throttled;
    }
    for (at, dataset) in case.task.input.datasets.iter().enumerate() {
        if dataset.pseudo || !dataset.container.is_empty() {
            continue;
        }
        let found = available(case, at, own);
        let has_whole = dataset.replicas.iter().any(|it| it.files == it.files_total);
        let is_meant = dataset.distributed && !has_whole || dataset.name.ends_with('/');
        if !found.disk && !found.tape && !is_meant {
            let is_down = found.anywhere;
            let reason =
                if is_down { WaitReason::InputEndpointsDown } else { WaitReason::InputIncomplete };
            return Some(reason.plain());
        }
    }
    None
}

fn available(case: &Case<'_>, dataset: usize, own: &Own) -> Availability {
    let sources = case.sources.get(dataset).map_or(&[][..], Vec::as_slice);
    availability(&case.task.input.datasets[dataset], sources, enough(own))
}

/// Whether the task need not go where its data lie (spec atlas 8.4).
fn is_free(case: &Case<'_>, own: &Own) -> bool {
    let (task, cutoff) = (case.task, own.io_cutoff);
    let is_slow = task
        .io_intensity_kbps
        .filter(|rate| *rate > 0 || own.io_zero)
        .is_some_and(|rate| cutoff > 0.0 && f64::from(rate) <= cutoff);
    let patience = own.check_timeout * HOUR as f64;
    let is_late = own.locality != WithoutData::Suppressed
        && patience > 0.0
        && task.options.frozen_at.is_some_and(|at| case.now.saturating_sub(at) as f64 > patience);
    f64::from(task.task_priority) >= own.locality_priority || is_slow || is_late
}

/// When a task stops having to go where its data lie.
fn turns_at(task: &Task, times: Times, own: &Own) -> Option<Millis> {
    let patience = (own.check_timeout * HOUR as f64) as Millis;
    let at = task.options.frozen_at?.saturating_add(patience).saturating_add(1);
    (patience > 0 && at > times.now).then_some(at)
}

/// Whether all of the input can be read from afar, where that is asked.
fn is_remote(case: &Case<'_>, own: &Own) -> bool {
    let mut datasets = case.task.input.datasets.iter().enumerate();
    !own.wan_needed
        || datasets.all(|(at, dataset)| {
            dataset.pseudo
                || dataset.distributed
                || !dataset.container.is_empty()
                || available(case, at, own).remote
        })
}

fn sites(own: &Own) -> SiteRules {
    own.sites.rules()
}

/// The owner with what follows from its figures: the task's class, and what is left of the
/// threshold.
fn completed(task: &Task, owner: Owner, own: &Own) -> Owner {
    let outcomes_ms = (own.done_window * HOUR as f64) as Millis;
    let Some(slots) = owner.slots else { return Owner { outcomes_ms, ..owner } };
    let threshold = own.caps.threshold_a;
    Owner {
        outcomes_ms,
        task_class: Some(class_of(task, slots, threshold, &own.classes)),
        remaining_slots: Some(threshold - slots.hi as f64),
        ..owner
    }
}

/// The case of the first pass: where the input lies.
fn first_pass<'a>(case: &Case<'a>, queues: &[&Queue], own: &Own) -> Case<'a> {
    let is_there = || queues.iter().any(|queue| is_named(case.task, queue));
    let (preassigned, included) = if case.preassigned == Preassigned::One && !is_there() {
        // No queue of that name: it may be a storage endpoint, else it has no effect.
        let reads = |queue: &&&Queue| queue.reads(case.scope).contains(&case.task.site);
        let readers = queues.iter().filter(reads);
        (Preassigned::No, readers.map(|queue| queue.unified.clone()).collect())
    } else {
        (case.preassigned, case.task.options.included_sites.as_slice().into())
    };
    let remote_source = is_remote(case, own);
    let is_suppressed = own.locality == WithoutData::Suppressed && is_free(case, own);
    let is_asked = reads_any(case) && !is_suppressed;
    let case = Case { preassigned, included, remote_source, ..case.clone() };
    let locality = is_asked.then(|| Arc::new(Locality::new(&case, queues, enough(own))));
    Case { locality, ..case }
}

/// The case of the second pass, without regard to where the input lies.
fn next_pass<'a>(case: &Case<'a>) -> Case<'a> {
    Case { pass: case.pass + 1, locality: None, ..case.clone() }
}

/// Whether candidates are judged once more without regard to data: none was left but for the user's
/// own problems, or fewer than each job is to run at.
fn again(case: &Case<'_>, found: &Found<'_>, own: &Own) -> bool {
    let judgement = found.judgement;
    if case.locality.is_none() || !is_remote(case, own) {
        return false;
    }
    let options = &case.task.options;
    if !judgement.ranked.is_empty() {
        return judgement.passed < options.sites_per_job.unwrap_or(0);
    }
    let is_free = is_free(case, own);
    let is_single = options.sites_per_job == Some(0)
        && case.task.task_priority <= 1_000
        && case.task.input.datasets.iter().filter(|it| !it.pseudo).count() <= 1;
    let mut weighed = judgement.fates.iter().filter(|fate| fate.weight > 0.0).peekable();
    if weighed.peek().is_none() {
        return is_free || own.locality == WithoutData::Suppressed || !is_single;
    }
    is_free
        && own.locality != WithoutData::Suppressed
        && weighed.all(|fate| {
            let filter = found.filters.get(usize::from(fate.filter));
            filter.is_some_and(|filter| OF_THE_USER.iter().any(|it| it.filter.name == filter.name))
        })
}

/// The reason of a task that is rejected for good: the queue that it names is no candidate any more
/// where candidates are left (spec atlas G15).
fn rejects(found: &Found<'_>, own: &Own) -> Option<&'static str> {
    let Found { judgement, filters, .. } = found;
    if !own.preassigned_final || !judgement.ranked.is_empty() {
        return None;
    }
    let at = filters.iter().position(|filter| filter.name == PREASSIGNED.filter.name)?;
    let others_are_left = judgement.counts.get(at).is_some_and(|count| *count > 0);
    let is_gone = judgement.fates.iter().all(|fate| usize::from(fate.filter) <= at);
    (others_are_left && is_gone).then_some(PREASSIGNED_REFUSED)
}

/// Ten, but all for distributed input, and as many as hold the data where jobs are cloned
/// (spec atlas 8.7).
fn most(case: &Case<'_>, most: usize, _: usize) -> usize {
    let locality = case.locality.as_deref();
    if locality.is_some_and(|locality| locality.distributed) {
        return usize::MAX;
    }
    match case.task.options.sites_per_job {
        Some(sites @ 2..) => (sites as usize).max(locality.map_or(0, Locality::kept_count)),
        _ => most,
    }
}

/// The chunk's jobs in bunches (spec atlas 8.7, 2.7).
fn divide_jobs(select: &Select<'_>, own: &Own, dice: &mut Dice) -> Vec<u32> {
    let case = select.case;
    let chosen = select.judgement.ranked.iter().zip(select.ranked);
    let shares: Vec<QueueShare> = chosen
        .map(|(chosen, candidate)| {
            let cap = own.queue_limit.max(2.0 * chosen.weighed.running);
            let queued = super::stabilizer::queued(candidate);
            let (weight, room) = (chosen.weighed.total, case.room.left(candidate));
            QueueShare { weight, queued: Some(queued), cap: Some(cap), room }
        })
        .collect();
    let spec = select.spec;
    let bunch = match case.task.chunk {
        ChunkKind::Scout => spec.bunch_scout,
        ChunkKind::Normal | ChunkKind::Merge => spec.bunch,
    };
    divide(case.task.jobs, bunch, &shares, dice)
}
