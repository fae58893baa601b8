//! Counters, as they are, as of a moment, and what differs between two.

use super::domains::Of;
use super::lists::{SpanAnswer, counted_at, late};
use super::query::{AT, DOMAIN, Parameter, Params, Query};
use super::{Api, Refused, beside, looks};
use crate::described::{HasSchema, Schemas, described};
use crate::http::line;
use crate::question::{Answer, Asked};
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use yardmaster_core::unit::Millis;
use yardmaster_wire::counter::{compared, to_json};

/// Kinds of counters by what a reader asks for.
const BY: [(&str, &[&str]); 8] = [
    ("queue", &["queue", "starts", "waits"]),
    ("user", &["user"]),
    ("group", &["group"]),
    ("share", &["share"]),
    ("load", &["load"]),
    ("nucleus", &["nucleus"]),
    ("task", &["task"]),
    ("link", &["link", "into", "rate"]),
];

pub(super) const PARAMETERS: [Parameter; 5] = [
    Parameter::text(
        "by",
        "queue, user, group, share, load, nucleus, task, link; several with commas between",
    ),
    Parameter::text(
        "name",
        "only counters that carry this name; a user that has a pseudonym is found by the own name too",
    ),
    AT,
    Parameter::text(
        "against",
        "only counters that were not the same as of this moment, each with what it was then in \
         `before`: ms since 1970, or RFC 3339 with its zone",
    ),
    DOMAIN,
];

/// Counters of a moment.
pub(super) struct TakenCounters {
    now: Millis,
    cycle: u64,
    gap: Option<(Millis, Millis)>,
    lines: Vec<String>,
}

/// The counters as of a moment; `None`: as they are.
async fn taken(api: &Api, at: Option<Millis>) -> Result<TakenCounters, Refused> {
    if let Some(at) = at {
        let it = counted_at(api, at).await?;
        let lines = it.counters.into_values().collect();
        return Ok(TakenCounters { now: it.now, cycle: it.cycle, gap: it.gap, lines });
    }
    let Answer::Counters(it) = api.client.ask(Asked::Counters).await? else {
        return Err(late());
    };
    let (now, cycle) = (it.now, it.cycle);
    let lines = beside(move || it.counters.iter().map(to_json).collect()).await?;
    Ok(TakenCounters { now, cycle, gap: None, lines })
}

pub(super) async fn counters(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    let query = Query::new(&given, &PARAMETERS)?;
    let by = query.words("by", &BY.map(|(by, _)| by))?;
    let is_all = query.text("by").is_none();
    // A user that has a pseudonym is found by the own name too.
    let name = query.text("name");
    let pseudonym = name.and_then(|name| api.reasons.pseudonym(name));
    let names: Vec<String> = name.map(str::to_owned).into_iter().chain(pseudonym).collect();
    let kinds: Vec<&str> = BY
        .iter()
        .filter(|(it, _)| by.contains(it))
        .flat_map(|(_, kinds)| *kinds)
        .copied()
        .collect();
    let (at, against) = (query.moment("at")?, query.moment("against")?);
    let turn = api.past.looks.turn().await?;
    let before = match against {
        Some(against) => Some(taken(&api, Some(against)).await?),
        None => None,
    };
    let TakenCounters { now, cycle, gap, lines } = taken(&api, at).await?;
    let answer = CountersAnswer::of(now, cycle, gap, before.as_ref());
    let chosen = beside(move || {
        let mut lines = lines;
        let mut before = before.map(|it| it.lines);
        if !is_all || !names.is_empty() {
            for lines in [Some(&mut lines), before.as_mut()].into_iter().flatten() {
                lines.retain(|line| is_wanted(line, &kinds, is_all, &names));
            }
        }
        if let Some(before) = before {
            lines = compared(&lines, &before);
        }
        lines.join(",")
    })
    .await?;
    // The lines are JSON already: they are put in where the list of them ends.
    let text = line(&answer);
    let (head, tail) = text.split_at(text.find(']').unwrap_or(text.len()));
    Ok(looks::held(format!("{head}{chosen}{tail}"), turn))
}

described! {
    /// Counters as of a cycle.
    struct CountersAnswer of (
        now: Millis, cycle: u64, gap: Option<(Millis, Millis)>, before: Option<&TakenCounters>,
    ) {
        /// Its now; ms since 1970.
        now: Millis = now,
        /// The cycle.
        cycle: u64 = cycle,
        /// Of a look back: the span without counters that the moment lies in, of which this is the
        /// begin; null: there is none.
        gap: Option<SpanAnswer> = gap.as_ref().map(SpanAnswer::of),
        /// The cycle that it is compared with; null: with none.
        against: Option<AgainstAnswer> = before.map(AgainstAnswer::of),
        /// In order of kinds and names.
        counters: Vec<CounterLine> = Vec::new(),
    }

    /// The cycle that counters are compared with.
    struct AgainstAnswer of (it: &TakenCounters) {
        /// Its now; ms since 1970.
        now: Millis = it.now,
        /// The cycle.
        cycle: u64 = it.cycle,
        /// The span without counters that the moment lies in; null: there is none.
        gap: Option<SpanAnswer> = it.gap.as_ref().map(SpanAnswer::of),
    }
}

/// A counter, whose names and figures depend on its kind.
#[derive(Serialize)]
enum CounterLine {}

impl HasSchema for CounterLine {
    fn schema(_: &mut Schemas) -> Value {
        serde_json::json!({
            "type": "object",
            "description": "`counter` is what it counts, then come its names, then its figures; \
                            those that are 0 are left out. Where it is compared, `before` has the \
                            figures of the other moment.",
            "properties": { "counter": { "type": "string", "description": "Kind of counter." } },
            "required": ["counter"],
            "additionalProperties": true,
        })
    }
}

/// Whether a counter is of these kinds and carries one of these names; none: any.
fn is_wanted(line: &str, kinds: &[&str], is_all: bool, names: &[String]) -> bool {
    let Ok(Value::Object(counter)) = serde_json::from_str(line) else { return false };
    let kind = counter.get("counter").and_then(Value::as_str).unwrap_or_default();
    let is_named = |name: &String| counter.iter().any(|(what, it)| what != "counter" && it == name);
    (is_all || kinds.contains(&kind)) && (names.is_empty() || names.iter().any(is_named))
}
