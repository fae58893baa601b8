//! Sends work that reads much where its input is.

use super::object;
use crate::core::event::ChunkKind;
use crate::core::policy::{Args, Candidate, Case, Filter, Judge, Param, Preassigned, Row, Verdict};
use crate::core::unit::GIB;

pub(super) const FILTER: Filter = Filter {
    name: "io",
    spec: "atlas F20, DIFF-17",
    help: "a task that reads fast misses little of its input at the queue; not asked of merge and \
           event service jobs, nor of a single pre-assigned queue",
    reasons: REASONS,
    params: PARAMS,
    reads: &[],
    temporary: false,
    applies: Some(|case, args| args.word(READING) == STRICT && is_asked(case, args)),
    judge: Judge::Before(judge),
};

pub(super) const SECOND_CHANCE: Filter = Filter {
    name: "io_second_chance",
    spec: "atlas F20, DIFF-17, Q-28",
    help: "the same, but queues that reach the rest on tape are used when no other is left, and \
           nobody is refused when all would be",
    reasons: REASONS,
    params: PARAMS,
    reads: &[],
    temporary: false,
    applies: Some(|case, args| args.word(READING) != STRICT && is_asked(case, args)),
    judge: Judge::Whole(judge_all),
};

const REASONS: &[(&str, &str)] = &[
    ("io", "{measured} GB of the input are missing; limit {limit} GB"),
    ("io_files", "{measured} files of the input are missing; limit {limit}"),
];

const PARAMS: &[Param] = &[
    Param::int("IO_INTENSITY_CUTOFF", 200, 200)
        .gdp("jobbroker/IO_INTENSITY_CUTOFF")
        .help("tasks that read no faster are not asked; kB/s"),
    Param::float("SIZE_CUTOFF_TO_MOVE_INPUT", (0.0, 1e9), 10.0, 10.0)
        .gdp("jobbroker/SIZE_CUTOFF_TO_MOVE_INPUT")
        .help("input that may be missing; GB of 1024^3 bytes"),
    Param::int("NUM_CUTOFF_TO_MOVE_INPUT", 100, 100)
        .gdp("jobbroker/NUM_CUTOFF_TO_MOVE_INPUT")
        .help("files that may be missing; files"),
    Param::word("boundary", &["below", "at_most"], "below", "at_most")
        .help("what is missing is below the limit, or at most the limit, in whole MB (DIFF-17)"),
    Param::word("reading", &["strict", "lenient"], "strict", "lenient")
        .help("which of io and io_second_chance is asked, where both are listed (DIFF-17)"),
];

const INTENSITY: usize = 0;
const SIZE: usize = 1;
const FILES: usize = 2;
const BOUNDARY: usize = 3;
const READING: usize = 4;
const STRICT: usize = 0;

/// What of the input a queue misses, and whether that is too much.
#[derive(Clone, Copy)]
struct Missing {
    gb: f64,
    files: f64,
    is_too_much: bool,
}

fn missing(case: &Case<'_>, bytes: u64, files: u32, args: &Args) -> Missing {
    let bytes = case.task.total_bytes.saturating_sub(bytes);
    let (gb, files) = match args.word(BOUNDARY) {
        0 => (bytes as f64 / GIB as f64, case.task.total_files.saturating_sub(files)),
        _ => ((bytes / (1 << 20)) as f64 / 1024.0, case.task.total_files.saturating_sub(files)),
    };
    let files = f64::from(files);
    let (most_gb, most_files) = (args.number(SIZE), args.number(FILES));
    let is_too_much = match args.word(BOUNDARY) {
        0 => gb >= most_gb || files >= most_files,
        _ => gb > most_gb || files > most_files,
    };
    Missing { gb, files, is_too_much }
}

/// Whether a task is asked at all.
fn is_asked(case: &Case<'_>, args: &Args) -> bool {
    let task = case.task;
    let reads_fast =
        task.io_intensity_kbps.is_some_and(|it| f64::from(it) > args.number(INTENSITY));
    let is_free = task.total_bytes == 0
        || task.chunk == ChunkKind::Merge
        || task.options.event_service
        || case.preassigned == Preassigned::One;
    reads_fast && !is_free
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    if args.word(READING) != STRICT || !is_asked(case, args) {
        return Verdict::Pass;
    }
    let found = missing(case, candidate.available_bytes, candidate.available_files, args);
    if found.is_too_much { found.object(args) } else { Verdict::Pass }
}

fn judge_all(case: &Case<'_>, rows: &mut [Row<'_>], args: &Args) {
    if args.word(READING) == STRICT || !is_asked(case, args) {
        return;
    }
    let on_disk = |row: &Row<'_>| {
        missing(case, row.candidate.available_bytes, row.candidate.available_files, args)
    };
    let at_all = |row: &Row<'_>| {
        missing(case, row.candidate.reachable_bytes, row.candidate.reachable_files, args)
    };
    if rows.iter().all(|row| at_all(row).is_too_much) {
        return;
    }
    let none_is_clean = rows.iter().all(|row| on_disk(row).is_too_much);
    for row in rows {
        let found = on_disk(row);
        let is_let_through = none_is_clean && !at_all(row).is_too_much;
        if found.is_too_much && !is_let_through {
            row.verdict = found.object(args);
        }
    }
}

impl Missing {
    fn object(self, args: &Args) -> Verdict {
        let is_size = match args.word(BOUNDARY) {
            0 => self.gb >= args.number(SIZE),
            _ => self.gb > args.number(SIZE),
        };
        match is_size {
            true => object("io", self.gb, args.number(SIZE)),
            false => object("io_files", self.files, args.number(FILES)),
        }
    }
}
