//! Recorded cases of PanDA's brokers: a whole grid with one task, and what the brokers answered.

mod answer;
mod capacity;
mod generic;
mod grid;
mod jobs;
mod nuclei;
mod owner;
mod panda_task;
mod parts;
mod publisher;
mod queues;
mod request;
mod users;

pub use panda_task::task_fields;

use super::rulebook::{Configuration, Rulebook};
use super::world::World;
use super::{Judged, Recorded};
use publisher::CasePublisher;
use toml::Table;
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::policy::Rules;

/// The kind of the policy that answers a kind of case.
fn kind_of(case: &str) -> &'static str {
    match case {
        "prod_job" => "atlas-production-job",
        "anal_job" => "atlas-analysis-job",
        "gen_job" => "generic-job",
        _ => "atlas-production-task",
    }
}

/// Judges a case on the way that runs: what it states becomes records, and the answer is the one
/// that the engine publishes.
///
/// # Errors
/// The first thing of the case that cannot be read.
pub(super) fn judge(recorded: &Recorded, by: Configuration<'_>) -> Result<Judged, String> {
    let whole = &recorded.whole;
    let is_generic = recorded.kind == "gen_job";
    let set = if is_generic { generic::parameters(&whole["scenario"]) } else { Table::new() };
    let rulebook = Rulebook::new(by, kind_of(&recorded.kind), set)?;
    if recorded.kind == "prod_task" {
        return nuclei::judge(recorded, &rulebook);
    }
    let mut publisher = CasePublisher::new(whole, &rulebook)?;
    publisher.earlier_jobs()?;
    publisher.publish(whole)?;
    let task = request::request(whole, &rulebook, publisher.now)?;
    publisher.ask(&task)?;
    if recorded.rule().starts_with("filter.stabilizer") && rulebook.rules != Rules::Panda {
        publisher.note("the queue is over the cap of G18, which comes first", &["cap_rt"]);
    }
    if is_generic {
        generic::note_unstated(&mut publisher, &task);
    }
    let unstated = std::mem::take(&mut publisher.unstated);
    let tolerance = publisher.tolerance;
    let queues = answer::listed(&publisher.world);
    let filters = filters(&publisher.world);
    let answers = decisions(publisher);
    let answer = answers.iter().find(|answer| answer.subject == task.subject);
    let answer = answer.ok_or("the engine gives no answer")?;
    let judged = match is_generic {
        true => generic::of_queues(answer, &task, &queues, &filters),
        false => answer::of_queues(answer, &task, &queues),
    };
    Ok(Judged { unstated, tolerance, rules: rulebook.rules, ..judged })
}

/// Names of the filters of the policy that answers, in its order.
fn filters(world: &World) -> Vec<String> {
    let mut policies = world.engine.policies().iter();
    let policy = policies.find(|policy| policy.spec.name == world.policy);
    policy.map_or_else(Vec::new, |policy| {
        policy.spec.filters.iter().map(|filter| filter.name.clone()).collect()
    })
}

/// The decisions of the cycle that ends at a case's moment.
fn decisions(publisher: CasePublisher<'_>) -> Vec<Decision> {
    let CasePublisher { mut world, now, .. } = publisher;
    world.close(now);
    let mut answers: Vec<Decision> = Vec::new();
    world.publish(&mut |_, output, is_folded| {
        if let (Output::Decision(decision), false) = (output, is_folded) {
            answers.push(Decision::clone(decision));
        }
    });
    answers
}
