//! A copy that is made in portions while folding goes on is what the state was when it began.

use super::random::{Story, merged};
use crate::world::*;
use yardmaster::core::copy::{CopyFor, InPortions, PortionMap, TakeCopy};
use yardmaster::core::id::Key;
use yardmaster::core::state::State;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::counters::counters;
use yardmaster::core::state::digest::digest;
use yardmaster::core::state::slab::Copied;

/// A whole copy made at once, without what a copy in portions does not hold.
fn whole(state: &State) -> State {
    let mut copy = state.clone();
    copy.facts = Default::default();
    copy.answered = Default::default();
    copy.throttles = Default::default();
    copy.commands = Default::default();
    copy.crowded = Default::default();
    copy.queue_signs = Default::default();
    // No counter and no recount is made of these.
    copy.at_clusters = Default::default();
    let slots: Vec<u32> = copy.requests.slab.iter().map(|(slot, _)| slot).collect();
    for slot in slots {
        let request = copy.requests.slab.get_mut(slot).expect("there");
        *request = request.copied();
    }
    copy
}

fn assert_same(copy: &State, whole: &State, when: &str) {
    assert_eq!(digest(copy), digest(whole), "{when}");
    assert_eq!(audit(copy), audit(whole), "{when}");
    assert_eq!(counters(copy), counters(whole), "{when}");
    assert_eq!(*copy.stubs, *whole.stubs, "{when}");
    assert_eq!(*copy.chunks, *whole.chunks, "{when}");
    assert_eq!(*copy.opened, *whole.opened, "{when}");
    assert_eq!(*copy.job_names, *whole.job_names, "{when}");
    assert_eq!(copy.names.len(), whole.names.len(), "{when}");
}

/// A copy under way: the state that it must equal, the cycle it began in, and its purpose.
struct Begun {
    expected: State,
    cycle: usize,
    copy_for: CopyFor,
}

/// Counts of the copies of a story.
#[derive(Debug, Default)]
struct Seen {
    copies: usize,
    /// Copies that were made during more than one cycle.
    long: usize,
    /// Copies that had a drift to show.
    drifts: usize,
}

fn go_on(state: &mut State, begun: &mut Option<Begun>, cycle: usize, most: usize, seen: &mut Seen) {
    let Some(copied) = state.copy_more(most) else { return };
    let Begun { expected, cycle: since, copy_for } = begun.take().expect("begun");
    let copy = copied.finish();
    let when = format!("{copy_for:?} from cycle {since} to {cycle}");
    match copy_for {
        CopyFor::Audit => {
            assert_same(&copy, &expected, &when);
            seen.drifts += usize::from(!audit(&copy).is_empty());
        }
        CopyFor::Counters | CopyFor::History => {
            assert_eq!(counters(&copy), counters(&expected), "{when}")
        }
        CopyFor::Jobs => {
            assert_eq!(counters(&copy), counters(&expected), "{when}");
            let jobs = |state: &State| state.jobs.slab.iter().map(|it| *it.1).collect::<Vec<_>>();
            let [copied, known] = [&copy, &expected].map(jobs);
            assert_eq!(format!("{copied:?}"), format!("{known:?}"), "{when}");
        }
    }
    seen.copies += 1;
    seen.long += usize::from(cycle > since + 1);
}

#[test]
fn a_copy_in_portions_is_the_state_of_the_cycle_at_which_it_began() {
    let mut seen = Seen::default();
    for seed in 0..60 {
        let story = Story::drawn(seed);
        let mut state = state_with(story.limits.clone());
        let mut chance = Chance(seed);
        let mut begun: Option<Begun> = None;
        // A portion is one record of every second, third ... that is folded, or a few.
        let (most, every) = (1 + chance.below(4), 1 + chance.below(3));
        for (number, cycle) in story.cycles.iter().enumerate() {
            let mut folded = 0;
            merged(cycle, &mut chance, |published| {
                fold(&mut state, published);
                folded += 1;
                if folded % every == 0 {
                    go_on(&mut state, &mut begun, number, most, &mut seen);
                }
            });
            close(&mut state, cycle.now);
            go_on(&mut state, &mut begun, number, most, &mut seen);
            cycle.decisions.iter().for_each(|decision| fold_decision(&mut state, decision));
            if begun.is_some() {
                continue;
            }
            if seed % 3 == 0 {
                // A list that is not what it should be: the copy shows it too.
                state.stubs.insert((cycle.now, Key(u64::MAX - 1 - number as u64)), ());
            }
            let copy_for = match chance.below(8) {
                0 | 1 => CopyFor::Counters,
                2 => CopyFor::Jobs,
                _ => CopyFor::Audit,
            };
            begun = Some(Begun { expected: whole(&state), cycle: number, copy_for });
            state.begin_copy(copy_for);
            assert_eq!(state.copying_for(), Some(copy_for));
        }
        // A copy of a state has none under way.
        assert_eq!(state.clone().copying_for(), None);
    }
    assert!(seen.copies > 100 && seen.long > 50 && seen.drifts > 10, "{seen:?}");
}

/// The map against a plain one: what is copied is what it held at the beginning.
#[test]
fn a_map_copied_in_portions_is_what_it_was_at_the_beginning() {
    for seed in 0..300 {
        let mut chance = Chance(seed);
        let mut map: PortionMap<usize, usize> = PortionMap::default();
        (0..20).for_each(|key| _ = map.insert(key * 2, key));
        let expected = (*map).clone();
        map.begin_copy();
        let most = 1 + chance.below(5);
        loop {
            for step in 0..chance.below(6) {
                let key = chance.below(44);
                match chance.below(4) {
                    0 => _ = map.remove(&key),
                    1 => *map.at(key) += 7,
                    2 => _ = map.pop_first(),
                    _ => _ = map.insert(key, step),
                }
            }
            if map.copy_more(most) < most {
                break;
            }
        }
        map.insert(1_000, 1);
        let mut copy = map.take_copy();
        copy.finish_copy();
        assert_eq!(*copy, expected, "seed {seed}");
    }
}
