//! Cases of PanDA's generic broker: what they set of a policy, what no record states of them, and a
//! published decision in the shape of what was recorded.

use super::super::Judged;
use super::super::json::{entries, flag, items, whole};
use super::answer::Listed;
use super::publisher::CasePublisher;
use serde_json::Value;
use toml::Table;
use yardmaster_core::domain::atlas::policy::FAILURES;
use yardmaster_core::event::Task;
use yardmaster_core::math::pattern::Pattern;
use yardmaster_core::output::decision::{Decision, Outcome};

/// Parameters that a case sets: of PanDA's own configuration.
pub(super) fn parameters(scenario: &Value) -> Table {
    let mut set = Table::new();
    let disabled = flag(&scenario["server_config"]["disable_file_dispatch"]);
    set.insert("disable_file_dispatch".to_owned(), disabled.into());
    let lists_files = scenario["ddm_client"].as_str() == Some("atlas");
    set.insert("lists_files".to_owned(), lists_files.into());
    set
}

/// Notes what the case states that no records give.
pub(super) fn note_unstated(publisher: &mut CasePublisher<'_>, task: &Task) {
    let scenario = publisher.scenario;
    let stated = &scenario["task"];
    let datasets = || items(&scenario["input"]["datasets"]);
    let clouds = || entries(&scenario["queues"]).map(|(_, queue)| &queue["cloud"]);
    let is_blank = |value: &Value| value.is_null() || value.as_str() == Some("");
    if datasets().any(|dataset| dataset["preassigned_site"].as_str() == Some("")) {
        publisher.note("in a record no name and an empty one are the same", &["crashed"]);
    }
    if task.options.cloud.is_empty() && clouds().any(is_blank) {
        let why = "a task without a cloud gets all queues, also where one has no cloud";
        publisher.note(why, &["pending"]);
    }
    if task.site.starts_with("nucleus:") {
        publisher.note("no record is of a queue that has the name of a nucleus", &["assigned"]);
    }
    if whole(&stated["core_count"]) < 0 {
        publisher.note("no record states fewer cores than none", &["memory"]);
    }
}

/// A decision on jobs; `queues`: those that a task which names none is judged at; `filters`: those
/// of the policy, in its order.
pub(super) fn of_queues(
    decision: &Decision,
    task: &Task,
    queues: &[Listed],
    filters: &[String],
) -> Judged {
    let mut judged = Judged { verdict: "pending", ..Judged::default() };
    let mut until = filters.len();
    match &decision.outcome {
        Outcome::Assign(ranked) => {
            judged.verdict = "assigned";
            let entries = ranked.iter().map(|it| (it.queue.clone(), it.unified.clone(), it.weight));
            judged.candidates = entries.collect();
        }
        Outcome::Defer { .. } => {}
        Outcome::Reject { reason } => {
            let fails = FAILURES.contains(&reason.as_str());
            judged.verdict = if fails { "crashed" } else { "rejected" };
            judged.reason = reason.clone();
            // The filters behind the one that fails ask nothing.
            let failing = decision.fates.iter().find(|fate| fate.reason == reason.as_str());
            // At a nickname PanDA fails where it asks for the space of the queue.
            let at = |filter| if filter == "nickname" { "space" } else { filter };
            until = failing.map_or(until, |fate| place(filters, at(&fate.filter)));
        }
    }
    let matches = Pattern::finder(&task.site);
    let is_on_list = |queue: &&Listed| match task.site.is_empty() {
        true => task.options.chunk_site.is_empty(),
        false => {
            let cloud = &task.options.cloud;
            let is_of_cloud = queue.cloud == *cloud || queues.iter().all(|it| it.cloud != *cloud);
            let is_name = queues.iter().any(|it| it.name == task.site);
            !is_name && is_of_cloud && matches(&queue.name)
        }
    };
    for queue in queues.iter().filter(is_on_list).filter(|_| judged.verdict == "assigned") {
        judged.skipped.insert(queue.name.clone(), "not_selected".to_owned());
    }
    for (queue, _, _) in &judged.candidates {
        judged.skipped.remove(queue);
    }
    for fate in &decision.fates {
        match (&*fate.filter, &*fate.reason) {
            // PanDA leaves them out without a word.
            ("cloud", _) | (_, "files_unlisted" | "nickname_fails") => {
                judged.skipped.remove(&*fate.queue);
            }
            (filter, reason) if place(filters, filter) < until => {
                let tag = match (filter, reason) {
                    ("status", _) => filter,
                    (_, "beyond_the_best") => "not_selected",
                    _ => reason,
                };
                judged.skipped.insert(fate.queue.to_string(), tag.to_owned());
            }
            _ => {}
        }
    }
    judged
}

fn place(filters: &[String], name: &str) -> usize {
    filters.iter().position(|filter| filter == name).unwrap_or(filters.len())
}
