//! A record that comes again changes nothing but the cut; a thing told of in the wrong lanes is
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
            merged(cycle, &mut Chance(seed), |said| {
                fold(&mut once, said);
                let offset = twice.next(said.lane);
                twice.fold(said.lane, offset, said.appended_at, &said.event);
                twice.fold(said.lane, offset, said.appended_at, &said.event);
                again.push((offset, said));
            });
            for (offset, said) in again {
                twice.fold(said.lane, offset, said.appended_at, &said.event);
            }
            close(&mut once, cycle.now);
            close(&mut twice, cycle.now);
            cycle.words.iter().for_each(|word| {
                say(&mut once, word);
                say(&mut twice, word);
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
            let mut said_so_far: Vec<&Said> = Vec::new();
            merged(cycle, &mut Chance(seed), |said| {
                fold(&mut once, said);
                fold(&mut twice, said);
                if !said.lane.topic.is_configuration() {
                    said_so_far.push(said);
                    let earlier = said_so_far[chance.below(said_so_far.len())];
                    fold(&mut twice, earlier);
                }
            });
            close(&mut once, cycle.now);
            close(&mut twice, cycle.now);
            cycle.words.iter().for_each(|word| {
                say(&mut once, word);
                say(&mut twice, word);
                say(&mut twice, word);
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
            let mut spread: Vec<Said> = Vec::new();
            // A compacted topic must be keyed by the thing itself, for the sake of its nulls.
            let told = cycle.lanes.iter().flatten().filter(|it| !it.lane.topic.is_configuration());
            for said in told {
                fold(&mut right, &Said { lane: lane(said.lane.topic, 0), ..said.clone() });
                let lane = lane(said.lane.topic, chance.below(7) as u32);
                spread.insert(chance.below(spread.len() + 1), Said { lane, ..said.clone() });
            }
            spread.iter().for_each(|said| fold(&mut astray, said));
            close(&mut right, cycle.now);
            close(&mut astray, cycle.now);
            cycle.words.iter().for_each(|word| {
                say(&mut right, word);
                say(&mut astray, word);
            });
            assert_eq!(records_digest(&right), records_digest(&astray), "seed {seed}");
            assert_eq!(counters(&right), counters(&astray), "seed {seed}");
            assert_audit_clean(&astray, "astray");
        }
    }
}
