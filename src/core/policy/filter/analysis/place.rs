//! Which queues an analysis task may use at all: data, status, names.

use super::object;
use crate::core::event::{QueueStatus, Scope};
use crate::core::math::pattern::Pattern;
use crate::core::policy::{
    Args, Candidate, Case, Filter, Judge, Param, Preassigned, Reads, Row, Verdict,
};

pub(super) const LOCALITY: Filter = Filter {
    name: "locality",
    spec: "atlas G1, 8.4",
    help: "the queue reads all of the input locally; where no queue does, some of it",
    reasons: &[("no_data", "the input does not lie at the queue")],
    params: &[],
    reads: &[Reads::Storage],
    temporary: false,
    applies: None,
    judge: Judge::Before(locality),
};

fn locality(case: &Case<'_>, candidate: &Candidate<'_>, _: &Args) -> Verdict {
    match &case.locality {
        Some(locality) if !locality.of(&candidate.queue.unified).kept => {
            object("no_data", 0.0, 1.0)
        }
        Some(_) | None => Verdict::Pass,
    }
}

pub(super) const STATUS: Filter = Filter {
    name: "status",
    spec: "atlas G2, DIFF-37",
    help: "the queue is online; not asked of queues that the task names",
    reasons: &[
        ("brokeroff", "the queue is brokeroff"),
        ("test", "the queue is in test"),
        ("offline", "the queue is offline"),
        ("standby", "the queue is on standby"),
        ("paused", "the queue is paused"),
    ],
    params: &[Param::flag("online_only", true, false).help(
        "whether queues on standby and paused ones are refused, and offline ones let through where \
         the task names them (DIFF-37)",
    )],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(status),
};

fn status(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let (status, is_strict) = (candidate.queue.status, args.flag(0));
    let is_listed = !case.task.options.included_sites.is_empty();
    let is_named = is_listed || case.preassigned == Preassigned::One && is_it(case, candidate);
    let passes = match status {
        QueueStatus::Online => true,
        QueueStatus::Standby | QueueStatus::Paused => !is_strict || is_named,
        QueueStatus::Brokeroff | QueueStatus::Test => is_named,
        QueueStatus::Offline => is_strict && is_named,
    };
    if passes {
        return Verdict::Pass;
    }
    object(status.name(), f64::from(status as u8), f64::from(QueueStatus::Online as u8))
}

/// Whether a candidate is the queue that the task names.
fn is_it(case: &Case<'_>, candidate: &Candidate<'_>) -> bool {
    let site = case.task.site.as_str();
    site == candidate.queue.name || site == candidate.queue.unified
}

pub(super) const AVOID_VP: Filter = Filter {
    name: "avoid_vp",
    spec: "atlas G6",
    help: "the queue has no virtual placement, where the task or its input wants none",
    reasons: &[("avoid_vp", "the queue reads virtually placed data")],
    params: &[
        Param::word("scope", &["analysis", "default"], "analysis", "default")
            .help("whose endpoints are looked at: those for analysis, or those for any work"),
        Param::flag("second_pass", false, true)
            .help("whether none is wanted either where data do not count"),
    ],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(avoid_vp),
};

/// Whether a queue has an endpoint for virtual placement.
pub(super) fn is_virtual(candidate: &Candidate<'_>, scope: Scope) -> bool {
    candidate.queue.reads(scope).iter().any(|name| name.ends_with("_VP_DISK"))
}

fn avoid_vp(case: &Case<'_>, candidate: &Candidate<'_>, args: &Args) -> Verdict {
    let of_input = case.locality.as_ref().is_some_and(|locality| locality.avoid_virtual);
    let is_merge = case.task.chunk == crate::core::event::ChunkKind::Merge;
    let is_second = case.pass > 1 && args.flag(1);
    let scope = if args.word(0) == 0 { Scope::Analysis } else { Scope::Default };
    let is_wanted = case.task.options.avoid_vp || is_merge || of_input || is_second;
    if is_wanted && is_virtual(candidate, scope) {
        return object("avoid_vp", 1.0, 0.0);
    }
    Verdict::Pass
}

pub(super) const CHOSEN: Filter = Filter {
    name: "chosen",
    spec: "atlas G14",
    help: "the task does not exclude the queue, and includes it where it includes any; the task is \
           not bound to another cloud",
    reasons: &[
        ("excluded", "the task excludes the queue"),
        ("notincluded", "the task includes other queues"),
        ("cloudmismatch", "the task is bound to another cloud"),
    ],
    params: &[],
    reads: &[],
    temporary: false,
    applies: Some(|case, _| {
        let options = &case.task.options;
        let lists_any = !options.excluded_sites.is_empty() || !case.included.is_empty();
        lists_any || !["", "any"].contains(&options.cloud.as_str())
    }),
    judge: Judge::Whole(chosen),
};

/// Stands for all queues when none of those included is left.
const AUTO: &str = "AUTO";

fn chosen(case: &Case<'_>, rows: &mut [Row<'_>], _: &Args) {
    let options = &case.task.options;
    let (excluded, included) = (names(&options.excluded_sites), names(&case.included));
    let has_auto = case.included.iter().any(|name| name == AUTO);
    let mut any = false;
    for row in rows.iter_mut() {
        let queue = row.candidate.queue;
        let name = queue.unified.as_str();
        let is_other = !["", "any", queue.cloud.as_str()].contains(&options.cloud.as_str());
        let is_included = included.is_empty() || matches(&included, name);
        row.verdict = if matches(&excluded, name) {
            object("excluded", 1.0, 0.0)
        } else if !is_included && !has_auto {
            object("notincluded", 0.0, 1.0)
        } else if is_other {
            object("cloudmismatch", 0.0, 1.0)
        } else {
            any |= is_included;
            Verdict::Pass
        };
    }
    for row in rows.iter_mut().filter(|row| any && row.verdict == Verdict::Pass) {
        if !included.is_empty() && !matches(&included, &row.candidate.queue.unified) {
            row.verdict = object("notincluded", 0.0, 1.0);
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

pub(super) const PREASSIGNED: Filter = Filter {
    name: "preassigned",
    spec: "atlas G15",
    help: "where the task names one queue, no other is used",
    reasons: &[("nonpreassigned", "the task names another queue")],
    params: &[],
    reads: &[],
    temporary: false,
    applies: None,
    judge: Judge::Before(preassigned),
};

fn preassigned(case: &Case<'_>, candidate: &Candidate<'_>, _: &Args) -> Verdict {
    if case.preassigned == Preassigned::One && !is_it(case, candidate) {
        return object("nonpreassigned", 0.0, 1.0);
    }
    Verdict::Pass
}

pub(super) const HOSPITAL: Filter = Filter {
    name: "hospital",
    spec: "atlas G15",
    help: "a hospital queue is used only where no other is left",
    reasons: &[("hospital", "it is a hospital queue, and others are left")],
    params: &[Param::flag("active", false, true).help("whether this is asked at all")],
    reads: &[],
    temporary: false,
    applies: Some(|_, args| args.flag(0)),
    judge: Judge::Whole(hospital),
};

fn hospital(_: &Case<'_>, rows: &mut [Row<'_>], args: &Args) {
    let is_hospital = |row: &Row<'_>| row.candidate.queue.unified.ends_with("_HOSPITAL");
    if !args.flag(0) || rows.iter().all(is_hospital) {
        return;
    }
    for row in rows.iter_mut().filter(|row| is_hospital(row)) {
        row.verdict = object("hospital", 1.0, 0.0);
    }
}
