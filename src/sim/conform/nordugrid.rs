//! Recorded cases of NorduGrid brokering: facts folded, a job decided on, a draw or a cut's id
//! made.

use super::json::{items, show, text, whole};
use super::nordugrid_answer::{answer, drawn};
use super::nordugrid_facts::{facts, submission};
use super::xrsl::{dialect, error};
use super::{Judged, Recorded};
use serde_json::{Value, json};
use yardmaster_core::draw::{Seed, cut_id};
use yardmaster_core::policy::nordugrid::choice::DRAW;
use yardmaster_core::policy::{Arg, Policy, PolicySpec, Rules, kind};
use yardmaster_core::xrsl::{Alternative, XrslError, read};

/// Judges a case.
///
/// # Errors
/// What of the case cannot be read.
pub(super) fn judge(recorded: &Recorded) -> Result<Judged, String> {
    let scenario = &recorded.whole["scenario"];
    let result = match scenario["question"].as_str() {
        None | Some("decide") => decide(scenario)?,
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

fn decide(scenario: &Value) -> Result<Value, String> {
    let alternatives = match alternatives(scenario)? {
        Ok(alternatives) => alternatives,
        Err(found) => return Ok(bad_description(&error(&found))),
    };
    let policy = policy(&scenario["parameters"])?;
    let facts = facts(scenario)?;
    let submission = submission(scenario, alternatives);
    let resolved = policy.unchanged();
    let decision = policy.decide_target(&facts, &submission, &resolved);
    Ok(answer(&policy, &resolved, &facts, &submission, &decision))
}

/// The alternatives of the job that a case is about.
fn alternatives(scenario: &Value) -> Result<Result<Vec<Alternative>, XrslError>, String> {
    let source = scenario["xrsl"].as_str().ok_or_else(|| {
        format!("field `xrsl`: found {}, wants a job description", show(&scenario["xrsl"]))
    })?;
    let description = match read(source, dialect(&scenario["dialect"])?) {
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

/// The policy with the parameters that a case states.
fn policy(parameters: &Value) -> Result<Policy, String> {
    let flavour = kind("nordugrid").ok_or("no policy of kind nordugrid")?;
    let mut spec = PolicySpec::full("nordugrid", flavour, Rules::Documented);
    for (name, value) in super::json::entries(parameters) {
        let arg = match (value.as_i64(), value.as_str()) {
            (Some(number), _) => Arg::Int(number),
            (None, Some(word)) => Arg::Text(word.to_owned()),
            (None, None) => {
                return Err(format!("parameter `{name}`: found {}, wants a value", show(value)));
            }
        };
        spec.args.push((name.clone(), arg));
    }
    super::judged::compiled(&spec)
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
