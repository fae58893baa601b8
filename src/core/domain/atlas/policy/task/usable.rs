//! Whether a nucleus can be used at all: in service, not backlogged, with storage that is open, and
//! with a queue that could run the jobs.

use super::declare::{NucleusFilter, nucleus_filter};
use super::{NucleusCandidate, NucleusRows, TaskCase, endpoint, is_distributed};
use crate::event::Storage;
use crate::policy::declare::NoParams;
use crate::policy::typed::params;
use crate::policy::verdict::{object, object_until};
use crate::policy::{Param, Reads, Reason, Unit, Verdict, WaitReason};

const NOT_IN_SERVICE: Reason = Reason::new("status", "the nucleus is out of service, not active");

pub(super) const STATUS: NucleusFilter = nucleus_filter!(NoParams {
    name: "status",
    spec: "atlas N2",
    help: "the nucleus is in service",
    reasons: &[&NOT_IN_SERVICE],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Whole(status),
});

fn status(_: &TaskCase<'_>, rows: &mut NucleusRows<'_>, _: &NoParams) {
    each(rows, |nucleus| match nucleus.active {
        true => Verdict::Pass,
        false => object(&NOT_IN_SERVICE, 0.0, 1.0),
    });
}

params! {
    /// Parameters of `backlog`.
    Backlog {
        cap: f64 = Param::int("NQUEUED_NUC_CAP", 2_000, 2_000)
            .unit(Unit::Files)
            .gdp("taskbrokerage/NQUEUED_NUC_CAP")
            .help("files queued to a nucleus"),
    }
}

const TRANSFER_BACKLOG: Reason = Reason::new(
    "transfer_backlog",
    "{measured} files are queued to the nucleus from all sources; limit {limit}",
);

pub(super) const BACKLOG: NucleusFilter = nucleus_filter!(Backlog {
    name: "backlog",
    spec: "atlas N3",
    help: "not too many files of production output are queued to the nucleus; not asked when \
           t1Weight is below 0",
    reasons: &[&TRANSFER_BACKLOG],
    reads: &[Reads::Nucleus],
    temporary: false,
    applies: When(backlog_applies),
    judge: Whole(backlog),
});

const NO_ENDPOINT: Reason =
    Reason::new("storage", "{measured} outputs have no endpoint at the nucleus");

pub(super) const STORAGE: NucleusFilter = nucleus_filter!(NoParams {
    name: "storage",
    spec: "atlas N4, 1.4",
    help: "the nucleus has an endpoint for every output",
    reasons: &[&NO_ENDPOINT],
    reads: &[Reads::Storage],
    temporary: false,
    applies: Always,
    judge: Whole(storage),
});

params! {
    /// Parameters of `blacklist`.
    Blacklist {
        checked: bool = Param::flag("checked", false, true).help("whether it is asked (DIFF-2)"),
    }
}

const SOURCE_BLACKLIST: Reason =
    Reason::new("source_blacklist", "an endpoint of the output cannot be read from afar");
const DESTINATION_BLACKLIST: Reason =
    Reason::new("destination_blacklist", "an endpoint of the output cannot be written from afar");

pub(super) const BLACKLIST: NucleusFilter = nucleus_filter!(Blacklist {
    name: "blacklist",
    spec: "atlas N5",
    help: "the endpoints of the output can be read and written from afar",
    reasons: &[&SOURCE_BLACKLIST, &DESTINATION_BLACKLIST],
    reads: &[Reads::Storage],
    temporary: false,
    applies: When(blacklist_applies),
    judge: Whole(blacklist),
});

params! {
    /// Parameters of `job`.
    Job {
        checked: bool = Param::flag("checked", true, true).help("whether it is asked (DIFF-2)"),
    }
}

const NO_QUEUE: Reason = Reason::new("job", "no queue of the nucleus could run the jobs");

pub(super) const JOB: NucleusFilter = nucleus_filter!(Job {
    name: "job",
    spec: "atlas N7, DIFF-2",
    help: "a queue of the nucleus could run the task's jobs now: the filters of job brokerage that \
           the dry run has, the queues of every nucleus counting as the nucleus's own",
    reasons: &[&NO_QUEUE],
    reads: &[Reads::Load, Reads::Pilot, Reads::Storage],
    temporary: false,
    applies: When(job_applies),
    judge: Whole(job),
});

/// Asks of each nucleus by itself.
pub(super) fn each(rows: &mut NucleusRows<'_>, judge: impl Fn(&NucleusCandidate<'_>) -> Verdict) {
    rows.left.iter_mut().for_each(|row| row.verdict = judge(&row.nucleus));
}

fn backlog_applies(case: &TaskCase<'_>, _: &Backlog) -> bool {
    case.task.options.t1_weight >= 0
}

fn backlog(_: &TaskCase<'_>, rows: &mut NucleusRows<'_>, params: &Backlog) {
    each(rows, |nucleus| {
        let queued = nucleus.queued_files as f64;
        if queued <= params.cap {
            return Verdict::Pass;
        }
        object_until(&TRANSFER_BACKLOG, queued, params.cap, nucleus.queued_until)
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

fn storage(case: &TaskCase<'_>, rows: &mut NucleusRows<'_>, _: &NoParams) {
    each(rows, |nucleus| {
        let missing = tokens(case).filter(|token| endpoint(nucleus, token).is_none()).count();
        if missing == 0 { Verdict::Pass } else { object(&NO_ENDPOINT, missing as f64, 0.0) }
    });
}

fn blacklist_applies(_: &TaskCase<'_>, params: &Blacklist) -> bool {
    params.checked
}

fn blacklist(case: &TaskCase<'_>, rows: &mut NucleusRows<'_>, _: &Blacklist) {
    each(rows, |nucleus| {
        for storage in endpoints(case, nucleus) {
            if !storage.read_wan {
                return object(&SOURCE_BLACKLIST, 0.0, 1.0);
            }
            if !storage.write_wan {
                return object(&DESTINATION_BLACKLIST, 0.0, 1.0);
            }
        }
        Verdict::Pass
    });
}

fn job_applies(_: &TaskCase<'_>, params: &Job) -> bool {
    params.checked
}

fn job(case: &TaskCase<'_>, rows: &mut NucleusRows<'_>, _: &Job) {
    each(rows, |nucleus| match (case.runs)(nucleus.queues) {
        true => Verdict::Pass,
        false => object(&NO_QUEUE, 0.0, 1.0),
    });
    if rows.left.iter().all(|row| row.verdict != Verdict::Pass) {
        rows.course.wait = Some(WaitReason::NoQueueCanRun.plain());
    }
}
