//! Nothing lost, nothing twice: kill it anywhere, any number of times.

mod again;
pub mod check;
mod epoch_config;
mod limits;
mod lost;
mod negative;
mod orders;
mod play;
pub mod ports;
mod quiet;
#[cfg(feature = "shell")]
mod recorded;
mod standby;
mod storm;
mod stray;

use check::*;
use play::*;
use ports::Dice;
use std::sync::atomic::{AtomicUsize, Ordering};
use yardmaster::core::output::throttle::Action;
use yardmaster::sim::paper::faulty::{Fault, Objection, Schedule};

/// Every way in which a call can be the last one of a process.
const ENDS: [Fault; 8] = [
    Fault::DieBefore,
    Fault::DieAfter,
    Fault::Fail(Objection::Unreachable),
    Fault::FailLate(Objection::Unreachable),
    Fault::Fail(Objection::Aborted),
    Fault::FailLate(Objection::Aborted),
    Fault::Fail(Objection::Fenced),
    Fault::FailLate(Objection::Fenced),
];

/// How many calls a play without faults makes, and how many checkpoints.
fn extent(late: bool) -> (usize, usize) {
    let schedule = Schedule::default();
    let mut play = Play::new(vec![schedule.clone()], Left::All, late);
    play.run();
    (schedule.count(), play.store.count())
}

/// Does `each` for all numbers, on all the machine has.
fn each_of(count: usize, each: impl Fn(usize) + Sync) {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let each = &each;
            scope.spawn(move || (worker..count).step_by(workers).for_each(each));
        }
    });
}

/// A play with one fault and what was left of the store, and everything that must hold after it.
fn survive(call: usize, fault: Fault, left: Left, late: bool) {
    let schedule = Schedule::default();
    schedule.on(call, fault);
    let mut play = Play::new(vec![schedule], left, late);
    let reached = play.run();
    check_words(&play.yard);
    check_answered(&play.yard);
    check_replay(&play.yard, &reached);
    // And with what the first process left behind.
    rebuild(play.yard.log(), play.stores[0].older(play.stores[0].count()), &reached);
}

#[test]
fn a_play_without_faults_is_replayed_from_every_store() {
    for late in [false, true] {
        let mut play = Play::new(Vec::new(), Left::All, late);
        let reached = play.run();
        assert_eq!(play.started, 1);
        check_words(&play.yard);
        check_answered(&play.yard);
        check_replay(&play.yard, &reached);
        let actions: Vec<Action> = play.yard.throttles().iter().map(|it| it.action).collect();
        assert!(actions.contains(&Action::Lift) && actions.len() > 2, "{actions:?}");
        let count = play.store.count();
        assert!(count > 10, "{count}");
        each_of(count + 1, |kept| {
            rebuild(play.yard.log(), play.store.older(kept), &reached);
        });
    }
}

/// Whether all is done that there is time for.
fn is_long() -> bool {
    std::env::var_os("YARDMASTER_LONG").is_some()
}

/// One play for each call and end, what is left of the store in turn: all, nothing, something
/// between.
fn survive_all(ends: &[Fault], of_each_call: impl Fn(usize, bool) -> Vec<usize> + Sync) {
    for late in [false, true] {
        let (calls, checkpoints) = extent(late);
        each_of(calls, |call| {
            for end in of_each_call(call, late) {
                let left = match (call + end) % 3 {
                    0 => Left::All,
                    1 => Left::Older(0),
                    _ => Left::Older((call * 7 + end) % (checkpoints + 1)),
                };
                let fault = ends[end % ends.len()];
                let reported = std::panic::catch_unwind(|| survive(call, fault, left, late));
                reported
                    .unwrap_or_else(|_| panic!("call {call}, {fault:?}, {left:?}, late {late}"));
            }
        });
    }
}

#[test]
fn a_process_may_end_at_any_call() {
    // One of the ends at each call, in turn, with a log that is late at every other call.
    let is_due = |call: usize, late: bool| is_long() || late == call.is_multiple_of(2);
    survive_all(&ENDS, |call, late| if is_due(call, late) { vec![call] } else { Vec::new() });
}

#[test]
#[ignore = "minutes: every call in every way, with three stores"]
fn a_process_may_end_at_any_call_in_any_way() {
    survive_all(&ENDS, |_, _| (0..3 * ENDS.len()).collect());
}

#[test]
fn a_process_may_die_again_and_again() {
    let started = AtomicUsize::new(0);
    each_of(12, |seed| {
        let mut dice = Dice::new(seed as u64);
        let mut schedules = Vec::new();
        for _ in 0..8 {
            let schedule = Schedule::default();
            // Early ones too: a death while it rises from another.
            let most = [12, 40, 90][dice.below(3)];
            schedule.on(dice.below(most), ENDS[dice.below(ENDS.len())]);
            schedules.push(schedule);
        }
        let left = if seed % 2 == 0 { Left::All } else { Left::Older(dice.below(9)) };
        let mut play = Play::new(schedules, left, seed % 3 == 0);
        let reached = play.run();
        started.fetch_add(play.started, Ordering::Relaxed);
        check_words(&play.yard);
        check_answered(&play.yard);
        check_replay(&play.yard, &reached);
    });
    let started = started.into_inner();
    assert!(started > 12 * 4, "{started}");
}

#[test]
fn the_same_play_twice_gives_the_same_bytes() {
    for (call, fault) in [(usize::MAX, Fault::DieBefore), (50, Fault::DieBefore)] {
        let run = || {
            let schedule = Schedule::default();
            schedule.on(call, fault);
            let mut play = Play::new(vec![schedule], Left::All, true);
            play.run();
            let own: Vec<_> = play.yard.paper.spans().into_iter().map(|span| span.lane).collect();
            let published: Vec<_> = own.iter().map(|lane| play.yard.paper.records(*lane)).collect();
            (published, play.store.checkpoints())
        };
        let (one, other) = (run(), run());
        assert_eq!(one.0, other.0);
        assert!(one.1 == other.1, "the checkpoints differ");
    }
}
