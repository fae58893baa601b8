//! State, queues, shares, the recount, and which part of the past is kept.

use super::domains::{Apis, DomainState, Of};
use super::query::{AT, DOMAIN, Params, Query};
use super::{Api, Refused, beside, json, looks};
use crate::described::described;
use crate::history::{Counted, Reach};
use crate::http::line;
use crate::question::{Answer, Asked, Audited};
use crate::status::State as ProcessState;
use crate::trouble::Trouble;
use crate::view::{QueueView, ShareView, View};
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;
use yardmaster_core::explain::iso;
use yardmaster_core::state::audit::Drift;
use yardmaster_core::unit::{Millis, SECOND};

type Answered = Result<Response, Refused>;

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
        /// Spans between two moments of which counters are kept, within which they are missing: a
        /// look back shows what was so at the begin.
        counter_gaps: Vec<SpanAnswer> = reach.counter_gaps.iter().map(SpanAnswer::of).collect(),
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
        let Counted { now, cycle, gap, queues, .. } = counted;
        let of = api.reasons.rows();
        let text = line(&QueuesAnswer::of(now, cycle, of, gap, queues));
        return Ok(looks::held(text, turn));
    }
    let shown = api.views.get(api.client.answer_max()).await.ok_or_else(late)?;
    let (text, turn) = match shown.text.get() {
        Some(made) => made,
        None => {
            let turn = api.views.grid.looks.turn().await?;
            let View { now, cycle, of, queues, .. } = &shown.view;
            let made = || line(&QueuesAnswer::of(*now, *cycle, of, None, queues.clone()));
            shown.text.get_or_init(|| (made().into(), turn))
        }
    };
    Ok(looks::held(text.clone(), Arc::clone(turn)))
}

described! {
    /// The grid at a glance.
    struct QueuesAnswer of (
        now: Millis, cycle: u64, of: &'static str, gap: Option<(Millis, Millis)>,
        queues: Vec<QueueView>,
    ) {
        /// The now of the cycle it is of; ms since 1970.
        now: Millis = now,
        /// That cycle.
        cycle: u64 = cycle,
        /// The rows' kind in this domain, in the plural: `queues`, `sites` of a pool of slots,
        /// `cluster queues` of a NorduGrid grid.
        of: &'static str = of,
        /// Of a look back: the span without counters that the moment lies in, of which this is the
        /// begin; null: there is none.
        gap: Option<SpanAnswer> = gap.as_ref().map(SpanAnswer::of),
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
        /// Leaf shares, by name; of a pool its classes of jobs.
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
