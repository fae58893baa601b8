//! A published decision in the shape of what was recorded.

use super::super::Judged;
use super::super::world::World;
use yardmaster_core::domain::atlas::policy::PREASSIGNED_REFUSED;
use yardmaster_core::event::{Queue, Task, is_newer};
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::policy::WaitReason;
use yardmaster_core::policy::note::Note;

/// Most queues of an assignment.
const RANKED_MAX: usize = 10;

/// A queue that a case has, as it stands at the cut.
pub(super) struct Listed {
    /// Its name.
    pub name: String,
    /// The queue that it counts as.
    pub unified: String,
    /// Its cloud.
    pub cloud: String,
    /// It stands for its parts, and is never chosen.
    pub is_parent: bool,
}

/// The queues that a task which names none is judged at, and those that stand for some of them.
pub(super) fn listed(world: &World) -> Vec<Listed> {
    let engine = &world.engine;
    let policy = engine.policies().iter().find(|policy| policy.spec.name == world.policy);
    let Some(policy) = policy else { return Vec::new() };
    let is_analysis = policy.flavour.name == "atlas-analysis-job";
    let resolved = policy.unchanged();
    let queues = engine.state.facts.queues.iter();
    let queues = queues.filter_map(|(_, fact)| fact.current(is_newer));
    let is_parent = |queue: &Queue| queue.ucore && queue.resource_type.is_empty();
    let is_meant = |queue: &&Queue| match is_parent(queue) {
        true => queue.analysis || !is_analysis,
        false => policy.lists(queue, &resolved),
    };
    let listed = |queue: &Queue| Listed {
        name: queue.name.clone(),
        unified: queue.unified.clone(),
        cloud: queue.first_cloud().to_owned(),
        is_parent: is_parent(queue),
    };
    queues.filter(is_meant).map(listed).collect()
}

/// Whether a decision is on all listed queues: the task neither names some nor is bound to a few.
fn is_on_all(decision: &Decision, task: &Task, queues: &[Listed]) -> bool {
    let ranked = match &decision.outcome {
        Outcome::Assign(ranked) => ranked.len(),
        Outcome::Defer { .. } | Outcome::Reject { .. } => 0,
    };
    let parts = queues.iter().filter(|it| !it.is_parent).count();
    let is_bound = || ranked < RANKED_MAX && ranked + decision.fates.len() < parts;
    task.site.is_empty() && (task.options.chunk_site.is_empty() || !is_bound())
}

/// A decision on jobs; `queues`: see [`listed`].
pub(super) fn of_queues(decision: &Decision, task: &Task, queues: &[Listed]) -> Judged {
    let mut judged = Judged { verdict: "pending", ..Judged::default() };
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            judged.verdict = "assigned";
            let entries = ranked.iter().map(|it| (it.queue.clone(), it.unified.clone(), it.weight));
            judged.candidates = entries.collect();
        }
        Outcome::Defer { .. } => {}
        Outcome::Reject { reason } if reason == PREASSIGNED_REFUSED => judged.verdict = "fatal",
        Outcome::Reject { reason } => {
            (judged.verdict, judged.reason) = ("rejected", reason.clone());
            return judged;
        }
    }
    if let Some(reason) = wait_of(decision) {
        judged.reason = reason.name().to_owned();
        if reason.rule().is_some() {
            judged.verdict = "throttled";
        }
        return judged;
    }
    let is_analysis = decision.policy == "analysis-job";
    for queue in queues.iter().filter(|_| is_analysis || is_on_all(decision, task, queues)) {
        let tag = if queue.is_parent { "unified_parent" } else { "low_weight" };
        judged.skipped.insert(queue.name.clone(), tag.to_owned());
    }
    for (queue, _, _) in &judged.candidates {
        judged.skipped.remove(queue);
    }
    for fate in &decision.fates {
        // PanDA asks for data by unified names, before it drops these.
        let unified = queues.iter().find(|it| *it.name == *fate.queue).map(|it| &it.unified);
        if fate.reason == "no_data"
            && let Some(tag) = unified.and_then(|unified| judged.skipped.get_mut(unified))
        {
            *tag = "no_data".to_owned();
        }
        match criteria(&fate.filter, &fate.reason) {
            // PanDA leaves them out without a word.
            "jumbo_jobs" | "no_cloud" => _ = judged.skipped.remove(&*fate.queue),
            tag => _ = judged.skipped.insert(fate.queue.to_string(), tag.to_owned()),
        }
    }
    judged
}

/// Why the task waits as a whole, if it does.
pub(super) fn wait_of(decision: &Decision) -> Option<WaitReason> {
    decision.notes.iter().find_map(|note| match Note::read(note) {
        Some(Note::Wait(reason)) => Some(reason),
        _ => None,
    })
}

/// PanDA's word for a filter's reason.
fn criteria<'a>(filter: &'a str, reason: &'a str) -> &'a str {
    match (filter, reason) {
        ("status", "no_cloud") => reason,
        ("status", _) => "status",
        ("link", "link_full") => "link_unusable",
        ("nucleus_queue", _) => "links_full",
        ("cpucore", "max_cpucore") => "max_cpucore",
        ("cpucore" | "diskIO" | "transferring" | "nopilot" | "zeroshare", _) => filter,
        ("cap" | "cap_rt", _) => filter,
        ("io" | "io_second_chance", _) => "io",
        ("connectivity", _) => "network",
        ("opportunistic", _) => "opportunistic",
        (_, "beyond_the_best") => "low_weight",
        _ => reason,
    }
}
