//! What changed, from the history.

use super::domains::Of;
use super::query::{DOMAIN, Parameter, Params, Query};
use super::{Refused, beside, json};
use crate::changes::{CHANGE_KINDS, ChangeView, of_throttle};
use crate::described::described;
use crate::history::{History, Reach, Search};
use axum::response::Response;
use yardmaster_core::cut::Topic;
use yardmaster_core::output::Output;
use yardmaster_core::unit::{DAY, Millis};

/// Changes if nothing else is asked for, and at most.
const CHANGES: u64 = 200;
const CHANGES_MAX: u64 = 1_000;

pub(super) const PARAMETERS: [Parameter; 6] = [
    Parameter::text(
        "from",
        "of this moment or later: ms since 1970, or RFC 3339 with its zone; without it a day before \
         `to`",
    ),
    Parameter::text("to", "of this moment or before; without it up to now"),
    Parameter::text(
        "kind",
        "status, limit, fact, policy, lead, throttle; several with commas between",
    ),
    Parameter::text(
        "name",
        "only those of a thing of this name, or of a field or rule of this name; a user that has a \
         pseudonym is found by the own name too",
    ),
    Parameter::number("limit", "so many at most: 200, at most 1000"),
    DOMAIN,
];

/// The newest changes that are wanted.
pub(super) async fn changes(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    let query = Query::new(&given, &PARAMETERS)?;
    let kinds = query.words("kind", &CHANGE_KINDS)?;
    let limit = query.number("limit", CHANGES, CHANGES_MAX)? as usize;
    let name = query.text("name");
    let pseudonym = name.and_then(|name| api.reasons.pseudonym(name));
    let names: Vec<String> = name.map(str::to_owned).into_iter().chain(pseudonym).collect();
    let (from, to) = (query.moment("from")?, query.moment("to")?);
    let past = api.past()?;
    let answer = beside(move || {
        let reach = past.reach();
        let newest = reach.counters.map_or(0, |(_, to)| to);
        // A throttle may be newer than the last counters.
        let end = to.unwrap_or(Millis::MAX);
        let from = from.unwrap_or_else(|| end.min(newest).saturating_sub(DAY));
        let wants = |it: &ChangeView| {
            let is_named = names.is_empty() || names.iter().any(|name| it.is_about(name));
            is_named && kinds.contains(&it.kind.as_str())
        };
        let mut found = past.changes(from, end, wants);
        if kinds.contains(&"throttle") {
            found.extend(throttles(&past, from, end, limit, &wants));
        }
        found.sort_by(|a, b| b.cmp(a));
        let more = found.len() > limit;
        found.truncate(limit);
        ChangesAnswer::of(from, end.min(newest.max(from)), &reach, more, found)
    })
    .await?;
    Ok(json(&answer))
}

/// Throttles set and lifted are outputs, and kept as such.
fn throttles(
    past: &History,
    from: Millis,
    to: Millis,
    limit: usize,
    wants: &dyn Fn(&ChangeView) -> bool,
) -> Vec<ChangeView> {
    let is_wanted = |output: &Output| output.throttle().is_some_and(|it| wants(&of_throttle(it)));
    let found = past.search(&Search {
        topics: &[Topic::Throttle],
        after: 0,
        before: u64::MAX,
        from,
        to,
        names: &[],
        wants: &is_wanted,
        limit: limit + 1,
    });
    found.outputs.iter().filter_map(|(_, output)| output.throttle()).map(of_throttle).collect()
}

described! {
    /// What changed.
    struct ChangesAnswer of (
        from: Millis, to: Millis, reach: &Reach, more: bool, changes: Vec<ChangeView>,
    ) {
        /// The begin; ms since 1970.
        from: Millis = from,
        /// The end; ms since 1970.
        to: Millis = to,
        /// Whether the history has all of that time: it began before, and has no gap in it.
        complete: bool = is_complete(from, to, reach),
        /// The first moment of which changes are kept; ms since 1970; null: none yet.
        since: Option<Millis> = reach.counters.map(|(from, _)| from),
        /// Whether there are more, of which these are the newest.
        more: bool = more,
        /// The newest first.
        changes: Vec<ChangeView> = changes,
    }
}

fn is_complete(from: Millis, to: Millis, reach: &Reach) -> bool {
    let has_begun = reach.counters.is_some_and(|(first, _)| first <= from);
    let mut gaps = reach.gaps.iter();
    has_begun && !gaps.any(|(begin, end)| *end > from && *begin < to)
}
