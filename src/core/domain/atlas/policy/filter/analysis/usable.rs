//! Which queues an analysis task may use at all: data, status, names.

use super::super::status::{REASONS, object_to};
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter, Row};
use crate::event::{ChunkKind, QueueStatus, Scope};
use crate::math::pattern::Pattern;
use crate::policy::declare::NoParams;
use crate::policy::typed::{params, words};
use crate::policy::verdict::object;
use crate::policy::{Param, Reads, Reason, Verdict};

const NO_DATA: Reason = Reason::new("no_data", "the input does not lie at the queue");

pub(super) const LOCALITY: QueueFilter = queue_filter!(NoParams {
    name: "locality",
    spec: "atlas G1, 8.4",
    help: "the queue reads all of the input locally; where no queue does, some of it",
    reasons: &[&NO_DATA],
    reads: &[Reads::Storage],
    temporary: false,
    applies: When(locality_applies),
    judge: Before(locality),
});

fn locality_applies(case: &Case<'_>, _: &NoParams) -> bool {
    case.locality.is_some()
}

fn locality(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    match &case.locality {
        Some(locality) if !locality.of(&candidate.queue.unified).kept => object(&NO_DATA, 0.0, 1.0),
        Some(_) | None => Verdict::Pass,
    }
}

params! {
    /// Parameters of `status` for analysis jobs.
    InService {
        online_only: bool = Param::flag("online_only", true, false).help(
            "whether queues on standby and paused ones are refused, and offline ones let through where \
             the task names them (DIFF-37)",
        ),
    }
}

pub(super) const STATUS: QueueFilter = queue_filter!(InService {
    name: "status",
    spec: "atlas G2, DIFF-37",
    help: "the queue is online; not asked of queues that the task names",
    reasons: REASONS,
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(status),
});

fn status(case: &Case<'_>, candidate: &Candidate<'_>, params: &InService) -> Verdict {
    let (status, is_strict) = (candidate.queue.status, params.online_only);
    let is_listed = !case.task.options.included_sites.is_empty();
    let is_named = is_listed || case.preassigned == Preassigned::One && is_it(case, candidate);
    let passes = match status {
        QueueStatus::Online => true,
        QueueStatus::Standby | QueueStatus::Paused => !is_strict || is_named,
        QueueStatus::Brokeroff | QueueStatus::Test => is_named,
        QueueStatus::Offline => is_strict && is_named,
    };
    if passes { Verdict::Pass } else { object_to(status) }
}

/// Whether a candidate is the queue that the task names.
fn is_it(case: &Case<'_>, candidate: &Candidate<'_>) -> bool {
    let site = case.task.site.as_str();
    site == candidate.queue.name || site == candidate.queue.unified
}

words! {
    /// Whose endpoints are looked at.
    Endpoints {
        Analysis = "analysis",
        Default = "default",
    }
}

params! {
    /// Parameters of `avoid_vp`.
    AvoidVp {
        scope: Endpoints = Endpoints::param("scope", Endpoints::Analysis, Endpoints::Default)
            .help("whose endpoints are looked at: those for analysis, or those for any work"),
        second_pass: bool = Param::flag("second_pass", false, true)
            .help("whether none is wanted either where data do not count"),
    }
}

const VIRTUAL: Reason = Reason::new("avoid_vp", "the queue reads virtually placed data");

pub(super) const AVOID_VP: QueueFilter = queue_filter!(AvoidVp {
    name: "avoid_vp",
    spec: "atlas G6",
    help: "the queue has no virtual placement, where the task or its input wants none",
    reasons: &[&VIRTUAL],
    reads: &[],
    temporary: false,
    applies: When(avoid_vp_applies),
    judge: Before(avoid_vp),
});

fn avoid_vp_applies(case: &Case<'_>, params: &AvoidVp) -> bool {
    let of_input = case.locality.as_ref().is_some_and(|locality| locality.avoid_virtual);
    let is_merge = case.task.chunk == ChunkKind::Merge;
    let is_second = case.pass > 1 && params.second_pass;
    case.task.options.avoid_vp || is_merge || of_input || is_second
}

/// Whether a queue has an endpoint for virtual placement.
pub(super) fn is_virtual(candidate: &Candidate<'_>, scope: Scope) -> bool {
    candidate.queue.reads(scope).iter().any(|name| name.ends_with("_VP_DISK"))
}

fn avoid_vp(_: &Case<'_>, candidate: &Candidate<'_>, params: &AvoidVp) -> Verdict {
    let scope = match params.scope {
        Endpoints::Analysis => Scope::Analysis,
        Endpoints::Default => Scope::Default,
    };
    if is_virtual(candidate, scope) { object(&VIRTUAL, 1.0, 0.0) } else { Verdict::Pass }
}

const EXCLUDED: Reason = Reason::new("excluded", "the task excludes the queue");
const NOT_INCLUDED: Reason = Reason::new("notincluded", "the task includes other queues");
const CLOUD_MISMATCH: Reason = Reason::new("cloudmismatch", "the task is bound to another cloud");

pub(super) const CHOSEN: QueueFilter = queue_filter!(NoParams {
    name: "chosen",
    spec: "atlas G14",
    help: "the task does not exclude the queue, and includes it where it includes any; the task is \
           not bound to another cloud",
    reasons: &[&EXCLUDED, &NOT_INCLUDED, &CLOUD_MISMATCH],
    reads: &[],
    temporary: false,
    applies: When(chosen_applies),
    judge: Whole(chosen),
});

fn chosen_applies(case: &Case<'_>, _: &NoParams) -> bool {
    let options = &case.task.options;
    let lists_any = !options.excluded_sites.is_empty() || !case.included.is_empty();
    lists_any || !["", "any"].contains(&options.cloud.as_str())
}

/// Stands for all queues when none of those included is left.
const AUTO: &str = "AUTO";

fn chosen(case: &Case<'_>, rows: &mut [Row<'_>], _: &NoParams) {
    let options = &case.task.options;
    let (excluded, included) = (names(&options.excluded_sites), names(&case.included));
    let has_auto = case.included.iter().any(|name| name == AUTO);
    let mut any = false;
    for row in rows.iter_mut() {
        let queue = row.candidate.queue;
        let name = queue.unified.as_str();
        let is_other = !["", "any", queue.first_cloud()].contains(&options.cloud.as_str());
        let is_included = included.is_empty() || matches(&included, name);
        row.verdict = if matches(&excluded, name) {
            object(&EXCLUDED, 1.0, 0.0)
        } else if !is_included && !has_auto {
            object(&NOT_INCLUDED, 0.0, 1.0)
        } else if is_other {
            object(&CLOUD_MISMATCH, 0.0, 1.0)
        } else {
            any |= is_included;
            Verdict::Pass
        };
    }
    for row in rows.iter_mut().filter(|row| any && row.verdict == Verdict::Pass) {
        if !included.is_empty() && !matches(&included, &row.candidate.queue.unified) {
            row.verdict = object(&NOT_INCLUDED, 0.0, 1.0);
        }
    }
}

/// A name of a list: as it is, or with `*` for any letters, then found anywhere in a name.
enum Listed<'a> {
    Name(&'a str),
    Pattern(Pattern),
}

fn names(list: &[String]) -> Vec<Listed<'_>> {
    let listed = list.iter().map(|name| match name.contains('*') {
        false => Listed::Name(name),
        true => Pattern::new(&name.replace('*', ".*")).map_or(Listed::Name(name), Listed::Pattern),
    });
    listed.collect()
}

fn matches(list: &[Listed<'_>], name: &str) -> bool {
    list.iter().any(|listed| match listed {
        Listed::Name(listed) => *listed == name,
        Listed::Pattern(pattern) => pattern.is_found_in(name),
    })
}

const NON_PREASSIGNED: Reason = Reason::new("nonpreassigned", "the task names another queue");

pub(crate) const PREASSIGNED: QueueFilter = queue_filter!(NoParams {
    name: "preassigned",
    spec: "atlas G15",
    help: "where the task names one queue, no other is used",
    reasons: &[&NON_PREASSIGNED],
    reads: &[],
    temporary: false,
    applies: When(preassigned_applies),
    judge: Before(preassigned),
});

fn preassigned_applies(case: &Case<'_>, _: &NoParams) -> bool {
    case.preassigned == Preassigned::One
}

fn preassigned(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    if is_it(case, candidate) { Verdict::Pass } else { object(&NON_PREASSIGNED, 0.0, 1.0) }
}

params! {
    /// Parameters of `hospital`.
    Hospital {
        active: bool = Param::flag("active", false, true).help("whether this is asked at all"),
    }
}

const IS_HOSPITAL: Reason = Reason::new("hospital", "it is a hospital queue, and others are left");

pub(super) const HOSPITAL: QueueFilter = queue_filter!(Hospital {
    name: "hospital",
    spec: "atlas G15",
    help: "a hospital queue is used only where no other is left",
    reasons: &[&IS_HOSPITAL],
    reads: &[],
    temporary: false,
    applies: When(hospital_applies),
    judge: Whole(hospital),
});

fn hospital_applies(_: &Case<'_>, params: &Hospital) -> bool {
    params.active
}

fn hospital(_: &Case<'_>, rows: &mut [Row<'_>], _: &Hospital) {
    let is_hospital = |row: &Row<'_>| row.candidate.queue.unified.ends_with("_HOSPITAL");
    if rows.iter().all(is_hospital) {
        return;
    }
    for row in rows.iter_mut().filter(|row| is_hospital(row)) {
        row.verdict = object(&IS_HOSPITAL, 1.0, 0.0);
    }
}
