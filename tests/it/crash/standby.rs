//! A leader and its standby.

use super::check::*;
use super::play::*;
use super::ports::Watch;
use crate::drive::yard::{Yard, task};
use std::time::Duration;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::port::{Log, LogError};
use yardmaster::drive::{Drive, Halt};
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::faulty::{Faulty, Schedule};
use yardmaster::sim::paper::store::PaperStore;

/// A process with a clock: what `run` does around a drive.
struct Process<L: Log> {
    drive: Drive<L, Watch>,
    store: PaperStore,
    jitter: i64,
    newest: u64,
    heard_at: i64,
}

impl<L: Log> Process<L> {
    fn start(yard: &Yard, log: L, store: &PaperStore, name: &str, jitter: i64) -> Process<L> {
        let drive = Drive::start(log, Watch::new(store, &yard.paper), config(name)).unwrap();
        let (newest, heard_at) = (drive.newest(), yard.now);
        Process { drive, store: store.clone(), jitter, newest, heard_at }
    }

    fn turn(&mut self, yard: &Yard) -> Result<(), Halt> {
        self.drive.pump(Duration::ZERO)?;
        if self.drive.leads() {
            self.drive.lead(yard.now)?;
            return Ok(());
        }
        self.drive.follow()?;
        if self.drive.newest() != self.newest {
            (self.newest, self.heard_at) = (self.drive.newest(), yard.now);
        }
        if self.drive.may_lead(yard.now, self.heard_at, self.jitter) {
            self.drive.take_lead(yard.now)?;
        }
        Ok(())
    }
}

type Pair = [Process<PaperLog>; 2];

/// A yard with two queues and two processes, the first of which leads.
fn pair() -> (Yard, Pair) {
    let mut yard = Yard::new();
    yard.build(2);
    let one = Process::start(&yard, yard.log(), &PaperStore::default(), "one", 300);
    let two = Process::start(&yard, yard.log(), &PaperStore::default(), "two", 700);
    let mut pair = [one, two];
    run(&mut yard, &mut pair, 30);
    assert!(pair[0].drive.leads() && !pair[1].drive.leads());
    (yard, pair)
}

/// Both run for so many tenths of a second.
fn run(yard: &mut Yard, pair: &mut [Process<PaperLog>], tenths: usize) {
    for _ in 0..tenths {
        yard.pass(100);
        pair.iter_mut().for_each(|process| process.turn(yard).unwrap());
    }
}

#[test]
fn an_idle_pair_never_swaps() {
    let (mut yard, mut pair) = pair();
    run(&mut yard, &mut pair, 3_000);
    assert!(pair[0].drive.leads() && !pair[1].drive.leads());
    assert!(yard.progress().iter().all(|cycle| cycle.epoch == 1));
    // The standby is where the leader is, or was a moment ago.
    assert!(pair[1].drive.state().number + 1 >= pair[0].drive.state().number);
    assert!(pair[1].store.count() > 100, "it keeps a store of its own");
}

#[test]
fn a_standby_takes_over_when_the_leader_is_silent() {
    let (mut yard, pair) = pair();
    let [one, mut two] = pair;
    drop(one);
    yard.ask(&task("1/1", 40, yard.now));
    let died_at = yard.now;
    let heard_at = yard.progress().last().unwrap().now;
    while !two.drive.leads() {
        run(&mut yard, std::slice::from_mut(&mut two), 1);
        assert!(yard.now - died_at < 10_000, "nobody leads");
    }
    assert!(yard.now - heard_at >= 5_700, "a leader may be silent for 5 s, and the jitter");
    run(&mut yard, std::slice::from_mut(&mut two), 10);
    let decisions = yard.decisions();
    assert_eq!((decisions.len(), decisions[0].epoch), (1, 2));
    check_words(&yard);
}

#[test]
fn a_standby_takes_over_at_once_after_a_final_progress_record() {
    let (mut yard, pair) = pair();
    let [mut one, mut two] = pair;
    one.drive.finish(yard.now).unwrap();
    run(&mut yard, std::slice::from_mut(&mut two), 2);
    assert!(two.drive.leads());
    // And so does one that was not there when it was published, with the store of the one that left.
    two.drive.finish(yard.now).unwrap();
    let reached = digest(two.drive.state());
    for store in [two.store.clone(), one.store.clone(), PaperStore::default()] {
        let fork = Yard { paper: yard.paper.fork(), now: yard.now };
        let log = fork.log();
        let mut again = Process::start(&fork, log, &store, "again", 700);
        assert_eq!(again.drive.take_report().notices, Vec::<String>::new());
        for _ in 0..3 {
            again.turn(&fork).unwrap();
        }
        assert!(again.drive.leads());
        assert_eq!(again.drive.state().epoch, 3);
        let number = two.drive.state().number;
        let known = Reached { number, digest: reached.clone() };
        rebuild(yard.log(), store, &known);
    }
}

/// A leader whose transaction is still open when it is paused, and one that took over meanwhile.
fn paused() -> (Yard, Process<Faulty<PaperLog>>, Process<PaperLog>) {
    let mut yard = Yard::new();
    yard.build(2);
    // What is published through this log is in the log only when it is settled.
    let log = Faulty::new(yard.log(), &Schedule::default());
    let mut one = Process::start(&yard, log, &PaperStore::default(), "one", 0);
    for _ in 0..30 {
        yard.pass(100);
        one.turn(&yard).unwrap();
    }
    yard.ask(&task("1/1", 40, yard.now));
    yard.pass(100);
    one.turn(&yard).unwrap();
    assert_eq!(one.drive.state().requests.of("1/1").unwrap().answer.as_ref().unwrap().ordinal, 1);
    assert_eq!(yard.decisions(), vec![], "decided, published, not confirmed");
    let two = PaperStore::default();
    let mut two = Process::start(&yard, yard.log(), &two, "two", 0);
    while !two.drive.leads() {
        yard.pass(100);
        two.turn(&yard).unwrap();
    }
    for _ in 0..10 {
        yard.pass(100);
        two.turn(&yard).unwrap();
    }
    assert_eq!(yard.decisions().len(), 1);
    (yard, one, two)
}

#[test]
fn a_paused_leader_is_fenced_and_keeps_nothing_of_its_memory() {
    for reads_first in [true, false] {
        let (mut yard, mut one, mut two) = paused();
        let kept = one.store.count();
        let published = yard.progress().len();
        let halt = match reads_first {
            true => one.turn(&yard).unwrap_err(),
            // It wakes up in the middle of its turn.
            false => one.drive.lead(yard.now).map(|_| ()).unwrap_err(),
        };
        assert!(matches!(halt, Halt::Log(LogError::Fenced(_))), "{halt}");
        assert_eq!((one.store.count(), yard.progress().len()), (kept, published));
        // It starts again, follows, and stands by.
        let store = one.store.clone();
        let log = yard.log();
        let mut again = Process::start(&yard, log, &store, "one again", 0);
        let pair = &mut [&mut again, &mut two];
        for _ in 0..100 {
            yard.pass(100);
            pair.iter_mut().for_each(|process| process.turn(&yard).unwrap());
        }
        assert!(two.drive.leads() && !again.drive.leads());
        assert_eq!(again.drive.take_report().notices, Vec::<String>::new());
        two.drive.finish(yard.now).unwrap();
        follow_to_end(&mut again.drive);
        assert_eq!(digest(again.drive.state()), digest(two.drive.state()));
        check_words(&yard);
    }
}

#[test]
fn what_the_old_leader_published_last_is_counted_first() {
    let (mut yard, pair) = pair();
    let [mut one, mut two] = pair;
    // The standby read nothing for a while; the leader published all the same.
    yard.ask(&task("1/1", 40, yard.now));
    for _ in 0..10 {
        yard.pass(100);
        one.turn(&yard).unwrap();
    }
    assert_eq!(yard.decisions().len(), 1);
    two.drive.take_lead(yard.now).unwrap();
    run(&mut yard, std::slice::from_mut(&mut two), 20);
    assert_eq!(yard.decisions().len(), 1, "it is answered again");
    check_words(&yard);
}

#[test]
fn a_standby_does_not_lead_while_the_broker_is_away() {
    let (yard, pair) = pair();
    let two = &pair[1].drive;
    assert!(two.may_lead(yard.now + 9_000, yard.now, 0));
    // What was heard of the broker just now was that it does not answer.
    assert!(!two.may_lead(yard.now + 9_000, yard.now + 8_000, 0));
}
