//! The loop on paper: start, lead, takeover, replay, wake.

mod admit;
mod alternative;
mod commands;
mod counters;
mod judge;
mod month;
mod names;
mod nucleus;
mod onward;
mod owner;
mod pseudonyms;
mod repair;
mod replicas;
mod rest;
mod site;
mod throttle;
mod together;
mod waking;
pub(crate) mod yard;

use std::time::Duration;
use yard::*;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::Status;
use yardmaster::core::output::decision::Outcome;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::drive::{Config, Drive};
use yardmaster::sim::paper::store::PaperStore;

fn start(yard: &Yard, instance: &str) -> Drive<yardmaster::sim::paper::PaperLog, PaperStore> {
    Drive::start(yard.log(), PaperStore::default(), config(instance)).unwrap()
}

#[test]
fn a_request_is_answered_and_its_jobs_divided() {
    let mut yard = Yard::new();
    yard.build(4);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    assert!(drive.leads());
    yard.ask(&task("1/1", 100, yard.now));
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    assert_eq!(decisions.len(), 1, "{:?}", drive.take_report());
    let sent = sent(&decisions[0]);
    assert_eq!(sent.iter().map(|(_, jobs)| jobs).sum::<u32>(), 100);
    assert_eq!(audit(drive.state()), vec![]);
    assert_eq!(sent.len(), 4, "{:?}", decisions[0]);
}

#[test]
fn a_rebuild_reaches_the_same_state_and_the_same_decisions() {
    let mut yard = Yard::new();
    yard.build(6);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    for round in 0..20 {
        let subject = format!("1/{round}");
        yard.ask(&task(&subject, 30, yard.now));
        lead(&mut yard, &mut drive, 2).unwrap();
        let request = format!("{subject}:0");
        for (at, (queue, jobs)) in
            yard.decisions().last().map(sent).unwrap_or_default().into_iter().enumerate()
        {
            for number in 0..jobs {
                let name = format!("{}", 1000 * round + 100 * at as u32 + number);
                yard.job(&job(&name, &queue, &request, Status::Activated, yard.now));
                if number % 2 == 0 {
                    yard.job(&job(&name, &queue, &request, Status::Running, yard.now + 5));
                }
            }
        }
        lead(&mut yard, &mut drive, 2).unwrap();
    }
    lead(&mut yard, &mut drive, 60).unwrap();
    drive.finish(yard.now).unwrap();
    assert_eq!(audit(drive.state()), vec![]);
    let reached = digest(drive.state());
    let decisions = yard.decisions().len();
    assert!(decisions >= 20, "{decisions}");
    let mut other = config("two");
    other.verify = true;
    let mut again = Drive::start(yard.log(), PaperStore::default(), other).unwrap();
    for _ in 0..100 {
        again.pump(Duration::ZERO).unwrap();
        again.follow().unwrap();
    }
    let report = again.take_report();
    assert_eq!(report.verified, [decisions as u64, 0, 0], "{:#?}", report.differences);
    assert_eq!(again.state().number, drive.state().number);
    assert_eq!(audit(again.state()), vec![]);
    assert_eq!(digest(again.state()), reached);
    // And from the store alone.
    let (_, store) = drive.into_ports();
    let kept = Drive::start(yard.log(), store, config("three")).unwrap();
    assert_eq!(digest(kept.state()), reached);
}

#[test]
fn the_lag_is_what_the_log_has_beyond_what_was_folded() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut drive = start(&yard, "one");
    assert_eq!(drive.lags()[&Topic::Queue], 2, "nothing is read yet");
    lead(&mut yard, &mut drive, 20).unwrap();
    let mut lags = drive.lags();
    // Our own last words are read back in the next round.
    lags.retain(|topic, _| !topic.is_own());
    assert!(lags.values().all(|lag| *lag == 0), "{lags:?}");
    for number in 0..50 {
        let name = number.to_string();
        yard.job(&job(&name, "QUEUE_00", "", Status::Running, yard.now));
    }
    assert_eq!(drive.lags()[&Topic::JobState], 50, "the log has them, we have not");
    drive.pump(Duration::ZERO).unwrap();
    assert_eq!(drive.lags()[&Topic::JobState], 50, "read is not folded");
    lead(&mut yard, &mut drive, 20).unwrap();
    assert_eq!(drive.lags()[&Topic::JobState], 0);
}

#[test]
fn a_deferred_request_wakes_when_its_objection_falls() {
    let mut yard = Yard::new();
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 3).unwrap();
    yard.ask(&task("7/1", 10, yard.now));
    lead(&mut yard, &mut drive, 3).unwrap();
    assert!(matches!(yard.decisions()[0].outcome, Outcome::Defer { .. }));
    yard.build(2);
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.decisions().len(), 1, "it rests for a minute");
    yard.pass(60_000);
    lead(&mut yard, &mut drive, 10).unwrap();
    let decisions = yard.decisions();
    assert_eq!(decisions.len(), 2);
    assert!(matches!(decisions[1].outcome, Outcome::Assign(_)));
    assert_eq!(decisions[1].ordinal, 2);
}

#[test]
fn a_leader_that_was_fenced_stops() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut one = start(&yard, "one");
    lead(&mut yard, &mut one, 5).unwrap();
    let mut two = start(&yard, "two");
    for _ in 0..5 {
        two.pump(Duration::ZERO).unwrap();
        two.follow().unwrap();
    }
    assert!(!two.may_lead(yard.now, yard.now, 0));
    assert!(two.may_lead(yard.now + 6_000, yard.now, 0));
    two.take_lead(yard.now).unwrap();
    yard.ask(&task("1/1", 10, yard.now));
    let fenced = lead(&mut yard, &mut one, 60).unwrap_err();
    assert!(fenced.to_string().contains("took the lead"), "{fenced}");
    lead(&mut yard, &mut two, 5).unwrap();
    assert_eq!(yard.decisions().len(), 1);
    assert_eq!(yard.decisions()[0].epoch, 2);
}

/// The fence ends transactions of leaders; one of another program, or one that the brokers left open,
/// stays.
#[test]
fn nobody_leads_while_a_transaction_that_the_fence_does_not_end_holds_an_own_lane() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut one = start(&yard, "one");
    lead(&mut yard, &mut one, 5).unwrap();
    drop(one);
    let held = Lane::new(Topic::Decision, 0);
    yard.paper.open(held, b"of another");
    let mut two = start(&yard, "two");
    // Longer than a leader's silence.
    lead(&mut yard, &mut two, 600).unwrap();
    assert!(!two.leads());
    assert_eq!(two.stuck_lanes().map(|(lane, _)| lane).collect::<Vec<_>>(), [held]);
    assert!(!two.may_lead(yard.now + 600_000, 0, 0), "it waits for the lane");
    let led = |yard: &Yard| yard.progress().iter().map(|progress| progress.epoch).max();
    assert_eq!(led(&yard), Some(1));
    yard.paper.close(held, false);
    lead(&mut yard, &mut two, 600).unwrap();
    assert!(two.leads());
    assert_eq!(led(&yard), Some(2));
}

/// The leader goes on, but what it publishes behind the transaction is seen by nobody.
#[test]
fn outputs_behind_a_transaction_of_another_are_waited_for_and_not_lost() {
    let mut yard = Yard::new();
    yard.build(2);
    let mut one = start(&yard, "one");
    lead(&mut yard, &mut one, 5).unwrap();
    let mut two = start(&yard, "two");
    let follow = |two: &mut Drive<_, _>| {
        // Longer than a transaction of the leader is waited for.
        for _ in 0..1_000 {
            two.pump(Duration::ZERO).unwrap();
            two.follow().unwrap();
        }
    };
    follow(&mut two);
    let partitions = yard.paper.spans().into_iter().map(|span| span.lane);
    let held: Vec<Lane> = partitions.filter(|lane| lane.topic == Topic::Decision).collect();
    for lane in &held {
        yard.paper.open(*lane, b"of another");
    }
    yard.ask(&task("1/1", 10, yard.now));
    lead(&mut yard, &mut one, 20).unwrap();
    assert!(one.state().number > two.state().number);
    follow(&mut two);
    assert!(two.state().number < one.state().number, "the cycle with the decision is not counted");
    assert_eq!(two.stuck_lanes().map(|(lane, _)| lane).collect::<Vec<_>>(), held);
    held.iter().for_each(|lane| yard.paper.close(*lane, false));
    follow(&mut two);
    assert_eq!(two.state().number, one.state().number);
    assert_eq!(yard.decisions().len(), 1);
}

/// A leader that is behind does not wait for its clock: as long as a full batch waits, cycle follows
/// cycle, and only what is left over waits for the idle time.
#[test]
fn a_backlog_is_folded_cycle_after_cycle() {
    let mut yard = Yard::new();
    yard.build(4);
    let epoch_config = epoch_config_with(&[("\nbatch_records = 10_000", "\nbatch_records = 3")]);
    let config = Config { epoch_config, ..config("one") };
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config).unwrap();
    lead(&mut yard, &mut drive, 20).unwrap();
    assert!(drive.leads() && !drive.has_backlog());
    let before = drive.state().number;
    for number in 0..8 {
        yard.job(&job(&format!("j{number}"), "1", "QUEUE_00", Status::Running, yard.now));
    }
    while drive.pump(Duration::ZERO).unwrap() > 0 {}
    assert!(drive.has_backlog());
    assert_eq!(drive.rest(yard.now), 0);
    let cycles: Vec<bool> = (0..4).map(|_| drive.lead(yard.now).unwrap()).collect();
    assert_eq!(cycles, [true, true, false, false], "eight records, three to a cycle");
    assert_eq!(drive.state().number, before + 2);
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(drive.state().jobs.slab.len(), 8);
}
