//! How long a leader may rest: what it would do if it looked each millisecond it does when it looks after
//! as long as it says.

use super::yard::*;
use std::time::Duration;
use yardmaster::core::event::Status;
use yardmaster::drive::Drive;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;

type Paper = Drive<PaperLog, PaperStore>;

/// Looks until what was published is confirmed.
fn settle(yard: &mut Yard, drive: &mut Paper) {
    while drive.rest(yard.now) == 1 {
        yard.pass(1);
        drive.lead(yard.now).unwrap();
    }
}

/// Looks each millisecond until a cycle is made; returns how long that took, and what was stated before.
fn next_cycle(yard: &mut Yard, drive: &mut Paper) -> (i64, i64) {
    settle(yard, drive);
    let (since, stated) = (yard.now, drive.rest(yard.now));
    for _ in 0..2_000 {
        drive.pump(Duration::ZERO).unwrap();
        if drive.lead(yard.now).unwrap() {
            return (yard.now - since, stated);
        }
        yard.pass(1);
    }
    panic!("no cycle within two ticks; it stated {stated} ms");
}

#[test]
fn a_leader_rests_until_a_cycle_is_due_and_no_longer() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config("one")).unwrap();
    lead(&mut yard, &mut drive, 200).unwrap();
    let limits = drive.state().setting.limits.clone();
    // Nothing arrives: a tick.
    next_cycle(&mut yard, &mut drive);
    for _ in 0..3 {
        let (took, stated) = next_cycle(&mut yard, &mut drive);
        assert_eq!(took, stated);
        assert!(stated > limits.cycle_idle_ms && stated <= limits.tick_ms, "{stated}");
    }
    // A job waits: as soon as an idle cycle may follow the one before.
    yard.job(&job("1", "QUEUE_00", "", Status::Running, yard.now));
    drive.pump(Duration::ZERO).unwrap();
    let (took, stated) = next_cycle(&mut yard, &mut drive);
    assert_eq!(took, stated);
    assert!(stated <= limits.cycle_idle_ms && stated > limits.cycle_min_ms, "{stated}");
    // A request waits: sooner still.
    yard.ask(&task("1/1", 5, yard.now));
    drive.pump(Duration::ZERO).unwrap();
    let (took, stated) = next_cycle(&mut yard, &mut drive);
    assert_eq!(took, stated);
    assert!(stated <= limits.cycle_min_ms, "{stated}");
    // A clock that was set back stops nothing.
    settle(&mut yard, &mut drive);
    yard.pass(-5_000);
    assert_eq!(drive.rest(yard.now), 0);
}
