//! What goes on at a queue: pilots, queues that are too long, jobs that fail.

use super::super::BOUNDARY;
use super::object;
use super::place::is_virtual;
use crate::core::event::{ChunkKind, Scope, Status};
use crate::core::policy::stabilizer::{PARAMS as STABILIZED, Stabilizer, queued};
use crate::core::policy::{
    Args, Candidate, Case, Filter, Judge, Param, Preassigned, Reads, Row, Verdict, Weighed,
};

pub(super) const CLOSED: Filter = Filter {
    name: "closed",
    spec: "atlas G9",
    help: "no job of the task was closed at the queue lately; not asked of merge jobs and of a \
           pre-assigned queue",
    reasons: &[("closed", "{measured} jobs of the task were closed here lately")],
    params: &[Param::flag("active", false, true).help("whether this is asked at all")],
    reads: &[Reads::Load],
    temporary: false,
    applies: None,
    judge: Judge::Before(closed),
};

fn closed(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let closed = candidate.user.closed;
    let is_asked =
        args.flag(0) && case.preassigned != Preassigned::One && case.task.chunk != ChunkKind::Merge;
    if is_asked && closed > 0 { object("closed", f64::from(closed), 0.0) } else { Verdict::Pass }
}

pub(super) const PILOTS: Filter = Filter {
    name: "nopilot",
    spec: "atlas G13c",
    help: "a node asked for a job or updated one within 3 h; not asked of jobs with the label test",
    reasons: &[("nopilot", "no pilot in the last 3 h")],
    params: &[],
    reads: &[Reads::Pilot],
    temporary: false,
    applies: None,
    judge: Judge::Before(pilots),
};

fn pilots(case: &Case<'_>, candidate: &Candidate<'_>, _: &Args) -> Verdict {
    if candidate.pilots > 0 || case.task.label == "test" {
        return Verdict::Pass;
    }
    object("nopilot", 0.0, 1.0)
}

pub(super) const OVERLOAD: Filter = Filter {
    name: "overload",
    spec: "atlas G17",
    help: "the queue's jobs queued for each running one are not far more than those of all queues \
           together; not asked of merge jobs",
    reasons: &[
        ("overloaded", "{measured} jobs are queued for each running one; limit {limit}"),
        ("overloaded_vp", "it is overloaded ({measured}; limit {limit}), and its data are virtual"),
    ],
    params: &[
        Param::float("OVERLOAD_MIN_QUEUE", (0.0, 1e9), 20.0, 20.0)
            .gdp("anal_jobbroker/OVERLOAD_MIN_QUEUE")
            .help("a queue with no more jobs queued is not overloaded; jobs"),
        Param::float("OVERLOAD_RATIO_OFFSET", (0.0, 1e9), 1.2, 1.2)
            .gdp("anal_jobbroker/OVERLOAD_RATIO_OFFSET")
            .help("how far above the ratio of all queues is too far"),
        Param::word("queues", &["virtual", "all"], "virtual", "all").help(
            "which queues are asked: those with virtual placement; or all, and then queues with \
             stored data are let through when every queue is overloaded",
        ),
    ],
    reads: &[Reads::Load],
    temporary: false,
    applies: Some(|case, _| case.task.chunk != ChunkKind::Merge),
    judge: Judge::Whole(overload),
};

/// Queued for each running job where that is too much; infinite where none runs.
fn overloaded(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Option<(f64, f64)> {
    let (queued, running) = (queued(candidate), candidate.jobs(Status::Running));
    let all_running = case.owner.share_running as f64;
    let limit = if all_running > 0.0 {
        case.owner.share_queued as f64 / all_running * args.number(1)
    } else {
        f64::INFINITY
    };
    let ratio = if running > 0.0 { queued / running } else { f64::INFINITY };
    (queued > args.number(0) && (running == 0.0 || ratio > limit)).then_some((ratio, limit))
}

fn overload(case: &Case<'_>, rows: &mut [Row<'_>], args: &Args) {
    if case.task.chunk == ChunkKind::Merge {
        return;
    }
    let is_all = args.word(2) == 1;
    let found: Vec<_> = rows.iter().map(|row| overloaded(case, row.candidate, args)).collect();
    let is_every = found.iter().all(Option::is_some);
    for (row, found) in rows.iter_mut().zip(found) {
        let Some((ratio, limit)) = found else { continue };
        let is_virtual = match (&case.locality, is_all) {
            (_, false) => is_virtual(row.candidate, Scope::Analysis),
            (Some(locality), true) => !locality.of(&row.candidate.queue.unified).is_real,
            (None, true) => false,
        };
        match (is_virtual, is_all && !is_every) {
            (true, _) => row.verdict = object("overloaded_vp", ratio, limit),
            (false, true) => row.verdict = object("overloaded", ratio, limit),
            (false, false) => {}
        }
    }
}

pub(super) const IDLE: Filter = Filter {
    name: "idle",
    spec: "atlas G17",
    help: "jobs of the share run at a queue where some are queued; not asked of merge jobs and of \
           a pre-assigned queue",
    reasons: &[("badsite", "{measured} jobs are queued and none runs; limit {limit}")],
    params: &[
        Param::float("OVERLOAD_MIN_QUEUE", (0.0, 1e9), 20.0, 20.0)
            .gdp("anal_jobbroker/OVERLOAD_MIN_QUEUE")
            .help("a queue with no more jobs queued is let through; jobs"),
        Param::flag("active", false, true).help("whether this is asked at all"),
    ],
    reads: &[Reads::Load],
    temporary: false,
    applies: None,
    judge: Judge::After(idle),
};

/// Whether a queue may be bad for the user at all.
fn is_asked(case: &Case<'_>) -> bool {
    case.task.chunk != ChunkKind::Merge && case.preassigned != Preassigned::One
}

fn idle(case: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, args: &Args) -> Verdict {
    let (queued, running) = (queued(candidate), candidate.jobs(Status::Running));
    let is_long = queued > args.number(0) && running == 0.0;
    if args.flag(1) && is_asked(case) && is_long {
        return object("badsite", queued, args.number(0));
    }
    Verdict::Pass
}

pub(super) const CAP: Filter = Filter {
    name: "cap_rt",
    spec: "atlas G18, DIFF-40",
    help: "jobs queued of the share and resource type are at most twice the running ones, or forty",
    reasons: &[("cap_rt", "{measured} jobs are queued; limit {limit}")],
    params: &[
        Param::flag("active", true, false)
            .help("whether this refuses a queue; PanDA only writes that it would (DIFF-40)"),
        Param::int("least_running", 20, 20).help("running jobs reckoned with at least; jobs"),
    ],
    reads: &[Reads::Load],
    temporary: false,
    applies: None,
    judge: Judge::After(cap),
};

fn cap(case: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, args: &Args) -> Verdict {
    let jobs = |status| candidate.jobs_of_type(status);
    let states = [Status::Defined, Status::Activated, Status::Assigned, Status::Starting];
    let queued: f64 = states.into_iter().map(jobs).sum();
    let limit = 2.0 * jobs(Status::Running).max(args.number(1));
    if args.flag(0) && case.preassigned != Preassigned::One && queued > limit {
        return object("cap_rt", queued, limit);
    }
    Verdict::Pass
}

pub(super) const STABILIZER: Filter = Filter {
    name: "stabilizer",
    spec: "atlas G19, 8.5, DIFF-41",
    help: "the user has no more jobs queued at the queue than the user's part of what it takes; \
           not asked of merge jobs, of a pre-assigned queue, and where little is queued",
    reasons: &[("badsite", "the user has {measured} jobs queued; limit {limit}")],
    params: &STABILIZED,
    reads: &[Reads::Load],
    temporary: false,
    applies: None,
    judge: Judge::After(stabilizer),
};

fn stabilizer(case: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, args: &Args) -> Verdict {
    let found = Stabilizer::of(candidate, args);
    let is_asked = is_asked(case) && candidate.user.present && !found.exempt;
    if is_asked && found.queued > found.most {
        return object("badsite", found.queued, found.most);
    }
    Verdict::Pass
}

pub(super) const FAILURES: Filter = Filter {
    name: "failures",
    spec: "atlas G16, DIFF-39",
    help: "few jobs of the task failed or were closed at the queue lately, against those that \
           finished; not asked of merge jobs and of a pre-assigned queue",
    reasons: &[("badsite", "{measured} jobs of the task failed or were closed; limit {limit}")],
    params: &[
        STABILIZED[0],
        STABILIZED[1],
        STABILIZED[2],
        STABILIZED[3],
        STABILIZED[4],
        STABILIZED[5],
        STABILIZED[6],
        Param::float("MIN_BAD_JOBS_TO_SKIP_PQ", (0.0, 1e9), 5.0, 5.0)
            .gdp("anal_jobbroker/MIN_BAD_JOBS_TO_SKIP_PQ")
            .help("so many are let through in any case; jobs"),
        Param::word("boundary", BOUNDARY, "at_least", "above")
            .help("whether as many as the limit are too many (DIFF-39)"),
        Param::flag("long_queue", false, true).help(
            "whether this is asked only where the stabilizer lets not everybody in and the user has \
             jobs (Q-15)",
        ),
    ],
    reads: &[Reads::Load],
    temporary: false,
    applies: None,
    judge: Judge::After(failures),
};

const LEAST_BAD: usize = 7;
const AT: usize = 8;
const LONG_QUEUE: usize = 9;

fn failures(case: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, args: &Args) -> Verdict {
    let user = &candidate.user;
    let is_long = || user.present && !Stabilizer::of(candidate, args).exempt;
    if !is_asked(case) || args.flag(LONG_QUEUE) && !is_long() {
        return Verdict::Pass;
    }
    let bad = f64::from(user.failed) + f64::from(user.closed);
    let limit = (2.0 * f64::from(user.finished)).max(args.number(LEAST_BAD));
    if super::super::beyond(bad, limit, args.word(AT)) && bad > 0.0 {
        return object("badsite", bad, limit);
    }
    Verdict::Pass
}
