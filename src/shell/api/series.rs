//! Curves from the history.

use super::domains::Of;
use super::lists::SpanAnswer;
use super::query::{DOMAIN, Parameter, Params, Query};
use super::{Refused, beside, looks};
use crate::described::described;
use crate::history::{FIGURES, Reach, SeriesAsked, SeriesFound, SeriesOf, SeriesPoint};
use crate::http::line;
use axum::response::Response;
use yardmaster_core::explain::iso;
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

/// Points of each curve at most: of one thing, and of every one.
const POINTS_MAX: i64 = 2_000;
const POINTS_OF_EACH_MAX: i64 = 200;
/// Curves in one answer at most.
const SERIES_MAX: usize = 2_000;
/// Steps that are chosen where none is given.
const STEPS: [Millis; 12] = [
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
];

pub(super) const PARAMETERS: [Parameter; 7] = [
    Parameter::text("of", "all, queue, site, share, user, task; without it all"),
    Parameter::text(
        "name",
        "the queue, site, share, user or task; without it every queue, site or share; a user that \
         has a pseudonym is found by the own name too",
    ),
    Parameter::text(
        "what",
        "running, queued, starts, finished, failed, waiting; several with commas between; without \
         it running and queued of every one, of one thing all that is known of it",
    ),
    Parameter::text(
        "from",
        "from this moment on: ms since 1970, or RFC 3339 with its zone; without it a day before \
         `to`",
    ),
    Parameter::text("to", "up to this moment; without it the last one that is kept"),
    Parameter::number(
        "step",
        "seconds between two points; without it so that there are at most 200 points",
    ),
    DOMAIN,
];

/// Curves of one thing, or of every one of a kind.
pub(super) async fn series(Of(api): Of, Params(given): Params) -> Result<Response, Refused> {
    let query = Query::new(&given, &PARAMETERS)?;
    let of = query.text("of").map(|_| query.words("of", &SeriesOf::NAMES)).transpose()?;
    let of = match of.as_deref() {
        None => SeriesOf::All,
        Some([of]) => {
            SeriesOf::ALL[SeriesOf::NAMES.iter().position(|name| name == of).unwrap_or(0)]
        }
        Some(_) => {
            let remedy = format!("give one of {}", SeriesOf::NAMES.join(", "));
            return Err(Refused::Query("of: several kinds are given".into(), remedy));
        }
    };
    let name = match (of, query.text("name")) {
        (SeriesOf::All, _) => Some(String::new()),
        (_, Some(name)) => Some(name.to_owned()),
        (SeriesOf::User | SeriesOf::Task, None) => {
            let what = "no name is given, and there are too many of this kind for all";
            let remedy = "give ?name= of a user or task, or of=queue, site or share";
            return Err(Refused::Query(what.into(), remedy.into()));
        }
        (SeriesOf::Queue | SeriesOf::Site | SeriesOf::Share, None) => None,
    };
    let whats = whats(&query, of, name.is_some())?;
    let past = api.past()?;
    let reach = past.reach();
    let asked = asked(&query, of, name, &reach)?;
    // A user that has a pseudonym is found by the own name too.
    let own = asked.name.as_deref().filter(|_| of == SeriesOf::User);
    let pseudonym = own.and_then(|name| api.reasons.pseudonym(name));
    let turn = api.past.looks.turn().await?;
    let text = beside(move || {
        let mut found = past.series(&asked);
        if found.series.is_empty() && pseudonym.is_some() {
            found = past.series(&SeriesAsked { name: pseudonym, ..asked.clone() });
        }
        if let Some(name) =
            asked.name.as_deref().filter(|it| found.series.is_empty() && !it.is_empty())
        {
            let kind = SeriesOf::NAMES[asked.of as usize];
            let what = format!("no {kind} {name:?} had jobs or requests in that time");
            let remedy = "check name and kind; /api/v1/history says how far back curves reach";
            return Err(Refused::Unknown(what, remedy.into()));
        }
        Ok(line(&SeriesAnswer::of(&asked, &found, &whats, &reach)))
    })
    .await??;
    Ok(looks::held(text, turn))
}

/// Which figures are wanted. One that is not known of this kind is refused.
fn whats(query: &Query<'_>, of: SeriesOf, is_one: bool) -> Result<Vec<usize>, Refused> {
    let known = of.knows();
    if query.text("what").is_none() {
        let is_usual = |which: &usize| known[*which] && (is_one || *which < 2);
        return Ok((0..FIGURES.len()).filter(is_usual).collect());
    }
    let words = query.words("what", &FIGURES)?;
    let whats: Vec<usize> =
        words.iter().filter_map(|word| FIGURES.iter().position(|name| name == word)).collect();
    if let Some(unknown) = whats.iter().find(|which| !known[**which]) {
        let there: Vec<&str> =
            (0..FIGURES.len()).filter(|it| known[*it]).map(|it| FIGURES[it]).collect();
        let kind = SeriesOf::NAMES[of as usize];
        return Err(Refused::Query(
            format!("what: {} of a {kind} is not kept", FIGURES[*unknown]),
            format!("give some of {}", there.join(", ")),
        ));
    }
    Ok(whats)
}

/// The span and the step that are wanted.
fn asked(
    query: &Query<'_>,
    of: SeriesOf,
    name: Option<String>,
    reach: &Reach,
) -> Result<SeriesAsked, Refused> {
    let newest = reach.counters.map_or(0, |(_, to)| to);
    let to = query.moment("to")?.unwrap_or(newest).min(newest);
    let from = query.moment("from")?.unwrap_or(to.saturating_sub(DAY));
    if to < reach.counters.map_or(0, |(from, _)| from) || from > to {
        return Err(Refused::Query(
            format!("from {} to {} lies outside of what is kept", iso(from), iso(to)),
            "give moments that /api/v1/history names".into(),
        ));
    }
    // Nothing lies before what is kept.
    let from = from.max(reach.counters.map_or(0, |(from, _)| from));
    let most = if name.is_some() { POINTS_MAX } else { POINTS_OF_EACH_MAX };
    let span = to.saturating_sub(from);
    let given = query.number("step", 0, (DAY / SECOND) as u64)? as Millis * SECOND;
    let step = match given {
        0 => {
            let fits = |step: &Millis| span / step < POINTS_OF_EACH_MAX && *step >= reach.interval;
            let widest = (span / (POINTS_OF_EACH_MAX - 1)).max(reach.interval).max(DAY);
            STEPS.into_iter().find(fits).unwrap_or(widest)
        }
        given => given.max(reach.interval),
    };
    if span / step >= most {
        let least = (span / (most - 1)) / SECOND + 1;
        return Err(Refused::Query(
            format!(
                "step: {} s make {} points, and there are {most} at most",
                step / SECOND,
                span / step
            ),
            format!("give a step of {least} s or more, or a later from"),
        ));
    }
    Ok(SeriesAsked { of, name, from, to, step })
}

described! {
    /// Curves. Points that are null are not known.
    struct SeriesAnswer of (
        asked: &SeriesAsked, found: &SeriesFound, whats: &[usize], reach: &Reach,
    ) {
        /// The begin that was asked for, or that of what is kept; ms since 1970.
        from: Millis = asked.from,
        /// The end; ms since 1970.
        to: Millis = asked.to,
        /// Time between two points; s.
        step_s: i64 = asked.step / SECOND,
        /// The moments of the points; ms since 1970.
        at: Vec<Millis> = found.at.clone(),
        /// A curve for each name and figure: running, queued and waiting are what they were at each
        /// moment; starts, finished and failed are jobs an hour since the point before.
        series: Vec<SeriesLine> = curves(found, whats),
        /// Curves that are left out, because there are too many.
        left_off: usize = (found.series.len() * whats.len()).saturating_sub(SERIES_MAX),
        /// Spans of which nothing is kept, as far as they touch this one.
        gaps: Vec<SpanAnswer> = reach
            .counter_gaps
            .iter()
            .filter(|(from, to)| *to > asked.from && *from < asked.to)
            .map(SpanAnswer::of)
            .collect(),
    }

    /// A curve.
    struct SeriesLine of (name: &str, what: usize, points: &[SeriesPoint]) {
        /// Name of the thing; empty: all of the grid.
        name: String = name.to_owned(),
        /// One of running, queued, starts, finished, failed, waiting.
        what: &'static str = FIGURES[what],
        /// A value for each moment.
        values: Vec<Option<f64>> = points.iter().map(|point| point[what].map(rounded)).collect(),
    }
}

fn curves(found: &SeriesFound, whats: &[usize]) -> Vec<SeriesLine> {
    let each = found.series.iter().flat_map(|(name, points)| {
        whats.iter().map(move |what| SeriesLine::of(name, *what, points))
    });
    each.take(SERIES_MAX).collect()
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
