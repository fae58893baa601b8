//! Classes of sites, through the loop: a user whose jobs run where others hardly wait has had more,
//! and waits when the share is used up.

use super::start;
use super::yard::*;
use std::time::Duration;
use yardmaster::core::event::{JobState, Share, Status};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::output::throttle::Action;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::{HOUR, MINUTE, SECOND};
use yardmaster::drive::Drive;

/// Two queues for analysis; a share that may use a fifth; classes by a single slot.
fn build(yard: &Yard) {
    yard.build(2);
    yard.open_to_analysis(2);
    for (name, value) in [("MC", 80.0), ("User Analysis", 20.0)] {
        let share = Share { name: name.into(), value, changed_at: yard.now, ..Share::default() };
        yard.configure(&share);
    }
    yard.set("analy_eval", "USER_USAGE_THRESHOLD_A", "1");
}

fn ask(yard: &Yard, subject: &str) {
    yard.ask(&asking(subject, yard.now));
}

/// A job at the first queue that was ready at a moment and runs, or ended.
fn report_job<'a>(yard: &Yard, name: &'a str, user: &'a str, kind: &'a str, status: Status) {
    yard.job(&JobState {
        user,
        group: "",
        gshare: "User Analysis",
        label: "user",
        processing_type: kind,
        activated_at: yard.now - MINUTE,
        started_at: yard.now,
        ended_at: if status.is_ended() { yard.now } else { 0 },
        ..job(name, "QUEUE_00", "", status, yard.now)
    });
}

fn is_held(decision: &Decision) -> bool {
    matches!(decision.outcome, Outcome::Defer { .. })
        && decision.notes.iter().any(|note| note == "held(gshare_class_b)")
}

#[test]
fn a_site_becomes_hi_and_its_users_wait_under_any_leader() {
    let mut yard = Yard::new();
    build(&yard);
    report_job(&yard, "11", "ann", "", Status::Running);
    report_job(&yard, "12", "bob", "pmerge", Status::Finished);
    report_job(&yard, "13", "gangarbt", "", Status::Running);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    ask(&yard, "1");
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    assert!(matches!(decisions[0].outcome, Outcome::Assign(_)), "mid so far: {decisions:#?}");
    // Within the next half hour the waits are seen.
    yard.pass(31 * MINUTE);
    report_job(&yard, "14", "bob", "", Status::Running);
    lead(&mut yard, &mut drive, 5).unwrap();
    ask(&yard, "2");
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    assert!(is_held(decisions.last().unwrap()), "{decisions:#?}");
    let throttles = yard.throttles();
    let set = throttles.last().unwrap();
    assert_eq!((set.key().as_str(), set.rule.as_str(), set.limit), ("task/2", "A6", 95.0));
    assert_eq!((set.action, set.now), (Action::Set, decisions.last().unwrap().now));
    // Five days later there are no samples left, and the site is mid again.
    for _ in 0..5 * 24 {
        yard.pass(HOUR);
        lead(&mut yard, &mut drive, 1).unwrap();
    }
    report_job(&yard, "15", "bob", "", Status::Running);
    (0..2).for_each(|at| yard.pilot(&format!("QUEUE_{at:02}"), "node1"));
    yard.pass(SECOND);
    lead(&mut yard, &mut drive, 5).unwrap();
    ask(&yard, "3");
    lead(&mut yard, &mut drive, 60).unwrap();
    let decisions = yard.decisions();
    let answer = decisions.iter().rfind(|it| it.subject == "3").unwrap();
    assert!(matches!(answer.outcome, Outcome::Assign(_)), "{answer:#?}");
    let last = yard.throttles().into_iter().rfind(|it| it.key() == "task/2").unwrap();
    assert!(!last.stands(yard.now), "its class is another, and nothing is held: {last:#?}");
    assert_eq!(audit(drive.state()), vec![]);
    drive.finish(yard.now).unwrap();
    let reached = digest(drive.state());
    let (_, kept) = drive.into_ports();
    assert!(kept.count() > 20, "{}", kept.count());
    for count in (0..kept.count()).step_by(3) {
        let mut other = config("two");
        other.verify = true;
        let mut again = Drive::start(yard.log(), kept.older(count), other).unwrap();
        for _ in 0..2 * yard.progress().len() {
            again.pump(Duration::ZERO).unwrap();
            again.follow().unwrap();
        }
        let report = again.take_report();
        let [_, others, unknown] = report.verified;
        assert_eq!([others, unknown], [0, 0], "store {count}: {:#?}", report.differences);
        assert_eq!(digest(again.state()), reached, "store {count}");
    }
}
