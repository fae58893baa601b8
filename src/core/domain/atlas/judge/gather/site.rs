//! Classes of sites, from what sample jobs waited there (spec atlas 8.1.3).
//!
//! They are a function of the state: of the waits that began to run before the last half hour of
//! event time was full, seen from there. So deciding again comes to the same, and between
//! two half hours only what was published late, and jobs that wait no more, change anything.

use super::CandidateInputs;
use crate::cut::Topic;
use crate::domain::atlas::judge::caches::{RankedSites, SiteClasses};
use crate::domain::atlas::policy::SiteRules;
use crate::domain::atlas::policy::site::{Rank, Waited, ranks};
use crate::id::Name;
use crate::judge::view::CutView;
use crate::math::power::exp2;
use crate::state::ledger::{QUEUED_GRAIN, WAIT_GRAIN, Waits};
use crate::state::window::Bucket;
use crate::unit::{MINUTE, Millis, SECOND};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Classes are seen from moments so far apart.
const PERIOD: Millis = 30 * MINUTE;

impl CutView<'_> {
    /// The classes of sites by some rules at the cut.
    pub(crate) fn classify(self, rules: SiteRules) -> Arc<SiteClasses> {
        let CutView { state, world, caches, .. } = self;
        caches.classes(&rules, || {
            let time = state.times.of(Topic::JobState).time;
            let seen_at = time.saturating_sub(time.rem_euclid(PERIOD));
            let made_of = (seen_at, state.ledger.waits_changed);
            let ranked = caches.ranks(
                &rules,
                |wait| wait.made_of == made_of,
                || RankedSites { rules, made_of, ranks: self.ranks(seen_at, &rules) },
            );
            let class = |queue: Name| {
                let newest = state.marks.get(&queue).map_or(0, |marks| marks.start);
                let rank = ranked.ranks.get(&queue).copied().unwrap_or_default();
                rank.class(newest > seen_at.saturating_sub(rules.start_within))
            };
            let classes = world.queues.iter().map(|view| class(view.unified)).collect();
            SiteClasses::new(rules, classes)
        })
    }

    /// Rank of each configured queue by the waits there, seen from a moment.
    fn ranks(self, seen_at: Millis, rules: &SiteRules) -> BTreeMap<Name, Rank> {
        let queues: BTreeMap<Name, (bool, bool)> = self
            .world
            .queues
            .iter()
            .map(|view| {
                let pushes = view.queue.workflow.starts_with("push");
                (view.unified, (view.queue.is_grid(), pushes))
            })
            .collect();
        let count = (rules.reach / WAIT_GRAIN).max(0);
        let weight = |back: i64| {
            let age = back * WAIT_GRAIN + WAIT_GRAIN / 2;
            exp2(-(age as f64) / rules.half_life.max(1) as f64)
        };
        let weights: Vec<f64> = (0..count).map(weight).collect();
        let (mut names, mut sites) = (Vec::new(), Vec::new());
        for (key, waits) in self.state.ledger.waits.iter() {
            let name = Name(key[0]);
            let Some((is_grid, pushes)) = queues.get(&name).copied() else { continue };
            if let Some(waited) = waited(waits, seen_at, &weights, pushes) {
                names.push(name);
                sites.push(Waited { is_grid, ..waited });
            }
        }
        names.into_iter().zip(ranks(&sites, rules)).collect()
    }
}

impl CandidateInputs<'_> {
    /// Class of the site of a queue.
    pub(super) fn site_class(&self, at: u32) -> i8 {
        self.survey.sites.as_ref().map_or(0, |sites| sites.class(at))
    }
}

/// Weighed waits of sample jobs at a queue, seen from a moment; `weights`: by whole buckets before
/// it. `None` without any sample.
fn waited(waits: &Waits, seen_at: Millis, weights: &[f64], pushes: bool) -> Option<Waited> {
    let sums = weighed(waits, seen_at, weights);
    let (mut all, mut first) = (0.0, 0.0);
    for (weight, [jobs, seconds, _]) in &sums {
        all += weight * *jobs as f64;
        first += weight * *seconds as f64;
    }
    if all <= 0.0 {
        return None;
    }
    // Seen from a whole number near the mean, whole numbers stay small and equal waits have no
    // spread at all.
    let near = (first / all).round() as i128;
    let (mut off, mut square) = (0.0, 0.0);
    for (weight, [jobs, seconds, squares]) in sums {
        off += weight * (seconds - near * jobs) as f64;
        square += weight * (squares - 2 * near * seconds + near * near * jobs) as f64;
    }
    let off = off / all;
    let mean = near as f64 + off;
    let spread = (square / all - off * off).max(0.0).sqrt();
    let (long, long_mean) = long(waits, seen_at, mean, pushes);
    Some(Waited { weights: all, mean, spread, long, long_mean, is_grid: false })
}

/// Starts in each bucket that counts, with its weight: jobs, their waits, the squares.
fn weighed(waits: &Waits, seen_at: Millis, weights: &[f64]) -> Vec<(f64, [i128; 3])> {
    let last = seen_at.div_euclid(WAIT_GRAIN) - 1;
    let mut places = [0; 3];
    let mut sums = Vec::with_capacity(waits.over[0].buckets().len());
    for Bucket { number, .. } in waits.over[0].buckets() {
        let back = last.checked_sub(*number).and_then(|back| usize::try_from(back).ok());
        let Some(weight) = back.and_then(|back| weights.get(back)) else { continue };
        // A sum that is 0 has no bucket.
        let sum = |which: usize| {
            let (buckets, place) = (waits.over[which].buckets(), &mut places[which]);
            *place += buckets[*place..].iter().take_while(|it| it.number < *number).count();
            let here = buckets.get(*place).filter(|it| it.number == *number);
            here.map_or(0, |it| i128::from(it.amount))
        };
        sums.push((*weight, [0, 1, 2].map(sum)));
    }
    sums
}

/// How many merge jobs wait longer than `mean`, s, and how long in the mean; s.
fn long(waits: &Waits, seen_at: Millis, mean: f64, pushes: bool) -> (f64, f64) {
    let (mut long, mut sum) = (0.0, 0.0);
    let states = if pushes { &waits.queued[..] } else { &waits.queued[..1] };
    for bucket in states.iter().flat_map(|window| window.buckets()) {
        let since = bucket.number.saturating_mul(QUEUED_GRAIN).saturating_add(QUEUED_GRAIN / 2);
        let waited = seen_at.saturating_sub(since) as f64 / SECOND as f64;
        if waited > mean {
            long += bucket.amount as f64;
            sum += bucket.amount as f64 * waited;
        }
    }
    if long > 0.0 { (long, sum / long) } else { (0.0, mean) }
}
