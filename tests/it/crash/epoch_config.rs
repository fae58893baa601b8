//! Another topology, another number of lanes: from one epoch to the next.

use super::check::*;
use super::play::Reached;
use crate::drive::yard::{Yard, config_with, epoch_config_with, job, lead, task};
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::*;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::port::{Log, LogError, Store};
use yardmaster::drive::{Config, Drive, Halt};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;

fn config(instance: &str, changes: &[(&str, &str)]) -> Config {
    config_with(instance, epoch_config_with(changes))
}

fn reached<L: Log, S: Store>(drive: &Drive<L, S>) -> Reached {
    assert_eq!(audit(drive.state()), vec![]);
    Reached { number: drive.state().number, digest: digest(drive.state()) }
}

fn work(yard: &Yard, first: u32) {
    for number in first..first + 20 {
        let name = number.to_string();
        let done = Status::Finished;
        let job = job(&name, "QUEUE_01", "", done, yard.now);
        let (started_at, ended_at) = (yard.now - 50, yard.now);
        yard.job(&JobState { started_at, ended_at, ..job });
    }
    yard.pilot("QUEUE_00", &format!("node{first}"));
}

#[test]
fn another_topology_changes_what_is_known_as_a_restart_would() {
    let wide = [("done_jobs_window_h = 24", "done_jobs_window_h = 12")];
    let narrow = [
        ("node_window_h = 3", "node_window_h = 1"),
        ("done_jobs_window_h = 24", "done_jobs_window_h = 2"),
        ("reservation_lifetime_h = 2", "reservation_lifetime_h = 1"),
        ("ended_job_lifetime_h = 24", "ended_job_lifetime_h = 3"),
    ];
    let store = PaperStore::default();
    let mut yard = Yard::new();
    yard.build(2);
    for (epoch, changes) in [&wide[..], &narrow, &wide, &narrow].into_iter().enumerate() {
        let name = format!("leader {epoch}");
        let log = yard.log();
        let mut drive = Drive::start(log, store.clone(), config(&name, changes)).unwrap();
        assert_eq!(drive.take_report().notices, Vec::<String>::new());
        for hour in 0..4 {
            work(&yard, 1_000 * epoch as u32 + 100 * hour);
            let subject = format!("{epoch}{hour}/1");
            yard.ask(&task(&subject, 20, yard.now));
            lead(&mut yard, &mut drive, 20).unwrap();
            yard.pass(2_400_000);
        }
        lead(&mut yard, &mut drive, 3).unwrap();
        drive.finish(yard.now).unwrap();
        let reached = reached(&drive);
        assert_eq!(drive.state().epoch, epoch as u64 + 1);
        rebuild(yard.log(), PaperStore::default(), &reached);
        for count in 0..=store.count() {
            rebuild(yard.log(), store.older(count), &reached);
        }
    }
    check_words(&yard);
}

/// Rebuilding what is known takes time in which the old leader may have published: it goes on.
#[test]
fn a_process_with_another_topology_rebuilds_before_it_fences_and_looks_again() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut first = Drive::start(yard.log(), PaperStore::default(), config("first", &[])).unwrap();
    work(&yard, 100);
    lead(&mut yard, &mut first, 10).unwrap();
    let narrow = [("node_window_h = 3", "node_window_h = 1")];
    let mut second =
        Drive::start(yard.log(), PaperStore::default(), config("second", &narrow)).unwrap();
    let follow = |drive: &mut Drive<_, _>| {
        for _ in 0..20 {
            drive.pump(Duration::ZERO).unwrap();
            drive.follow().unwrap();
        }
    };
    follow(&mut second);
    assert_eq!(second.state().number, first.state().number);
    work(&yard, 200);
    lead(&mut yard, &mut first, 5).unwrap();
    second.take_lead(yard.now).unwrap();
    assert!(!second.leads(), "a cycle came while it rebuilt what is known");
    lead(&mut yard, &mut first, 5).unwrap();
    first.finish(yard.now).unwrap();
    follow(&mut second);
    second.take_report();
    second.take_lead(yard.now).unwrap();
    assert!(second.leads());
    let notices = second.take_report().notices;
    assert!(notices.iter().any(|it| it.contains("before taking the lead")), "{notices:?}");
    work(&yard, 300);
    lead(&mut yard, &mut second, 10).unwrap();
    second.finish(yard.now).unwrap();
    rebuild(yard.log(), PaperStore::default(), &reached(&second));
    check_words(&yard);
}

/// A topology of a later version, with a limit and a filter that this one does not know.
fn unreadable(instance: &str) -> Config {
    let mut config = config(instance, &[]);
    config.epoch_config.text += "\n[limits_of_tomorrow]\nfilters = [\"full_moon\"]\n";
    config
}

#[test]
fn an_epoch_config_of_another_version_stops_nobody_and_verify_nothing() {
    let mut yard = Yard::new();
    yard.build(2);
    let store = PaperStore::default();
    let mut later = Drive::start(yard.log(), store.clone(), unreadable("later")).unwrap();
    lead(&mut yard, &mut later, 10).unwrap();
    for number in 0..3 {
        yard.ask(&task(&format!("{number}/1"), 20, yard.now));
        work(&yard, 100 * number);
        lead(&mut yard, &mut later, 5).unwrap();
    }
    later.finish(yard.now).unwrap();
    let known = reached(&later);
    let verify = |yard: &Yard| {
        let config = Config { verify: true, ..config("reader", &[]) };
        let mut drive = Drive::start(yard.log(), PaperStore::default(), config).unwrap();
        for _ in 0..20 {
            drive.pump(Duration::ZERO).unwrap();
            drive.follow().unwrap();
        }
        (reached(&drive), drive.take_report())
    };
    let (again, report) = verify(&yard);
    assert_eq!(again.digest, known.digest);
    assert_eq!((report.verified, report.unread), ([0, 0, 3], 3), "{:?}", report.differences);
    assert_eq!(report.decisions().count(), 3);
    let reported = report.notices.iter().filter(|it| it.contains("limits_of_tomorrow")).count();
    assert_eq!(reported, 1, "{:?}", report.notices);
    // What the later version kept is of use too, and its successor leads by a configuration of its own.
    let mut old = Drive::start(yard.log(), store, config("old", &[])).unwrap();
    assert_eq!(reached(&old).digest, known.digest);
    let notices = old.take_report().notices;
    assert!(notices.len() == 1 && notices[0].contains("limits_of_tomorrow"), "{notices:?}");
    lead(&mut yard, &mut old, 10).unwrap();
    yard.ask(&task("9/1", 20, yard.now));
    lead(&mut yard, &mut old, 5).unwrap();
    old.finish(yard.now).unwrap();
    let (again, report) = verify(&yard);
    assert_eq!(again.digest, reached(&old).digest);
    assert_eq!((report.verified, report.unread), ([1, 0, 3], 3), "{:?}", report.differences);
    check_words(&yard);
}

/// The record of a cycle names the policies by a hash: one that does not fit the text of its epoch
/// is reported, and nothing made under it counts as verified.
#[test]
fn a_policy_hash_that_does_not_fit_the_published_text_is_named() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut other = config("other", &[]);
    other.epoch_config.hash = "0123456789abcdef".into();
    let mut drive = Drive::start(yard.log(), PaperStore::default(), other).unwrap();
    lead(&mut yard, &mut drive, 10).unwrap();
    yard.ask(&task("1/1", 20, yard.now));
    lead(&mut yard, &mut drive, 5).unwrap();
    drive.finish(yard.now).unwrap();
    let mut next = Drive::start(yard.log(), PaperStore::default(), config("next", &[])).unwrap();
    lead(&mut yard, &mut next, 10).unwrap();
    let notices = next.take_report().notices;
    assert!(notices.iter().any(|it| it.contains("0123456789abcdef")), "{notices:?}");
    yard.ask(&task("2/1", 20, yard.now));
    lead(&mut yard, &mut next, 5).unwrap();
    next.finish(yard.now).unwrap();
    let verify = Config { verify: true, ..config("reader", &[]) };
    let mut reader = Drive::start(yard.log(), PaperStore::default(), verify).unwrap();
    for _ in 0..20 {
        reader.pump(Duration::ZERO).unwrap();
        reader.follow().unwrap();
    }
    let report = reader.take_report();
    assert_eq!((report.verified, report.unread), ([1, 0, 1], 1), "{:?}", report.differences);
    let named = report.notices.iter().filter(|it| it.contains("policy_hash")).count();
    assert_eq!(named, 1, "once an epoch: {:?}", report.notices);
}

#[test]
fn a_new_lane_counts_from_the_epoch_that_knows_it() {
    let mut yard = Yard::new();
    yard.build(2);
    let store = PaperStore::default();
    let mut one = Drive::start(yard.log(), store.clone(), config("one", &[])).unwrap();
    lead(&mut yard, &mut one, 10).unwrap();
    yard.ask(&task("1/1", 20, yard.now));
    work(&yard, 100);
    lead(&mut yard, &mut one, 10).unwrap();
    let mut standby = Drive::start(yard.log(), PaperStore::default(), config("two", &[])).unwrap();
    standby.pump(Duration::ZERO).unwrap();
    standby.follow().unwrap();
    one.finish(yard.now).unwrap();
    for topic in [Topic::JobState, Topic::Task, Topic::Decision] {
        yard.paper.add(Lane::new(topic, 2));
    }
    let mut again = Drive::start(yard.log(), store.clone(), config("three", &[])).unwrap();
    lead(&mut yard, &mut again, 10).unwrap();
    work(&yard, 200);
    yard.ask(&task("2/1", 20, yard.now));
    lead(&mut yard, &mut again, 10).unwrap();
    again.finish(yard.now).unwrap();
    let reached = reached(&again);
    rebuild(yard.log(), PaperStore::default(), &reached);
    for count in 0..=store.count() {
        rebuild(yard.log(), store.older(count), &reached);
    }
    // A process from before cannot go on; it begins again.
    let halt = (0..10).find_map(|_| {
        standby.pump(Duration::ZERO).unwrap();
        standby.follow().err()
    });
    let halt = halt.expect("it waits for ever");
    assert!(matches!(&halt, Halt::Log(LogError::Grown { known: 2, found: 3, .. })), "{halt}");
}

#[test]
fn a_lane_that_no_longer_holds_what_was_not_read_is_named() {
    let mut yard = Yard::new();
    yard.build(2);
    let store = PaperStore::default();
    let mut one = Drive::start(yard.log(), store.clone(), config("one", &[])).unwrap();
    lead(&mut yard, &mut one, 10).unwrap();
    one.finish(yard.now).unwrap();
    work(&yard, 100);
    let lane = Lane::new(Topic::JobState, 0);
    let fork = yard.paper.fork();
    fork.forget(lane, 3);
    let log = fork.log("yardmaster-atlas");
    let Err(halt) = Drive::start(log, store.clone(), config("two", &[])) else {
        panic!("it goes on as if nothing were missing")
    };
    assert!(matches!(halt, Halt::Log(LogError::OutOfRange { .. })), "{halt}");
    // Our own words that were counted may go.
    let fork = yard.paper.fork();
    for span in fork.spans().into_iter().filter(|span| span.lane.topic == Topic::Decision) {
        fork.forget(span.lane, span.end);
    }
    Drive::start(fork.log("yardmaster-atlas"), store, config("two", &[])).unwrap();
}

/// A producer that speaks in transactions leaves a marker behind its last record.
#[test]
fn a_lane_that_retention_emptied_up_to_a_marker_is_read_on() {
    let mut yard = Yard::new();
    yard.build(2);
    let store = PaperStore::default();
    let mut one = Drive::start(yard.log(), store.clone(), config("one", &[])).unwrap();
    lead(&mut yard, &mut one, 10).unwrap();
    let mut value = Vec::new();
    record::write(&mut value, &job("77", "QUEUE_00", "", Status::Running, yard.now));
    for (partition, commit) in [(0, true), (1, false)] {
        let lane = Lane::new(Topic::JobState, partition);
        yard.paper.open(lane, &value);
        yard.paper.close(lane, commit);
    }
    lead(&mut yard, &mut one, 10).unwrap();
    one.finish(yard.now).unwrap();
    let reached = reached(&one);
    rebuild(yard.log(), PaperStore::default(), &reached);
    for span in yard.paper.spans().into_iter().filter(|span| span.lane.topic == Topic::JobState) {
        yard.paper.forget(span.lane, span.end);
    }
    let mut two = Drive::start(yard.log(), store, config("two", &[])).unwrap();
    assert_eq!(digest(two.state()), reached.digest);
    lead(&mut yard, &mut two, 10).unwrap();
    work(&yard, 100);
    lead(&mut yard, &mut two, 10).unwrap();
    assert_eq!(two.state().jobs.slab.len(), 21);
}
