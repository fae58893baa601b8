//! Keeps tasks at nuclei that have enough of their input, unless none has.

use super::input::Total;
use super::place::each;
use super::{Course, NucleusRow, TaskCase};
use crate::core::policy::{Args, Filter, Judge, Objection, Param, Reads, Verdict};
use crate::core::unit::{DAY, GIB, Millis};

/// Largest size, count or priority a parameter may have.
const MOST: f64 = 1e12;

pub(super) const FILTER: Filter = Filter {
    name: "locality",
    spec: "atlas N8, 1.6, DIFF-4, DIFF-5, DIFF-6",
    help: "enough of the input lies at the nucleus, in bytes and in files; where no nucleus has \
           enough, it is dropped for tasks of little input or high priority",
    reasons: &[
        ("insize", "{measured} % of the input's bytes lie there; limit {limit} %"),
        ("innum", "{measured} % of the input's files lie there; limit {limit} %"),
    ],
    params: &[
        Param::float("INPUT_SIZE_THRESHOLD", (0.0, MOST), 1.0, 1.0)
            .gdp("taskbrokerage/INPUT_SIZE_THRESHOLD")
            .help("size of the input above which its part in bytes is asked for; GB"),
        Param::float("INPUT_NUM_THRESHOLD", (0.0, MOST), 100.0, 100.0)
            .gdp("taskbrokerage/INPUT_NUM_THRESHOLD")
            .help("files of the input above which their part is asked for (DIFF-4); files"),
        Param::float("INPUT_SIZE_FRACTION", (0.0, MOST), 10.0, 10.0)
            .gdp("taskbrokerage/INPUT_SIZE_FRACTION")
            .help("part of the bytes that must lie at the nucleus; %"),
        Param::float("INPUT_NUM_FRACTION", (0.0, MOST), 10.0, 10.0)
            .gdp("taskbrokerage/INPUT_NUM_FRACTION")
            .help("part of the files that must lie at the nucleus; %"),
        Param::word("boundary", &["above", "at_least"], "above", "at_least")
            .help("keeps above the part, or at it already (DIFF-5)"),
        Param::float("MIN_IO_INTENSITY_WITH_LOCAL_DATA", (0.0, MOST), 200.0, 200.0)
            .gdp("taskbrokerage/MIN_IO_INTENSITY_WITH_LOCAL_DATA")
            .help("I/O intensity up to which input may come from afar; kB/s"),
        Param::float("MIN_INPUT_SIZE_WITH_LOCAL_DATA", (0.0, MOST), 10_000.0, 10_000.0)
            .gdp("taskbrokerage/MIN_INPUT_SIZE_WITH_LOCAL_DATA")
            .help("size up to which input may come from afar; GB"),
        Param::float("MAX_TASK_PRIO_WITH_LOCAL_DATA", (-MOST, MOST), 800.0, 800.0)
            .gdp("taskbrokerage/MAX_TASK_PRIO_WITH_LOCAL_DATA")
            .help("priority from which input may come from afar"),
        Param::word("priority", &["task", "current"], "current", "current")
            .help("which priority is meant: the task's own, or the current one (DIFF-6)"),
        Param::flag("gives_up", false, true)
            .help("whether nothing is asked of tasks that have waited for long"),
        Param::float("DATA_LOCATION_CHECK_PERIOD", (0.0, MOST), 7.0, 7.0)
            .gdp("taskbrokerage/DATA_LOCATION_CHECK_PERIOD")
            .help("how long is long; days"),
        Param::flag("last_part", false, true)
            .help("whether of a container the last part alone counts as all there is (Q-2)"),
    ],
    reads: &[Reads::Storage],
    temporary: false,
    applies: None,
    judge: Judge::Nuclei(judge),
};

const SIZE_FROM: usize = 0;
const FILES_FROM: usize = 1;
const SIZE_PERCENT: usize = 2;
const FILES_PERCENT: usize = 3;
const AT: usize = 4;
const IO_MOST: usize = 5;
const SIZE_MOST: usize = 6;
const PRIORITY_LEAST: usize = 7;
const PRIORITY: usize = 8;
const GIVES_UP: usize = 9;
const PERIOD: usize = 10;
const LAST_PART: usize = 11;

impl Total {
    /// All there is, as a policy counts it; bytes, files.
    pub(super) fn counted(&self, last_part: bool) -> (f64, f64) {
        match last_part {
            true => (self.bytes_last as f64, self.files_last as f64),
            false => (self.bytes as f64, self.files as f64),
        }
    }
}

fn judge(case: &TaskCase<'_>, rows: &mut [NucleusRow<'_>], course: &mut Course, args: &Args) {
    let gives_up_at = case.task.options.frozen_at.filter(|_| args.flag(GIVES_UP)).map(|at| {
        let patience = args.number(PERIOD) * DAY as f64;
        at.saturating_add(patience as Millis).saturating_add(1)
    });
    let is_late = gives_up_at.is_some_and(|at| at <= case.now);
    if !case.total.is_there || is_late {
        return;
    }
    let (bytes, files) = case.total.counted(args.flag(LAST_PART));
    let is_enough = |has: f64, all: f64, percent: f64| {
        let least = all * (percent / 100.0);
        has > least || args.word(AT) == 1 && has == least
    };
    each(rows, |nucleus| {
        let held = &nucleus.held;
        let (has_bytes, has_files) = (held.any_bytes as f64, held.any_files as f64);
        if case.task.options.input_prestaging && held.any_files > 0 {
            return Verdict::Pass;
        }
        let percent = args.number(SIZE_PERCENT);
        let is_large = bytes > args.number(SIZE_FROM) * GIB as f64;
        if is_large && !is_enough(has_bytes, bytes, percent) {
            return object("insize", 100.0 * has_bytes / bytes, percent, gives_up_at);
        }
        let percent = args.number(FILES_PERCENT);
        if files > args.number(FILES_FROM) && !is_enough(has_files, files, percent) {
            return object("innum", 100.0 * has_files / files, percent, gives_up_at);
        }
        Verdict::Pass
    });
    let is_none = rows.iter().all(|row| row.verdict != Verdict::Pass);
    if !rows.is_empty() && is_none && may_come_from_afar(case, bytes, args) {
        rows.iter_mut().for_each(|row| row.verdict = Verdict::Pass);
        course.locality_dropped = true;
    }
}

fn object(reason: &'static str, measured: f64, limit: f64, recheck_at: Option<Millis>) -> Verdict {
    Verdict::Object(Objection { reason, measured, limit, recheck_at })
}

/// Whether the check is dropped where no nucleus passes it.
fn may_come_from_afar(case: &TaskCase<'_>, bytes: f64, args: &Args) -> bool {
    let task = case.task;
    let io = task.io_intensity_kbps.map_or(0.0, f64::from);
    let priority = if args.word(PRIORITY) == 1 { task.priority } else { task.task_priority };
    let is_light = io <= args.number(IO_MOST);
    is_light && bytes / GIB as f64 <= args.number(SIZE_MOST)
        || f64::from(priority) >= args.number(PRIORITY_LEAST)
}
