//! Recorded cases of NorduGrid brokering: a job decided on, a draw or a cut's id made.

mod answer;
mod records;

use super::json::{entries, items, moment, show, text, whole};
use super::rulebook::{Configuration, Rulebook};
use super::world::World;
use super::xrsl::{dialect, error};
use super::{Judged, Recorded};
use answer::{answer, drawn};
use serde_json::{Value, json};
use toml::Table;
use yardmaster_core::domain::nordugrid::policy::choice::DRAW;
use yardmaster_core::domain::nordugrid::policy::decide::JobSubmission;
use yardmaster_core::domain::nordugrid::xrsl::{Alternative, XrslError, read_to_run};
use yardmaster_core::draw::{Seed, cut_id};
use yardmaster_core::engine::Engine;
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::{Decision, Outcome};

/// Judges a case.
///
/// # Errors
/// The part of the case that cannot be read.
pub(super) fn judge(recorded: &Recorded, by: Configuration<'_>) -> Result<Judged, String> {
    let scenario = &recorded.whole["scenario"];
    let result = match scenario["question"].as_str() {
        None | Some("decide") => decide(scenario, by)?,
        Some("draw") => draw(scenario),
        Some("cut_id") => cut(scenario),
        Some(other) => {
            return Err(format!("field `question`: found {other:?}, wants decide, draw, cut_id"));
        }
    };
    let verdict = match result["verdict"].as_str() {
        Some("assign") => "assigned",
        Some(_) => "rejected",
        None => "answered",
    };
    Ok(Judged { verdict, result: Some(result), ..Judged::default() })
}

/// Why a case cannot be published, if it cannot.
pub(super) fn contradiction(scenario: &Value) -> Option<&'static str> {
    // A record states a size of 0 for one that is not known.
    if entries(&scenario["files"]).any(|(_, file)| file["size_bytes"] == 0) {
        return Some("a record has no size of 0");
    }
    // What is in the batch system has its inputs.
    let is_unstaged = |job: &Value| job["staged"] == false && job["reached_batch_at"].is_string();
    let is_double = items(&scenario["jobs"]).any(is_unstaged);
    is_double.then_some("a job is in the batch system without its inputs")
}

/// Decides on the job of a case on the way that runs: its records are published, and the answer is
/// the one that the engine publishes. The draw alone is made with the case's own name of the cut.
fn decide(scenario: &Value, by: Configuration<'_>) -> Result<Value, String> {
    let found = alternatives(scenario)?;
    let now = moment(&scenario["now"]);
    let own = parameters(&scenario["parameters"])?;
    let mut world = World::new(&Rulebook::new(by, "nordugrid", own)?)?;
    records::publish(&mut world, scenario, now)?;
    world.close(now);
    let job = text(&scenario["job_id"]);
    let mut answered: Option<Result<Value, String>> = None;
    world.publish(&mut |engine, output, is_folded| {
        let Output::Decision(decision) = output else { return };
        if !is_folded && decision.subject == job {
            answered = Some(match &found {
                Ok(_) => looked_at(engine, scenario, decision),
                Err(found) => Ok(unusable(decision, found)),
            });
        }
    });
    answered.unwrap_or_else(|| Err("the engine gives no answer".to_owned()))
}

/// A description that cannot be read; the engine must reject it for that.
fn unusable(decision: &Decision, found: &XrslError) -> Value {
    match &decision.outcome {
        Outcome::Reject { reason } if reason.starts_with("bad_description") => {
            bad_description(&error(found))
        }
        other => json!({"published": other.name()}),
    }
}

/// A decision with the figures by which it was made.
fn looked_at(engine: &Engine, scenario: &Value, decision: &Decision) -> Result<Value, String> {
    let policy = engine.policies().first().ok_or("the topology has no policy")?;
    let submission = engine.submission(&decision.subject).ok_or("nothing is asked")??;
    let stated = JobSubmission {
        attempt: whole(&scenario["attempt"]) as u64,
        cut_id: text(&scenario["cut_id"]),
        ..submission
    };
    let (facts, resolved) = (engine.grid_facts(), policy.unchanged());
    let found = policy.decide_target(facts, &stated, &resolved);
    let answer = answer(policy, &resolved, facts, &stated, &found);
    Ok(match agrees(decision, &answer) {
        true => answer,
        false => json!({"published": format!("{:?}", decision.outcome), "not": answer}),
    })
}

/// Whether the published decision is the answer; of a draw that it is one of those drawn from.
fn agrees(decision: &Decision, answer: &Value) -> bool {
    match &decision.outcome {
        Outcome::Reject { reason } => answer["code"] == reason.as_str(),
        Outcome::Assign(ranked) => {
            let target = ranked.first().map(|ranked| ranked.queue.as_str()).unwrap_or_default();
            let choice = &answer["choice"];
            let rule = decision.placed.as_ref().map(|placed| placed.rule.as_str());
            let is_drawn = items(&choice["tied"]).any(|it| it == target);
            choice["rule"].as_str() == rule && (choice["target"] == target || is_drawn)
        }
        Outcome::Defer { .. } => false,
    }
}

/// The alternatives of the job that a case is about.
fn alternatives(scenario: &Value) -> Result<Result<Vec<Alternative>, XrslError>, String> {
    let source = scenario["xrsl"].as_str().ok_or_else(|| {
        format!("field `xrsl`: found {}, wants a job description", show(&scenario["xrsl"]))
    })?;
    let description = match read_to_run(source, dialect(&scenario["dialect"])?) {
        Ok(description) => description,
        Err(found) => return Ok(Err(found)),
    };
    let at = whole(&scenario["job_index"]);
    let count = description.jobs.len();
    let found = usize::try_from(at).ok().and_then(|at| description.jobs.into_iter().nth(at));
    found.map(Ok).ok_or_else(|| {
        format!("field `job_index`: found {at}, the description has jobs 0 to {}", count - 1)
    })
}

/// The parameters of a case.
fn parameters(stated: &Value) -> Result<Table, String> {
    let own = entries(stated).map(|(name, value)| match toml::Value::try_from(value) {
        Ok(own) if value.is_number() || value.is_string() => Ok((name.to_owned(), own)),
        _ => Err(format!("parameter `{name}`: found {}, wants a value", show(value))),
    });
    own.collect()
}

fn bad_description(error: &Value) -> Value {
    json!({
        "verdict": "reject", "code": "bad_description", "error": error, "discovery": null,
        "alternative_index": null, "alternatives": [], "choice": null, "changes": null,
    })
}

fn draw(scenario: &Value) -> Value {
    let (subject, cut_id) = (text(&scenario["job_id"]), text(&scenario["cut_id"]));
    let (attempt, round) = (whole(&scenario["attempt"]) as u64, whole(&scenario["round"]) as u32);
    let seed = Seed { algorithm: DRAW, subject: &subject, attempt, cut_id: &cut_id, round };
    let weight = |pair: &Value| (text(&pair[0]), pair[1].as_u64().unwrap_or(0));
    let draw = seed.draw(items(&scenario["weights"]).map(weight).collect());
    draw.as_ref().map_or(Value::Null, drawn)
}

fn cut(scenario: &Value) -> Value {
    let positions = items(&scenario["positions"]);
    let positions: Vec<(&str, u32, u64)> = positions
        .map(|it| {
            let (partition, position) = (whole(&it[1]) as u32, it[2].as_u64().unwrap_or(0));
            (it[0].as_str().unwrap_or_default(), partition, position)
        })
        .collect();
    json!({"cut_id": cut_id(&positions)})
}
