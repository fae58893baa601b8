//! A producer that invents names: their memory is given back, and no decision depends on it.

use super::yard::*;
use std::time::Duration;
use yardmaster::core::digest::digest;
use yardmaster::core::event::{JobState, Status};
use yardmaster::drive::port::{Log, Store};
use yardmaster::drive::{Config, Drive, Halt};
use yardmaster::sim::paper::store::PaperStore;

fn small(instance: &str) -> Config {
    let terms = terms_with(&[("names_max = 5_000_000", "names_max = 1_000")]);
    Config { terms, ..config(instance) }
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
    other.farewell(yard.now).unwrap();
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
    old.farewell(yard.now).unwrap();
    follow(&mut fresh);
    assert_eq!(fresh.state().number, old.state().number);
    assert_eq!(digest(fresh.state()), digest(old.state()));
}
