//! While a cycle is being published, folding goes on: what arrives meanwhile belongs to the next one.

use super::yard::*;
use std::time::Duration;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::Status;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::Drive;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::faulty::{Fault, Faulty, Schedule};
use yardmaster::sim::paper::store::PaperStore;

type Slow = Drive<Faulty<PaperLog>, PaperStore>;

/// A leader of which a cycle is being published, and will be for hundreds of looks; since then jobs and
/// a record nobody can read have arrived, and were folded.
fn folding_on(yard: &mut Yard) -> Slow {
    yard.build(2);
    let schedule = Schedule::default();
    let log = Faulty::new(yard.log(), &schedule);
    let mut drive = Drive::start(log, PaperStore::default(), config("one")).unwrap();
    lead(yard, &mut drive, 10).unwrap();
    yard.pass(200);
    yard.job(&job("1", "QUEUE_00", "", Status::Running, yard.now));
    schedule.on(schedule.count(), Fault::Slow(500));
    drive.pump(Duration::ZERO).unwrap();
    assert!(drive.lead(yard.now).unwrap(), "a cycle is made");
    let published = yard.progress().len();
    for number in 2..12 {
        yard.job(&job(&number.to_string(), "QUEUE_01", "", Status::Running, yard.now));
        lead(yard, &mut drive, 2).unwrap();
    }
    yard.paper.append(Lane::new(Topic::JobState, 0), None, Some(b"nonsense"), &[], None);
    lead(yard, &mut drive, 10).unwrap();
    assert_eq!(
        yard.progress().len(),
        published,
        "the next cycle waits for the one that is published"
    );
    assert!(!drive.is_between_cycles());
    assert_eq!(drive.state().jobs.slab.len(), 11, "all that arrived is folded");
    drive
}

fn letters(yard: &Yard) -> usize {
    (0..2).map(|at| yard.paper.records(Lane::new(Topic::DeadLetter, at)).len()).sum()
}

/// Another process makes the published outputs again.
fn check(yard: &Yard, drive: &Slow) {
    assert_eq!(letters(yard), 1);
    let garbled: usize = yard.progress().iter().map(|cycle| cycle.garbled.len()).sum();
    assert_eq!(garbled, 1);
    assert_eq!(audit(drive.state()), vec![]);
    let mut other = Drive::start(yard.log(), PaperStore::default(), config("two")).unwrap();
    while other.pump(Duration::ZERO).unwrap() > 0 || other.follow().unwrap() > 0 {}
    assert_eq!(digest(other.state()), digest(drive.state()));
}

#[test]
fn an_http_question_need_not_wait_until_a_cycle_is_published() {
    let mut yard = Yard::new();
    let mut drive = folding_on(&mut yard);
    let published = yard.progress().len();
    yard.ask(&task("1/1", 10, yard.now));
    lead(&mut yard, &mut drive, 2).unwrap();
    assert!(drive.is_between_cycles());
    drive.settle(yard.now).unwrap();
    assert_eq!(yard.progress().len(), published + 2);
    assert_eq!(yard.decisions().len(), 1);
    check(&yard, &drive);
}

#[test]
fn a_slow_commit_delays_the_next_cycle_by_no_more_than_a_tick() {
    let mut yard = Yard::new();
    let mut drive = folding_on(&mut yard);
    let published = yard.progress().len();
    yard.pass(1_000);
    lead(&mut yard, &mut drive, 1).unwrap();
    drive.settle(yard.now).unwrap();
    assert_eq!(yard.progress().len(), published + 2);
    check(&yard, &drive);
}

#[test]
fn a_final_progress_record_states_what_was_folded_since() {
    let mut yard = Yard::new();
    let mut drive = folding_on(&mut yard);
    drive.finish(yard.now).unwrap();
    check(&yard, &drive);
}
