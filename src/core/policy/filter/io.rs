//! Sends work that reads much where its input is.

use super::object;
use crate::core::event::ChunkKind;
use crate::core::policy::{Args, Case, Filter, Judge, Param, Preassigned, Row};
use crate::core::unit::GIB;

pub(super) const FILTER: Filter = Filter {
    name: "io",
    spec: "atlas F20, DIFF-17",
    help: "a task that reads fast misses little of its input at the queue; not asked of merge and \
           event service jobs, nor of a single pre-assigned queue",
    reasons: &[
        ("io", "{measured} GB of the input are missing; limit {limit} GB"),
        ("io_files", "{measured} files of the input are missing; limit {limit}"),
    ],
    params: &[
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
        Param::flag("second_chance", false, true).help(
            "whether queues that reach the rest on tape are used when no other is left, and nobody is \
             refused when all would be (Q-28)",
        ),
    ],
    reads: &[],
    temporary: false,
    judge: Judge::Whole(judge),
};

const INTENSITY: usize = 0;
const SIZE: usize = 1;
const FILES: usize = 2;
const BOUNDARY: usize = 3;
const SECOND_CHANCE: usize = 4;

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

fn judge(case: &Case<'_>, rows: &mut [Row<'_>], args: &Args) {
    let task = case.task;
    let reads_fast =
        task.io_intensity_kbps.is_some_and(|it| f64::from(it) > args.number(INTENSITY));
    let is_free = task.total_bytes == 0
        || task.chunk == ChunkKind::Merge
        || task.options.event_service
        || case.preassigned == Preassigned::One;
    if !reads_fast || is_free {
        return;
    }
    let on_disk = |row: &Row<'_>| {
        missing(case, row.candidate.available_bytes, row.candidate.available_files, args)
    };
    let at_all = |row: &Row<'_>| {
        missing(case, row.candidate.reachable_bytes, row.candidate.reachable_files, args)
    };
    let is_second = args.flag(SECOND_CHANCE);
    let is_hard = |row: &Row<'_>| at_all(row).is_too_much;
    if is_second && rows.iter().all(is_hard) {
        return;
    }
    let none_is_clean = rows.iter().all(|row| on_disk(row).is_too_much);
    for row in rows {
        let found = on_disk(row);
        let is_let_through = is_second && none_is_clean && !at_all(row).is_too_much;
        if found.is_too_much && !is_let_through {
            let is_size = match args.word(BOUNDARY) {
                0 => found.gb >= args.number(SIZE),
                _ => found.gb > args.number(SIZE),
            };
            row.verdict = match is_size {
                true => object("io", found.gb, args.number(SIZE)),
                false => object("io_files", found.files, args.number(FILES)),
            };
        }
    }
}
