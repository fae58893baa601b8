//! By what is decided: policies, run-time parameters, caps, classes of tasks.

use super::samples::Shown;
use super::world::{NOW, World};
use crate::metrics::rules::COMPONENTS_MAX;
use crate::metrics::{Metrics, QUEUES_MAX};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Event, Parameter, Share, Status, User, UserKind, confirmed, history_since,
};
use yardmaster_core::unit::{Millis, SECOND};

fn parameter(component: &str, key: &str, value: &str, changed_at: Millis) -> Parameter {
    let [component, key, value] = [component, key, value].map(str::to_owned);
    let (app, vo) = ("jedi".to_owned(), "atlas".to_owned());
    Parameter { app, component, key, vo, value, changed_at }
}

/// A cap on what users have running.
pub(super) fn cap() -> Parameter {
    parameter("prio_mgr", "CAP_RUNNING_USER_JOBS", "4", NOW)
}

/// Metrics of a world that is looked at again and again.
struct Looks(Metrics);

impl Looks {
    fn new() -> Looks {
        Looks(Metrics::new("atlas", QUEUES_MAX))
    }

    fn at(&mut self, world: &World) -> Shown {
        self.0.record_rules(&world.engine);
        Shown::new(&self.0)
    }
}

fn changed_at(shown: &Shown, component: &str) -> Option<f64> {
    let name = "yardmaster_parameters_changed_timestamp_seconds";
    shown.of(&format!("{name}{{component=\"{component}\"}}"))
}

#[test]
fn each_policy_is_shown_with_its_hash_while_the_process_leads() {
    let mut world = World::new();
    world.cycle();
    let mut looks = Looks::new();
    let shown = looks.at(&world);
    let policies = world.engine.policies();
    for policy in policies {
        let labels = format!("{{policy=\"{}\",hash=\"{}\"}}", policy.spec.name, policy.hash());
        assert_eq!(shown.of(&format!("yardmaster_policy_info{labels}")), Some(1.0), "{labels}");
    }
    assert_eq!(shown.all("yardmaster_policy_info").len(), policies.len());
    looks.0.forget_rules();
    assert!(Shown::new(&looks.0).all("yardmaster_policy_info").is_empty());
}

#[test]
fn a_change_or_removal_of_a_parameter_is_shown_by_its_component() {
    let mut world = World::new();
    world.configure(parameter("jobbroker", "A", "1", NOW - 50 * SECOND));
    world.configure(parameter("jobbroker", "B", "1", NOW - 40 * SECOND));
    world.configure(parameter("rebroker", "C", "1", NOW - 30 * SECOND));
    world.cycle();
    let mut looks = Looks::new();
    let at = |before: Millis| Some((NOW - before * SECOND) as f64 / 1e3);
    let shown = looks.at(&world);
    assert_eq!([changed_at(&shown, "jobbroker"), changed_at(&shown, "rebroker")], [at(40), at(30)]);

    // What programs note for each other is no change of anything.
    world.configure(confirmed("atlas", Topic::Queue, NOW));
    world.configure(history_since("atlas", NOW));
    world.configure(parameter("jobbroker", "A", "2", NOW - 20 * SECOND));
    world.cycle();
    let shown = looks.at(&world);
    assert_eq!([changed_at(&shown, "jobbroker"), changed_at(&shown, "rebroker")], [at(20), at(30)]);
    assert_eq!(shown.all("yardmaster_parameters_changed_timestamp_seconds").len(), 2);

    let name = "jedi/rebroker/C/atlas";
    world.read(Topic::Parameter, &Event::Removed { topic: Topic::Parameter, name });
    world.cycle();
    assert_eq!(changed_at(&looks.at(&world), "rebroker"), at(0), "it was seen to be gone");
    assert_eq!(changed_at(&looks.at(&world), "rebroker"), at(0));
}

#[test]
fn components_beyond_the_bound_are_one() {
    let mut world = World::new();
    for number in 0..COMPONENTS_MAX as i64 + 5 {
        world.configure(parameter(&format!("c{number:03}"), "A", "1", NOW - number * SECOND));
    }
    world.cycle();
    let shown = Looks::new().at(&world);
    let all = shown.all("yardmaster_parameters_changed_timestamp_seconds");
    assert_eq!(all.len(), COMPONENTS_MAX + 1);
    let newest_beyond = (NOW - COMPONENTS_MAX as i64 * SECOND) as f64 / 1e3;
    assert_eq!(changed_at(&shown, "other"), Some(newest_beyond));
}

#[test]
fn users_are_shown_against_their_caps() {
    let mut world = World::new();
    world.jobs(["CERN", "MC", "ann"], Status::Running, 5);
    world.jobs(["CERN", "MC", "ann"], Status::Activated, 10);
    world.jobs(["CERN", "MC", "ben"], Status::Running, 2);
    world.cycle();
    let mut looks = Looks::new();
    let name = "yardmaster_user_cap_used_ratio";
    assert!(looks.at(&world).all(name).is_empty(), "there is no cap");

    world.configure(cap());
    world.configure(User {
        kind: UserKind::User,
        name: "ben".to_owned(),
        changed_at: NOW,
        cap_running_jobs: Some(8),
        ..User::default()
    });
    world.cycle();
    let shown = looks.at(&world);
    let of =
        |user: &str, rule: &str| shown.of(&format!("{name}{{user=\"{user}\",rule=\"{rule}\"}}"));
    assert_eq!([of("ann", "A1"), of("ann", "A2"), of("ann", "A3")], [Some(1.25), Some(1.25), None]);
    assert_eq!([of("ben", "A1"), of("ben", "A2")], [Some(0.25), Some(0.0)], "a cap of its own");
}

#[test]
fn decisions_are_counted_by_the_class_of_their_task() {
    let mut world = World::new();
    for (position, name) in ["User Analysis", "Express Analysis"].into_iter().enumerate() {
        let (name, position) = (name.to_owned(), 2 + position as u32);
        world.configure(Share { name, value: 10.0, position, ..Share::default() });
    }
    for (subject, user, gshare) in [
        ("1/1", "ann", "User Analysis"),
        ("2/1", "ann", "Express Analysis"),
        ("3/1", "ann", "MC"),
        ("4/1", "ben", "User Analysis"),
    ] {
        world.ask_of(subject, "analysis-job", |task| {
            (task.user, task.gshare) = (user.to_owned(), gshare.to_owned());
            task.working_group.clear();
        });
    }
    world.cycle();
    let mut decided = 0;
    while let Some(output) = world.engine.next_output() {
        world.engine.fold_output(&output);
        decided += 1;
    }
    assert!(decided >= 4, "{decided}");
    let classed = world.engine.take_classed();
    let of = |class: &str| -> u64 {
        classed.iter().filter(|([it, _], _)| *it == class).map(|(_, count)| count).sum()
    };
    assert_eq!([of("S"), of("A"), of("B"), of("C")], [1, 2, 0, 0], "{classed:?}");
    assert!(world.engine.take_classed().is_empty());

    let mut metrics = Metrics::new("atlas", QUEUES_MAX);
    for (labels, count) in &classed {
        metrics.record_classed(*labels, *count);
    }
    metrics.add();
    let all = Shown::new(&metrics).all("yardmaster_classed_decisions_total");
    assert_eq!(all.iter().map(|(_, count)| count).sum::<f64>(), 3.0, "{all:?}");
}
