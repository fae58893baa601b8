//! Words on throttles as facts: the newest holds, one that is over is forgotten.

use crate::world::*;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Event;
use yardmaster::core::output::Output;
use yardmaster::core::output::throttle::{Action, SubjectKind, Throttle};
use yardmaster::core::state::State;
use yardmaster::core::state::digest::digest;
use yardmaster::core::unit::{DAY, HOUR, Millis};

/// The `ordinal`-th throttle on Ann, an hour after the one before it.
fn throttle(rule: &str, ordinal: u32, action: Action) -> Throttle {
    let now = DAWN + i64::from(ordinal) * HOUR;
    let if_set = |at: Millis| (action == Action::Set).then_some(at);
    Throttle {
        counter: "running_jobs".into(),
        measured: 11.0,
        limit: 10.0,
        unit: "jobs".into(),
        until: if_set(now + HOUR),
        epoch: 1,
        cycle: u64::from(ordinal),
        now,
        policy: "analysis-job".into(),
        since: Some(now),
        lift_limit: 9.0,
        lift_from: if_set(now + HOUR / 12),
        ..Throttle::new("atlas", rule, (SubjectKind::User, "ann"), ordinal, action)
    }
}

fn fold_throttle(state: &mut State, throttle: &Throttle) {
    let event = Event::Output(Output::from(throttle.clone()));
    fold(state, &published(lane(Topic::Throttle, 0), event));
}

#[test]
fn the_newest_throttle_is_in_force_in_any_order_and_repetition() {
    let throttles = [
        throttle("A1", 1, Action::Set),
        throttle("A1", 2, Action::Lift),
        throttle("A1", 3, Action::Set),
    ];
    let mut digests = Vec::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut state = state();
        for at in order.into_iter().chain(order) {
            fold_throttle(&mut state, &throttles[at]);
        }
        close(&mut state, DAWN + 4 * HOUR - 1);
        assert_eq!(state.throttles.of("user/ann A1"), Some(&throttles[2]));
        digests.push(digest(&state));
    }
    digests.dedup();
    assert_eq!(digests.len(), 1);
    // Another rule's is another one.
    let mut state = state();
    fold_throttle(&mut state, &throttles[0]);
    fold_throttle(&mut state, &throttle("A3", 1, Action::Set));
    assert_eq!(state.throttles.len(), 2);
    // And another domain's is none of ours.
    fold_throttle(&mut state, &Throttle { domain: "cms".into(), ..throttle("A2", 1, Action::Set) });
    assert_eq!(state.throttles.len(), 2);
}

#[test]
fn a_throttle_that_is_over_is_forgotten_and_one_that_stands_is_not() {
    let mut state = state();
    let until_now = |at: Millis, until| Throttle { until: Some(until), ..word_at(at) };
    let (lifted, lapsed) = (throttle("A1", 1, Action::Lift), throttle("A2", 1, Action::Set));
    let of_another_version = Throttle { rule: "Z1".into(), ..throttle("Z1", 1, Action::Set) };
    let stands = until_now(DAWN, DAWN + 400 * DAY);
    for throttle in [&lifted, &lapsed, &of_another_version, &stands] {
        fold_throttle(&mut state, throttle);
    }
    close(&mut state, DAWN + 2 * HOUR);
    assert_eq!(state.throttles.len(), 4, "lapsed is not forgotten");
    assert!(!state.throttles.of("user/ann A2").unwrap().stands(state.now));
    close(&mut state, DAWN + HOUR + 30 * DAY - 1);
    assert_eq!(state.throttles.len(), 4);
    close(&mut state, DAWN + HOUR + 30 * DAY);
    assert!(state.throttles.of("user/ann A1").is_none(), "lifted so long ago");
    assert_eq!(state.throttles.len(), 3);
    close(&mut state, DAWN + 2 * HOUR + 30 * DAY);
    let left: Vec<&str> = state.throttles.iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["user/ann A4"]);
    close(&mut state, DAWN + 431 * DAY);
    assert!(state.throttles.is_empty());
}

fn word_at(now: Millis) -> Throttle {
    Throttle { now, ..throttle("A4", 1, Action::Set) }
}
