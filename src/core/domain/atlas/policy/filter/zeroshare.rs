//! Keeps queues whose fair-share policy has a share for the task.

use crate::domain::atlas::policy::queues::queue_filter;
use crate::domain::atlas::policy::{Candidate, Case, Preassigned, QueueFilter};
use crate::event::{ChunkKind, Task};
use crate::math::pattern::Pattern;
use crate::policy::param::Default;
use crate::policy::typed::params;
use crate::policy::verdict::object;
use crate::policy::{Param, Reason, Verdict};

params! {
    /// Parameters of `zeroshare`.
    ZeroShare {
        implicit: bool = Param::flag("implicit", true, false).help(
            "whether a policy that lists types with a share and no `any` has none for the others \
             (DIFF-23)",
        ),
        evgensimul: bool = Param::flag("evgensimul", true, false)
            .help("whether the type `evgensimul` stands for evgen and simul (DIFF-23)"),
    }
}

params! {
    /// Parameters of `zeroshare` for analysis jobs.
    OfAnalysis {
        active: bool = Param::flag("active", false, true)
            .tuned(Default::Bool(true))
            .help("whether this is asked at all; the document does not have it"),
        rules: ZeroShare,
    }
}

const ZEROSHARE: Reason = Reason::new("zeroshare", "the queue has no share for this work");

pub(super) const FILTER: QueueFilter = queue_filter!(ZeroShare {
    name: "zeroshare",
    spec: "atlas F6, 2.6, DIFF-23",
    help: "the queue's fairsharepolicy gives the task a share; not asked of work of the shares \
           test and validation",
    reasons: &[&ZEROSHARE],
    reads: &[],
    temporary: false,
    applies: When(applies),
    judge: Before(judge),
});

pub(super) const ANALYSIS: QueueFilter = queue_filter!(OfAnalysis {
    name: FILTER.filter.name,
    spec: "atlas G3, 2.6, DIFF-23",
    help: "the queue's fairsharepolicy gives the task a share; not asked of a pre-assigned queue",
    reasons: FILTER.filter.reasons,
    reads: FILTER.filter.reads,
    temporary: false,
    applies: When(applies_to_analysis),
    judge: Before(judge_analysis),
});

/// Processing types that stand for their own group.
const GROUPS: [&str; 8] =
    ["evgen", "simul", "reprocessing", "mcore", "group", "deriv", "pile", "merge"];
/// Processing types of tests, which have a share everywhere.
const TESTS: [&str; 6] = ["prod_test", "validation", "ptest", "rc_test", "rc_test2", "rc_alrb"];

fn applies(case: &Case<'_>, _: &ZeroShare) -> bool {
    let task = case.task;
    let is_test = ["test", "validation"].iter().any(|it| task.gshare.eq_ignore_ascii_case(it));
    !is_test || case.preassigned == Preassigned::One && task.label != "managed"
}

fn applies_to_analysis(case: &Case<'_>, params: &OfAnalysis) -> bool {
    params.active && case.preassigned != Preassigned::One && applies(case, &params.rules)
}

fn judge_analysis(case: &Case<'_>, candidate: &Candidate<'_>, params: &OfAnalysis) -> Verdict {
    judge(case, candidate, &params.rules)
}

fn judge(case: &Case<'_>, candidate: &Candidate<'_>, params: &ZeroShare) -> Verdict {
    let policy = candidate.queue.fairshare_policy.as_str();
    if policy.is_empty() || has_share(policy, case.task, params) {
        return Verdict::Pass;
    }
    object(&ZEROSHARE, 0.0, 0.0)
}

fn has_share(policy: &str, task: &Task, params: &ZeroShare) -> bool {
    let group = match task.processing_type.as_str() {
        kind if TESTS.contains(&kind) => return true,
        kind if GROUPS.contains(&kind) => kind,
        _ => "others",
    };
    let (mut lists_a_type, mut lists_any) = (false, false);
    for rule in policy.split(',').map(str::trim).filter(|rule| !rule.is_empty()) {
        let (conditions, share) = rule.rsplit_once(':').unwrap_or((rule, ""));
        let is_zero = matches!(share.trim(), "0" | "0%");
        for condition in conditions.split(':').map(str::trim) {
            if let Some(kind) = condition.strip_prefix("type=") {
                lists_any |= kind == "any";
                lists_a_type |= kind != "any" && !is_zero;
            }
        }
        if conditions.split(':').all(|it| is_met(it.trim(), group, task, params)) {
            return !is_zero;
        }
    }
    !(params.implicit && lists_a_type && !lists_any)
}

/// Whether a condition holds of a task; one that is not known holds of all.
fn is_met(condition: &str, group: &str, task: &Task, params: &ZeroShare) -> bool {
    let matches =
        |pattern: &str, text: &str| Pattern::matches_all(&pattern.replace('*', ".*"), text);
    if let Some(kind) = condition.strip_prefix("type=") {
        let both = params.evgensimul && kind == "evgensimul";
        return kind == "any"
            || matches(kind, group)
            || both && ["evgen", "simul"].contains(&group);
    }
    if let Some(name) = condition.strip_prefix("group=") {
        return name == "any" || matches(name, &task.working_group);
    }
    if let Some(name) = condition.strip_prefix("gshare=") {
        return name == "any" || task.gshare.is_empty() || matches(name, &task.gshare);
    }
    match condition.strip_prefix("priority") {
        Some(bound) if task.chunk != ChunkKind::Merge => is_within(bound, task.priority),
        _ => true,
    }
}

/// Whether a priority is within a bound as `>500`, `<=100`; one that cannot be read bounds nothing.
fn is_within(bound: &str, priority: i32) -> bool {
    let at = bound.find(|letter: char| letter.is_ascii_digit() || letter == '-');
    let (operator, number) = bound.split_at(at.unwrap_or(bound.len()));
    let Ok(number) = number.trim().parse::<i32>() else { return true };
    match operator.trim() {
        ">" => priority > number,
        ">=" => priority >= number,
        "<" => priority < number,
        "<=" => priority <= number,
        "=" | "==" => priority == number,
        "!=" => priority != number,
        _ => true,
    }
}
