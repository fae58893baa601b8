//! Recorded cases of PanDA's brokers: a whole grid with one task, and what the brokers answered.

mod answer;
mod capacity;
mod grid;
mod jobs;
mod nuclei;
mod owner;
mod parts;
mod publisher;
mod request;
mod users;

use super::{Judged, Recorded};
use publisher::Publisher;
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::policy::Rules;
use yardmaster_wire::topology::ATLAS;

/// The policy that answers a kind of case, and its kind.
fn policy_of(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "prod_job" => ("production-job", "atlas-production-job"),
        "anal_job" => ("analysis-job", "atlas-analysis-job"),
        _ => ("production-task", "atlas-production-task"),
    }
}

/// Judges a case on the way that runs: what it states becomes records, and the answer is the one
/// that the engine publishes.
///
/// # Errors
/// What of the case cannot be read.
pub(super) fn judge(recorded: &Recorded, rules: Rules) -> Result<Judged, String> {
    if recorded.kind == "prod_task" {
        return nuclei::judge(recorded, rules);
    }
    let whole = &recorded.whole;
    let mut publisher = Publisher::new(whole, &topology(&recorded.kind, rules)?)?;
    publisher.earlier_jobs()?;
    publisher.publish(whole)?;
    let task = request::request(whole, policy_of(&recorded.kind).0, publisher.now);
    publisher.ask(&task)?;
    let unstated = std::mem::take(&mut publisher.unstated);
    let tolerance = publisher.tolerance;
    let queues = answer::listed(&publisher.world.engine);
    let answers = decisions(publisher);
    let answer = answers.iter().find(|answer| answer.subject == task.subject);
    let answer = answer.ok_or("the engine gives no answer")?;
    Ok(Judged { unstated, tolerance, ..answer::of_queues(answer, &task, &queues) })
}

/// The decisions of the cycle that ends at a case's moment.
fn decisions(publisher: Publisher<'_>) -> Vec<Decision> {
    let Publisher { mut world, now, .. } = publisher;
    world.close(now);
    let mut answers: Vec<Decision> = Vec::new();
    world.publish(&mut |_, output, is_folded| {
        if let (Output::Decision(decision), false) = (output, is_folded) {
            answers.push(Decision::clone(decision));
        }
    });
    answers
}

/// The shipped topology with the policy that answers, all of its filters and weights, by a reading.
fn topology(kind: &str, rules: Rules) -> Result<String, String> {
    let policy = "[[policy]]\n";
    let (shared, _) = ATLAS
        .split_once(policy)
        .ok_or_else(|| format!("topology/atlas.toml has no line {policy:?}"))?;
    let (name, kind) = policy_of(kind);
    let rules = rules.name();
    Ok(format!(
        "{shared}{policy}name = \"{name}\"\nkind = \"{kind}\"\nrules = \"{rules}\"\n\
         filters = \"all\"\nweights = \"all\"\n"
    ))
}
