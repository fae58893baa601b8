//! Other rules beside those of a log: what differs is what the rules make differ, and nothing is
//! published.

use super::yard::*;
use std::time::Duration;
use yardmaster::core::difference::{Both, Change, Differences};
use yardmaster::core::event::{Queue, QueueStatus, Status};
use yardmaster::core::output::decision::Outcome;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::MINUTE;
use yardmaster::drive::Drive;
use yardmaster::drive::alternative::Alternative;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;

/// ATLAS without the filter on the status of queues.
const NO_STATUS: (&str, &str) = ("\"status\", \"nucleus_queue\"", "\"nucleus_queue\"");
/// ATLAS without the weight by what runs and waits at queues.
const NO_BASIC: (&str, &str) = ("\"running\", \"basic\", ", "\"running\", ");

type OnPaper = Drive<PaperLog, PaperStore>;

fn close(yard: &Yard, at: u32, status: QueueStatus) {
    let queue = queue(&format!("QUEUE_{at:02}"), yard.now + 1);
    yard.configure(&Queue { status, ..queue });
}

fn began(yard: &mut Yard, queues: u32) -> OnPaper {
    yard.build(queues);
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config("one")).unwrap();
    lead(yard, &mut drive, 5).unwrap();
    drive
}

/// Answers of other rules over the log, and the digest that was reached beside them.
fn compared(yard: &Yard, changes: &[(&str, &str)], during: [i64; 2]) -> (Alternative, String) {
    let log_before = yard.paper.spans();
    let mut drive = Drive::start(yard.log(), PaperStore::default(), config("two")).unwrap();
    let policies = epoch_config_with(changes).policies;
    drive.set_alternative(Alternative::new(policies, during[0], during[1], 10));
    while drive.pump(Duration::ZERO).unwrap() > 0 || drive.follow().unwrap() > 0 {}
    assert_eq!(yard.paper.spans(), log_before, "nothing is published");
    (drive.take_alternative().unwrap(), digest(drive.state()).to_string())
}

fn always(yard: &Yard, changes: &[(&str, &str)]) -> Differences {
    compared(yard, changes, [i64::MIN, i64::MAX]).0.differences
}

/// Two of four queues are offline from the start: a request goes to the others, and one that
/// arrives while all are offline waits.
fn with_queues_offline() -> (Yard, String) {
    let mut yard = Yard::new();
    let mut drive = began(&mut yard, 4);
    [2, 3].into_iter().for_each(|at| close(&yard, at, QueueStatus::Offline));
    lead(&mut yard, &mut drive, 5).unwrap();
    yard.ask(&task("1/1", 100, yard.now));
    lead(&mut yard, &mut drive, 5).unwrap();
    [0, 1].into_iter().for_each(|at| close(&yard, at, QueueStatus::Offline));
    lead(&mut yard, &mut drive, 5).unwrap();
    yard.ask(&task("2/1", 10, yard.now));
    lead(&mut yard, &mut drive, 5).unwrap();
    for _ in 0..25 {
        yard.pass(MINUTE);
        lead(&mut yard, &mut drive, 2).unwrap();
    }
    assert_eq!(yard.decisions().len(), 2, "{:?}", yard.decisions());
    assert!(matches!(yard.decisions()[1].outcome, Outcome::Defer { .. }));
    drive.finish(yard.now).unwrap();
    (yard, digest(drive.state()).to_string())
}

#[test]
fn the_same_rules_answer_the_same_and_the_state_is_the_recorded_one() {
    let (yard, reached) = with_queues_offline();
    let (found, digest) = compared(&yard, &[], [i64::MIN, i64::MAX]);
    assert_eq!(digest, reached);
    assert!(found.cycles > 10, "{} cycles", found.cycles);
    let found = found.differences;
    assert_eq!((found.answers, found.requests()), (2, 2));
    assert_eq!(found.requests_with(Change::Same), 2, "{found:#?}");
    assert_eq!((found.earlier, found.not_made_again), (0, 0));
    assert_eq!((found.first.len(), found.fates.len()), (0, 0));
    assert!(found.changed_share() == 0.0);
    for (filter, Both { recorded, other }) in &found.filters {
        assert_eq!(recorded, other, "{filter}");
    }
}

#[test]
fn without_a_filter_the_requests_change_that_it_kept_from_queues() {
    let (yard, reached) = with_queues_offline();
    let (found, digest) = compared(&yard, &[NO_STATUS], [i64::MIN, i64::MAX]);
    assert_eq!(digest, reached, "the recorded decisions count");
    let found = found.differences;
    assert_eq!((found.answers, found.requests()), (2, 2));
    assert_eq!(found.requests_with(Change::Outcome), 1, "{found:#?}");
    let spread = found.requests_with(Change::Spread) + found.requests_with(Change::First);
    assert_eq!(spread, 1, "{found:#?}");
    assert_eq!(found.outcomes[&["assign", "assign"]], 1);
    assert_eq!(found.outcomes[&["defer", "assign"]], 1);
    // One request has two queues too few, the other all four.
    assert_eq!(found.filters["status"], Both { recorded: 6, other: 0 });
    let from_status = found.fates.iter().filter(|([recorded, _], _)| recorded == "status");
    assert_eq!(from_status.map(|(_, answers)| answers).sum::<u64>(), 2, "{:?}", found.fates);
    assert_eq!(found.earlier, 1, "what waits is looked at again until it would be assigned");
    let jobs = |side: fn(&Both) -> u64| -> u64 {
        found.queues.values().map(|share| side(&share.jobs)).sum()
    };
    assert_eq!((jobs(|it| it.recorded), jobs(|it| it.other)), (100, 110), "each request once");
    assert_eq!(found.queues["QUEUE_03"].jobs.recorded, 0);
    assert!(found.queues["QUEUE_03"].jobs.other > 0);
    let recorded: Vec<String> =
        found.first.iter().map(|it| it.recorded.as_ref().unwrap().subject.clone()).collect();
    assert_eq!(recorded, ["1/1", "2/1"]);
    assert_eq!(found.first[1].change, Change::Outcome);
}

#[test]
fn another_weight_changes_what_goes_where_and_no_filter() {
    let mut yard = Yard::new();
    let mut drive = began(&mut yard, 2);
    for at in 0..200 {
        let queue = if at < 180 { "QUEUE_01" } else { "QUEUE_00" };
        yard.job(&job(&format!("old{at}"), queue, "", Status::Running, yard.now));
    }
    lead(&mut yard, &mut drive, 5).unwrap();
    yard.ask(&task("1/1", 100, yard.now));
    lead(&mut yard, &mut drive, 60).unwrap();
    assert_eq!(yard.decisions().len(), 1);
    let recorded = sent(&yard.decisions()[0]);
    // More run at the one, the other is at the nucleus.
    assert_eq!(recorded[0].0, "QUEUE_01");
    let found = always(&yard, &[NO_BASIC]);
    assert_eq!(found.requests_with(Change::First), 1, "{recorded:?} {found:#?}");
    let other = found.first[0].other.as_ref().unwrap();
    assert_eq!(sent(other)[0].0, "QUEUE_00");
    for (queue, jobs) in recorded {
        assert_eq!(found.queues[&queue].jobs.recorded, u64::from(jobs));
    }
    for (queue, jobs) in sent(other) {
        assert_eq!(found.queues[&queue].jobs.other, u64::from(jobs));
    }
    assert!(found.filters.values().all(|both| both.recorded == both.other));
}

#[test]
fn only_cycles_of_the_stated_time_are_compared() {
    let (yard, _) = with_queues_offline();
    let [first, second] = [0, 1].map(|at| yard.decisions()[at].now);
    let answers = |during| compared(&yard, &[NO_STATUS], during).0.differences.answers;
    assert_eq!(answers([first, second]), 2);
    assert_eq!(answers([first + 1, second]), 1);
    assert_eq!(answers([first, second - 1]), 1);
    assert_eq!(answers([second + 1, i64::MAX]), 0);
    let (found, _) = compared(&yard, &[NO_STATUS], [second + 1, i64::MAX]);
    assert_eq!(found.differences.earlier, 1, "what waits already is looked at from there on");
}
