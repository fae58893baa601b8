//! The laws for the records of a pool of slots, on random stories of their own: jobs that are
//! matched, run, fail, are tried again; workflows, offers, drains. Each was seen to fail once.

mod recount;
mod scenes;
mod story;

use super::kept::stored;
use crate::world::*;
use recount::Recount;
use story::{PoolStory, close_cycle, fed, fed_with};
use yardmaster::core::state::State;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::{digest, records_digest};
use yardmaster::core::unit::{DAY, HOUR};

const SEEDS: u64 = 16;

/// TS-02, TC-45: any interleaving of lanes gives one state.
#[test]
fn lanes_of_a_cycle_commute() {
    for seed in 0..SEEDS {
        let story = PoolStory::drawn(seed);
        let first = fed(&story, 1);
        for merge in 2..6 {
            assert_eq!(digest(&fed(&story, merge)), digest(&first), "seed {seed}");
        }
    }
}

/// TC-46: every record twice, at once and later in the cycle; every decision and command twice.
#[test]
fn what_comes_again_changes_nothing() {
    for seed in 0..SEEDS {
        let story = PoolStory::drawn(seed);
        let mut chance = Chance(seed);
        let (mut once, mut twice) = (story.state(), story.state());
        for cycle in &story.cycles {
            let mut before: Vec<&Entry> = Vec::new();
            super::random::merged(&cycle.records, &mut Chance(seed), |published| {
                fold(&mut once, published);
                fold(&mut twice, published);
                before.push(published);
                fold(&mut twice, before[chance.below(before.len())]);
                fold(&mut twice, published);
            });
            close(&mut once, cycle.records.now);
            close(&mut twice, cycle.records.now);
            cycle.outputs.iter().for_each(|output| {
                once.fold_output(output);
                twice.fold_output(output);
                twice.fold_output(output);
            });
            // Those of the cycle once more, in another order.
            cycle.outputs.iter().rev().for_each(|output| twice.fold_output(output));
            assert_eq!(records_digest(&once), records_digest(&twice), "seed {seed}");
        }
    }
}

/// All records of a pool, as text.
fn records_of(state: &State) -> Vec<String> {
    let pool = &state.pool;
    let jobs = pool.jobs.iter().map(|it| format!("{it:?}"));
    let workflows = pool.workflows.iter().map(|it| format!("{it:?}"));
    let offers = pool.offers.iter().map(|it| format!("{it:?}"));
    let users = pool.users.iter().map(|it| format!("{it:?}"));
    let nodes = pool.nodes.iter().map(|it| format!("{it:?}"));
    jobs.chain(workflows).chain(offers).chain(users).chain(nodes).collect()
}

/// The store has all that a state needs: a process that restarts after any cycle goes on as one
/// that did not.
#[test]
fn a_restart_changes_nothing() {
    for seed in 0..SEEDS {
        let story = PoolStory::drawn(seed);
        let mut chance = Chance(seed ^ 5);
        let (mut runs, mut restarts) = (story.state(), story.state());
        for cycle in &story.cycles {
            close_cycle(&mut runs, cycle, 1);
            close_cycle(&mut restarts, cycle, 1);
            if chance.below(2) == 0 {
                restarts = stored(&restarts);
            }
            assert_eq!(records_of(&restarts), records_of(&runs), "seed {seed}");
            assert_eq!(records_digest(&restarts), records_digest(&runs), "seed {seed}");
            assert_eq!(digest(&restarts), digest(&runs), "seed {seed}");
        }
        assert_eq!(audit(&restarts), Vec::new(), "seed {seed}");
    }
}

/// TS-01: tallies, sites of overflow and X are what a recount over the whole story gives.
#[test]
fn tallies_and_usage_are_a_recount() {
    let (mut done, mut used, mut overflowed, mut early) = (0, 0, 0, 0);
    for seed in 0..SEEDS {
        let story = PoolStory::drawn(seed);
        let mut recount = Recount::default();
        fed_with(&story, 1, |before, after, cycle| {
            recount.cycle(before, after.now, cycle);
            recount.compare(after, seed);
        });
        done += recount.done();
        used += recount.used();
        overflowed += recount.overflowed();
        early += recount.early();
    }
    assert!(
        done > 200 && used > 30 && overflowed > 20 && early > 100,
        "{done} {used} {overflowed} {early}"
    );
}

/// TS-04: a match that is not taken up leaves a job that waits, and counts nowhere.
#[test]
fn a_match_that_is_not_taken_up_leaves_nothing() {
    let mut released = 0;
    for seed in 0..2 * SEEDS {
        let story = PoolStory::drawn(seed);
        let mut state = fed(&story, 1);
        let (job, before) = match story::matchable(&state) {
            Some(job) => (job.clone(), state.pool.clone()),
            None => continue,
        };
        let now = state.now;
        let decision = story::match_of(&state, &job, "an-offer", 1, now);
        state.fold_output(&decision);
        assert!(!state.pool.jobs.of(&job).expect("there").waits(), "seed {seed}");
        assert!(state.pool.jobs.of(&job).expect("there").held(), "seed {seed}");
        story::keep_up(&mut state, now + story::MATCH_LIFETIME - 1);
        assert!(state.pool.jobs.of(&job).expect("there").matched.is_some(), "seed {seed}");
        story::keep_up(&mut state, now + story::MATCH_LIFETIME);
        let after = state.pool.jobs.of(&job).expect("there");
        assert!(after.waits() && after.matched.is_none(), "seed {seed}");
        let known = before.jobs.of(&job).expect("there");
        assert_eq!(
            (&after.state, after.seen_at, after.refused),
            (&known.state, known.seen_at, known.refused)
        );
        let of = |pool: &yardmaster::core::domain::cms::state::PoolRecords| {
            let users: Vec<_> =
                pool.users.iter().map(|(name, user)| (name.to_owned(), user.x)).collect();
            let tallies = pool.workflows.iter().map(|(name, it)| {
                (name.to_owned(), it.done, it.failed_final, it.overflow_sites.clone())
            });
            (users, tallies.collect::<Vec<_>>())
        };
        assert_eq!(of(&state.pool), of(&before), "seed {seed}");
        // The same decision, read again, gives the place to nobody.
        state.fold_output(&decision);
        assert!(state.pool.jobs.of(&job).expect("there").waits(), "seed {seed}: read again");
        released += 1;
    }
    assert!(released > 5, "{released}");
}

/// Nothing stays for ever.
#[test]
fn a_pool_that_nobody_uses_is_forgotten() {
    for seed in 0..SEEDS {
        let story = PoolStory::drawn(seed);
        let mut state = fed(&story, 1);
        let until = state.now + 400 * DAY;
        while state.now < until {
            let now = state.now + 11 * HOUR;
            story::keep_up(&mut state, now);
        }
        assert!(state.pool.is_empty(), "seed {seed}: {:?}", state.pool);
        assert_eq!(audit(&state), Vec::new());
    }
}

/// A job that ended long ago, and an offer that is over, have no effect when they are read again
/// after they were forgotten.
#[test]
fn what_is_read_again_after_it_was_forgotten_counts_nowhere() {
    let mut again = 0;
    for seed in 0..SEEDS {
        let story = PoolStory::drawn(seed);
        let mut state = fed(&story, 1);
        let ended = state.now + 3 * DAY;
        while state.now < ended {
            let now = state.now + HOUR;
            story::keep_up(&mut state, now);
        }
        let before = state.pool.clone();
        for entry in story.cycles.iter().flat_map(|cycle| cycle.records.lanes.iter().flatten()) {
            if story::is_over(&entry.event) {
                fold(&mut state, entry);
                again += 1;
            }
        }
        let now = state.now + 1;
        story::keep_up(&mut state, now);
        assert!(state.pool.offers.is_empty(), "seed {seed}");
        let tallies = |state: &State| {
            let all = state.pool.workflows.iter();
            all.map(|(name, it)| (name.to_owned(), it.done, it.failed_final)).collect::<Vec<_>>()
        };
        let known: Vec<_> = before
            .workflows
            .iter()
            .map(|(name, it)| (name.to_owned(), it.done, it.failed_final))
            .collect();
        assert_eq!(tallies(&state), known, "seed {seed}");
    }
    assert!(again > 1_000, "{again}");
}

/// The digest sees every field of every record.
#[test]
fn a_change_of_any_record_of_a_pool_changes_the_digest() {
    fn first<T>(
        table: &mut yardmaster::core::state::NamedTable<T>,
        fits: impl Fn(&T) -> bool,
    ) -> &mut T {
        let slot = table.slab.iter().find(|(_, held)| fits(held)).expect("one").0;
        table.slab.get_mut(slot).expect("there")
    }
    let changes: [fn(&mut State); 27] = [
        |it| first(&mut it.pool.jobs, |job| job.state.is_some()).state = None,
        |it| first(&mut it.pool.jobs, |job| job.requirements.is_some()).requirements = None,
        |it| first(&mut it.pool.jobs, |_| true).seen_at += 1,
        |it| first(&mut it.pool.jobs, |job| job.matched.is_some()).matched = None,
        |it| {
            first(&mut it.pool.jobs, |job| job.matched.is_some())
                .matched
                .as_mut()
                .expect("it")
                .clock += 1
        },
        |it| first(&mut it.pool.jobs, |_| true).refused = Some(77),
        |it| first(&mut it.pool.jobs, |_| true).last_match = Some((77, 1, 1)),
        |it| first(&mut it.pool.jobs, |_| true).tallied = Some(77),
        |it| first(&mut it.pool.workflows, |_| true).record = None,
        |it| {
            let stated = first(&mut it.pool.workflows, |_| true).priority.get_or_insert_default();
            stated.override_tail = !stated.override_tail;
        },
        |it| first(&mut it.pool.workflows, |it| !it.boosted).boosted = true,
        |it| first(&mut it.pool.workflows, |it| !it.alerted).alerted = true,
        |it| first(&mut it.pool.workflows, |it| !it.killed).killed = true,
        |it| first(&mut it.pool.workflows, |_| true).profile = Some((-1, -1)),
        |it| first(&mut it.pool.workflows, |_| true).done += 1,
        |it| first(&mut it.pool.workflows, |_| true).failed_final += 1,
        |it| first(&mut it.pool.workflows, |_| true).overflow_sites.push("zz".into()),
        |it| first(&mut it.pool.workflows, |it| !it.ended.is_empty()).ended.clear(),
        |it| first(&mut it.pool.workflows, |_| true).used_at += 1,
        |it| first(&mut it.pool.offers, |_| true).offer.cores_free += 1,
        |it| first(&mut it.pool.offers, |_| true).kept_until += 1,
        |it| first(&mut it.pool.offers, |_| true).cores_taken += 1,
        |it| first(&mut it.pool.offers, |_| true).answers += 1,
        |it| first(&mut it.pool.users, |_| true).x += 1,
        |it| first(&mut it.pool.nodes, |_| true).seen_at += 1,
        |it| first(&mut it.pool.nodes, |_| true).drain_starts.push(1),
        |it| first(&mut it.pool.nodes, |_| true).ended_drain += 1,
    ];
    let state = story::rich();
    let before = records_digest(&state);
    for (at, change) in changes.into_iter().enumerate() {
        let mut state = state.clone();
        change(&mut state);
        assert_ne!(records_digest(&state), before, "change {at}");
    }
    let mut state = state.clone();
    let job = state.pool.jobs.by_name.keys().next().expect("one").clone();
    state.pool.jobs.by_name.remove(&job);
    assert!(!audit(&state).is_empty(), "an index that lacks a record");
}
