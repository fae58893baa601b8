//! ATLAS analysis jobs: who must wait, which queues are candidates, when locality is given up.

use super::class::{self, class_of};
use super::divide::{Share, divide};
use super::flavour::{Flavour, Plan, Select};
use super::locality::{Availability, Enough, Locality, availability, reads_any};
use super::param::{Args, Param};
use super::pipeline::Judgement;
use super::{
    Candidate, Case, Objection, Policy, Preassigned, SiteRules, filter, hold, site, weight,
};
use crate::core::dice::Dice;
use crate::core::event::{ChunkKind, Queue, Scope, Task};
use crate::core::unit::{HOUR, MINUTE, Millis};

/// Brokerage of ATLAS analysis jobs.
pub(super) static ANALYSIS_JOB: Flavour = Flavour {
    name: "atlas-analysis-job",
    spec: "atlas 8",
    help: "queues for the jobs of an ATLAS user's or working group's task",
    params: PARAMS,
    filters: filter::ANALYSIS_JOB,
    weights: weight::ANALYSIS_JOB,
    lists,
    admits,
    express: |_, _| false,
    preassigned,
    turns_at,
    hold,
    select,
    defer: 20 * MINUTE,
    plan: Some(&Plan {
        scope: Scope::Analysis,
        throttling: &hold::THROTTLING,
        sites,
        complete,
        prepare,
        again,
        most,
    }),
};

const PARAMS: &[Param] = &[
    Param::int("CAP_RUNNING_USER_JOBS", 0, 0)
        .gdp("prio_mgr/CAP_RUNNING_USER_JOBS")
        .help("most running jobs of a user, and half of the most queued ones; jobs; 0: no cap"),
    Param::int("CAP_RUNNING_USER_CORES", 0, 0)
        .gdp("prio_mgr/CAP_RUNNING_USER_CORES")
        .help("most running cores of a user, and half of the most queued ones; cores; 0: no cap"),
    Param::int("CAP_RUNNING_GROUP_JOBS", 0, 0)
        .gdp("prio_mgr/CAP_RUNNING_GROUP_JOBS")
        .help("the same of a working group; jobs; 0: no cap"),
    Param::int("CAP_RUNNING_GROUP_CORES", 0, 0)
        .gdp("prio_mgr/CAP_RUNNING_GROUP_CORES")
        .help("the same of a working group; cores; 0: no cap"),
    Param::int("USER_USAGE_THRESHOLD_A", 1_000, 1_000)
        .at_least(1)
        .gdp("analy_eval/USER_USAGE_THRESHOLD_A")
        .help("slots at hi-sites up to which a user's tasks are of class A; slots"),
    Param::flag("class_a_floor", true, false).help(
        "whether tasks of class A run as long as the share is below its target, whatever the user \
         has running",
    ),
    Param::flag("level1", false, true)
        .help("whether the smaller counts of the share's usage and that of its first level"),
    Param::flag("near_quota", false, true)
        .help("whether only merge jobs are let through above 90 % of the global quota (A5')"),
    Param::flag("completeness", false, true)
        .help("whether a task waits until its input is complete somewhere (spec atlas G0)"),
    Param::int("MAX_MISSING_INPUT_FILES", 10, 10)
        .gdp("anal_jobbroker/MAX_MISSING_INPUT_FILES")
        .help("files that may be missing of a complete copy; files"),
    Param::float("MIN_INPUT_COMPLETENESS", (0.0, 100.0), 90.0, 90.0)
        .gdp("anal_jobbroker/MIN_INPUT_COMPLETENESS")
        .help("part of the files that makes a copy complete; %"),
    Param::float("IO_INTENSITY_CUTOFF_USER", (0.0, 1e9), 0.0, 0.0)
        .gdp("anal_jobbroker/IO_INTENSITY_CUTOFF_USER")
        .help("a task that reads no faster need not go where its data lie; kB/s; 0: none"),
    Param::int("locality_priority", 2_000, 2_000)
        .help("from this task priority on a task need not go where its data lie"),
    Param::float("DATA_CHECK_TIMEOUT_USER", (0.0, 1e6), 0.0, 0.0)
        .gdp("anal_jobbroker/DATA_CHECK_TIMEOUT_USER")
        .help("nor need a task that made no progress for so long; h; 0: never"),
    Param::word("locality", &["suppressed", "second_pass"], "suppressed", "second_pass").help(
        "what that means: data do not count at all, or they count first, and no more when every \
         queue that has them is bad for the user",
    ),
    Param::flag("wan_needed", false, true)
        .help("whether data count always where some of them cannot be read from afar"),
    Param::int("NQUEUELIMITSITE", 20, 20)
        .gdp("jobbroker/NQUEUELIMITSITE_<gshare>")
        .help("division: least number of queued jobs at which a queue takes no more; jobs"),
    class::PARAMS[0],
    class::PARAMS[1],
    class::PARAMS[2],
    class::PARAMS[3],
    class::PARAMS[4],
    Param::float("TW_DONE_JOB_STAT", (0.0, 168.0), 6.0, 6.0)
        .gdp("anal_jobbroker/TW_DONE_JOB_STAT")
        .help("how far back failed, closed and finished jobs of the task count; h"),
    site::PARAMS[0],
    site::PARAMS[1],
    site::PARAMS[2],
    site::PARAMS[3],
    site::PARAMS[4],
    site::PARAMS[5],
    site::PARAMS[6],
    site::PARAMS[7],
    site::PARAMS[8],
    hold::PARAMS[0],
    hold::PARAMS[1],
    hold::PARAMS[2],
];

pub(super) const USER_JOBS: usize = 0;
pub(super) const USER_CORES: usize = 1;
pub(super) const GROUP_JOBS: usize = 2;
pub(super) const GROUP_CORES: usize = 3;
pub(super) const THRESHOLD_A: usize = 4;
pub(super) const CLASS_A_FLOOR: usize = 5;
pub(super) const LEVEL1: usize = 6;
pub(super) const NEAR_QUOTA: usize = 7;
const COMPLETENESS: usize = 8;
const MISSING_MOST: usize = 9;
const COMPLETE_PERCENT: usize = 10;
const IO_CUTOFF: usize = 11;
const LOCALITY_PRIORITY: usize = 12;
const CHECK_TIMEOUT: usize = 13;
const LOCALITY: usize = 14;
const SUPPRESSED: usize = 0;
const WAN_NEEDED: usize = 15;
const QUEUE_LIMIT: usize = 16;
const CLASSES: usize = 17;
const DONE_WINDOW: usize = 22;
const SITES: usize = 23;
pub(super) const HYSTERESIS: usize = 32;
pub(super) const DWELL: usize = 33;
pub(super) const LAPSE: usize = 34;

/// All queues for analysis (spec atlas 8.2).
fn lists(queue: &Queue, _: &Args) -> bool {
    queue.analysis && !super::atlas::is_parent(queue)
}

/// All queues for analysis, and those the task names.
fn admits(case: &Case<'_>, _: Option<&Queue>, queue: &Queue, args: &Args) -> bool {
    lists(queue, args) || is_named(case.task, queue) && !super::atlas::is_parent(queue)
}

fn is_named(task: &Task, queue: &Queue) -> bool {
    !task.site.is_empty() && (task.site == queue.name || task.site == queue.unified)
}

fn preassigned(task: &Task, _: Millis, _: &Args) -> Preassigned {
    match (task.site.is_empty(), task.options.included_sites.is_empty()) {
        (false, _) => Preassigned::One,
        (true, false) => Preassigned::List,
        (true, true) => Preassigned::No,
    }
}

fn enough(args: &Args) -> Enough {
    Enough { missing: args.number(MISSING_MOST), percent: args.number(COMPLETE_PERCENT) }
}

/// Why the task as a whole must wait (spec atlas 8.1, G0).
fn hold(case: &Case<'_>, args: &Args) -> Option<Objection> {
    let throttled = hold::throttled(case, args);
    if throttled.is_some() || !args.flag(COMPLETENESS) || case.task.options.incomplete_input {
        return throttled;
    }
    let because = |reason| Objection { reason, measured: 0.0, limit: 1.0, recheck_at: None };
    for (at, dataset) in case.task.input.datasets.iter().enumerate() {
        if dataset.pseudo || !dataset.container.is_empty() {
            continue;
        }
        let found = available(case, at, args);
        let is_meant = dataset.distributed || dataset.name.ends_with('/');
        if !found.disk && !found.tape && !is_meant {
            let down = found.anywhere;
            return Some(because(if down { "input_endpoints_down" } else { "input_incomplete" }));
        }
    }
    None
}

fn available(case: &Case<'_>, dataset: usize, args: &Args) -> Availability {
    let sources = case.sources.get(dataset).map_or(&[][..], Vec::as_slice);
    availability(&case.task.input.datasets[dataset], sources, enough(args))
}

/// Whether the task need not go where its data lie (spec atlas 8.4).
fn is_free(case: &Case<'_>, args: &Args) -> bool {
    let (task, cutoff) = (case.task, args.number(IO_CUTOFF));
    let is_slow = task
        .io_intensity_kbps
        .is_some_and(|rate| cutoff > 0.0 && rate > 0 && f64::from(rate) <= cutoff);
    let patience = args.number(CHECK_TIMEOUT) * HOUR as f64;
    let is_late = args.word(LOCALITY) != SUPPRESSED
        && patience > 0.0
        && task.options.frozen_at.is_some_and(|at| case.now.saturating_sub(at) as f64 > patience);
    f64::from(task.task_priority) >= args.number(LOCALITY_PRIORITY) || is_slow || is_late
}

/// When a task stops having to go where its data lie.
fn turns_at(task: &Task, now: Millis, args: &Args) -> Option<Millis> {
    let patience = (args.number(CHECK_TIMEOUT) * HOUR as f64) as Millis;
    let at = task.options.frozen_at?.saturating_add(patience).saturating_add(1);
    (patience > 0 && at > now).then_some(at)
}

/// Whether all of the input can be read from afar, where that is asked.
fn is_remote(case: &Case<'_>, args: &Args) -> bool {
    let mut datasets = case.task.input.datasets.iter().enumerate();
    !args.flag(WAN_NEEDED)
        || datasets.all(|(at, dataset)| {
            dataset.pseudo || !dataset.container.is_empty() || available(case, at, args).remote
        })
}

fn sites(args: &Args) -> SiteRules {
    site::rules(args, SITES)
}

/// What follows from the figures of the owner: the task's class, and what is left of the threshold.
fn complete(case: &mut Case<'_>, args: &Args) {
    case.owner.outcomes_ms = (args.number(DONE_WINDOW) * HOUR as f64) as Millis;
    if let Some(slots) = case.owner.slots {
        let threshold = args.number(THRESHOLD_A);
        let params: [f64; 5] = std::array::from_fn(|at| args.number(CLASSES + at));
        case.owner.task_class = Some(class_of(case.task, slots, threshold, params));
        case.owner.remaining_slots = Some(threshold - slots.hi as f64);
    }
}

fn prepare(case: &mut Case<'_>, candidates: &[Candidate<'_>], args: &Args) {
    if case.pass == 1 {
        case.included = case.task.options.included_sites.clone();
        case.remote_source = is_remote(case, args);
        let is_there = || candidates.iter().any(|it| is_named(case.task, it.queue));
        if case.preassigned == Preassigned::One && !is_there() {
            // No queue of that name: it may be a storage endpoint, else it says nothing.
            let reads = |it: &&Candidate<'_>| it.queue.reads(case.scope).contains(&case.task.site);
            let readers = candidates.iter().filter(reads);
            case.included = readers.map(|it| it.queue.unified.clone()).collect();
            case.preassigned = Preassigned::No;
        }
    }
    let is_suppressed = args.word(LOCALITY) == SUPPRESSED && is_free(case, args);
    let is_asked = case.pass == 1 && reads_any(case) && !is_suppressed;
    case.locality = is_asked.then(|| Locality::new(case, candidates, enough(args)));
}

/// Filters that speak of what is bad for the user, and of nothing that lasts.
const PROBLEMS: [&str; 3] = ["stabilizer", "failures", "idle"];

/// Whether candidates are judged once more without regard to data: none was left but for the user's
/// own problems.
fn again(policy: &Policy, case: &Case<'_>, judgement: &Judgement, args: &Args) -> bool {
    if case.locality.is_none() || !judgement.ranked.is_empty() || !is_remote(case, args) {
        return false;
    }
    let options = &case.task.options;
    let is_free = is_free(case, args);
    let is_single = options.sites_per_job == Some(0)
        && case.task.task_priority <= 1_000
        && case.task.input.datasets.iter().filter(|it| !it.pseudo).count() <= 1;
    let mut weighed = judgement.fates.iter().filter(|fate| fate.weight > 0.0).peekable();
    if weighed.peek().is_none() {
        return is_free || args.word(LOCALITY) == SUPPRESSED || !is_single;
    }
    is_free
        && args.word(LOCALITY) != SUPPRESSED
        && weighed.all(|fate| {
            let filter = policy.filter(usize::from(fate.filter));
            filter.is_some_and(|filter| PROBLEMS.contains(&filter.name))
        })
}

/// Ten, but all for distributed input, and as many as hold the data where jobs are cloned
/// (spec atlas 8.7).
fn most(case: &Case<'_>, most: usize) -> usize {
    let locality = case.locality.as_ref();
    if locality.is_some_and(|locality| locality.distributed) {
        return usize::MAX;
    }
    match case.task.options.sites_per_job {
        Some(sites @ 2..) => (sites as usize).max(locality.map_or(0, Locality::kept_count)),
        _ => most,
    }
}

/// The chunk's jobs in bunches (spec atlas 8.7, 2.7).
fn select(select: &Select<'_>, dice: &mut Dice) -> Vec<u32> {
    let (case, args) = (select.case, select.own);
    let chosen = select.judgement.ranked.iter().zip(select.ranked);
    let shares: Vec<Share> = chosen
        .map(|(chosen, candidate)| {
            let cap = args.number(QUEUE_LIMIT).max(2.0 * chosen.weighed.running);
            let queued = super::stabilizer::queued(candidate);
            Share { weight: chosen.weighed.total, queued, cap: Some(cap) }
        })
        .collect();
    let spec = &select.policy.spec;
    let bunch = match case.task.chunk {
        ChunkKind::Scout => spec.bunch_scout,
        ChunkKind::Normal | ChunkKind::Merge => spec.bunch,
    };
    divide(case.task.jobs, bunch, &shares, dice)
}
