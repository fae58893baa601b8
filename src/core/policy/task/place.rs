//! Whether a nucleus can be used at all: in service, not backlogged, with storage that is open, and
//! with a queue that could run the jobs.

use super::{Course, NucleusCandidate, NucleusRow, TaskCase, endpoint, is_distributed, object};
use crate::core::event::Storage;
use crate::core::policy::{Args, Filter, Judge, Objection, Param, Reads, Verdict};

pub(super) const STATUS: Filter = Filter {
    name: "status",
    spec: "atlas N2",
    help: "the nucleus is in service",
    reasons: &[("status", "the nucleus is not in service")],
    params: &[],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Nuclei(|_, rows, _, _| {
        each(
            rows,
            |nucleus| if nucleus.active { Verdict::Pass } else { object("status", 0.0, 1.0) },
        );
    }),
};

pub(super) const BACKLOG: Filter = Filter {
    name: "backlog",
    spec: "atlas N3",
    help: "not too many files of production output are queued to the nucleus; not asked when \
           t1Weight is below 0",
    reasons: &[(
        "transfer_backlog",
        "{measured} files are queued to the nucleus from all sources; limit {limit}",
    )],
    params: &[Param::int("NQUEUED_NUC_CAP", 2_000, 2_000)
        .gdp("taskbrokerage/NQUEUED_NUC_CAP")
        .help("files queued to a nucleus; files")],
    reads: &[Reads::Nucleus],
    temporary: false,
    applies: None,
    judge: Judge::Nuclei(backlog),
};

pub(super) const STORAGE: Filter = Filter {
    name: "storage",
    spec: "atlas N4, 1.4",
    help: "the nucleus has an endpoint for every output",
    reasons: &[("storage", "{measured} outputs have no endpoint at the nucleus")],
    params: &[],
    reads: &[Reads::Storage],
    temporary: false,
    applies: None,
    judge: Judge::Nuclei(storage),
};

pub(super) const BLACKLIST: Filter = Filter {
    name: "blacklist",
    spec: "atlas N5",
    help: "the endpoints of the output can be read and written from afar",
    reasons: &[
        ("source_blacklist", "an endpoint of the output cannot be read from afar"),
        ("destination_blacklist", "an endpoint of the output cannot be written from afar"),
    ],
    params: &[Param::flag("checked", false, true).help("whether it is asked (DIFF-2)")],
    reads: &[Reads::Storage],
    temporary: false,
    applies: None,
    judge: Judge::Nuclei(blacklist),
};

pub(super) const JOB: Filter = Filter {
    name: "job",
    spec: "atlas N7, DIFF-2",
    help: "a queue of the nucleus could run the task's jobs now: job brokerage up to its pilots, \
           the queues of every nucleus counting as the nucleus's own",
    reasons: &[
        ("job", "no queue of the nucleus could run the jobs"),
        ("no_queue_can_run", "no queue of any nucleus could run the jobs"),
    ],
    params: &[Param::flag("checked", true, true).help("whether it is asked (DIFF-2)")],
    reads: &[Reads::Load, Reads::Pilot, Reads::Storage],
    temporary: false,
    applies: None,
    judge: Judge::Nuclei(job),
};

/// Asks of each nucleus by itself.
pub(super) fn each(rows: &mut [NucleusRow<'_>], says: impl Fn(&NucleusCandidate<'_>) -> Verdict) {
    rows.iter_mut().for_each(|row| row.verdict = says(&row.nucleus));
}

fn backlog(case: &TaskCase<'_>, rows: &mut [NucleusRow<'_>], _: &mut Course, args: &Args) {
    if case.task.options.t1_weight < 0 {
        return;
    }
    let cap = args.number(0);
    each(rows, |nucleus| {
        let queued = nucleus.queued_files as f64;
        if queued <= cap {
            return Verdict::Pass;
        }
        let recheck_at = nucleus.queued_until;
        let reason = "transfer_backlog";
        Verdict::Object(Objection { reason, measured: queued, limit: cap, recheck_at })
    });
}

/// The tokens of a task's outputs for which an endpoint is looked for.
fn tokens<'a>(case: &TaskCase<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let all = case.task.output.iter().map(|output| output.token.as_str());
    all.filter(|token| !is_distributed(token))
}

/// The endpoints of a task's outputs at a nucleus, as far as there are any.
pub(super) fn endpoints<'a>(
    case: &TaskCase<'_>,
    nucleus: &NucleusCandidate<'a>,
) -> impl Iterator<Item = &'a Storage> {
    tokens(case).filter_map(|token| endpoint(nucleus, token))
}

fn storage(case: &TaskCase<'_>, rows: &mut [NucleusRow<'_>], _: &mut Course, _: &Args) {
    each(rows, |nucleus| {
        let missing = tokens(case).filter(|token| endpoint(nucleus, token).is_none()).count();
        if missing == 0 { Verdict::Pass } else { object("storage", missing as f64, 0.0) }
    });
}

fn blacklist(case: &TaskCase<'_>, rows: &mut [NucleusRow<'_>], _: &mut Course, args: &Args) {
    if !args.flag(0) {
        return;
    }
    each(rows, |nucleus| {
        for storage in endpoints(case, nucleus) {
            if !storage.read_wan {
                return object("source_blacklist", 0.0, 1.0);
            }
            if !storage.write_wan {
                return object("destination_blacklist", 0.0, 1.0);
            }
        }
        Verdict::Pass
    });
}

fn job(case: &TaskCase<'_>, rows: &mut [NucleusRow<'_>], course: &mut Course, args: &Args) {
    if !args.flag(0) {
        return;
    }
    each(rows, |nucleus| match (case.runs)(nucleus.queues) {
        true => Verdict::Pass,
        false => object("job", 0.0, 1.0),
    });
    if rows.iter().all(|row| row.verdict != Verdict::Pass) {
        let reason = "no_queue_can_run";
        course.held = Some(Objection { reason, measured: 0.0, limit: 1.0, recheck_at: None });
    }
}
