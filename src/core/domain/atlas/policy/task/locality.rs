//! Keeps tasks at nuclei that have enough of their input, unless none has.

use super::declare::{NucleusFilter, nucleus_filter};
use super::input::Total;
use super::usable::each;
use super::{NucleusRows, TaskCase};
use crate::domain::atlas::policy::filter::Boundary;
use crate::policy::typed::{params, words};
use crate::policy::verdict::object_until;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};
use crate::unit::{DAY, GIB, Millis};

/// Largest size, count or priority a parameter may have.
const MOST: f64 = 1e12;

words! {
    /// Which priority is meant.
    Priority {
        Task = "task",
        Current = "current",
    }
}

params! {
    /// Parameters of `locality` for tasks.
    Locality {
        size_from: f64 = Param::float("INPUT_SIZE_THRESHOLD", (0.0, MOST), 1.0, 1.0)
            .unit(Unit::Gb)
            .gdp("taskbrokerage/INPUT_SIZE_THRESHOLD")
            .help("size of the input above which its part in bytes is asked for"),
        files_from: f64 = Param::float("INPUT_NUM_THRESHOLD", (0.0, MOST), 100.0, 100.0)
            .unit(Unit::Files)
            .gdp("taskbrokerage/INPUT_NUM_THRESHOLD")
            .help("files of the input above which their part is asked for (DIFF-4)"),
        size_percent: f64 = Param::float("INPUT_SIZE_FRACTION", (0.0, MOST), 10.0, 10.0)
            .unit(Unit::Percent)
            .gdp("taskbrokerage/INPUT_SIZE_FRACTION")
            .help("part of the bytes that must lie at the nucleus"),
        files_percent: f64 = Param::float("INPUT_NUM_FRACTION", (0.0, MOST), 10.0, 10.0)
            .unit(Unit::Percent)
            .gdp("taskbrokerage/INPUT_NUM_FRACTION")
            .help("part of the files that must lie at the nucleus"),
        boundary: Boundary = Boundary::param("boundary", Boundary::Above, Boundary::AtLeast)
            .help("keeps above the part, or at it already (DIFF-5)"),
        io_most: f64 =
            Param::float("MIN_IO_INTENSITY_WITH_LOCAL_DATA", (0.0, MOST), 200.0, 200.0)
                .unit(Unit::KbPerSecond)
                .gdp("taskbrokerage/MIN_IO_INTENSITY_WITH_LOCAL_DATA")
                .help("I/O intensity up to which input may come from afar"),
        size_most: f64 =
            Param::float("MIN_INPUT_SIZE_WITH_LOCAL_DATA", (0.0, MOST), 10_000.0, 10_000.0)
                .unit(Unit::Gb)
                .gdp("taskbrokerage/MIN_INPUT_SIZE_WITH_LOCAL_DATA")
                .help("size up to which input may come from afar"),
        priority_least: f64 =
            Param::float("MAX_TASK_PRIO_WITH_LOCAL_DATA", (-MOST, MOST), 800.0, 800.0)
                .gdp("taskbrokerage/MAX_TASK_PRIO_WITH_LOCAL_DATA")
                .help("priority from which input may come from afar"),
        priority: Priority = Priority::param("priority", Priority::Task, Priority::Current)
            .help("which priority is meant: the task's own, or the current one (DIFF-6)"),
        gives_up: bool = Param::flag("gives_up", false, true)
            .help("whether nothing is asked of tasks that have waited for long"),
        period: f64 = Param::float("DATA_LOCATION_CHECK_PERIOD", (0.0, MOST), 7.0, 7.0)
            .unit(Unit::Days)
            .gdp_above_0("taskbrokerage/DATA_LOCATION_CHECK_PERIOD")
            .help("how long is long"),
        last_part: bool = Param::flag("last_part", false, true)
            .help("whether of a container the last part alone counts as all there is (Q-2)"),
    }
}

const INSIZE: Reason =
    Reason::new("insize", "{measured} % of the input's bytes lie there; limit {limit} %");
const INNUM: Reason =
    Reason::new("innum", "{measured} % of the input's files lie there; limit {limit} %");

pub(super) const FILTER: NucleusFilter = nucleus_filter!(Locality {
    name: "locality",
    spec: "atlas N8, 1.6, DIFF-4, DIFF-5, DIFF-6",
    help: "enough of the input lies at the nucleus, in bytes and in files; where no nucleus has \
           enough, it is dropped for tasks of little input or high priority",
    reasons: &[&INSIZE, &INNUM],
    reads: &[Reads::Storage],
    temporary: false,
    applies: When(applies),
    judge: Whole(judge),
});

impl Total {
    /// All there is, as a policy counts it; bytes, files.
    pub(super) fn counted(&self, last_part: bool) -> (f64, f64) {
        match last_part {
            true => (self.bytes_last as f64, self.files_last as f64),
            false => (self.bytes as f64, self.files as f64),
        }
    }
}

/// When nothing is asked of the task any more.
fn gives_up_at(case: &TaskCase<'_>, params: &Locality) -> Option<Millis> {
    let patience = params.period * DAY as f64;
    let frozen_at = case.task.options.frozen_at.filter(|_| params.gives_up)?;
    Some(frozen_at.saturating_add(patience as Millis).saturating_add(1))
}

fn applies(case: &TaskCase<'_>, params: &Locality) -> bool {
    let is_late = gives_up_at(case, params).is_some_and(|at| at <= case.now);
    case.total.is_there && !is_late
}

fn judge(case: &TaskCase<'_>, rows: &mut NucleusRows<'_>, params: &Locality) {
    let gives_up_at = gives_up_at(case, params);
    let (bytes, files) = case.total.counted(params.last_part);
    let is_enough = |has: f64, all: f64, percent: f64| {
        let least = all * (percent / 100.0);
        params.boundary.is_beyond(has, least)
    };
    each(rows, |nucleus| {
        let held = &nucleus.held;
        let (has_bytes, has_files) = (held.any_bytes as f64, held.any_files as f64);
        if case.task.options.input_prestaging && held.any_files > 0 {
            return Verdict::Pass;
        }
        let percent = params.size_percent;
        let is_large = bytes > params.size_from * GIB as f64;
        if is_large && !is_enough(has_bytes, bytes, percent) {
            return object_until(&INSIZE, 100.0 * has_bytes / bytes, percent, gives_up_at);
        }
        let percent = params.files_percent;
        if files > params.files_from && !is_enough(has_files, files, percent) {
            return object_until(&INNUM, 100.0 * has_files / files, percent, gives_up_at);
        }
        Verdict::Pass
    });
    let is_none = rows.left.iter().all(|row| row.verdict != Verdict::Pass);
    if !rows.left.is_empty() && is_none && may_come_from_afar(case, bytes, params) {
        rows.left.iter_mut().for_each(|row| row.verdict = Verdict::Pass);
        rows.course.locality_dropped = true;
    }
}

/// Whether the check is dropped where no nucleus passes it.
fn may_come_from_afar(case: &TaskCase<'_>, bytes: f64, params: &Locality) -> bool {
    let task = case.task;
    let io = task.io_intensity_kbps.map_or(0.0, f64::from);
    let priority = match params.priority {
        Priority::Current => task.priority,
        Priority::Task => task.task_priority,
    };
    let is_light = io <= params.io_most;
    is_light && bytes / GIB as f64 <= params.size_most
        || f64::from(priority) >= params.priority_least
}
