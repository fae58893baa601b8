//! Throttles through the loop: set where a limit is crossed, lifted with hysteresis and after the
//! least dwell, published again, lapsed; and the same from the log alone, from any store.

use super::owner::{build, is_assigned, is_held, own, parameter};
use super::start;
use super::yard::*;
use crate::crash::check::{check_throttles, follow_to_end};
use crate::crash::ports::Dice;
use std::collections::BTreeMap;
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{JobState, Quota, Status, Task, TaskPhase};
use yardmaster::core::output::throttle::{Action, SubjectKind, Throttle};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::{HOUR, MINUTE, SECOND};
use yardmaster::drive::Drive;
use yardmaster::sim::paper::PaperLog;
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::wire::record;

type Driven = Drive<PaperLog, PaperStore>;

/// As the topology file has them.
const DWELL: i64 = 5 * MINUTE;
const LAPSE: i64 = HOUR;
/// Stores that a log is followed from, about so many between the first and the last.
const STORES: usize = 30;

/// A yard that is led, with a cap on the cores a user may have running.
fn capped(cores: &str) -> (Yard, Driven) {
    let mut yard = Yard::new();
    build(&yard, 2);
    parameter(&yard, "prio_mgr", "CAP_RUNNING_USER_CORES", cores);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    (yard, drive)
}

/// A job of Ann's with so many cores.
fn wide<'a>(name: &'a str, status: Status, cores: u32, at: i64) -> JobState<'a> {
    JobState { cores, ..own(name, "ann", status, at) }
}

fn actions(yard: &Yard) -> Vec<Action> {
    yard.throttles().iter().map(|it| it.action).collect()
}

/// The state reached is that of the log alone, and of it after the stores on the way; every word of
/// ours is made again.
fn check_again(yard: &mut Yard, mut drive: Driven) {
    lead(yard, &mut drive, 60).unwrap();
    drive.finish(yard.now).unwrap();
    assert_eq!(audit(drive.state()), vec![]);
    let words = yard.throttles().len() + yard.decisions().len() + yard.commands().len();
    let reached = digest(drive.state());
    check_throttles(&yard.throttles());
    let (_, kept) = drive.into_ports();
    for count in (0..kept.count()).step_by(kept.count().div_ceil(STORES)) {
        let mut other = config("two");
        other.verify = true;
        let mut again = Drive::start(yard.log(), kept.older(count), other).unwrap();
        follow_to_end(&mut again);
        let report = again.take_report();
        let [same, others, unknown] = report.verified;
        assert_eq!([others, unknown], [0, 0], "store {count}: {:#?}", report.differences);
        assert!(count > 0 || same == words as u64, "store {count}: {same} of {words}");
        assert_eq!(digest(again.state()), reached, "store {count}");
    }
}

#[test]
fn ten_thousand_and_one_more_or_less_do_not_flap() {
    let (mut yard, mut drive) = capped("10000");
    yard.ask(&asking("1", yard.now));
    yard.job(&wide("10", Status::Running, 10_000, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.throttles(), vec![], "at the limit nobody is held");
    let crossed_at = yard.now;
    yard.job(&wide("11", Status::Running, 1, crossed_at));
    lead(&mut yard, &mut drive, 10).unwrap();
    let set = &yard.throttles()[0];
    assert_eq!(
        (set.rule.as_str(), set.kind, set.subject.as_str()),
        ("A3", SubjectKind::User, "ann")
    );
    assert_eq!((set.measured, set.limit, set.lift_limit), (10_001.0, 10_000.0, 9_000.0));
    assert_eq!((set.counter.as_str(), set.unit.as_str()), ("running_cores", "cores"));
    assert!(
        set.now - crossed_at <= 120,
        "in the first cycle after it, not {}",
        set.now - crossed_at
    );
    assert_eq!((set.until, set.lift_from), (Some(set.now + LAPSE), Some(set.now + DWELL)));
    for round in 0..40 {
        let status = [Status::Finished, Status::Running][round % 2];
        let again = format!("{}", 100 + round / 2);
        let name = if round == 0 { "11" } else { again.as_str() };
        yard.job(&wide(name, status, 1, yard.now));
        if status == Status::Running {
            lead(&mut yard, &mut drive, 6).unwrap();
            yard.job(&wide(name, Status::Finished, 1, yard.now));
        }
        yard.pass(30 * SECOND);
        lead(&mut yard, &mut drive, 6).unwrap();
    }
    assert_eq!(yard.throttles().len(), 1, "{:#?}", yard.throttles());
    yard.job(&wide("10", Status::Running, 9_001, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.throttles().len(), 1, "not below the hysteresis yet");
    let fallen_at = yard.now;
    yard.job(&wide("10", Status::Running, 9_000, fallen_at));
    lead(&mut yard, &mut drive, 10).unwrap();
    let lift = &yard.throttles()[1];
    assert_eq!((lift.action, lift.ordinal, lift.measured), (Action::Lift, 2, 9_000.0));
    assert_eq!((lift.until, lift.lift_from), (None, None));
    assert!(lift.now - fallen_at <= 120, "{}", lift.now - fallen_at);
    check_again(&mut yard, drive);
}

#[test]
fn a_throttle_stands_its_least_time_and_its_tasks_wait_for_it() {
    let (mut yard, mut drive) = capped("100");
    yard.job(&wide("10", Status::Running, 101, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.throttles(), vec![], "an owner without a request is not published");
    yard.ask(&asking("1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert!(is_held(&yard.decisions()[0], "running_cores_cap"), "{:#?}", yard.decisions());
    let note = "throttled(A3, user/ann, 101 of 100 cores)".to_owned();
    assert!(yard.decisions()[0].notes.contains(&note), "{:#?}", yard.decisions()[0].notes);
    let set_at = yard.throttles()[0].now;
    assert_eq!(set_at, yard.decisions()[0].now, "in one cycle");
    yard.job(&wide("10", Status::Finished, 101, yard.now));
    yard.ask(&asking("2", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    // Nothing runs, and yet: it was throttled a moment ago.
    let answer = yard.decisions().pop().unwrap();
    assert!(is_held(&answer, "running_cores_cap") && answer.subject == "2", "{answer:#?}");
    assert!(answer.notes.contains(&"throttled(A3, user/ann, 0 of 90 cores)".to_owned()));
    while yard.now < set_at + DWELL - 2 * SECOND {
        yard.pass(5 * SECOND);
        lead(&mut yard, &mut drive, 2).unwrap();
        if yard.now < set_at + DWELL - SECOND {
            assert_eq!(actions(&yard), [Action::Set], "after {} ms", yard.now - set_at);
        }
    }
    yard.pass(3 * SECOND);
    lead(&mut yard, &mut drive, 60).unwrap();
    assert_eq!(actions(&yard), [Action::Set, Action::Lift]);
    let lift = &yard.throttles()[1];
    assert!(lift.now >= set_at + DWELL);
    // Who waited for it is asked again in the next cycle, not ten seconds later.
    let answers = yard.decisions();
    let last: Vec<_> = answers.iter().filter(|it| is_assigned(it)).collect();
    assert_eq!(last.len(), 2, "{answers:#?}");
    assert!(last.iter().all(|it| it.cycle == lift.cycle + 1), "{last:#?}");
    check_again(&mut yard, drive);
}

#[test]
fn a_throttle_is_published_again_before_it_lapses_and_lapses_without_open_tasks() {
    let (mut yard, mut drive) = capped("100");
    yard.ask(&asking("1", yard.now));
    yard.job(&wide("10", Status::Running, 200, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let since = yard.throttles()[0].now;
    while yard.now < since + 100 * MINUTE {
        yard.pass(20 * SECOND);
        lead(&mut yard, &mut drive, 1).unwrap();
    }
    let words = yard.throttles();
    assert_eq!(words.len(), 4, "{words:#?}");
    for pair in words.windows(2) {
        let (one, next) = (&pair[0], &pair[1]);
        assert_eq!((next.action, next.since), (Action::Set, Some(since)));
        assert!(next.now >= one.now + LAPSE / 2 && next.now < one.now + LAPSE / 2 + MINUTE);
        assert!(Some(next.now) < one.until && next.until == Some(next.now + LAPSE));
    }
    assert!(known(&drive).stands(yard.now));
    let ended = Task { phase: TaskPhase::Ended, changed_at: yard.now, ..asking("1", yard.now) };
    yard.ask(&ended);
    let until = words[3].until.unwrap();
    while yard.now <= until + MINUTE {
        yard.pass(20 * SECOND);
        lead(&mut yard, &mut drive, 1).unwrap();
    }
    assert_eq!(yard.throttles().len(), 4, "nothing is published of it any more");
    assert!(!known(&drive).stands(yard.now), "it lapsed");
    yard.ask(&asking("2", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let last = yard.throttles().pop().unwrap();
    assert_eq!((last.action, last.ordinal, last.since), (Action::Set, 5, Some(last.now)));
    check_again(&mut yard, drive);
}

fn known(drive: &Driven) -> &Throttle {
    drive.state().throttles.of("user/ann A3").expect("it is remembered")
}

#[test]
fn the_next_leader_goes_on_with_the_same_throttles() {
    let (mut yard, mut drive) = capped("100");
    yard.ask(&asking("1", yard.now));
    yard.job(&wide("10", Status::Running, 101, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(actions(&yard), [Action::Set]);
    // Another one, from the log alone; and it ends while nobody leads.
    let mut two = start(&yard, "two");
    for _ in 0..50 {
        two.pump(Duration::ZERO).unwrap();
        two.follow().unwrap();
    }
    yard.job(&wide("10", Status::Finished, 101, yard.now));
    yard.pass(DWELL);
    two.take_lead(yard.now).unwrap();
    lead(&mut yard, &mut two, 10).unwrap();
    assert_eq!(actions(&yard), [Action::Set, Action::Lift]);
    assert_eq!(yard.throttles()[1].epoch, 2);
    check_again(&mut yard, two);
}

/// A group whose work is of another kind is nobody this policy could hold.
#[test]
fn only_owners_with_a_task_of_the_policy_are_throttled() {
    let (mut yard, mut drive) = capped("100");
    parameter(&yard, "prio_mgr", "CAP_RUNNING_GROUP_JOBS", "2");
    lead(&mut yard, &mut drive, 10).unwrap();
    for name in ["21", "22", "23"] {
        yard.job(&job(name, "QUEUE_00", "", Status::Running, yard.now));
    }
    yard.ask(&task("5", 10, yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.throttles(), vec![]);
    yard.ask(&Task { working_group: "AP_MCGN".into(), ..asking("6", yard.now) });
    lead(&mut yard, &mut drive, 10).unwrap();
    let words = yard.throttles();
    let group = |it: &Throttle| (it.kind, it.subject.as_str()) == (SubjectKind::Group, "AP_MCGN");
    assert!(words.iter().all(group), "{words:#?}");
    // Running are three jobs, reserved the ten of its production task.
    let rules: Vec<_> = words.iter().map(|it| (it.rule.as_str(), it.measured)).collect();
    assert_eq!(rules, [("A1", 3.0), ("A2", 10.0)]);
    // The cap is taken away: the throttle goes with it, whatever its dwell.
    parameter_at(&yard, "CAP_RUNNING_GROUP_JOBS", "0", yard.now + 1);
    lead(&mut yard, &mut drive, 10).unwrap();
    let lift = yard.throttles().pop().unwrap();
    assert!(lift.action == Action::Lift && lift.notes.contains(&"no_limit".into()), "{lift:#?}");
    check_again(&mut yard, drive);
}

fn parameter_at(yard: &Yard, key: &str, value: &str, at: i64) {
    let later = Yard { paper: yard.paper.clone(), now: at };
    parameter(&later, "prio_mgr", key, value);
}

fn quota(yard: &Yard, used_bytes: u64) {
    let quota = Quota {
        subject: "ann".into(),
        expression: "type=LOCALGROUPDISK".into(),
        changed_at: yard.now,
        limit_bytes: Some(1_000),
        used_bytes,
        ..Quota::default()
    };
    let name = "user/ann type=LOCALGROUPDISK";
    yard.publish(Topic::Quota, name, |out| record::write(out, &quota));
}

#[test]
fn a_quota_throttles_its_user_until_enough_is_deleted() {
    let (mut yard, mut drive) = capped("0");
    quota(&yard, 1_001);
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(yard.throttles(), vec![], "there is nothing to hold");
    yard.ask(&asking("1", yard.now));
    lead(&mut yard, &mut drive, 10).unwrap();
    let set = yard.throttles().pop().unwrap();
    assert_eq!((set.rule.as_str(), set.unit.as_str(), set.limit), ("A5", "%", 100.0));
    assert!((set.measured - 100.1).abs() < 1e-9, "{}", set.measured);
    yard.pass(2 * DWELL);
    quota(&yard, 950);
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(actions(&yard), [Action::Set], "90 % are wanted");
    quota(&yard, 900);
    yard.pass(SECOND);
    lead(&mut yard, &mut drive, 10).unwrap();
    assert_eq!(actions(&yard), [Action::Set, Action::Lift]);
    check_again(&mut yard, drive);
}

/// Values of the caps in the random stories.
const CAPS: [(&str, u32); 2] = [("CAP_RUNNING_USER_JOBS", 10), ("CAP_RUNNING_USER_CORES", 40)];

/// A dumb twin: by user, cores of each job that runs.
type Twin = BTreeMap<usize, BTreeMap<u32, u32>>;

/// After every cycle: an owner above a limit is throttled, one that came down and has stood its time is
/// not; and nothing else changed.
fn check_levels(yard: &Yard, drive: &Driven, twin: &Twin, asks: &[bool], seed: u64) {
    let state = drive.state();
    for (user, jobs) in twin.iter().filter(|(user, _)| asks[**user]) {
        let measured = [jobs.len() as u32, jobs.values().sum()];
        for ((rule, (_, cap)), measured) in ["A1", "A3"].iter().zip(CAPS).zip(measured) {
            let throttle = state.throttles.of(&format!("user/user{user} {rule}"));
            let stands = throttle.is_some_and(|it| it.stands(state.now));
            let when = format!("seed {seed}, {} ms, user{user} {rule}: {measured}", yard.now - T0);
            assert!(measured <= cap || stands, "{when}: not held");
            let over = throttle.is_some_and(|it| it.lift_from <= Some(state.now));
            assert!(f64::from(measured) > 0.9 * f64::from(cap) || !stands || !over, "{when}: held");
        }
    }
}

#[test]
fn exactly_the_owners_above_a_limit_are_throttled() {
    let mut published = 0;
    for seed in 0..10 {
        let mut dice = Dice::new(seed);
        let mut yard = Yard::new();
        build(&yard, 2);
        for (key, cap) in CAPS {
            parameter(&yard, "prio_mgr", key, &cap.to_string());
        }
        let mut drive = start(&yard, "one");
        lead(&mut yard, &mut drive, 5).unwrap();
        let (mut twin, mut asks, mut next): (Twin, _, u32) = (Twin::new(), vec![false; 4], 1_000);
        for round in 0..120 {
            let user = dice.below(4);
            let name = format!("user{user}");
            let jobs = twin.entry(user).or_default();
            for _ in 0..dice.below(4) {
                // Drifts up and down in turn, about the caps.
                let grows = dice.below(10) < if round / 30 % 2 == 0 { 7 } else { 3 };
                if grows {
                    let cores = [1, 1, 2, 8][dice.below(4)];
                    let job = next.to_string();
                    yard.job(&JobState { cores, ..own(&job, &name, Status::Running, yard.now) });
                    jobs.insert(next, cores);
                    next += 1;
                } else if let Some((job, cores)) = jobs.pop_first() {
                    let job = job.to_string();
                    yard.job(&JobState { cores, ..own(&job, &name, Status::Finished, yard.now) });
                }
            }
            if dice.below(8) == 0 {
                let subject = format!("{user}0{round}");
                yard.ask(&Task { user: name, ..asking(&subject, yard.now) });
                asks[user] = true;
            }
            yard.pass([0, 200, 5_000, 90_000][dice.below(4)]);
            lead(&mut yard, &mut drive, 8).unwrap();
            check_levels(&yard, &drive, &twin, &asks, seed);
        }
        published += yard.throttles().len();
        check_again(&mut yard, drive);
    }
    assert!(published > 30, "{published}");
}
