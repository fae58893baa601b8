//! Curves of what is kept: of each step one block is read, and what was read stays at hand.

use super::block::BlockKind;
use super::figures::{FIGURES, SeriesFigures, SeriesOf, TOTALS, each, kept_name};
use super::files::Place;
use super::look::History;
use std::collections::BTreeMap;
use yardmaster_core::unit::{HOUR, Millis};

/// Which curves are wanted.
#[derive(Clone, Debug)]
pub struct SeriesAsked {
    /// Of which kind of things.
    pub of: SeriesOf,
    /// Of the thing of this name; `None`: of every one.
    pub name: Option<String>,
    /// From this moment on.
    pub from: Millis,
    /// Up to this moment.
    pub to: Millis,
    /// Time between two points.
    pub step: Millis,
}

/// Figures at a point: levels as they are, of totals the growth an hour since the point before.
pub type SeriesPoint = [Option<f64>; FIGURES.len()];

/// Curves that were found.
#[derive(Clone, Debug, Default)]
pub struct SeriesFound {
    /// The moments of the points: whole steps.
    pub at: Vec<Millis>,
    /// Points by name.
    pub series: BTreeMap<String, Vec<SeriesPoint>>,
}

impl History {
    /// Curves. A point has what was kept last before its moment, if that is no further back than a
    /// step, or two intervals.
    pub fn series(&self, asked: &SeriesAsked) -> SeriesFound {
        let step = asked.step.max(1);
        let first = asked.from.div_euclid(step) * step;
        let first = if first < asked.from { first.saturating_add(step) } else { first };
        let count = (asked.to - first).div_euclid(step).max(-1) + 1;
        let at: Vec<Millis> = (0..count).map(|number| first + number * step).collect();
        let wanted = asked.name.as_deref().map(|name| kept_name(asked.of, name));
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        // The one before the first is what the first has grown since.
        let moments: Vec<Millis> =
            std::iter::once(first.saturating_sub(step)).chain(at.clone()).collect();
        let read = |place: Option<Place>| {
            let place = place?;
            let body = self.inner().body_at_hand(&place)?;
            let mut figures: Vec<SeriesFigures> = Vec::new();
            for (of, name, its) in each(&body) {
                if of != asked.of || wanted.as_deref().is_some_and(|wanted| wanted != name) {
                    continue;
                }
                let place = match names.get(name) {
                    Some(place) => *place,
                    None => {
                        names.insert(name.to_owned(), names.len());
                        names.len() - 1
                    }
                };
                figures.resize(figures.len().max(place + 1), SeriesFigures::default());
                figures[place] = its;
            }
            Some(Moment { at: place.head.first_at, figures })
        };
        let moments: Vec<Option<Moment>> =
            self.chosen(&moments, step).into_iter().map(read).collect();
        let own = |name: String| match &asked.name {
            Some(asked) => asked.clone(),
            None => name,
        };
        let points = |place: usize| {
            let pairs = moments.windows(2);
            pairs.map(|pair| point(asked.of, pair[0].as_ref(), pair[1].as_ref(), place)).collect()
        };
        let series = names.into_iter().map(|(name, place)| (own(name), points(place)));
        SeriesFound { at, series: series.collect() }
    }

    /// The block for each of some moments, which rise.
    fn chosen(&self, moments: &[Millis], step: Millis) -> Vec<Option<Place>> {
        let reach = step.max(2 * self.interval());
        let files = self.inner().files();
        let is_within = |place: &&Place| {
            let (first, last) = (moments.first(), moments.last());
            let is_late = first.is_some_and(|first| place.head.first_at > first - reach);
            is_late && last.is_some_and(|last| place.head.first_at <= *last)
        };
        let places = files.places().iter().filter(|it| it.head.kind == BlockKind::Figures);
        let mut places: Vec<&Place> = places.filter(is_within).collect();
        places.sort_by_key(|place| place.head.first_at);
        let newest_before = |at: &Millis| {
            let count = places.partition_point(|place| place.head.first_at <= *at);
            let newest = count.checked_sub(1).and_then(|last| places.get(last).copied())?;
            (newest.head.first_at > at - reach).then(|| newest.clone())
        };
        moments.iter().map(newest_before).collect()
    }
}

/// Figures that were kept at a moment, by the numbers of names; those that are missing are 0.
struct Moment {
    at: Millis,
    figures: Vec<SeriesFigures>,
}

/// A point of the curve of a name, given the moment before.
fn point(of: SeriesOf, before: Option<&Moment>, now: Option<&Moment>, name: usize) -> SeriesPoint {
    let figures = |moment: &Moment| moment.figures.get(name).copied().unwrap_or_default();
    let Some(now) = now else { return SeriesPoint::default() };
    let (its, knows) = (figures(now), of.knows());
    std::array::from_fn(|which| {
        if !knows[which] {
            return None;
        }
        if !TOTALS.contains(&which) {
            return Some(its[which] as f64);
        }
        let before = before.filter(|before| before.at < now.at)?;
        // What was lost begins again at 0: nothing is known of the time between.
        let growth = its[which].checked_sub(figures(before)[which])?;
        Some(growth as f64 * HOUR as f64 / (now.at - before.at) as f64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(at: Millis, figures: SeriesFigures) -> Moment {
        Moment { at, figures: vec![figures] }
    }

    #[test]
    fn levels_are_as_they_are_and_totals_grow_by_the_hour() {
        let before = moment(0, [1, 2, 10, 4, 9, 6]);
        let now = moment(HOUR / 2, [7, 2, 13, 4, 5, 6]);
        let all = point(SeriesOf::All, Some(&before), Some(&now), 0);
        assert_eq!(all, [Some(7.0), Some(2.0), Some(6.0), Some(0.0), None, Some(6.0)]);
        let alone = point(SeriesOf::All, None, Some(&now), 0);
        assert_eq!(alone, [Some(7.0), Some(2.0), None, None, None, Some(6.0)]);
        assert_eq!(point(SeriesOf::All, Some(&before), None, 0), SeriesPoint::default());
        // Of a share nothing is known of ends; a name that is missing has none of anything.
        let share = point(SeriesOf::Share, Some(&before), Some(&now), 1);
        assert_eq!(share, [Some(0.0), Some(0.0), None, None, None, Some(0.0)]);
    }
}
