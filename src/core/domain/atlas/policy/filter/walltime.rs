//! Keeps queues whose time limits hold what a job is expected to take.

use super::bound::whole;
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::event::{ChunkKind, Queue, Task};
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Unit, Verdict};
use crate::unit::{DAY, SECOND};

words! {
    /// Unit in which a day is measured for scouts and merge jobs.
    DayRule {
        Plain = "plain",
        Hs06 = "hs06",
    }
}

words! {
    /// Meaning of a cpuEfficiency of 0.
    ZeroEfficiency {
        Base = "base",
        Nothing = "nothing",
    }
}

params! {
    /// Parameters of all filters of walltime.
    Walltime {
        day_rule: DayRule = DayRule::param("day_rule", DayRule::Plain, DayRule::Hs06).help(
            "what a day is for scouts and merge jobs: a maxtime of 24 h, or 24 h x 10 HS06 a core, \
             then also for jobs of unknown time (DIFF-19)",
        ),
        zero_efficiency: ZeroEfficiency = ZeroEfficiency::param(
            "zero_efficiency", ZeroEfficiency::Base, ZeroEfficiency::Nothing,
        ).help(
            "what a cpuEfficiency of 0 means: only baseWalltime counts, or that no work gets done",
        ),
        efficiency: f64 = Param::int("default_efficiency", 90, 90)
            .unit(Unit::Percent)
            .help("cpuEfficiency of a task that states none"),
        base: f64 = Param::int("default_base_s", 600, 600)
            .unit(Unit::Seconds)
            .help("baseWalltime of a task that states none"),
        core_power: f64 = Param::int("default_core_power", 10, 0)
            .unit(Unit::Hs06)
            .help("core power of a queue that states none, per core; 0: it does no work"),
    }
}

params! {
    /// Parameters of `walltime_day`.
    WalltimeDay {
        walltime: Walltime,
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const SCOUT: Reason = Reason::new(
    "scout_walltime",
    "the queue's longest time gives {measured}, scouts need a day: {limit}",
);
const MIN: Reason = Reason::new(
    "min_walltime",
    "the queue's longest time gives {measured}, such jobs need a day: {limit}",
);
const SHORT: Reason = Reason::new(
    "shortwalltime",
    "a job needs {measured} HS06 s (core seconds where its CPU time is not \
          known), the queue's longest time gives {limit}",
);
const LONG: Reason = Reason::new(
    "longwalltime",
    "a job needs {measured} HS06 s (core seconds where its CPU time is not \
          known), the queue's shortest time asks for {limit}",
);

pub(super) const FILTER: QueueFilter = queue_filter!(Walltime {
    name: "walltime",
    spec: "atlas F15, 2.4, DIFF-19",
    help: "a job is expected to end within the queue's longest time and not before its shortest; \
           scouts and merge jobs, whose time is not known yet, get queues of a day and more",
    reasons: &[&SCOUT, &MIN, &SHORT, &LONG],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(judge),
});

/// A day; s.
const DAY_S: f64 = (DAY / SECOND) as f64;
/// The core power that a day is reckoned with in PanDA; HS06 per core.
const DAY_HS06: f64 = 10.0;

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &Walltime) -> Verdict {
    let (longest, shortest) = (candidate.queue.max_time_s, candidate.queue.min_time_s);
    let slot = Slot::of(case.task, candidate.queue, params);
    let (need, largest) = match dynamic(case.task, candidate.queue) {
        Some((smallest, largest)) => (Some(smallest), Some(largest)),
        None => (slot.need(case.task), None),
    };
    let most = slot.capacity(longest);
    if longest != 0 && need.is_some_and(|need| need > 0.0 && need > most) {
        return object(&SHORT, need.unwrap_or(0.0), most);
    }
    if let Some(short) = day_rule(case, candidate, params) {
        return short;
    }
    // Where the number of events is set as the job starts, the largest job counts here.
    let need = largest.or(need);
    let least = slot.capacity(shortest);
    if shortest != 0 && need.is_none_or(|need| need < least) {
        return object(&LONG, need.unwrap_or(0.0), least);
    }
    Verdict::Pass
}

params! {
    /// Parameters of `walltime` for analysis jobs.
    AnalysisWalltime {
        walltime: Walltime,
        merge_exempt: bool = Param::flag("merge_exempt", false, true)
            .help("whether merge jobs are not asked"),
    }
}

pub(super) const ANALYSIS: QueueFilter = queue_filter!(AnalysisWalltime {
    name: FILTER.filter.name,
    spec: "atlas G13a, 2.4",
    help: "a job is expected to end within the queue's longest time and not before its shortest; \
           not asked of jobs of unknown time",
    reasons: FILTER.filter.reasons,
    reads: FILTER.filter.reads,
    temporary: false,
    applies: When(static_applies),
    judge: Before(judge_static),
});

fn static_applies(case: &Case<'_>, params: &AnalysisWalltime) -> bool {
    !params.merge_exempt || case.task.chunk != ChunkKind::Merge
}

fn judge_static(case: &Case<'_>, candidate: &Candidate<'_>, params: &AnalysisWalltime) -> Verdict {
    let slot = Slot::of(case.task, candidate.queue, &params.walltime);
    let Some(need) = slot.need(case.task).filter(|need| *need > 0.0) else {
        return Verdict::Pass;
    };
    let (longest, shortest) = (candidate.queue.max_time_s, candidate.queue.min_time_s);
    let (most, least) = (slot.capacity(longest), slot.capacity(shortest));
    if longest != 0 && need > most {
        return object(&SHORT, need, most);
    }
    if shortest != 0 && need < least {
        return object(&LONG, need, least);
    }
    Verdict::Pass
}

/// The rule of a day by itself, and only where it is wanted.
pub(super) const DAY_ALONE: QueueFilter = queue_filter!(WalltimeDay {
    name: "walltime_day",
    spec: "atlas G13b, DIFF-19",
    help: "scouts and jobs of unknown time get queues whose longest time is a day and more",
    reasons: FILTER.filter.reasons,
    reads: FILTER.filter.reads,
    temporary: false,
    applies: When(day_applies),
    judge: Before(judge_day),
});

/// Whether a task's scouts are asked for a day.
fn is_scout(case: &Case<'_>) -> bool {
    case.task.has_scouts() && case.preassigned != Preassigned::One
}

fn day_applies(case: &Case<'_>, params: &WalltimeDay) -> bool {
    params.active && (is_scout(case) || case.task.options.walltime_unknown)
}

/// A longest time of 0 is less than nothing here where a base time comes off it, as in PanDA.
fn judge_day(case: &Case<'_>, candidate: &Candidate<'_>, params: &WalltimeDay) -> Verdict {
    let (task, params) = (case.task, &params.walltime);
    let slot = Slot::of(task, candidate.queue, params);
    let capacity = slot.capacity(candidate.queue.max_time_s);
    let day = match params.day_rule {
        DayRule::Plain => slot.capacity(DAY_S as u32),
        DayRule::Hs06 => DAY_S * DAY_HS06 * slot.cores,
    };
    let reason = if is_scout(case) { &SCOUT } else { &MIN };
    if capacity != 0.0 && capacity < day { object(reason, capacity, day) } else { Verdict::Pass }
}

/// The objection of the 24 h rule, if the rule is for this job and it objects.
fn day_rule(case: &Case<'_>, candidate: &Candidate<'_>, params: &Walltime) -> Option<Verdict> {
    let task = case.task;
    let longest = candidate.queue.max_time_s;
    let scout = task.has_scouts();
    let merge = task.chunk == ChunkKind::Merge;
    let reason = if scout { &SCOUT } else { &MIN };
    if params.day_rule == DayRule::Plain {
        let short = longest != 0 && f64::from(longest) < DAY_S;
        return ((scout || merge) && short).then(|| object(reason, f64::from(longest), DAY_S));
    }
    let unknown = task.options.walltime_unknown;
    let asked = (scout && case.preassigned != Preassigned::One) || merge || unknown;
    let slot = Slot::of(task, candidate.queue, params);
    let (capacity, day) = (slot.capacity(longest), DAY_S * DAY_HS06 * slot.cores);
    // PanDA asks queues without a longest walltime too: less the base time, that is below 0.
    let short = capacity != 0.0 && capacity < day;
    (asked && short).then(|| object(reason, capacity, day))
}

/// Into how many parts the work of an event service job is divided: consumers, each with several
/// attempts.
fn parts(task: &Task) -> f64 {
    let options = &task.options;
    if !options.event_service || options.job_cloning {
        return 1.0;
    }
    let consumers = options.es_consumers.unwrap_or(DEFAULT_CONSUMERS).max(1);
    f64::from(consumers) * (f64::from(options.es_attempts_max.unwrap_or(DEFAULT_ATTEMPTS)) + 1.0)
}

/// Consumers of an event service job that states none.
const DEFAULT_CONSUMERS: u32 = 1;
/// Attempts of an event service job beyond the first, when it states none.
const DEFAULT_ATTEMPTS: u32 = 0;

/// The smallest and the largest job, in HS06 s, of a task whose jobs get their number of events as
/// they start, at a queue with a shortest walltime (spec atlas 2.4).
fn dynamic(task: &Task, queue: &Queue) -> Option<(f64, f64)> {
    let options = &task.options;
    let (fewest, cpu) = (options.dynamic_events?, task.cpu_hs06s_per_event?);
    let longest = options.longest_event_run;
    let most = options.events_per_job_max.map_or(longest, |most| most.min(longest));
    (queue.min_time_s > 0).then(|| {
        let smallest = cpu * fewest as f64;
        (smallest, smallest.max(cpu * most as f64))
    })
}

/// Unit of the work that is compared.
enum Work {
    /// HS06 s: the CPU time of an event is known.
    Hs06 {
        /// Work done in a second after the base time.
        rate: f64,
    },
    /// Core seconds: the walltime of a MB of input is all that is known.
    CoreSeconds,
    /// Walltime, s: only the base time counts.
    Base,
}

/// How much work a slot of the queue does for a task.
struct Slot {
    cores: f64,
    base_s: f64,
    work: Work,
}

impl Slot {
    fn of(task: &Task, queue: &Queue, params: &Walltime) -> Slot {
        let cores = f64::from(queue.cores.max(1));
        let base_s = task.base_walltime_s.map_or(params.base, f64::from);
        let efficiency = task.cpu_efficiency.map_or(params.efficiency, f64::from);
        let power = match queue.core_power_mhs06 {
            0 => params.core_power,
            power => f64::from(power) / 1_000.0,
        };
        let is_hs06 = task.cpu_hs06s_per_event.is_some() || task.options.cpu_in_hs06;
        let is_base = efficiency == 0.0 && params.zero_efficiency == ZeroEfficiency::Base;
        let work = match (is_hs06, is_base) {
            (false, _) => Work::CoreSeconds,
            (true, true) => Work::Base,
            (true, false) => Work::Hs06 { rate: cores * power * efficiency / 100.0 },
        };
        Slot { cores, base_s, work }
    }

    /// Work of a job, in that unit; `None` when nothing is known of it.
    fn need(&self, task: &Task) -> Option<f64> {
        let parts = parts(task);
        let need = match (&self.work, task.cpu_hs06s_per_event, task.walltime_s_per_mb) {
            (Work::Base, Some(_), _) => self.base_s,
            (Work::Hs06 { .. }, Some(cpu), _) => cpu * task.atom_events as f64 / parts,
            (Work::CoreSeconds, _, Some(wall)) => wall * task.atom_effective_mb / parts,
            (Work::Hs06 { .. } | Work::Base, None, _) | (Work::CoreSeconds, _, None) => {
                return None;
            }
        };
        // Also takes the place of a need that is not a number.
        Some(if need > 0.0 { need } else { 0.0 })
    }

    /// Work that is done in a time; HS06 s cut to a whole number as PanDA does.
    fn capacity(&self, time_s: u32) -> f64 {
        let time_s = f64::from(time_s);
        match self.work {
            Work::Hs06 { rate } => whole((time_s - self.base_s) * rate),
            Work::CoreSeconds => time_s * self.cores,
            Work::Base => time_s,
        }
    }
}
