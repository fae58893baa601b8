//! Figures of the state: queues, shares, users, budgets, links.

use super::samples::Shown;
use super::world::{NOW, World};
use crate::metrics::figures::{SHARES_MAX, USERS_MAX};
use crate::metrics::{Metrics, QUEUES_MAX, QueueLoad};
use yardmaster_core::command::{CommandRule, Mode, RuleSetting};
use yardmaster_core::event::{Share, Status};
use yardmaster_core::output::command::Command;
use yardmaster_core::unit::{Millis, SECOND};

fn shown(world: &World) -> Shown {
    let mut metrics = Metrics::new("atlas", QUEUES_MAX);
    metrics.record_queues(QueueLoad::of(&world.engine.state));
    metrics.record_figures(&world.engine.state);
    Shown::new(&metrics)
}

#[test]
fn a_share_has_its_part_of_the_running_power_and_its_target() {
    let mut world = World::new();
    let share =
        |name: &str, what: &str| format!("yardmaster_share_{what}_ratio{{gshare=\"{name}\"}}");
    world.cycle();
    // Nothing runs: no part of it is anybody's, and the targets stand.
    assert_eq!(shown(&world).of(&share("MC", "use")), Some(0.0));
    assert_eq!(shown(&world).of(&share("MC", "target")), Some(0.6));
    world.jobs(["CERN", "MC", "ann"], Status::Running, 2);
    world.jobs(["DESY", "Data", "ann"], Status::Sent, 1);
    world.jobs(["DESY", "Data", "ann"], Status::Activated, 7);
    world.jobs(["DESY", "no leaf", "ann"], Status::Running, 1);
    world.cycle();
    let shown = shown(&world);
    for (name, part, target) in [("MC", 0.5, 0.6), ("Data", 0.25, 0.4)] {
        assert_eq!(shown.of(&share(name, "use")), Some(part), "{name}");
        assert_eq!(shown.of(&share(name, "target")), Some(target), "{name}");
    }
    assert_eq!(shown.of(&share("no leaf", "use")), None);
}

#[test]
fn shares_beyond_the_bound_are_one_and_nothing_is_lost() {
    let mut world = World::new();
    for position in 0..SHARES_MAX as u32 + 50 {
        let name = format!("share {position}");
        world.configure(Share { name, value: 1.0, position, ..Share::default() });
    }
    world.cycle();
    let targets = shown(&world).all("yardmaster_share_target_ratio");
    assert_eq!(targets.len(), SHARES_MAX + 1);
    assert!(targets.iter().any(|(labels, _)| labels == "{gshare=\"other\"}"));
    let sum: f64 = targets.iter().map(|(_, target)| target).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

#[test]
fn the_users_with_the_most_running_jobs_are_shown() {
    let mut world = World::new();
    for user in 0..USERS_MAX + 5 {
        world.jobs(["CERN", "MC", &format!("user {user:02}")], Status::Running, user + 1);
    }
    world.jobs(["CERN", "MC", "queues much"], Status::Activated, 100);
    world.jobs(["DESY", "Data", "user 24"], Status::Activated, 3);
    world.cycle();
    let shown = shown(&world);
    let jobs = shown.all("yardmaster_user_jobs");
    assert_eq!(jobs.len(), 2 * USERS_MAX);
    let of = |user: &str, state: &str| {
        shown.of(&format!("yardmaster_user_jobs{{user=\"{user}\",state=\"{state}\"}}"))
    };
    assert_eq!((of("user 24", "running"), of("user 24", "queued")), (Some(25.0), Some(3.0)));
    assert_eq!((of("user 05", "running"), of("user 04", "running")), (Some(6.0), None));
    assert_eq!(of("queues much", "queued"), None);
}

#[test]
fn workers_and_slots_are_shown_by_queue() {
    let mut world = World::new();
    world.jobs(["CERN", "MC", "ann"], Status::Running, 1);
    world.workers("CERN", 7, 5);
    // The figure for any share is the one, whatever shares have.
    world.slots("CERN", "", 40, 0);
    world.slots("CERN", "MC", 10, 0);
    world.slots("DESY", "MC", 3, NOW + 1);
    world.slots("DESY", "Data", 4, 0);
    world.slots("GONE", "", 9, NOW - 1);
    world.cycle();
    let shown = shown(&world);
    let workers =
        |state: &str| format!("yardmaster_queue_workers{{queue=\"CERN\",state=\"{state}\"}}");
    assert_eq!(shown.of(&workers("submitted")), Some(7.0));
    assert_eq!(shown.of(&workers("running")), Some(5.0));
    let slots = |queue: &str| shown.of(&format!("yardmaster_queue_slots{{queue=\"{queue}\"}}"));
    assert_eq!([slots("CERN"), slots("DESY"), slots("GONE")], [Some(40.0), Some(7.0), None]);
}

#[test]
fn links_are_open_or_blocked_and_are_counted_again_once_they_change() {
    let mut world = World::new();
    world.link("DESY", Some(3));
    world.link("FNAL", Some(-1));
    world.link("BNL", None);
    world.cycle();
    let mut metrics = Metrics::new("atlas", QUEUES_MAX);
    let mut links = |world: &World| {
        metrics.record_figures(&world.engine.state);
        let shown = Shown::new(&metrics);
        ["open", "blocked"].map(|state| shown.of(&format!("yardmaster_links{{state=\"{state}\"}}")))
    };
    assert_eq!(links(&world), [Some(2.0), Some(1.0)]);
    assert_eq!(links(&world), [Some(2.0), Some(1.0)]);
    world.link("TRIUMF", Some(-1));
    assert_eq!(links(&world), [Some(2.0), Some(2.0)]);
}

#[test]
fn a_budget_is_used_by_what_the_rule_commanded_within_the_window() {
    let mut world = World::new();
    let state = &mut world.engine.state;
    let commands = &mut state.setting.commands;
    commands.governor.jobs_per_rule = 8;
    commands.rules = [(CommandRule::T9, Mode::On), (CommandRule::T1, Mode::DryRun)]
        .map(|(rule, mode)| RuleSetting::new(rule, mode))
        .into();
    let commanded = |subject: &str, rule: &str, now: Millis, dry_run: bool| Command {
        amount: 2,
        now,
        dry_run,
        ..Command::new("atlas", rule, subject, 0, None)
    };
    state.fold_command(&commanded("1", "T9", NOW - SECOND, false));
    state.fold_command(&commanded("2", "T9", NOW - SECOND, false));
    // Another budget: those that are published for people to see.
    state.fold_command(&commanded("3", "T9", NOW - SECOND, true));
    state.fold_command(&commanded("4", "T1", NOW - SECOND, true));
    // Before the window, and expired.
    state.fold_command(&Command { repeat: 99, ..commanded("5", "T9", 1, false) });
    world.cycle();
    let of = |shown: &Shown, rule: &str| {
        shown.of(&format!("yardmaster_command_budget_used_ratio{{rule=\"{rule}\"}}"))
    };
    let some = shown(&world);
    assert_eq!([of(&some, "T9"), of(&some, "T1"), of(&some, "T2")], [Some(0.5), Some(0.25), None]);
    world.engine.state.setting.commands.governor.jobs_per_rule = 0;
    assert_eq!(of(&shown(&world), "T1"), Some(1.0), "nothing may be commanded");
}
