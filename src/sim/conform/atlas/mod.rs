//! Recorded cases of PanDA's brokers: a whole grid with one task, and what the brokers answered.

mod answer;
mod capacity;
mod grid;
mod jobs;
mod nuclei;
mod owner;
mod panda_task;
mod parts;
mod publisher;
mod request;
mod users;

pub use panda_task::task_fields;

use super::rulebook::{Configuration, Rulebook};
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
        _ => "atlas-production-task",
    }
}

/// Judges a case on the way that runs: what it states becomes records, and the answer is the one
/// that the engine publishes.
///
/// # Errors
/// The first thing of the case that cannot be read.
pub(super) fn judge(recorded: &Recorded, by: Configuration<'_>) -> Result<Judged, String> {
    let rulebook = Rulebook::new(by, kind_of(&recorded.kind), Table::new())?;
    if recorded.kind == "prod_task" {
        return nuclei::judge(recorded, &rulebook);
    }
    let whole = &recorded.whole;
    let mut publisher = CasePublisher::new(whole, &rulebook)?;
    publisher.earlier_jobs()?;
    publisher.publish(whole)?;
    let task = request::request(whole, &rulebook, publisher.now)?;
    publisher.ask(&task)?;
    if recorded.rule().starts_with("filter.stabilizer") && rulebook.rules != Rules::Panda {
        publisher.note("the queue is over the cap of G18, which comes first", &["cap_rt"]);
    }
    let unstated = std::mem::take(&mut publisher.unstated);
    let tolerance = publisher.tolerance;
    let queues = answer::listed(&publisher.world);
    let answers = decisions(publisher);
    let answer = answers.iter().find(|answer| answer.subject == task.subject);
    let answer = answer.ok_or("the engine gives no answer")?;
    let rules = rulebook.rules;
    Ok(Judged { unstated, tolerance, rules, ..answer::of_queues(answer, &task, &queues) })
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
