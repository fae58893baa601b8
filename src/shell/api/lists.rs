//! State, queues, shares, counters, the recount, and which part of the past is kept.

use super::domains::{Apis, Of};
use super::query::{Params, Query};
use super::{Api, Refused, beside, json, looks};
use crate::history::{Counted, Reach};
use crate::question::{Answer, Asked};
use crate::view::{QueueView, View};
use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use std::sync::Arc;
use yardmaster_core::explain::iso;
use yardmaster_core::unit::{Millis, SECOND};
use yardmaster_wire::counter::to_json;

type Answered = Result<Response, Refused>;

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

pub(super) async fn status(
    State(apis): State<Apis>,
    Of(api): Of,
    Params(given): Params,
) -> Answered {
    Query::new(&given, &[])?;
    let state = api.status.get();
    let reason = api.status.not_ready();
    let shown = api.views.get(api.client.answer_max()).await;
    Ok(json(&json!({
        "domain": api.reasons.domain,
        "domains": apis.overview(),
        "version": env!("CARGO_PKG_VERSION"),
        "ready": reason.is_none(),
        "reason": reason,
        "leading": state.leading,
        "epoch": state.epoch,
        "cycle": state.cycle,
        "now": state.now,
        "requests_open": shown.map(|shown| shown.view.requests_open),
        "state": state,
        "history": api.past.get().map(|past| reach_json(&past.reach())),
    })))
}

pub(super) async fn history(Of(api): Of, Params(given): Params) -> Answered {
    Query::new(&given, &[])?;
    Ok(json(&reach_json(&api.past()?.reach())))
}

fn reach_json(reach: &Reach) -> Value {
    let gaps = reach.gaps.iter().map(|(from, to)| json!({ "from": from, "to": to }));
    json!({
        "from": reach.counters.map(|(from, _)| from),
        "to": reach.counters.map(|(_, to)| to),
        "interval_s": reach.interval / SECOND,
        "gaps": gaps.collect::<Vec<_>>(),
    })
}

pub(super) async fn queues(Of(api): Of, Params(given): Params) -> Answered {
    let query = Query::new(&given, &["at"])?;
    if let Some(at) = query.moment("at")? {
        let turn = api.past.looks.turn().await?;
        let counted = counted_at(&api, at).await?;
        let text = queues_json(counted.now, counted.cycle, &counted.queues);
        return Ok(looks::held(text, turn));
    }
    let shown = api.views.get(api.client.answer_max()).await.ok_or_else(late)?;
    let (text, turn) = match shown.queues.get() {
        Some(made) => made,
        None => {
            let turn = api.views.looks.turn().await?;
            let View { now, cycle, queues, .. } = &shown.view;
            shown.queues.get_or_init(|| (queues_json(*now, *cycle, queues).into(), turn))
        }
    };
    Ok(looks::held(text.clone(), Arc::clone(turn)))
}

fn queues_json(now: Millis, cycle: u64, queues: &[QueueView]) -> String {
    format!("{}\n", json!({ "now": now, "cycle": cycle, "queues": queues }))
}

pub(super) async fn shares(Of(api): Of, Params(given): Params) -> Answered {
    Query::new(&given, &[])?;
    let shown = api.views.get(api.client.answer_max()).await.ok_or_else(late)?;
    Ok(json(&json!({ "now": shown.view.now, "shares": shown.view.shares })))
}

/// The loop made no view in time.
fn late() -> Refused {
    let what = "the process shows no cycle yet: it restores, or stands still";
    Refused::Later(what.into(), "ask again later; see /readyz".into())
}

/// The counters as of a moment.
pub(super) async fn counted_at(api: &Api, at: Millis) -> Result<Counted, Refused> {
    let past = api.past()?;
    beside(move || {
        past.counters_at(at).ok_or_else(|| {
            let kept = match past.reach().counters {
                Some((from, to)) => format!("they are kept from {} to {}", iso(from), iso(to)),
                None => "none are kept yet".to_owned(),
            };
            Refused::Unknown(
                format!("no counters as of {}; {kept}", iso(at)),
                "ask for a moment within that, or `yardmaster counters --at`, which reads the log"
                    .into(),
            )
        })
    })
    .await?
}

pub(super) async fn counters(Of(api): Of, Params(given): Params) -> Answered {
    let query = Query::new(&given, &["by", "name", "at"])?;
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
    let at = query.moment("at")?;
    let turn = api.past.looks.turn().await?;
    let (now, cycle, lines) = match at {
        Some(at) => {
            let counted = counted_at(&api, at).await?;
            (counted.now, counted.cycle, counted.counters.into_values().collect())
        }
        None => match api.client.ask(Asked::Counters).await? {
            Answer::Counters(it) => {
                let lines: Vec<String> = beside({
                    let it = Arc::clone(&it);
                    move || it.counters.iter().map(to_json).collect()
                })
                .await?;
                (it.now, it.cycle, lines)
            }
            _ => return Err(late()),
        },
    };
    let chosen = beside(move || {
        let mut lines = lines;
        if !is_all || !names.is_empty() {
            lines.retain(|line| is_wanted(line, &kinds, is_all, &names));
        }
        lines.join(",")
    })
    .await?;
    let text = format!("{{\"now\":{now},\"cycle\":{cycle},\"counters\":[{chosen}]}}\n");
    Ok(looks::held(text, turn))
}

/// Whether a counter is of these kinds and carries one of these names; none: any.
fn is_wanted(line: &str, kinds: &[&str], is_all: bool, names: &[String]) -> bool {
    let Ok(Value::Object(counter)) = serde_json::from_str(line) else { return false };
    let kind = counter.get("counter").and_then(Value::as_str).unwrap_or_default();
    let is_named = |name: &String| counter.iter().any(|(what, it)| what != "counter" && it == name);
    (is_all || kinds.contains(&kind)) && (names.is_empty() || names.iter().any(is_named))
}

pub(super) async fn audit(Of(api): Of, Params(given): Params) -> Answered {
    Query::new(&given, &[])?;
    let Answer::Audit(audited) = api.client.ask(Asked::Audit).await? else { return Err(late()) };
    let drifts: Vec<Value> = audited
        .drifts
        .iter()
        .map(|it| json!({ "counter": it.counter, "kept": it.kept, "recount": it.recount }))
        .collect();
    let (counters, cycle) = (audited.counters, audited.cycle);
    Ok(json(&json!({ "counters": counters, "cycle": cycle, "drifts": drifts })))
}
