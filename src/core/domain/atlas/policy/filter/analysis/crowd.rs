//! Objections to the activity at a queue: pilots, queues that are too long, jobs that fail.

use super::super::bound::Boundary;
use super::super::nopilot::NOPILOT;
use super::usable::is_virtual;
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::stabilizer::{Stabilizer, Stabilizing, queued};
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter, Row, Weighed};
use crate::event::{ChunkKind, Scope, Status};
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Unit, Verdict};

params! {
    /// Parameters of `closed`.
    Closed {
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const CLOSED_HERE: Reason =
    Reason::new("closed", "{measured} jobs of the task were closed here lately");

pub(super) const CLOSED: QueueFilter = queue_filter!(Closed {
    name: "closed",
    spec: "atlas G9",
    help: "no job of the task was closed at the queue lately; not asked of merge jobs and of a \
           pre-assigned queue",
    reasons: &[&CLOSED_HERE],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(closed_applies),
    judge: Before(closed),
});

params! {
    /// Of whose jobs it is not asked whether a queue is bad for the user.
    Exempt {
        merge_exempt: bool = Param::flag("merge_exempt", false, true)
            .help("whether merge jobs are not asked"),
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether a single pre-assigned queue is not asked"),
    }
}

impl Exempt {
    /// All of them.
    const ALL: Exempt = Exempt { merge_exempt: true, preassigned_exempt: true };
}

/// Whether a queue may be bad for the user at all.
fn is_asked(case: &Case<'_>, exempt: &Exempt) -> bool {
    let is_merge = exempt.merge_exempt && case.task.chunk == ChunkKind::Merge;
    let is_named = exempt.preassigned_exempt && case.preassigned == Preassigned::One;
    !is_merge && !is_named
}

fn closed_applies(case: &Case<'_>, params: &Closed) -> bool {
    params.active && is_asked(case, &Exempt::ALL)
}

fn closed(_: &Case<'_>, candidate: &Candidate<'_>, _: &Closed) -> Verdict {
    let closed = candidate.user.closed;
    if closed > 0 { object(&CLOSED_HERE, f64::from(closed), 0.0) } else { Verdict::Pass }
}

params! {
    /// Parameters of `nopilot` for analysis jobs.
    Pilots {
        test_exempt: bool = Param::flag("test_exempt", false, true)
            .help("whether jobs with the label test are not asked"),
    }
}

pub(super) const PILOTS: QueueFilter = queue_filter!(Pilots {
    name: "nopilot",
    spec: "atlas G13c",
    help: "a node asked for a job or updated one[ within {node_window_h} h]",
    reasons: &[&NOPILOT],
    reads: &[Reads::Pilot],
    temporary: false,
    applies: When(pilots_apply),
    judge: Before(pilots),
});

fn pilots_apply(case: &Case<'_>, params: &Pilots) -> bool {
    !params.test_exempt || case.task.label != "test"
}

fn pilots(_: &Case<'_>, candidate: &Candidate<'_>, _: &Pilots) -> Verdict {
    if candidate.pilots > 0 { Verdict::Pass } else { object(&NOPILOT, 0.0, 1.0) }
}

words! {
    /// Which queues are asked whether they are overloaded.
    Queues {
        Virtual = "virtual",
        All = "all",
    }
}

params! {
    /// Parameters of `overload`.
    Overload {
        least: f64 = Param::float("OVERLOAD_MIN_QUEUE", (0.0, 1e9), 20.0, 20.0)
            .unit(Unit::Jobs)
            .gdp("anal_jobbroker/OVERLOAD_MIN_QUEUE")
            .help("a queue with no more jobs queued is not overloaded"),
        ratio_offset: f64 = Param::float("OVERLOAD_RATIO_OFFSET", (0.0, 1e9), 1.2, 1.2)
            .gdp("anal_jobbroker/OVERLOAD_RATIO_OFFSET")
            .help("how far above the ratio of all queues is too far"),
        queues: Queues = Queues::param("queues", Queues::Virtual, Queues::All).help(
            "which queues are asked: those with virtual placement; or all, and then queues with \
             stored data are let through when every queue is overloaded",
        ),
        merge_exempt: bool = Param::flag("merge_exempt", false, true)
            .help("whether merge jobs are not asked"),
    }
}

const OVERLOADED: Reason =
    Reason::new("overloaded", "{measured} jobs are queued for each running one; limit {limit}");
const OVERLOADED_VP: Reason = Reason::new(
    "overloaded_vp",
    "it is overloaded ({measured}; limit {limit}), and its data are virtual",
);

pub(super) const OVERLOAD: QueueFilter = queue_filter!(Overload {
    name: "overload",
    spec: "atlas G17",
    help: "the queue's jobs queued for each running one are not far more than those of all queues \
           together",
    reasons: &[&OVERLOADED, &OVERLOADED_VP],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(overload_applies),
    judge: Whole(overload),
});

/// Queued for each running job where that is too much; infinite where none runs.
fn overloaded(case: &Case<'_>, candidate: &Candidate<'_>, params: &Overload) -> Option<(f64, f64)> {
    let (queued, running) = (queued(candidate), candidate.jobs(Status::Running));
    let all_running = case.owner.share_running as f64;
    let limit = if all_running > 0.0 {
        case.owner.share_queued as f64 / all_running * params.ratio_offset
    } else {
        f64::INFINITY
    };
    let ratio = if running > 0.0 { queued / running } else { f64::INFINITY };
    (queued > params.least && (running == 0.0 || ratio > limit)).then_some((ratio, limit))
}

fn overload_applies(case: &Case<'_>, params: &Overload) -> bool {
    !params.merge_exempt || case.task.chunk != ChunkKind::Merge
}

fn overload(case: &Case<'_>, rows: &mut [Row<'_>], params: &Overload) {
    let is_all = params.queues == Queues::All;
    let found: Vec<_> = rows.iter().map(|row| overloaded(case, row.candidate, params)).collect();
    let is_every = found.iter().all(Option::is_some);
    for (row, found) in rows.iter_mut().zip(found) {
        let Some((ratio, limit)) = found else { continue };
        let is_virtual = match (&case.locality, is_all) {
            (_, false) => is_virtual(row.candidate, Scope::Analysis),
            (Some(locality), true) => !locality.of(&row.candidate.queue.unified).is_real,
            (None, true) => false,
        };
        match (is_virtual, is_all && !is_every) {
            (true, _) => row.verdict = object(&OVERLOADED_VP, ratio, limit),
            (false, true) => row.verdict = object(&OVERLOADED, ratio, limit),
            (false, false) => {}
        }
    }
}

params! {
    /// Parameters of `idle`.
    Idle {
        least: f64 = Param::float("OVERLOAD_MIN_QUEUE", (0.0, 1e9), 20.0, 20.0)
            .unit(Unit::Jobs)
            .gdp("anal_jobbroker/OVERLOAD_MIN_QUEUE")
            .help("a queue with no more jobs queued is let through"),
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const IDLE_SITE: Reason =
    Reason::new("badsite", "{measured} jobs are queued and none runs; limit {limit}");

pub(super) const IDLE: QueueFilter = queue_filter!(Idle {
    name: "idle",
    spec: "atlas G17",
    help: "jobs of the share run at a queue where some are queued; not asked of merge jobs and of \
           a pre-assigned queue",
    reasons: &[&IDLE_SITE],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(idle_applies),
    judge: After(idle),
});

fn idle_applies(case: &Case<'_>, params: &Idle) -> bool {
    params.active && is_asked(case, &Exempt::ALL)
}

fn idle(_: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, params: &Idle) -> Verdict {
    let (queued, running) = (queued(candidate), candidate.jobs(Status::Running));
    if queued > params.least && running == 0.0 {
        return object(&IDLE_SITE, queued, params.least);
    }
    Verdict::Pass
}

params! {
    /// Parameters of `cap_rt` for analysis jobs.
    Cap {
        active: bool = Param::flag("active", true, false)
            .help("whether this refuses a queue; PanDA only writes that it would (DIFF-40)"),
        least_running: f64 = Param::int("least_running", 20, 20)
            .unit(Unit::Jobs)
            .help("running jobs reckoned with at least"),
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether a single pre-assigned queue is not asked"),
    }
}

const CAP_RT: Reason = Reason::new("cap_rt", "{measured} jobs are queued; limit {limit}");

pub(super) const CAP: QueueFilter = queue_filter!(Cap {
    name: "cap_rt",
    spec: "atlas G18, DIFF-40",
    help: "jobs queued of the share are at most twice the running ones[, of \
           which {least_running} are reckoned with at least]",
    reasons: &[&CAP_RT],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(cap_applies),
    judge: After(cap),
});

fn cap_applies(case: &Case<'_>, params: &Cap) -> bool {
    let is_exempt = params.preassigned_exempt && case.preassigned == Preassigned::One;
    params.active && !is_exempt
}

fn cap(_: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, params: &Cap) -> Verdict {
    let jobs = |status| candidate.jobs(status);
    let states = [Status::Activated, Status::Assigned, Status::Starting];
    let queued: f64 = candidate.defined() + states.into_iter().map(jobs).sum::<f64>();
    let limit = 2.0 * jobs(Status::Running).max(params.least_running);
    if queued > limit { object(&CAP_RT, queued, limit) } else { Verdict::Pass }
}

const LONG_FOR_USER: Reason =
    Reason::new("badsite", "the user has {measured} jobs queued; limit {limit}");

params! {
    /// Parameters of `stabilizer`.
    StabilizerParams {
        stabilizing: Stabilizing,
        exempt: Exempt,
    }
}

pub(super) const STABILIZER: QueueFilter = queue_filter!(StabilizerParams {
    name: "stabilizer",
    spec: "atlas G19, 8.5, DIFF-41",
    help: "the user has no more jobs queued at the queue than the user's part of what it takes; \
           not asked where little is queued",
    reasons: &[&LONG_FOR_USER],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(stabilizer_applies),
    judge: After(stabilizer),
});

fn stabilizer_applies(case: &Case<'_>, params: &StabilizerParams) -> bool {
    is_asked(case, &params.exempt)
}

fn stabilizer(
    _: &Case<'_>,
    candidate: &Candidate<'_>,
    _: &Weighed,
    params: &StabilizerParams,
) -> Verdict {
    let found = Stabilizer::of(candidate, &params.stabilizing);
    if candidate.user.present && !found.exempt && found.queued > found.most {
        return object(&LONG_FOR_USER, found.queued, found.most);
    }
    Verdict::Pass
}

params! {
    /// Parameters of `failures`.
    Failures {
        stabilizing: Stabilizing,
        least_bad: f64 = Param::float("MIN_BAD_JOBS_TO_SKIP_PQ", (0.0, 1e9), 5.0, 5.0)
            .unit(Unit::Jobs)
            .gdp("anal_jobbroker/MIN_BAD_JOBS_TO_SKIP_PQ")
            .help("so many are let through in any case"),
        boundary: Boundary = Boundary::param("boundary", Boundary::AtLeast, Boundary::Above)
            .help("whether as many as the limit are too many (DIFF-39)"),
        long_queue: bool = Param::flag("long_queue", false, true).help(
            "whether this is asked only where the stabilizer lets not everybody in and the user has \
             jobs (Q-15)",
        ),
        exempt: Exempt,
    }
}

const FAILED: Reason =
    Reason::new("badsite", "{measured} jobs of the task failed or were closed; limit {limit}");

pub(super) const FAILURES: QueueFilter = queue_filter!(Failures {
    name: "failures",
    spec: "atlas G16, DIFF-39",
    help: "few jobs of the task failed or were closed at the queue lately, against those that \
           finished",
    reasons: &[&FAILED],
    reads: &[Reads::Load],
    temporary: false,
    applies: When(failures_apply),
    judge: After(failures),
});

fn failures_apply(case: &Case<'_>, params: &Failures) -> bool {
    is_asked(case, &params.exempt)
}

fn failures(_: &Case<'_>, candidate: &Candidate<'_>, _: &Weighed, params: &Failures) -> Verdict {
    let user = &candidate.user;
    let is_long = || user.present && !Stabilizer::of(candidate, &params.stabilizing).exempt;
    if params.long_queue && !is_long() {
        return Verdict::Pass;
    }
    let bad = f64::from(user.failed) + f64::from(user.closed);
    let limit = (2.0 * f64::from(user.finished)).max(params.least_bad);
    if params.boundary.is_beyond(bad, limit) && bad > 0.0 {
        return object(&FAILED, bad, limit);
    }
    Verdict::Pass
}
