//! A producer that invents names: their memory is given back, and no decision depends on it.

use super::yard::*;
use std::time::Duration;
use yardmaster::core::event::{JobState, Status};
use yardmaster::core::state::digest::digest;
use yardmaster::drive::port::{Log, Store};
use yardmaster::drive::{Config, Drive, Halt};
use yardmaster::sim::paper::store::PaperStore;

fn small(instance: &str) -> Config {
    let epoch_config = epoch_config_with(&[("names_max = 5_000_000", "names_max = 1_000")]);
    Config { epoch_config, ..config(instance) }
}

fn follow<L: Log, S: Store>(drive: &mut Drive<L, S>) {
    for _ in 0..200 {
        drive.pump(Duration::ZERO).unwrap();
        drive.follow().unwrap();
    }
}

#[test]
fn an_old_process_and_a_fresh_one_agree_when_the_limit_of_names_is_reached() {
    let mut yard = Yard::new();
    yard.build(4);
    let mut old = Drive::start(yard.log(), PaperStore::default(), small("old")).unwrap();
    lead(&mut yard, &mut old, 5).unwrap();
    assert!(old.leads() && old.check_names().is_ok());
    for number in 0..1_200 {
        let user = format!("invented-{number}");
        let job = job("7", "QUEUE_00", "", Status::Running, yard.now + number);
        yard.job(&JobState { user: &user, ..job });
    }
    lead(&mut yard, &mut old, 20).unwrap();
    assert_eq!(old.state().jobs.slab.len(), 1, "one job, of one user after the other");

    let mut other = Drive::start(yard.log(), PaperStore::default(), small("fresh")).unwrap();
    follow(&mut other);
    assert!(matches!(other.check_names(), Err(Halt::Names { .. })), "it read all names again");
    other.finish(yard.now).unwrap();
    let (log, store) = other.into_ports();
    let mut fresh = Drive::start(log, store, small("fresh")).unwrap();
    let names = (old.state().names.len(), fresh.state().names.len());
    assert!(names.0 > 1_000 && names.1 < 500, "{names:?}");
    assert!(fresh.check_names().is_ok());
    let error = old.check_names().unwrap_err().to_string();
    assert!(error.contains("names_max"), "{error}");

    // A user, a queue and a request that came after the limit was reached.
    yard.build(6);
    for number in 0..10 {
        let name = (5_000 + number).to_string();
        let job = job(&name, "QUEUE_05", "", Status::Running, yard.now);
        yard.job(&JobState { user: "alice", ..job });
    }
    lead(&mut yard, &mut old, 5).unwrap();
    yard.ask(&task("1/1", 60, yard.now));
    lead(&mut yard, &mut old, 5).unwrap();
    let decisions = yard.decisions();
    assert!(sent(&decisions[0]).iter().any(|(queue, _)| queue == "QUEUE_05"), "{decisions:?}");
    old.finish(yard.now).unwrap();
    follow(&mut fresh);
    assert_eq!(fresh.state().number, old.state().number);
    assert_eq!(digest(fresh.state()), digest(old.state()));
}

/// Follows and leads as `run` does: at the limit of names, a farewell and a start from the store.
fn live(yard: &mut Yard, store: &PaperStore, instance: &str, invent: &mut u64) -> (usize, bool) {
    let mut drive = Drive::start(yard.log(), store.clone(), small(instance)).unwrap();
    let mut most = 0;
    for _ in 0..100 {
        for _ in 0..20 {
            let user = format!("invented-{invent}");
            *invent += 1;
            let job = job("7", "QUEUE_00", "", Status::Running, yard.now + *invent as i64);
            yard.job(&JobState { user: &user, ..job });
        }
        lead(yard, &mut drive, 1).unwrap();
        most = most.max(drive.state().names.len());
        if let Err(halt) = drive.check_names() {
            assert!(matches!(halt, Halt::Names { .. }), "{halt}");
            drive.finish(yard.now).unwrap();
            return (most, true);
        }
    }
    drive.finish(yard.now).unwrap();
    (most, false)
}

#[test]
fn a_producer_that_invents_names_without_end_does_not_outgrow_the_limit() {
    let mut yard = Yard::new();
    yard.build(4);
    let (store, mut invented, mut restarts) = (PaperStore::default(), 0, 0);
    for life in 0..10 {
        let (most, is_ended) = live(&mut yard, &store, &format!("life {life}"), &mut invented);
        assert!(most <= 1_000 + 2 * 20, "{most} names in life {life}");
        restarts += u32::from(is_ended);
    }
    assert!(restarts >= 5 && invented > 5_000, "{restarts} restarts, {invented} names");
    let (mut kept, mut fresh) = (
        Drive::start(yard.log(), store, small("kept")).unwrap(),
        Drive::start(yard.log(), PaperStore::default(), small("fresh")).unwrap(),
    );
    follow(&mut kept);
    follow(&mut fresh);
    assert_eq!(kept.state().number, fresh.state().number);
    assert_eq!(digest(kept.state()), digest(fresh.state()));
}

#[test]
fn more_live_names_than_the_limit_are_named_at_a_start_and_end_nothing() {
    let mut yard = Yard::new();
    yard.build(4);
    let store = PaperStore::default();
    let mut old = Drive::start(yard.log(), store.clone(), small("old")).unwrap();
    lead(&mut yard, &mut old, 5).unwrap();
    for number in 0..1_500 {
        let (id, user) = (number.to_string(), format!("user-{number}"));
        let job = job(&id, "QUEUE_00", "", Status::Running, yard.now);
        yard.job(&JobState { user: &user, ..job });
    }
    lead(&mut yard, &mut old, 20).unwrap();
    assert!(matches!(old.check_names(), Err(Halt::Names { .. })));
    old.finish(yard.now).unwrap();
    let mut again = Drive::start(yard.log(), store, small("again")).unwrap();
    let notices = again.take_report().notices;
    let named = |it: &String| it.contains("names_max") && it.contains("(1000)");
    assert!(notices.iter().any(named), "{notices:?}");
    let mut fresh = Drive::start(yard.log(), PaperStore::default(), small("fresh")).unwrap();
    follow(&mut fresh);
    lead(&mut yard, &mut again, 5).unwrap();
    yard.ask(&task("1/1", 6, yard.now));
    lead(&mut yard, &mut again, 5).unwrap();
    assert_eq!(yard.decisions().len(), 1);
    again.check_names().unwrap();
    again.finish(yard.now).unwrap();
    follow(&mut fresh);
    assert_eq!(digest(fresh.state()), digest(again.state()));
}
