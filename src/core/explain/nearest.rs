//! The candidate of a deferral that came nearest to passing, and whether waiting helps.

use super::{Context, distance};
use crate::domain::nordugrid::explain::moving;
use crate::output::decision::Fate;
use crate::policy::{Flavour, Reads};
use std::cmp::Reverse;

/// A candidate that nearly passed.
#[derive(Clone, Debug, PartialEq)]
pub struct NearestMiss {
    /// Queue or nucleus.
    pub queue: String,
    /// Filter that objected.
    pub filter: String,
    /// Its reason as a sentence.
    pub reason: String,
    /// Measured value, in the filter's unit.
    pub measured: f64,
    /// Value that would have passed, in the filter's unit.
    pub limit: f64,
    /// Whether the objection may fall by itself: it is about figures that move.
    pub moves: bool,
}

/// Whether the objection of a filter of a kind may fall without another configuration or another
/// request: it is about figures that move by themselves. So it is of a filter that is not known;
/// not of one that looks at storage alone, where input and space are put by somebody.
pub fn moves(kind: &Flavour, filter: &str) -> bool {
    match kind.filter(filter) {
        Some(known) if kind.judges_targets() => moving::moves(known.name),
        Some(known) => {
            let moves = |reads: &Reads| *reads != Reads::Storage;
            known.temporary || known.reads.iter().any(moves)
        }
        None => true,
    }
}

/// The nearest of rejected candidates: one whose objection is about figures that move comes before
/// any other, then the one whose figure is nearest to its limit; of the others one that passed most
/// filters.
pub fn nearest_miss<'a>(
    fates: impl Iterator<Item = &'a Fate>,
    context: &Context<'_>,
) -> Option<NearestMiss> {
    let moves = |fate: &Fate| {
        let kinds = context.kinds.iter();
        let mut known = kinds.filter(|kind| kind.filter(&fate.filter).is_some());
        known.next().is_none_or(|kind| moves(kind, &fate.filter))
    };
    let rank = |fate: &Fate| {
        let is_fixed = !moves(fate);
        let passed = if is_fixed { context.position(&fate.filter) } else { 0 };
        (is_fixed, Reverse(passed))
    };
    let is_nearer = |a: &&Fate, b: &&Fate| {
        let by_figures = || distance(a).total_cmp(&distance(b));
        rank(a).cmp(&rank(b)).then_with(by_figures).then_with(|| a.queue.cmp(&b.queue))
    };
    let nearest = fates.filter(|fate| !fate.filter.is_empty()).min_by(is_nearer)?;
    Some(NearestMiss {
        queue: nearest.queue.to_string(),
        filter: nearest.filter.to_string(),
        reason: context.sentence(nearest),
        measured: nearest.measured,
        limit: nearest.limit,
        moves: moves(nearest),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{kind, kinds};

    fn fate(queue: &str, filter: &'static str, measured: f64, limit: f64) -> Fate {
        let (queue, filter) = (queue.into(), filter.into());
        Fate { queue, filter, reason: "any".into(), measured, limit }
    }

    #[test]
    fn figures_that_move_come_before_those_that_do_not_and_the_nearest_before_others() {
        let context = Context::of_kinds(kinds());
        let mut fates = vec![
            fate("OFF", "status", 3.0, 0.0),
            fate("SMALL", "memory", 4_000.0, 3_999.0),
            fate("FAR", "cap", 90.0, 40.0),
            fate("NEAR", "cap", 44.0, 40.0),
            Fate { filter: "".into(), ..fate("PASSES", "cap", 0.0, 0.0) },
        ];
        let nearest = |fates: &[Fate]| nearest_miss(fates.iter(), &context);
        let found = nearest(&fates).unwrap();
        assert_eq!(
            (found.queue.as_str(), found.filter.as_str(), found.moves),
            ("NEAR", "cap", true)
        );
        fates.truncate(2);
        let found = nearest(&fates).unwrap();
        assert_eq!((found.queue.as_str(), found.moves), ("SMALL", false), "it passed status");
        assert_eq!(nearest(&fates[2..]), None);
    }

    #[test]
    fn a_clusters_report_moves_and_a_jobs_wish_does_not() {
        let arc = kind("nordugrid").unwrap();
        assert!(moves(arc, "queue_full") && !moves(arc, "match_memory"));
        let atlas = kind("atlas-production-job").unwrap();
        assert!(moves(atlas, "cap") && !moves(atlas, "status") && moves(atlas, "another_version"));
        let analysis = kind("atlas-analysis-job").unwrap();
        assert!(!moves(analysis, "locality"), "input is put by somebody");
    }
}
