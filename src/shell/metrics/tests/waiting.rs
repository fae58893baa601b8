//! Requests that wait: why, for how long, and whether any is overdue.

use super::samples::{Shown, text_of};
use super::world::World;
use crate::metrics::{Metrics, QUEUES_MAX, waiting as counted};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, Task};
use yardmaster_core::output::throttle::{Action, SubjectKind, Throttle};

fn shown(world: &World) -> Shown {
    let mut metrics = Metrics::new("atlas", QUEUES_MAX);
    metrics.record_waiting(&world.engine);
    Shown::new(&metrics)
}

/// How many wait for a reason.
fn waiting(shown: &Shown, policy: &str, reason: &str) -> Option<f64> {
    let labels = format!("{{policy=\"{policy}\",reason=\"{reason}\"}}");
    shown.of(&format!("yardmaster_waiting_requests{labels}"))
}

fn of_policy(shown: &Shown, what: &str, policy: &str) -> Option<f64> {
    shown.of(&format!("yardmaster_{what}{{policy=\"{policy}\"}}"))
}

#[test]
fn requests_wait_for_the_filter_that_rejected_most_of_their_candidates() {
    let mut world = World::new();
    let all = [("CERN", "disk"), ("DESY", "status"), ("FNAL", "disk")];
    for subject in ["1/1", "2/1"] {
        let task = world.ask(subject, "production-job", 50);
        world.defer(&task, 600, &all);
    }
    let task = world.ask("3/1", "production-job", 70);
    world.defer(&task, 600, &all[1..2]);
    let task = world.ask("4/1", "production-job", 50);
    world.defer(&task, 600, &[]);
    world.ask("5/1", "production-job", 20);
    // A deferral of an attempt that was superseded is no answer to the one that waits.
    let task = world.ask("6/1", "production-job", 50);
    world.defer(&task, 600, &all);
    let again = Task { attempt: 1, ..task };
    world.read(Topic::Task, &Event::Task(Box::new(again)));
    world.ask("7/1", "no such policy", 10);
    world.cycle();
    let shown = shown(&world);
    for (reason, requests) in [
        ("disk", Some(2.0)),
        ("status", Some(1.0)),
        ("deferred_as_whole", Some(1.0)),
        ("not_judged", Some(2.0)),
        ("throttled", Some(0.0)),
        ("memory", None),
    ] {
        assert_eq!(waiting(&shown, "production-job", reason), requests, "{reason}");
    }
    assert_eq!(waiting(&shown, "other", "not_judged"), Some(1.0));
    assert_eq!(of_policy(&shown, "waiting_request_age_seconds", "production-job"), Some(70.0));
    assert_eq!(of_policy(&shown, "waiting_request_age_seconds", "other"), Some(10.0));
    // Of each policy something is shown, be there any request or none.
    assert_eq!(waiting(&shown, "analysis-job", "not_judged"), Some(0.0));
    assert_eq!(of_policy(&shown, "waiting_request_age_seconds", "analysis-job"), Some(0.0));
    assert_eq!(of_policy(&shown, "overdue_requests", "analysis-job"), Some(0.0));
}

#[test]
fn a_request_is_throttled_while_a_throttle_holds_its_owner_or_task() {
    for (kind, subject) in [(SubjectKind::Group, "AP_MCGN"), (SubjectKind::Task, "1")] {
        let mut world = World::new();
        let task = world.ask("1/1", "production-job", 50);
        world.defer(&task, 600, &[]);
        let held = Throttle::new("atlas", "A1", (kind, subject), 1, Action::Set);
        world.engine.state.fold_throttle(&held);
        world.cycle();
        assert_eq!(waiting(&shown(&world), "production-job", "throttled"), Some(1.0), "{kind:?}");
        assert_eq!(waiting(&shown(&world), "production-job", "deferred_as_whole"), Some(0.0));
    }
}

#[test]
fn a_request_is_overdue_a_minute_after_it_was_to_be_judged() {
    let mut world = World::new();
    let rejected = [("CERN", "disk")];
    for (subject, until) in [("1/1", -61), ("2/1", -60), ("3/1", 5)] {
        let task = world.ask(subject, "production-job", 900);
        world.defer(&task, until, &rejected);
    }
    world.ask("4/1", "production-job", 61);
    world.ask("5/1", "production-job", 60);
    world.cycle();
    assert_eq!(of_policy(&shown(&world), "overdue_requests", "production-job"), Some(2.0));
}

#[test]
fn nothing_is_shown_of_what_is_not_known_and_nothing_by_a_process_that_does_not_lead() {
    let mut world = World::new();
    world.ask("1/1", "production-job", 50);
    // No cycle was judged.
    let mut metrics = Metrics::new("atlas", QUEUES_MAX);
    metrics.record_waiting(&world.engine);
    assert_eq!(waiting(&Shown::new(&metrics), "production-job", "not_judged"), None);
    world.cycle();
    metrics.record_waiting(&world.engine);
    assert_eq!(waiting(&Shown::new(&metrics), "production-job", "not_judged"), Some(1.0));
    metrics.forget_waiting();
    let text = text_of(&metrics);
    for name in ["waiting_requests", "waiting_request_age_seconds", "overdue_requests"] {
        assert!(!text.contains(&format!("yardmaster_{name}")), "{text}");
    }
}

#[test]
fn those_beyond_the_bound_are_counted_all_the_same() {
    let mut world = World::new();
    (0..13).for_each(|at| {
        world.ask(&format!("{at}/1"), "production-job", 50);
    });
    world.cycle();
    let metrics = Metrics::new("atlas", QUEUES_MAX);
    counted::record(&metrics.current, &world.engine, 3);
    let shown = Shown::new(&metrics);
    assert_eq!(waiting(&shown, "other", "other"), Some(10.0));
    assert_eq!(waiting(&shown, "production-job", "not_judged"), Some(3.0));
}
