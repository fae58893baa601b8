//! Analysis tasks whose user has much already, through the loop: deferred, watched, let through.

use super::start;
use super::yard::*;
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{JobState, Quota, Status, Task, User};
use yardmaster::core::output::decision::{Decision, Outcome};
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::{MINUTE, SECOND};
use yardmaster::drive::Drive;
use yardmaster::wire::record;

/// Queues for analysis, with room and pilots.
pub(super) fn build(yard: &Yard, count: u32) {
    yard.build(count);
    yard.open_to_analysis(count);
}

pub(super) fn parameter(yard: &Yard, component: &str, key: &str, value: &str) {
    yard.set(component, key, value);
}

/// A job of a user's, of another type than the task's.
pub(super) fn own<'a>(name: &'a str, user: &'a str, status: Status, at: i64) -> JobState<'a> {
    JobState {
        user,
        group: "",
        gshare: "User Analysis",
        label: "user",
        resource_type: "MCORE",
        nucleus: "",
        started_at: if status >= Status::Running { at } else { 0 },
        ended_at: if status.is_ended() { at } else { 0 },
        ..job(name, "QUEUE_00", "", status, at)
    }
}

pub(super) fn is_held(decision: &Decision, reason: &str) -> bool {
    matches!(decision.outcome, Outcome::Defer { .. })
        && decision.notes.iter().any(|note| *note == format!("held({reason})"))
}

pub(super) fn is_assigned(decision: &Decision) -> bool {
    matches!(decision.outcome, Outcome::Assign(_))
}

#[test]
fn a_user_over_the_cap_waits_until_enough_of_her_jobs_end() {
    let mut yard = Yard::new();
    build(&yard, 2);
    parameter(&yard, "prio_mgr", "CAP_RUNNING_USER_JOBS", "2");
    for name in ["11", "12", "13"] {
        yard.job(&own(name, "ann", Status::Running, yard.now));
    }
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    yard.ask(&asking("1", yard.now));
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    assert!(is_held(decisions.last().unwrap(), "running_jobs_cap"), "{decisions:#?}");
    let deferral = decisions[0].now;
    assert_eq!(decisions[0].outcome, Outcome::Defer { until: deferral + 20 * MINUTE });
    // Somebody else is let in, and so is a task of a group: its jobs are the group's.
    yard.ask(&Task { user: "bob".into(), ..asking("2", yard.now) });
    yard.ask(&Task { working_group: "phys-higgs".into(), ..asking("3", yard.now) });
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    assert_eq!(decisions.len(), 3);
    assert!(decisions[1..].iter().all(is_assigned), "{decisions:#?}");
    // While the cap is exceeded it is looked at, and not answered again.
    for _ in 0..40 {
        yard.pass(9 * SECOND);
        lead(&mut yard, &mut drive, 5).unwrap();
    }
    yard.job(&own("12", "ann", Status::Finished, yard.now));
    yard.pass(30 * SECOND);
    lead(&mut yard, &mut drive, 5).unwrap();
    assert_eq!(yard.decisions().len(), 3, "two may run, but she was throttled: 90 % of two");
    yard.job(&own("13", "ann", Status::Finished, yard.now));
    let ended_at = yard.now;
    while yard.decisions().len() == 3 && yard.now < deferral + 19 * MINUTE {
        yard.pass(SECOND);
        lead(&mut yard, &mut drive, 2).unwrap();
    }
    let decisions = yard.decisions();
    let answer = decisions.last().unwrap();
    assert!(is_assigned(answer) && answer.subject == "1", "{answer:#?}");
    assert!(answer.now <= ended_at + 12 * SECOND, "after {}", answer.now - ended_at);
    assert_eq!(audit(drive.state()), vec![]);
    // A replay from the log alone comes to the same.
    lead(&mut yard, &mut drive, 60).unwrap();
    drive.finish(yard.now).unwrap();
    let reached = digest(drive.state());
    let (_, kept) = drive.into_ports();
    assert!(kept.count() > 20);
    // ... and from every store on the way, also one of a time when Ann's task was held.
    for count in 0..kept.count() {
        let mut other = config("two");
        other.verify = true;
        let mut again = Drive::start(yard.log(), kept.older(count), other).unwrap();
        let newest = yard.progress().len();
        for _ in 0..2 * newest {
            again.pump(Duration::ZERO).unwrap();
            again.follow().unwrap();
        }
        let report = again.take_report();
        let [same, others, unknown] = report.verified;
        assert_eq!([others, unknown], [0, 0], "store {count}: {:#?}", report.differences);
        // Four answers; Ann's throttle, its lift, and those by what was reserved for her and Bob.
        assert!(count > 0 || same == 8, "store {count}: {same}");
        assert_eq!(digest(again.state()), reached, "store {count}");
    }
}

/// An owner's own parameter counts before the general one.
#[test]
fn an_owners_own_cap_and_quota_count() {
    let mut yard = Yard::new();
    build(&yard, 2);
    parameter(&yard, "prio_mgr", "CAP_RUNNING_USER_JOBS", "1");
    yard.job(&own("11", "ann", Status::Running, yard.now));
    yard.job(&own("12", "ann", Status::Running, yard.now));
    let user = User {
        name: "ann".into(),
        changed_at: yard.now,
        cap_running_jobs: Some(2),
        ..User::default()
    };
    yard.configure(&user);
    let quota = |yard: &Yard, subject: &str, expression: &str, used_bytes| {
        let quota = Quota {
            subject: subject.into(),
            expression: expression.into(),
            changed_at: yard.now,
            limit_bytes: Some(100),
            used_bytes,
            ..Quota::default()
        };
        let name = format!("user/{subject} {expression}");
        yard.publish(Topic::Quota, &name, |out| record::write(out, &quota));
    };
    quota(&yard, "bob", "type=SCRATCHDISK", 99);
    quota(&yard, "bob", "type=LOCALGROUPDISK", 101);
    quota(&yard, "eve", "type=SCRATCHDISK", 100);
    quota(&yard, "eve", "NORTH_QUEUE_00_DATADISK", 200);
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    for (subject, user) in [("1", "ann"), ("2", "bob"), ("3", "eve")] {
        yard.ask(&Task { user: user.into(), ..asking(subject, yard.now) });
    }
    lead(&mut yard, &mut drive, 5).unwrap();
    let mut decisions = yard.decisions();
    decisions.sort_by(|a, b| a.subject.cmp(&b.subject));
    assert!(is_assigned(&decisions[0]), "two may run: {decisions:#?}");
    assert!(is_held(&decisions[1], "over_global_quota"), "{decisions:#?}");
    assert!(is_assigned(&decisions[2]), "a full endpoint is no full quota: {decisions:#?}");
}

#[test]
fn a_queue_full_of_a_users_jobs_takes_none_until_they_are_fewer() {
    let mut yard = Yard::new();
    build(&yard, 1);
    let names: Vec<String> = (100..220).map(|name| name.to_string()).collect();
    // 120 are queued, 117 of them Ann's, and 60 run, so that the queue is not over its cap; with five
    // users her part of the 120 allowed is 24. More run of another share, so that there is room.
    for name in 900..960 {
        yard.job(&own(&name.to_string(), "fay", Status::Running, yard.now));
    }
    for name in 500..800 {
        let name = name.to_string();
        let job = own(&name, "", Status::Running, yard.now);
        yard.job(&JobState { gshare: "MC Default", label: "managed", ..job });
    }
    let users = ["bob", "cat", "dan"].into_iter().chain(std::iter::repeat("ann"));
    for (name, user) in names.iter().zip(users) {
        yard.job(&own(name, user, Status::Activated, yard.now));
    }
    let mut drive = start(&yard, "one");
    lead(&mut yard, &mut drive, 5).unwrap();
    yard.ask(&asking("1", yard.now));
    yard.ask(&Task { user: "eve".into(), ..asking("2", yard.now) });
    lead(&mut yard, &mut drive, 5).unwrap();
    let mut decisions = yard.decisions();
    decisions.sort_by(|a, b| a.subject.cmp(&b.subject));
    let fate = &decisions[0].fates[0];
    assert_eq!((fate.filter.as_ref(), fate.measured, fate.limit), ("stabilizer", 117.0, 24.0));
    assert!(is_assigned(&decisions[1]), "who has none there is let in: {decisions:#?}");
    yard.pass(2 * MINUTE);
    for name in &names[3..98] {
        yard.job(&own(name, "ann", Status::Running, yard.now));
    }
    lead(&mut yard, &mut drive, 5).unwrap();
    let decisions = yard.decisions();
    let answer = decisions.last().unwrap();
    assert!(is_assigned(answer) && answer.subject == "1", "{answer:#?}");
    assert_eq!(audit(drive.state()), vec![]);
}
