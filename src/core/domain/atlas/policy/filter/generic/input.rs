//! The last steps for a generic task: queues that it used, and those that have its whole input.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Dispatch, QueueFilter, Row};
use crate::policy::declare::NoParams;
use crate::policy::verdict::{BEYOND_THE_BEST, object};
use crate::policy::{Reads, Reason, Verdict};

const FILES_UNLISTED: Reason = Reason::new(
    "files_unlisted",
    "PanDA's data management client cannot list the files of the input",
);

pub(crate) const UNLISTED: QueueFilter = queue_filter!(NoParams {
    name: "unlisted",
    spec: "panda-generic 1.5",
    help: "input is listed; asked of tasks that read any, where lists_files is off",
    reasons: &[&FILES_UNLISTED],
    reads: &[],
    temporary: false,
    applies: When(unlisted_applies),
    judge: Last(unlisted),
});

fn unlisted_applies(case: &Case<'_>, _: &NoParams) -> bool {
    case.generic.dispatch == Dispatch::None
}

fn unlisted(_: &Case<'_>, rows: &mut [Row<'_>], _: &NoParams) {
    for row in rows {
        row.verdict = object(&FILES_UNLISTED, 0.0, 1.0);
    }
}

pub(super) const USED_FIRST: QueueFilter = queue_filter!(NoParams {
    name: "used_first",
    spec: "panda-generic S1",
    help: "queues that have jobs of the task already go before others, all of them; objects to \
           nothing",
    reasons: &[],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Last(used_first),
});

fn used_first(case: &Case<'_>, rows: &mut [Row<'_>], _: &NoParams) {
    let used = &case.task.options.used_queues;
    for row in rows {
        let queue = row.candidate.queue;
        let is_by_parent = !case.generic.parts_apart && used.contains(&queue.unified);
        row.preferred |= is_by_parent || used.contains(&queue.name);
    }
}

const INCOMPLETE_INPUT: Reason =
    Reason::new("incomplete_input", "{measured} files of the input are missing at the queue");

/// Judges whether a queue has the whole input on disk.
fn is_whole(case: &Case<'_>, candidate: &Candidate<'_>) -> Verdict {
    let all = case.files_to_have();
    let there = if case.is_apart(candidate) { 0 } else { candidate.available_files };
    match all.saturating_sub(there) {
        0 => Verdict::Pass,
        missing => object(&INCOMPLETE_INPUT, f64::from(missing), 0.0),
    }
}

pub(super) const INCOMPLETE: QueueFilter = queue_filter!(NoParams {
    name: "incomplete",
    spec: "panda-generic S3",
    help: "the queue has the whole input on disk; asked where disable_file_dispatch is on and \
           dispatch_after_cut is off",
    reasons: &[&INCOMPLETE_INPUT],
    reads: &[Reads::Storage],
    temporary: false,
    applies: When(incomplete_applies),
    judge: Last(incomplete),
});

fn incomplete_applies(case: &Case<'_>, _: &NoParams) -> bool {
    case.generic.dispatch == Dispatch::Whole
}

fn incomplete(case: &Case<'_>, rows: &mut [Row<'_>], _: &NoParams) {
    for row in rows {
        row.verdict = is_whole(case, row.candidate);
    }
}

pub(super) const INCOMPLETE_BEST: QueueFilter = queue_filter!(NoParams {
    name: "incomplete_best",
    spec: "panda-generic S3",
    help: "the queue has the whole input on disk; asked of the best alone, where \
           dispatch_after_cut is on too",
    reasons: &[&INCOMPLETE_INPUT, &BEYOND_THE_BEST],
    // Which are the best changes with the weights.
    reads: &[Reads::Load, Reads::Storage],
    temporary: false,
    applies: When(incomplete_best_applies),
    judge: Kept(incomplete),
});

fn incomplete_best_applies(case: &Case<'_>, _: &NoParams) -> bool {
    case.generic.dispatch == Dispatch::WholeOfBest
}
