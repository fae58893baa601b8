//! One decision, throttle or command: its line, its reasons, its record.

use super::decision::{DecisionAnswer, decision_answer};
use super::domains::Of;
use super::event::EventAnswer;
use super::query::{DOMAIN, Named, Parameter, Params, Query};
use super::{Refused, beside, json};
use crate::described::described;
use crate::history::{History, Search};
use axum::response::Response;
use serde_json::Value;
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::join;
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::Millis;
use yardmaster_wire::json::output_json;

/// Answers to one request that are read so that each has all of its reasons: every tenth repeated
/// deferral carries all.
const ANSWERS_READ: usize = 32;

pub(super) const PARAMETERS: [Parameter; 2] = [
    Parameter {
        place: "path",
        is_required: true,
        ..Parameter::text("id", "its sequence, or its id")
    },
    DOMAIN,
];

/// The one of a sequence, or of an id.
pub(super) async fn one(
    Of(api): Of,
    Named(id): Named,
    Params(given): Params,
) -> Result<Response, Refused> {
    Query::new(&given, &[DOMAIN])?;
    let (past, reasons) = (api.past()?, api.reasons.clone());
    beside(move || {
        let Some((sequence, output)) = find(&past, &id) else {
            let what = format!("no decision, throttle or command {id:?} in the history");
            let remedy = "give its sequence or its id from /api/v1/decisions; what is older is \
                          shown by `yardmaster explain`, which reads the log";
            return Err(Refused::Unknown(what, remedy.into()));
        };
        let decision = output.decision();
        let decision = decision.map(|it| decision_answer(&whole(&past, it), &reasons));
        Ok(json(&OneAnswer::of(sequence, &output, decision)))
    })
    .await?
}

described! {
    /// One decision, throttle or command.
    struct OneAnswer of (
        sequence: u64, output: &Output, decision: Option<DecisionAnswer>,
    ) {
        /// Its line.
        event: EventAnswer = EventAnswer::of(sequence, output),
        /// With its reasons; null for a throttle or command.
        decision: Option<DecisionAnswer> = decision,
        /// The record, with the field names of its schema.
        record: Value = output_json(output),
    }
}

fn find(past: &History, id: &str) -> Option<(u64, Output)> {
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let sequence = if is_id { None } else { Some(id.parse::<u64>().ok()?) };
    let has_id = |output: &Output| hex::encode(output.id()) == id;
    let search = Search {
        topics: Output::TOPICS,
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
    let is_of_request = |output: &Output| {
        output.decision().is_some_and(|it| {
            (&it.subject, it.attempt) == (&decision.subject, decision.attempt)
                && it.ordinal <= decision.ordinal
        })
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
    let mut answers: Vec<Decision> =
        found.filter_map(|(_, output)| output.decision().cloned()).collect();
    join(&mut answers);
    answers.pop().unwrap_or_else(|| decision.clone())
}
