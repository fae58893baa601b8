//! Throttle records when a figure moves about its limit: by simple walks, step by step.

use crate::domain::atlas::policy::throttling::{Gauge, Margin, ThrottleChange, step};
use crate::output::throttle::{Action, SubjectKind, Throttle, ThrottleId};
use crate::policy::WaitReason;
use crate::policy::rule::Rule;
use crate::unit::{HOUR, MINUTE, Millis, SECOND};

const MARGIN: Margin = Margin { hysteresis: 0.1, dwell: 5 * MINUTE, lapse: HOUR };
const LIMIT: f64 = 10_000.0;

fn gauge(measured: f64) -> Gauge {
    Gauge { rule: Rule::RunningJobs, reason: WaitReason::RunningJobs, measured, limit: LIMIT }
}

/// The throttle that a step leads to.
fn throttle(step: ThrottleChange, before: Option<&Throttle>, now: Millis) -> Throttle {
    let (action, since) = match step {
        ThrottleChange::Set(since) => (Action::Set, since),
        ThrottleChange::Lift => (Action::Lift, now),
    };
    let is_set = action == Action::Set;
    Throttle {
        id: ThrottleId([0; 16]),
        domain: String::new(),
        kind: SubjectKind::User,
        subject: "ann".into(),
        action,
        rule: "A1".into(),
        ordinal: before.map_or(1, |before| before.ordinal + 1),
        counter: String::new(),
        measured: 0.0,
        limit: LIMIT,
        unit: String::new(),
        until: is_set.then_some(now + MARGIN.lapse),
        epoch: 1,
        cycle: 1,
        number: 0,
        now,
        policy: String::new(),
        policy_hash: String::new(),
        notes: vec![],
        since: Some(since),
        lift_limit: MARGIN.lift_limit(LIMIT),
        lift_from: is_set.then_some(since + MARGIN.dwell),
        dry_run: false,
    }
}

/// The throttles published on the way, with what was measured then.
fn walk(way: impl IntoIterator<Item = (Millis, f64)>) -> Vec<(Throttle, f64)> {
    let (mut now, mut throttles): (Millis, Vec<(Throttle, f64)>) = (1_000_000, Vec::new());
    for (passed, measured) in way {
        now += passed;
        let before = throttles.last().map(|(throttle, _)| throttle);
        if let Some(step) = step(before, Some(&gauge(measured)), true, &MARGIN, now) {
            let throttle = throttle(step, before, now);
            throttles.push((throttle, measured));
        }
        let stands = throttles.last().is_some_and(|(throttle, _)| throttle.stands(now));
        assert!(measured <= LIMIT || stands, "{measured} is above, and nobody is held");
    }
    throttles
}

fn sets(throttles: &[(Throttle, f64)]) -> usize {
    throttles
        .iter()
        .filter(|(throttle, _)| throttle.since() == throttle.now && throttle.action == Action::Set)
        .count()
}

#[test]
fn one_more_and_one_less_in_turn_is_one_throttle() {
    let way = (0..10_000).map(|at| (SECOND, if at % 2 == 0 { LIMIT + 1.0 } else { LIMIT - 1.0 }));
    let throttles = walk(way);
    assert_eq!(sets(&throttles), 1);
    assert!(throttles.iter().all(|(throttle, _)| throttle.action == Action::Set));
    // 10,000 s: published again every half hour.
    assert_eq!(throttles.len(), 6);
}

#[test]
fn it_is_lifted_once_it_has_come_down_and_not_before_the_least_time_is_over() {
    let down = |passed| (passed, 9_000.0);
    let throttles = walk([(0, 10_001.0), down(1), down(MARGIN.dwell - 2), down(1)]);
    assert_eq!(throttles.len(), 2);
    assert_eq!(
        (throttles[1].0.action, throttles[1].0.now - throttles[0].0.now),
        (Action::Lift, MARGIN.dwell)
    );
    assert_eq!(walk([(0, 10_001.0), (HOUR / 4, 9_000.1)]).len(), 1, "not far enough");
    assert_eq!(walk([(0, 10_000.0)]).len(), 0, "at the limit nobody is held");
}

/// However it moves: a throttle is lifted below the limit, never within the least time; in any hour
/// there are no more throttles than that allows.
#[test]
fn no_walk_makes_it_flap() {
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: u64| {
        dice = crate::id::stir(dice);
        dice % below
    };
    let (mut lifts, mut most) = (0, 0);
    for _ in 0..200 {
        let span = [10, 1_500, 20_000][draw(3) as usize];
        let way: Vec<(Millis, f64)> = (0..400)
            .map(|_| {
                let measured = LIMIT - span as f64 / 2.0 + draw(span) as f64;
                (draw(2 * MINUTE as u64) as Millis, measured)
            })
            .collect();
        let throttles = walk(way);
        for (at, (throttle, measured)) in throttles.iter().enumerate() {
            assert_eq!(throttle.ordinal as usize, at + 1);
            if throttle.action == Action::Lift {
                let (before, _) = &throttles[at - 1];
                assert!(before.action == Action::Set && *measured <= 0.9 * LIMIT);
                assert!(throttle.now - before.since() >= MARGIN.dwell);
                lifts += 1;
            }
        }
        for (at, (first, _)) in throttles.iter().enumerate() {
            let hour =
                throttles[at..].iter().take_while(|(it, _)| it.now < first.now + HOUR).count();
            most = most.max(hour);
        }
    }
    assert!(lifts > 100, "{lifts}");
    // Twelve dwells, each with a throttle at either end, and two renewals.
    assert!(most <= 28, "{most}");
}

#[test]
fn who_has_nothing_to_hold_is_not_published_of_and_lapses() {
    let now = 1_000_000;
    let above = gauge(LIMIT + 1.0);
    assert_eq!(step(None, Some(&above), false, &MARGIN, now), None);
    let set = throttle(ThrottleChange::Set(now), None, now);
    assert_eq!(step(Some(&set), Some(&above), false, &MARGIN, now + HOUR - 1), None);
    let due = step(Some(&set), Some(&above), true, &MARGIN, now + HOUR / 2);
    assert_eq!(due, Some(ThrottleChange::Set(now)), "published again, and stands since then");
    assert_eq!(step(Some(&set), Some(&above), true, &MARGIN, now + HOUR / 2 - 1), None);
    // Lapsed: above again it is another one.
    let again = step(Some(&set), Some(&above), true, &MARGIN, now + HOUR);
    assert_eq!(again, Some(ThrottleChange::Set(now + HOUR)));
    assert_eq!(step(Some(&set), Some(&gauge(0.0)), true, &MARGIN, now + HOUR), None);
    // A rule that has no limit any more holds nobody.
    assert_eq!(step(Some(&set), None, false, &MARGIN, now + 1), Some(ThrottleChange::Lift));
    assert_eq!(step(None, None, true, &MARGIN, now), None);
}

#[test]
fn rules_have_names_of_their_own_that_reasons_lead_to() {
    for rule in Rule::ALL {
        assert_eq!(Rule::from_name(rule.name()), Some(rule));
        let is_of_owner = Rule::OF_OWNERS.contains(&rule);
        let is_of_share = Rule::OF_WORK_QUEUES.contains(&rule);
        assert_eq!(is_of_owner || is_of_share, rule != Rule::Share);
    }
    for reason in [WaitReason::RunningJobs, WaitReason::ShareOfA, WaitReason::NearQuota] {
        assert!(reason.rule().is_some(), "{}", reason.name());
    }
    assert_eq!(WaitReason::InputIncomplete.rule(), None);
}
