//! Which queues a generic task may use at all: by cloud, status and site, by the kind of its work,
//! and by the pilots there.

use super::super::nopilot::{FILTER as NOPILOT_FILTER, NOPILOT};
use super::super::status::{REASONS, object_to};
use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::event::Queue;
use crate::policy::declare::NoParams;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

const OTHER_CLOUD: Reason = Reason::new("other_cloud", "the task is of another cloud");

pub(super) const CLOUD: QueueFilter = queue_filter!(NoParams {
    name: "cloud",
    spec: "panda-generic L3",
    help: "the queue is of the task's cloud; not asked where no queue is of that, nor of a queue \
           that the task names",
    reasons: &[&OTHER_CLOUD],
    reads: &[],
    temporary: false,
    applies: When(cloud_applies),
    judge: Before(cloud),
});

fn cloud_applies(case: &Case<'_>, _: &NoParams) -> bool {
    case.preassigned == Preassigned::No && case.generic.is_cloud_known
}

fn cloud(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    match case.is_of_cloud(candidate.queue) {
        true => Verdict::Pass,
        false => object(&OTHER_CLOUD, 0.0, 1.0),
    }
}

params! {
    /// Parameters of `nickname`.
    Nickname {
        nickname_fails: bool = Param::flag("nickname_fails", false, true).help(
            "whether the task is rejected where the nickname of a queue is not its name, whatever \
             the queue is like: PanDA's broker takes a default for it, and fails",
        ),
    }
}

pub(super) const NICKNAME_FAILS: Reason = Reason::new(
    "nickname_fails",
    "the queue's nickname is not its name: PanDA's broker finds no configuration and fails",
);

/// Before all that look at the queue: the default of PanDA is online, of no site, and has no figure
/// that another filter would object to before space is asked for, which it does not have at all.
pub(super) const NICKNAME: QueueFilter = queue_filter!(Nickname {
    name: "nickname",
    spec: "panda-generic 1.6",
    help: "the nickname of the queue is its name, by which PanDA finds its configuration; asked \
           where nickname_fails is on",
    reasons: &[&NICKNAME_FAILS, &OTHER_SITE],
    reads: &[],
    temporary: false,
    applies: When(nickname_applies),
    judge: Before(nickname),
});

fn nickname_applies(_: &Case<'_>, params: &Nickname) -> bool {
    params.nickname_fails
}

fn nickname(case: &Case<'_>, candidate: &Candidate<'_>, _: &Nickname) -> Verdict {
    let has_default = candidate.queue.has_fault(Queue::OTHER_NICKNAME);
    match (has_default, case.task.options.panda_site.is_empty()) {
        (false, _) => Verdict::Pass,
        (true, true) => object(&NICKNAME_FAILS, 0.0, 1.0),
        (true, false) => object(&OTHER_SITE, 0.0, 1.0),
    }
}

params! {
    /// Parameters of filters that PanDA does not ask of queues that a task names.
    OfNamed {
        preassigned_exempt: bool = Param::flag("preassigned_exempt", false, true)
            .help("whether queues that the task names are not asked"),
    }
}

/// Whether a filter is asked of the queues of a case.
pub(super) fn is_asked(case: &Case<'_>, params: &OfNamed) -> bool {
    case.preassigned == Preassigned::No || !params.preassigned_exempt
}

pub(super) const STATUS: QueueFilter = queue_filter!(OfNamed {
    name: "status",
    spec: "panda-generic F1a",
    help: "the queue is online",
    reasons: REASONS,
    reads: &[],
    temporary: false,
    applies: When(is_asked),
    judge: Before(status),
});

fn status(_: &Case<'_>, candidate: &Candidate<'_>, _: &OfNamed) -> Verdict {
    object_to(candidate.queue.status)
}

const OTHER_SITE: Reason = Reason::new("panda_site", "the task is bound to another site");

pub(super) const PANDA_SITE: QueueFilter = queue_filter!(NoParams {
    name: "panda_site",
    spec: "panda-generic F1b",
    help: "the queue is of the site that the task's parameters state",
    reasons: &[&OTHER_SITE],
    reads: &[],
    temporary: false,
    applies: When(panda_site_applies),
    judge: Before(panda_site),
});

fn panda_site_applies(case: &Case<'_>, _: &NoParams) -> bool {
    !case.task.options.panda_site.is_empty()
}

fn panda_site(case: &Case<'_>, candidate: &Candidate<'_>, _: &NoParams) -> Verdict {
    match candidate.queue.site == case.task.options.panda_site {
        true => Verdict::Pass,
        false => object(&OTHER_SITE, 0.0, 1.0),
    }
}

params! {
    /// Parameters of `processing`.
    Processing {
        list_fails: bool = Param::flag("list_fails", false, true).help(
            "whether the task is rejected where a queue's list of processing types is no text, at \
             which PanDA's broker fails; else such a list is none",
        ),
    }
}

const NOT_ALLOWED: Reason =
    Reason::new("processing_not_allowed", "the queue takes other processing types alone");
const EXCLUDED: Reason =
    Reason::new("processing_excluded", "the queue does not take the processing type");
pub(super) const PROCESSING_FAILS: Reason = Reason::new(
    "processing_list_fails",
    "the queue's list of processing types is no text: PanDA's broker fails",
);

pub(super) const PROCESSING: QueueFilter = queue_filter!(Processing {
    name: "processing",
    spec: "panda-generic F7",
    help: "the task's processing type is in the queue's allowed_processing, if it has one, and not \
           in its excluded_processing",
    reasons: &[&NOT_ALLOWED, &EXCLUDED, &PROCESSING_FAILS],
    reads: &[],
    temporary: false,
    applies: Always,
    judge: Before(processing),
});

fn processing(case: &Case<'_>, candidate: &Candidate<'_>, params: &Processing) -> Verdict {
    let (kind, queue) = (case.task.processing_type.as_str(), candidate.queue);
    if params.list_fails && queue.has_fault(Queue::PROCESSING_LIST) {
        return object(&PROCESSING_FAILS, 0.0, 1.0);
    }
    let list = |flag: &str| flag_of(queue, flag).filter(|list| !list.is_empty());
    let is_in = |list: &str| !kind.is_empty() && list.split('|').any(|it| it == kind);
    if list("allowed_processing").is_some_and(|list| !is_in(list)) {
        return object(&NOT_ALLOWED, 0.0, 1.0);
    }
    if list("excluded_processing").is_some_and(is_in) {
        return object(&EXCLUDED, 1.0, 0.0);
    }
    Verdict::Pass
}

/// The value of a flag, which stands at the very beginning of its part of the text.
fn flag_of<'a>(queue: &'a Queue, name: &str) -> Option<&'a str> {
    let mut flags = queue.catchall.split(',').filter_map(|flag| flag.split_once('='));
    flags.find_map(|(key, value)| (key == name).then_some(value))
}

params! {
    /// Parameters of `nopilot` for generic jobs.
    NoPilot {
        allowed_by_prefix: bool = Param::flag("allowed_by_prefix", false, true).help(
            "whether a queue needs no pilots for any flag that begins with allow_no_pilot, whatever \
             its value",
        ),
    }
}

pub(super) const PILOTS: QueueFilter = queue_filter!(NoPilot {
    name: NOPILOT_FILTER.filter.name,
    spec: "panda-generic F8",
    help: "a node asked for a job or updated one[ within {node_window_h} h]; not asked of tasks of \
           label test, nor of queues with the flag allow_no_pilot",
    reasons: &[&NOPILOT],
    reads: NOPILOT_FILTER.filter.reads,
    temporary: false,
    applies: When(pilots_applies),
    judge: Before(pilots),
});

fn pilots_applies(case: &Case<'_>, _: &NoPilot) -> bool {
    case.task.label != "test"
}

/// Flag of a queue that needs no pilots.
const NO_PILOT: &str = "allow_no_pilot";

fn pilots(case: &Case<'_>, candidate: &Candidate<'_>, params: &NoPilot) -> Verdict {
    let queue = candidate.queue;
    let is_allowed = match params.allowed_by_prefix {
        true => queue.catchall.split(',').any(|flag| flag.starts_with(NO_PILOT)),
        false => {
            queue.flag(NO_PILOT).is_some_and(|value| !["0", "false", "False"].contains(&value))
        }
    };
    let has_pilots = candidate.pilots > 0 && !case.is_apart(candidate);
    if has_pilots || is_allowed { Verdict::Pass } else { object(&NOPILOT, 0.0, 1.0) }
}
