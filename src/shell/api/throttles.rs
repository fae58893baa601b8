//! Throttles: those in force, and those that were over lately.

use super::domains::Of;
use super::lists;
use super::query::{DOMAIN, Parameter, Params, Query};
use super::{Api, Refused, Shown, beside, json};
use crate::described::described;
use crate::history::{History, Search};
use crate::waiting::Waiting;
use axum::response::Response;
use std::collections::BTreeMap;
use std::sync::Arc;
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::throttle_lifted;
use yardmaster_core::output::Output;
use yardmaster_core::output::throttle::{Action, Throttle};
use yardmaster_core::policy::rule::Rule;
use yardmaster_core::unit::{DAY, Millis};

/// Those that were over within this span are listed, if they are asked for.
const OVER_SINCE: Millis = DAY;
/// Records of throttles that are read for them at most.
const READ_MAX: usize = 5_000;

pub(super) const PARAMETERS: [Parameter; 2] =
    [Parameter::text("all", "1: those too that were lifted or lapsed within the last day"), DOMAIN];

pub(super) async fn throttles(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    let query = Query::new(&given, &PARAMETERS)?;
    let wants_all = match query.text("all") {
        None | Some("0") => false,
        Some("1") => true,
        Some(other) => {
            let what = format!("all: {other:?} is neither 0 nor 1");
            return Err(Refused::Query(what, "give one of them".into()));
        }
    };
    let shown = looked(&api).await?;
    let past = if wants_all { Some(api.past()?) } else { None };
    let answer = beside(move || {
        let waiting = &shown.view;
        let over = past.map(|past| over(&past, waiting)).unwrap_or_default();
        ThrottlesAnswer::of(waiting, &over)
    });
    Ok(json(&answer.await?))
}

/// Requests that wait and throttles, as of a few seconds ago at most.
pub(super) async fn looked(api: &Api) -> Result<Arc<Shown<Waiting>>, Refused> {
    api.views.waiting.get(api.client.answer_max()).await.ok_or_else(lists::late)
}

/// The newest record of each throttle that was over within the last day.
fn over(past: &History, waiting: &Waiting) -> Vec<Throttle> {
    let found = past.search(&Search {
        topics: &[Topic::Throttle],
        after: 0,
        before: u64::MAX,
        from: waiting.now.saturating_sub(2 * OVER_SINCE),
        to: waiting.now,
        names: &[],
        wants: &|_| true,
        limit: READ_MAX,
    });
    let mut newest: BTreeMap<String, Throttle> = BTreeMap::new();
    for (_, output) in found.outputs {
        if let Output::Throttle(throttle) = output {
            newest.entry(throttle.name()).or_insert(*throttle);
        }
    }
    let since = waiting.now.saturating_sub(OVER_SINCE);
    let is_over = |it: &Throttle| !it.stands(waiting.now) && it.over_at() >= since;
    newest.into_values().filter(is_over).collect()
}

described! {
    /// Throttles.
    struct ThrottlesAnswer of (waiting: &Waiting, over: &[Throttle]) {
        /// The now of the cycle it is of; ms since 1970.
        now: Millis = waiting.now,
        /// That cycle.
        cycle: u64 = waiting.cycle,
        /// Those in force first, the longest first; at most 5000 of them.
        throttles: Vec<ThrottleAnswer> = sorted(waiting, over)
            .into_iter()
            .map(|throttle| ThrottleAnswer::of(throttle, Some(waiting.now)))
            .collect(),
    }

    /// A throttle.
    struct ThrottleAnswer of (it: &Throttle, now: Option<Millis>) {
        /// Rule that gave it.
        rule: String = it.rule.clone(),
        /// The rule's place in the specification.
        spec: &'static str = Rule::from_name(&it.rule).map_or("", Rule::spec),
        /// The rule on one line.
        help: &'static str = Rule::from_name(&it.rule).map_or("", |rule| rule.text().help),
        /// Kind of the subject: user, group, task, queue, share.
        kind: &'static str = it.kind.name(),
        /// The subject; of a share with a slash and the resource type behind it.
        subject: String = it.subject.clone(),
        /// One of in_force, dry_run (published, and nothing is held), lapsed, lifted.
        state: &'static str = state(it, now),
        /// Measured value when it was last published.
        measured: f64 = it.measured,
        /// Largest value that passes.
        limit: f64 = it.limit,
        /// Unit of both.
        unit: String = it.unit.clone(),
        /// The counter that is measured.
        counter: String = it.counter.clone(),
        /// Since when it stands so; ms since 1970.
        since: Millis = it.since(),
        /// It lapses then unless it is published again; ms since 1970; null when lifted.
        until: Option<Millis> = it.until,
        /// It is lifted at this value and below.
        lift_limit: f64 = it.lift_limit,
        /// It is lifted no earlier; ms since 1970.
        lift_from: Option<Millis> = it.lift_from,
        /// Whether it is only published: it holds nothing back.
        dry_run: bool = it.dry_run,
        /// The condition that lifts it, as a sentence.
        lifted_when: String = throttle_lifted(it),
        /// Policy that gave it.
        policy: String = it.policy.clone(),
        /// When it was last published; ms since 1970.
        published_at: Millis = it.now,
    }
}

fn sorted<'a>(waiting: &'a Waiting, over: &'a [Throttle]) -> Vec<&'a Throttle> {
    let mut all: Vec<&Throttle> = waiting.throttles.iter().chain(over).collect();
    let rank = |it: &Throttle| (!it.stands(waiting.now), it.dry_run, it.since());
    all.sort_by_key(|it| (rank(it), it.name()));
    all
}

fn state(it: &Throttle, now: Option<Millis>) -> &'static str {
    match it.action {
        Action::Lift => "lifted",
        Action::Set if now.is_some_and(|now| !it.stands(now)) => "lapsed",
        Action::Set if it.dry_run => "dry_run",
        Action::Set => "in_force",
    }
}
