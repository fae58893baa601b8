//! Records on our own topics that no leader published: garbage, nulls, copies, inventions.

use super::check::*;
use super::play::*;
use crate::drive::yard::{Yard, outputs};
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::output::decision::{DecisionId, Outcome};
use yardmaster::core::output::progress::Progress;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::Drive;
use yardmaster::drive::report::Report;
use yardmaster::drive::stray::Stray;
use yardmaster::sim::paper::faulty::{Fault, Schedule};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;

const PROGRESS: Lane = Lane::new(Topic::Progress, 0);

fn lanes(topic: Topic) -> [Lane; 2] {
    [Lane::new(topic, 0), Lane::new(topic, 1)]
}

fn read_back() -> Vec<Lane> {
    [&lanes(Topic::Decision)[..], &lanes(Topic::Throttle)[..], &[PROGRESS][..]].concat()
}

/// Bytes that are no record, and no bytes.
fn garbage(yard: &Yard) {
    for lane in read_back() {
        yard.stray(lane, None, Some(b"x"));
        yard.stray(lane, Some(b"atlas"), None);
    }
}

/// The first and the last record of each topic once more, in every partition.
fn copies(yard: &Yard) {
    for topic in [Topic::Decision, Topic::Throttle, Topic::Progress] {
        let to: Vec<Lane> = read_back().into_iter().filter(|lane| lane.topic == topic).collect();
        let all: Vec<_> = to.iter().flat_map(|lane| outputs(&yard.paper, *lane)).collect();
        for note in all.first().into_iter().chain(all.last()) {
            for lane in &to {
                yard.stray(*lane, note.key.as_deref(), note.value.as_deref());
            }
        }
    }
}

/// Records that could be ours, of the newest cycle, of the next one and of a far later one.
fn inventions(yard: &Yard) {
    let Some(newest) = yard.progress().pop() else { return };
    for ahead in [0, 1, 1_000] {
        let cycle = newest.number + ahead;
        for mut decision in yard.decisions().into_iter().take(1) {
            (decision.epoch, decision.cycle, decision.now) = (newest.epoch, cycle, newest.now);
            decision.subject = "2/1".into();
            decision.id = DecisionId::derive("atlas", "2/1", 0, decision.ordinal);
            decision.outcome = Outcome::Reject { reason: "invented".into() };
            let mut value = Vec::new();
            record::write(&mut value, &decision);
            lanes(Topic::Decision).iter().for_each(|lane| yard.stray(*lane, None, Some(&value)));
        }
        for mut throttle in yard.throttles().into_iter().take(1) {
            (throttle.epoch, throttle.cycle) = (newest.epoch, cycle);
            throttle.measured += 1.0;
            let mut value = Vec::new();
            record::write(&mut value, &throttle);
            lanes(Topic::Throttle).iter().for_each(|lane| yard.stray(*lane, None, Some(&value)));
        }
        let instance = "another".to_owned();
        let mut value = Vec::new();
        let invented = Progress { number: cycle, instance, farewell: true, ..newest.clone() };
        record::write(&mut value, &invented);
        yard.stray(PROGRESS, Some(b"atlas"), Some(&value));
    }
}

fn all_of_it(yard: &Yard) {
    garbage(yard);
    inventions(yard);
    copies(yard);
}

/// Makes every decision again from a store; what came of it.
fn replay(yard: &Yard, store: PaperStore, reached: &Reached) -> Report {
    let mut config = config("a reader");
    config.verify = true;
    let mut drive = Drive::start(yard.log(), store, config).unwrap();
    follow_to_end(&mut drive);
    let report = drive.take_report();
    assert_eq!((report.verified[1], report.verified[2]), (0, 0), "{:#?}", report.differences);
    assert_eq!(audit(drive.state()), vec![]);
    let known = Reached { number: drive.state().number, digest: digest(drive.state()) };
    assert_eq!(known, *reached);
    report
}

fn check(play: &Play, reached: &Reached) -> Report {
    check_words(&play.yard);
    check_answered(&play.yard);
    for store in &play.stores {
        replay(&play.yard, store.clone(), reached);
    }
    let report = replay(&play.yard, PaperStore::default(), reached);
    let outputs = play.yard.outputs();
    assert_eq!(report.verified[0], outputs as u64);
    report
}

#[test]
fn strays_are_passed_over_at_once_and_after_the_store_is_lost() {
    for beside in [garbage, copies, inventions, all_of_it] {
        let mut play = Play::new(Vec::new(), Left::All, false);
        play.beside = beside;
        let reached = play.run();
        assert_eq!(play.started, 1, "nothing stopped the leader");
        check(&play, &reached);
    }
}

#[test]
fn strays_are_counted_by_topic_and_the_first_are_named_with_their_place() {
    let mut play = Play::new(Vec::new(), Left::All, false);
    play.beside = all_of_it;
    let reached = play.run();
    check(&play, &reached);
    // Taking the lead settles what claims cycles that never came.
    let reader = config("a reader");
    let mut drive = Drive::start(play.yard.log(), PaperStore::default(), reader).unwrap();
    follow_to_end(&mut drive);
    drive.take_lead(play.yard.now).unwrap();
    let report = drive.take_report();
    let own = |lane: Lane| {
        let all = play.yard.paper.records(lane).len();
        (all - outputs(&play.yard.paper, lane).len()) as u64
    };
    for topic in [Topic::Decision, Topic::Throttle, Topic::Progress] {
        let lanes = read_back().into_iter().filter(|lane| lane.topic == topic);
        let count = |stray: Stray| report.strays.get(&(topic, stray)).copied().unwrap_or(0);
        let counted = count(Stray::Unreadable) + count(Stray::Surplus);
        assert_eq!(counted, lanes.map(own).sum::<u64>(), "{topic:?}");
        assert!(count(Stray::Unreadable) > 0 && count(Stray::Surplus) > 0, "{topic:?}");
        let first = format!("{}[0] offset ", topic.name());
        assert!(report.notices.iter().any(|it| it.contains(&first)), "{:#?}", report.notices);
    }
    assert!(report.notices.len() < 100, "a flood of strays is no flood of notices");
}

#[test]
fn a_process_without_a_store_leads_after_copies_of_successive_cycles() {
    for (first, copied) in [(1, 2), (5, 3), (5, 12), (0, usize::MAX)] {
        let mut play = Play::new(Vec::new(), Left::All, false);
        let reached = play.run();
        for note in outputs(&play.yard.paper, PROGRESS).iter().skip(first).take(copied) {
            play.yard.stray(PROGRESS, note.key.as_deref(), note.value.as_deref());
        }
        let other = config("another");
        let mut drive = Drive::start(play.yard.log(), PaperStore::default(), other).unwrap();
        follow_to_end(&mut drive);
        let known = Reached { number: drive.state().number, digest: digest(drive.state()) };
        assert_eq!(known, reached, "{copied} copies from {first} on");
        drive.take_lead(play.yard.now).unwrap();
        let newest = play.yard.progress().into_iter().next_back();
        assert_eq!(newest.map(|it| it.number), Some(reached.number + 1));
    }
}

#[test]
fn a_process_may_end_at_any_call_among_strays() {
    let counting = Schedule::default();
    let mut play = Play::new(vec![counting.clone()], Left::All, false);
    play.beside = all_of_it;
    play.run();
    for (at, call) in (0..counting.count()).step_by(17).enumerate() {
        let fault = if at % 2 == 0 { Fault::DieBefore } else { Fault::DieAfter };
        let left = [Left::All, Left::Older(0), Left::Older(3)][at % 3];
        let schedule = Schedule::default();
        schedule.on(call, fault);
        let mut play = Play::new(vec![schedule], left, at % 4 == 0);
        play.beside = all_of_it;
        let reached = play.run();
        check_words(&play.yard);
        check_answered(&play.yard);
        replay(&play.yard, PaperStore::default(), &reached);
    }
}

#[test]
fn a_lost_record_is_found_among_strays() {
    let mut play = Play::new(Vec::new(), Left::All, false);
    play.beside = all_of_it;
    play.run();
    for lane in read_back().into_iter().filter(|lane| lane.topic.is_folded_output()) {
        for note in outputs(&play.yard.paper, lane) {
            let fork = Yard { paper: play.yard.paper.fork(), now: play.yard.now };
            // With every copy of it.
            for (lane, other) in read_back().into_iter().flat_map(|lane| {
                fork.paper.records(lane).into_iter().map(move |other| (lane, other))
            }) {
                if other.value == note.value {
                    fork.paper.remove(lane, other.offset);
                }
            }
            let mut drive = Drive::start(fork.log(), PaperStore::default(), config("r")).unwrap();
            let mut follow = || {
                (0..80).try_for_each(|_| {
                    drive.pump(Duration::ZERO)?;
                    drive.follow().map(|_| ())
                })
            };
            let halt = follow().expect_err("the loss is not found");
            assert!(halt.to_string().contains("decisions, throttles and commands, "), "{halt}");
        }
    }
}
