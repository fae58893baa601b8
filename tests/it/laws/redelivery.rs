//! A record that comes again changes nothing but the cut; a thing reported in the wrong lanes is
//! the same thing.

use super::counters::{assert_audit_clean, counters};
use super::random::{Story, merged};
use crate::world::*;
use yardmaster::core::state::digest::{digest, records_digest};

/// Every record once more at its own offset, at once and at the cycle's end: below the cut.
#[test]
fn a_record_below_the_cut_has_no_effect() {
    for seed in 0..12 {
        let story = Story::drawn(seed);
        let (mut once, mut twice) =
            (state_with(story.limits.clone()), state_with(story.limits.clone()));
        for cycle in &story.cycles {
            let mut again = Vec::new();
            merged(cycle, &mut Chance(seed), |published| {
                fold(&mut once, published);
                let offset = twice.next(published.lane);
                twice.fold(published.lane, offset, published.appended_at, &published.event);
                twice.fold(published.lane, offset, published.appended_at, &published.event);
                again.push((offset, published));
            });
            for (offset, published) in again {
                twice.fold(published.lane, offset, published.appended_at, &published.event);
            }
            close(&mut once, cycle.now);
            close(&mut twice, cycle.now);
            cycle.decisions.iter().for_each(|decision| {
                fold_decision(&mut once, decision);
                fold_decision(&mut twice, decision);
            });
            assert_eq!(digest(&once), digest(&twice), "seed {seed}");
        }
    }
}

/// Every record once more at a later offset, in the same cycle: only the cut moves. (What removes
/// a configuration record, or stands before such a null, is not the same when it comes again.)
#[test]
fn the_same_content_at_a_later_offset_has_no_effect() {
    for seed in 0..12 {
        let story = Story::drawn(seed);
        let (mut once, mut twice) =
            (state_with(story.limits.clone()), state_with(story.limits.clone()));
        let mut chance = Chance(seed);
        for cycle in &story.cycles {
            let mut published_so_far: Vec<&Entry> = Vec::new();
            merged(cycle, &mut Chance(seed), |published| {
                fold(&mut once, published);
                fold(&mut twice, published);
                if !published.lane.topic.is_configuration() {
                    published_so_far.push(published);
                    let earlier = published_so_far[chance.below(published_so_far.len())];
                    fold(&mut twice, earlier);
                }
            });
            close(&mut once, cycle.now);
            close(&mut twice, cycle.now);
            cycle.decisions.iter().for_each(|decision| {
                fold_decision(&mut once, decision);
                fold_decision(&mut twice, decision);
                fold_decision(&mut twice, decision);
            });
            assert_eq!(records_digest(&once), records_digest(&twice), "seed {seed}");
            assert_eq!(counters(&once), counters(&twice), "seed {seed}");
        }
    }
}

/// The records of one thing spread over lanes at random, against all in one lane.
#[test]
fn a_topic_keyed_by_something_else_does_no_harm() {
    for seed in 0..12 {
        let story = Story::drawn(seed);
        let (mut right, mut astray) =
            (state_with(story.limits.clone()), state_with(story.limits.clone()));
        let mut chance = Chance(seed ^ 77);
        for cycle in &story.cycles {
            let mut spread: Vec<Entry> = Vec::new();
            // A compacted topic must be keyed by the thing itself, for the sake of its nulls.
            let reported =
                cycle.lanes.iter().flatten().filter(|it| !it.lane.topic.is_configuration());
            for published in reported {
                fold(
                    &mut right,
                    &Entry { lane: lane(published.lane.topic, 0), ..published.clone() },
                );
                let lane = lane(published.lane.topic, chance.below(7) as u32);
                spread.insert(chance.below(spread.len() + 1), Entry { lane, ..published.clone() });
            }
            spread.iter().for_each(|published| fold(&mut astray, published));
            close(&mut right, cycle.now);
            close(&mut astray, cycle.now);
            cycle.decisions.iter().for_each(|decision| {
                fold_decision(&mut right, decision);
                fold_decision(&mut astray, decision);
            });
            assert_eq!(records_digest(&right), records_digest(&astray), "seed {seed}");
            assert_eq!(counters(&right), counters(&astray), "seed {seed}");
            assert_audit_clean(&astray, "astray");
        }
    }
}
