//! Sends work that reads much where its input is.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter, Row};
use crate::event::ChunkKind;
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Unit, Verdict};
use crate::unit::GIB;

words! {
    /// Whether the missing part must be below the limit, or at most the limit.
    Missable {
        Below = "below",
        AtMost = "at_most",
    }
}

words! {
    /// Which of the two filters is asked.
    Reading {
        Strict = "strict",
        Lenient = "lenient",
    }
}

params! {
    /// Parameters of `io` and `io_second_chance`.
    Io {
        intensity: f64 = Param::int("IO_INTENSITY_CUTOFF", 200, 200)
            .unit(Unit::KbPerSecond)
            .gdp("jobbroker/IO_INTENSITY_CUTOFF")
            .help("tasks that read no faster are not asked"),
        size: f64 = Param::float("SIZE_CUTOFF_TO_MOVE_INPUT", (0.0, 1e9), 10.0, 10.0)
            .unit(Unit::Gb)
            .gdp("jobbroker/SIZE_CUTOFF_TO_MOVE_INPUT")
            .help("input that may be missing; GB of 1024^3 bytes"),
        files: f64 = Param::int("NUM_CUTOFF_TO_MOVE_INPUT", 100, 100)
            .unit(Unit::Files)
            .gdp("jobbroker/NUM_CUTOFF_TO_MOVE_INPUT")
            .help("files that may be missing"),
        boundary: Missable = Missable::param("boundary", Missable::Below, Missable::AtMost).help(
            "what is missing is below the limit, or at most the limit, in whole MB (DIFF-17)",
        ),
        reading: Reading = Reading::param("reading", Reading::Strict, Reading::Lenient)
            .help("which of io and io_second_chance is asked, where both are listed (DIFF-17)"),
        merge_exempt: bool = Param::flag("merge_exempt", false, true)
            .help("whether merge jobs are not asked"),
        event_service_exempt: bool = Param::flag("event_service_exempt", false, true)
            .help("whether event service tasks are not asked"),
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether a single pre-assigned queue is not asked"),
    }
}

const IO: Reason = Reason::new("io", "{measured} GB of the input are missing; limit {limit} GB");
const IO_FILES: Reason =
    Reason::new("io_files", "{measured} files of the input are missing; limit {limit}");

pub(super) const FILTER: QueueFilter = queue_filter!(Io {
    name: "io",
    spec: "atlas F20, DIFF-17",
    help: "a task that reads fast misses little of its input at the queue; not asked of a task \
           without a byte of input",
    reasons: &[&IO, &IO_FILES],
    reads: &[],
    temporary: false,
    applies: When(is_strict),
    judge: Before(judge),
});

pub(super) const SECOND_CHANCE: QueueFilter = queue_filter!(Io {
    name: "io_second_chance",
    spec: "atlas F20, DIFF-17, Q-28",
    help: "the same, but queues that reach the rest on tape are used when no other is left, and \
           nobody is refused when all would be",
    reasons: &[&IO, &IO_FILES],
    reads: &[],
    temporary: false,
    applies: When(is_lenient),
    judge: Whole(judge_all),
});

fn is_strict(case: &Case<'_>, params: &Io) -> bool {
    params.reading == Reading::Strict && is_asked(case, params)
}

fn is_lenient(case: &Case<'_>, params: &Io) -> bool {
    params.reading == Reading::Lenient && is_asked(case, params)
}

/// Whether a task is asked at all.
fn is_asked(case: &Case<'_>, params: &Io) -> bool {
    let task = case.task;
    let reads_fast = task.io_intensity_kbps.is_some_and(|it| f64::from(it) > params.intensity);
    // Without bytes nothing has to be moved, however many files a task counts.
    let is_exempt = task.total_bytes == 0
        || params.merge_exempt && task.chunk == ChunkKind::Merge
        || params.event_service_exempt && task.options.event_service
        || params.preassigned_exempt && case.preassigned == Preassigned::One;
    reads_fast && !is_exempt
}

/// Part of the input that a queue misses, and whether that is too much.
#[derive(Clone, Copy)]
struct Missing {
    gb: f64,
    files: f64,
    is_too_much: bool,
}

fn missing(case: &Case<'_>, bytes: u64, files: u32, params: &Io) -> Missing {
    let bytes = case.task.total_bytes.saturating_sub(bytes);
    let files = f64::from(case.task.total_files.saturating_sub(files));
    let gb = match params.boundary {
        Missable::Below => bytes as f64 / GIB as f64,
        Missable::AtMost => (bytes / (1 << 20)) as f64 / 1024.0,
    };
    let is_too_much = match params.boundary {
        Missable::Below => gb >= params.size || files >= params.files,
        Missable::AtMost => gb > params.size || files > params.files,
    };
    Missing { gb, files, is_too_much }
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &Io) -> Verdict {
    let found = missing(case, candidate.available_bytes, candidate.available_files, params);
    if found.is_too_much { found.object(params) } else { Verdict::Pass }
}

fn judge_all(case: &Case<'_>, rows: &mut [Row<'_>], params: &Io) {
    let on_disk = |row: &Row<'_>| {
        missing(case, row.candidate.available_bytes, row.candidate.available_files, params)
    };
    let at_all = |row: &Row<'_>| {
        missing(case, row.candidate.reachable_bytes, row.candidate.reachable_files, params)
    };
    if rows.iter().all(|row| at_all(row).is_too_much) {
        return;
    }
    let none_is_clean = rows.iter().all(|row| on_disk(row).is_too_much);
    for row in rows {
        let found = on_disk(row);
        let is_let_through = none_is_clean && !at_all(row).is_too_much;
        if found.is_too_much && !is_let_through {
            row.verdict = found.object(params);
        }
    }
}

impl Missing {
    fn object(self, params: &Io) -> Verdict {
        let is_size = match params.boundary {
            Missable::Below => self.gb >= params.size,
            Missable::AtMost => self.gb > params.size,
        };
        match is_size {
            true => object(&IO, self.gb, params.size),
            false => object(&IO_FILES, self.files, params.files),
        }
    }
}
