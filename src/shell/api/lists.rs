//! State, queues, shares, counters, the recount, and which part of the past is kept.

use super::domains::{Apis, DomainState, Of};
use super::query::{AT, DOMAIN, Parameter, Params, Query};
use super::{Api, Refused, beside, json, looks};
use crate::described::{HasSchema, Schemas, described};
use crate::history::{Counted, Reach};
use crate::http::line;
use crate::question::{Answer, Asked, Audited};
use crate::status::State as ProcessState;
use crate::trouble::Trouble;
use crate::view::{QueueView, ShareView, View};
use axum::extract::State;
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use yardmaster_core::explain::iso;
use yardmaster_core::state::audit::Drift;
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
    Query::new(&given, &[DOMAIN])?;
    let (state, reason) = (api.status.get(), api.status.not_ready());
    let shown = api.views.get(api.client.answer_max()).await;
    let requests_open = shown.and_then(|shown| shown.view.requests_open);
    Ok(json(&StatusAnswer::of(&apis, &api, state, reason, requests_open)))
}

described! {
    /// State of the process.
    struct StatusAnswer of (
        apis: &Apis, api: &Api, state: ProcessState, reason: Option<String>, open: Option<u64>,
    ) {
        /// Domain (VO or pool) that is decided for.
        domain: String = api.reasons.domain.clone(),
        /// Every domain of the process, in the order of its topology files.
        domains: Vec<DomainState> = apis.overview(),
        /// Version of the program.
        version: &'static str = env!("CARGO_PKG_VERSION"),
        /// Whether it is ready, as /readyz answers.
        ready: bool = reason.is_none(),
        /// Why it is not.
        reason: Option<String> = reason,
        /// Whether it leads; else it stands by.
        leading: bool = state.leading,
        /// Epoch of the last cycle.
        epoch: u64 = state.epoch,
        /// The last cycle.
        cycle: u64 = state.cycle,
        /// Its now; ms since 1970.
        now: Millis = state.now,
        /// Requests that wait for an answer or for a better one; of a pool of slots, its idle jobs.
        /// Null where that is not known: the process shows no cycle, or stands by.
        requests_open: Option<u64> = open,
        /// All that is wrong with the process, the worst first; empty: it is as it should be.
        troubles: Vec<Trouble> = api.status.troubles(),
        /// All that is known, as /readyz shows it.
        state: ProcessState = state,
        /// The part of the past that is kept; null while the store is not open.
        history: Option<HistoryAnswer> =
            api.past.get().map(|past| HistoryAnswer::of(&past.reach())),
    }
}

pub(super) async fn history(Of(api): Of, Params(given): Params) -> Answered {
    Query::new(&given, &[DOMAIN])?;
    Ok(json(&HistoryAnswer::of(&api.past()?.reach())))
}

described! {
    /// The part of the past that is kept.
    struct HistoryAnswer of (reach: &Reach) {
        /// The first moment of which counters are kept; ms since 1970.
        from: Option<Millis> = reach.counters.map(|(from, _)| from),
        /// The last one.
        to: Option<Millis> = reach.counters.map(|(_, to)| to),
        /// Time between two of them; s.
        interval_s: i64 = reach.interval / SECOND,
        /// Spans of which decisions, throttles and commands are missing.
        gaps: Vec<SpanAnswer> = reach.gaps.iter().map(SpanAnswer::of).collect(),
    }

    /// A span of time.
    struct SpanAnswer of (span: &(Millis, Millis)) {
        /// Its begin; ms since 1970.
        from: Millis = span.0,
        /// Its end; ms since 1970.
        to: Millis = span.1,
    }
}

pub(super) async fn queues(Of(api): Of, Params(given): Params) -> Answered {
    let query = Query::new(&given, &[AT, DOMAIN])?;
    if let Some(at) = query.moment("at")? {
        let turn = api.past.looks.turn().await?;
        let counted = counted_at(&api, at).await?;
        let of = api.reasons.rows();
        let text = line(&QueuesAnswer::of(counted.now, counted.cycle, of, counted.queues));
        return Ok(looks::held(text, turn));
    }
    let shown = api.views.get(api.client.answer_max()).await.ok_or_else(late)?;
    let (text, turn) = match shown.text.get() {
        Some(made) => made,
        None => {
            let turn = api.views.grid.looks.turn().await?;
            let View { now, cycle, of, queues, .. } = &shown.view;
            let made = || line(&QueuesAnswer::of(*now, *cycle, of, queues.clone()));
            shown.text.get_or_init(|| (made().into(), turn))
        }
    };
    Ok(looks::held(text.clone(), Arc::clone(turn)))
}

described! {
    /// The grid at a glance.
    struct QueuesAnswer of (now: Millis, cycle: u64, of: &'static str, queues: Vec<QueueView>) {
        /// The now of the cycle it is of; ms since 1970.
        now: Millis = now,
        /// That cycle.
        cycle: u64 = cycle,
        /// The rows' kind in this domain, in the plural: `queues`, `sites` of a pool of slots,
        /// `cluster queues` of a NorduGrid grid.
        of: &'static str = of,
        /// Every queue, or site of a pool, that a fact or a job names, by name.
        queues: Vec<QueueView> = queues,
    }
}

pub(super) async fn shares(Of(api): Of, Params(given): Params) -> Answered {
    Query::new(&given, &[DOMAIN])?;
    let shown = api.views.get(api.client.answer_max()).await.ok_or_else(late)?;
    Ok(json(&SharesAnswer::of(&shown.view)))
}

described! {
    /// The part of each leaf share in what runs.
    struct SharesAnswer of (view: &View) {
        /// The now of the cycle it is of; ms since 1970.
        now: Millis = view.now,
        /// Leaf shares, by name.
        shares: Vec<ShareView> = view.shares.clone(),
    }
}

/// The loop made no view in time.
pub(super) fn late() -> Refused {
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

pub(super) const COUNTERS: [Parameter; 4] = [
    Parameter::text(
        "by",
        "queue, user, group, share, load, nucleus, task, link; several with commas between",
    ),
    Parameter::text(
        "name",
        "only counters that carry this name; a user that has a pseudonym is found by the own name too",
    ),
    AT,
    DOMAIN,
];

pub(super) async fn counters(Of(api): Of, Params(given): Params) -> Answered {
    let query = Query::new(&given, &COUNTERS)?;
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
    // The lines are JSON already: they are put in where the list of them ends.
    let text = line(&CountersAnswer::of(now, cycle));
    let (head, tail) = text.split_at(text.find(']').unwrap_or(text.len()));
    Ok(looks::held(format!("{head}{chosen}{tail}"), turn))
}

described! {
    /// Counters as of a cycle.
    struct CountersAnswer of (now: Millis, cycle: u64) {
        /// Its now; ms since 1970.
        now: Millis = now,
        /// The cycle.
        cycle: u64 = cycle,
        /// In order of kinds and names.
        counters: Vec<CounterLine> = Vec::new(),
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
                            those that are 0 are left out.",
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

pub(super) async fn audit(Of(api): Of, Params(given): Params) -> Answered {
    Query::new(&given, &[DOMAIN])?;
    let Answer::Audit(audited) = api.client.ask(Asked::Audit).await? else { return Err(late()) };
    Ok(json(&AuditAnswer::of(&audited)))
}

described! {
    /// A recount of all counters.
    struct AuditAnswer of (audited: &Audited) {
        /// Counters recounted.
        counters: usize = audited.counters,
        /// The cycle as of which.
        cycle: u64 = audited.cycle,
        /// Counters that are not what the recount gives.
        drifts: Vec<DriftAnswer> = audited.drifts.iter().map(DriftAnswer::of).collect(),
    }

    /// A counter that is not what a recount gives.
    struct DriftAnswer of (it: &Drift) {
        /// The counter.
        counter: String = it.counter.clone(),
        /// The kept value.
        kept: String = it.kept.clone(),
        /// The recounted value.
        recount: String = it.recount.clone(),
    }
}
