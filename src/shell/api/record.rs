//! One decision, throttle or command: its line, its reasons, its record.

use super::decision::decision_json;
use super::domains::Of;
use super::event::event;
use super::query::{Named, Params, Query};
use super::{Refused, beside, json};
use crate::history::{History, Search};
use axum::response::Response;
use serde_json::json;
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::join;
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::Millis;
use yardmaster_wire::json::output_json;

/// Answers to one request that are read so that each has all of its reasons: every tenth repeated
/// deferral carries all.
const ANSWERS_READ: usize = 32;

const ALL: [Topic; 3] = [Topic::Decision, Topic::Throttle, Topic::Command];

/// The one of a sequence, or of an id.
pub(super) async fn one(
    Of(api): Of,
    Named(id): Named,
    Params(given): Params,
) -> Result<Response, Refused> {
    Query::new(&given, &[])?;
    let (past, reasons) = (api.past()?, api.reasons.clone());
    beside(move || {
        let Some((sequence, output)) = find(&past, &id) else {
            let what = format!("no decision, throttle or command {id:?} in the history");
            let remedy = "give its sequence or its id from /api/v1/decisions; what is older is \
                          shown by `yardmaster explain`, which reads the log";
            return Err(Refused::Unknown(what, remedy.into()));
        };
        let decision = match &output {
            Output::Decision(it) => Some(decision_json(&whole(&past, it), &reasons)),
            Output::Throttle(_) | Output::Command(_) => None,
        };
        let (event, record) = (event(sequence, &output), output_json(&output));
        Ok(json(&json!({ "event": event, "decision": decision, "record": record })))
    })
    .await?
}

fn find(past: &History, id: &str) -> Option<(u64, Output)> {
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let sequence = if is_id { None } else { Some(id.parse::<u64>().ok()?) };
    let has_id = |output: &Output| {
        let its = match output {
            Output::Decision(it) => it.id.0,
            Output::Throttle(it) => it.id.0,
            Output::Command(it) => it.id.0,
        };
        hex::encode(its) == id
    };
    let search = Search {
        topics: &ALL,
        after: sequence.map_or(0, |it| it.saturating_sub(1)),
        before: sequence.map_or(u64::MAX, |it| it.saturating_add(1)),
        from: Millis::MIN,
        to: Millis::MAX,
        names: &[],
        wants: &|output| sequence.is_some() || has_id(output),
        limit: 1,
    };
    past.search(&search).outputs.into_iter().next()
}

/// A decision with what it does not repeat of the answers before.
fn whole(past: &History, decision: &Decision) -> Decision {
    if decision.full {
        return decision.clone();
    }
    let is_of_request = |output: &Output| match output {
        Output::Decision(it) => {
            (&it.subject, it.attempt) == (&decision.subject, decision.attempt)
                && it.ordinal <= decision.ordinal
        }
        Output::Throttle(_) | Output::Command(_) => false,
    };
    let search = Search {
        topics: &[Topic::Decision],
        after: 0,
        before: u64::MAX,
        from: Millis::MIN,
        to: decision.now,
        names: &[&decision.subject],
        wants: &is_of_request,
        limit: ANSWERS_READ,
    };
    let found = past.search(&search).outputs.into_iter().rev();
    let mut answers: Vec<Decision> = found
        .filter_map(|(_, output)| match output {
            Output::Decision(it) => Some(*it),
            Output::Throttle(_) | Output::Command(_) => None,
        })
        .collect();
    join(&mut answers);
    answers.pop().unwrap_or_else(|| decision.clone())
}
