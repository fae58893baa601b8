//! Topics that are not what they were: grown while they are read, deleted, created again.

use super::check::*;
use super::play::{Reached, config};
use crate::drive::yard::{Yard, job, lead, task};
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::Status;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::port::LogError;
use yardmaster::drive::{Drive, Halt};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;

type Driven = Drive<PaperLog, PaperStore>;

/// A yard that was led for a while, with a store, and where it got to.
fn led() -> (Yard, PaperStore, Reached) {
    let mut yard = Yard::new();
    yard.build(2);
    let store = PaperStore::default();
    let mut drive = Drive::start(yard.log(), store.clone(), config("one")).unwrap();
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.job(&job("1", "QUEUE_01", "", Status::Running, yard.now));
    yard.ask(&task("1/1", 20, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    drive.finish(yard.now).unwrap();
    let reached = Reached { number: drive.state().number, digest: digest(drive.state()) };
    (yard, store, reached)
}

/// Why following stops; it must within so many looks.
fn stops(drive: &mut Driven) -> Halt {
    let halt = (0..200).find_map(|_| {
        drive.pump(Duration::ZERO).unwrap();
        drive.follow().err()
    });
    halt.expect("it waits for ever")
}

#[test]
fn a_topic_that_grew_is_found_out_before_the_lead_is_taken() {
    for topic in [Topic::Task, Topic::Decision] {
        let (mut yard, store, _) = led();
        let mut standby = Drive::start(yard.log(), store.clone(), config("two")).unwrap();
        standby.pump(Duration::ZERO).unwrap();
        standby.follow().unwrap();
        yard.paper.add(Lane::new(topic, 2));
        let halt = standby.take_lead(yard.now).unwrap_err();
        assert!(matches!(halt, Halt::Log(LogError::Grown { known: 2, found: 3, .. })), "{halt}");
        // It is whole, says so, and the next life begins where it ended.
        standby.finish(yard.now).unwrap();
        let mut again = Drive::start(yard.log(), store.clone(), config("three")).unwrap();
        assert_eq!(again.take_report().notices, Vec::<String>::new());
        yard.ask(&task("2/1", 20, yard.now));
        lead(&mut yard, &mut again, 10).unwrap();
        again.finish(yard.now).unwrap();
        let reached = Reached { number: again.state().number, digest: digest(again.state()) };
        check_words(&yard);
        check_replay(&yard, &reached);
    }
}

#[test]
fn a_lane_created_again_is_distinguished_from_the_one_that_cycles_were_made_of() {
    let (yard, store, reached) = led();
    check_replay(&yard, &reached);
    let lane =
        yard.paper.spans().into_iter().find(|it| it.lane.topic == Topic::JobState && it.end > 0);
    let lane = lane.expect("a lane with a job in it").lane;
    for again in [true, false] {
        let fork = Yard { paper: yard.paper.fork(), now: yard.now };
        fork.paper.delete(lane, again);
        // The store is of the lane that was; without it all would wait for what never comes.
        let mut drive =
            Drive::start(fork.log(), store.older(store.count()), config("two")).unwrap();
        let notices = drive.take_report().notices.join("\n");
        assert!(notices.contains(&lane.to_string()), "{notices}");
        let halt = stops(&mut drive);
        let Halt::Lost(why) = &halt else { panic!("{halt}") };
        for part in [lane.to_string().as_str(), "created again", "begin a new log"] {
            assert!(why.contains(part), "{part}: {why}");
        }
    }
}

#[test]
fn decisions_made_of_records_that_are_gone_are_not_verifiable() {
    let (yard, _, _) = led();
    let before = yard.decisions().len() as u64;
    for span in yard.paper.spans().into_iter().filter(|it| it.lane.topic == Topic::Queue) {
        yard.paper.forget(span.lane, span.end);
    }
    let mut config = config("a reader");
    config.verify = true;
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config).unwrap();
    follow_to_end(&mut drive);
    let verified = drive.take_report().verified;
    assert_eq!((verified[1], verified[0] + verified[2]), (0, before), "{verified:?}");
    assert!(verified[2] > 0, "{verified:?}");
}
