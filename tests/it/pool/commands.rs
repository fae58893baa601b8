//! Commands of a pool: ends of workflows, profiles, boosts, drains (C-16, C-49, C-50, C-55).

use super::*;
use yardmaster::core::output::command::{Command, CommandKind};

fn world() -> World {
    let mut world = World::new();
    world.site("T2_X", "T2", 100, |_| ());
    world.site("T2_Y", "T2", 100, |_| ());
    world.user("ops", &["production"], &[]);
    world.rounds(3);
    world
}

fn given(world: &World, kind: CommandKind) -> Vec<Command> {
    world.yard.commands().into_iter().filter(|command| command.kind == kind).collect()
}

/// Runs the job matched last at its site to its end.
fn run(world: &mut World, workflow: &str, seq: i64, failure: Option<FailureClass>) {
    let (decision, matched) = world.matches().pop().unwrap();
    let Outcome::Assign(ranked) = &decision.outcome else { panic!("{decision:#?}") };
    let site = ranked[0].queue.clone();
    let start = world.yard.now;
    world.wait(100);
    let status = if failure.is_some() { Status::Failed } else { Status::Finished };
    let end = world.yard.now;
    world.job(&matched.job, workflow, status, |state, wants| {
        (state.queue, state.started_at, state.ended_at) = (&site, start, end);
        (wants.seq, wants.failure, wants.used_rss_mb) = (Some(seq), failure, 1_500);
        wants.last_attempt = true;
    });
    world.rounds(3);
}

/// TC-36: all test jobs fail at two sites, and the workflow is killed.
#[test]
fn a_workflow_whose_test_jobs_all_fail_is_killed() {
    let mut world = world();
    let facts = WorkflowFacts { test_jobs: Some(2), total_jobs: Some(9), ..central() };
    world.workflow("bad", "ops", facts);
    for seq in 1..=9 {
        let job = format!("bad-{seq}");
        world.job(&job, "bad", Status::Activated, |_, wants| wants.seq = Some(seq));
    }
    for (seq, site) in [(1, "T2_X"), (2, "T2_Y")] {
        assert_eq!(given(&world, CommandKind::KillWorkflow), vec![]);
        world.offer(&format!("at-{site}"), site, 1);
        world.rounds(3);
        assert_eq!(world.matched_jobs().last().unwrap(), &format!("bad-{seq}"));
        run(&mut world, "bad", seq, Some(FailureClass::Payload));
    }
    let killed = given(&world, CommandKind::KillWorkflow);
    assert_eq!(killed.len(), 1, "{killed:#?}");
    assert_eq!((killed[0].subject.as_str(), killed[0].amount), ("bad", 7));
    // What waits of it is not matched any more.
    world.offer("late", "T2_X", 8);
    world.rounds(3);
    assert_eq!(world.matched_jobs().len(), 2);
    world.check();
}

/// C-50: what the test jobs needed is published, and holds for those that wait.
#[test]
fn a_workflow_learns_from_its_test_jobs() {
    let mut world = world();
    let facts = WorkflowFacts { test_jobs: Some(1), total_jobs: Some(9), ..central() };
    world.workflow("good", "ops", facts);
    for seq in 1..=2 {
        let job = format!("good-{seq}");
        world.job(&job, "good", Status::Activated, |_, wants| {
            (wants.seq, wants.max_wall_time_s, wants.max_rss_mb) = (Some(seq), Some(60), Some(100));
        });
    }
    world.offer("o1", "T2_X", 1);
    world.rounds(3);
    run(&mut world, "good", 1, None);
    let profiles = given(&world, CommandKind::Profile);
    assert_eq!(profiles.len(), 1, "{profiles:#?}");
    assert_eq!(profiles[0].subject, "good");
    world.offer("o2", "T2_X", 1);
    world.rounds(3);
    let (_, matched) = world.matches().pop().unwrap();
    assert_eq!(matched.job, "good-2");
    assert_eq!(matched.rss_mb, 1_650, "1500 MB and a tenth");
    assert!(matched.wall_time_s >= 120, "100 s and a fifth: {matched:#?}");
    world.check();
}

/// TC-12: the tail of a central workflow goes first.
#[test]
fn the_tail_of_a_workflow_is_boosted() {
    let mut world = world();
    world.workflow("tail", "ops", WorkflowFacts { total_jobs: Some(20), ..central() });
    world.workflow(
        "next",
        "ops",
        WorkflowFacts { priority: 500, priority_revision: 1, ..central() },
    );
    for at in 0..20 {
        world.pending(&format!("tail-{at:02}"), "tail");
    }
    for at in 0..19 {
        world.offer(&format!("o-{at:02}"), "T2_X", 1);
        world.rounds(2);
    }
    let start = world.yard.now;
    world.wait(60);
    for (_, matched) in world.matches() {
        let end = world.yard.now;
        world.job(&matched.job, "tail", Status::Finished, |state, _| {
            (state.queue, state.started_at, state.ended_at) = ("T2_X", start, end);
        });
    }
    world.rounds(5);
    let boosts = given(&world, CommandKind::Boost);
    assert_eq!(boosts.len(), 1, "{boosts:#?}");
    assert_eq!((boosts[0].subject.as_str(), boosts[0].measured), ("tail", 900_000.0));
    world.pending("next-1", "next");
    world.rounds(2);
    world.offer("last", "T2_X", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs().last().unwrap(), "tail-19");
    world.check();
}

/// C-55, C-56: a node is kept free for a job of many cores that waited for an hour.
#[test]
fn a_node_is_drained_for_a_large_job_and_let_go() {
    let mut world = world();
    world.workflow("wide", "ops", central());
    world.workflow("small", "ops", central());
    // A node of eight cores, of which four run small jobs for long.
    world.offer_with("n-1", "T2_X", |it| {
        (it.node, it.cores_free, it.cores_total) = ("node-1", 4, 8);
        it.wall_left_s = 172_800;
    });
    for at in 0..4 {
        world.pending(&format!("small-{at}"), "small");
    }
    world.rounds(3);
    assert_eq!(world.matched_jobs().len(), 4);
    let start = world.yard.now;
    for at in 0..4 {
        world.job(&format!("small-{at}"), "small", Status::Running, |state, _| {
            (state.queue, state.started_at) = ("T2_X", start);
        });
    }
    world.job("wide-1", "wide", Status::Activated, |_, wants| wants.cores_min = 8);
    // Other pilots of the site report: commands are held back where nobody does.
    for at in 0..5 {
        world.offer_with(&format!("short-{at}"), "T2_X", |it| it.wall_left_s = 1);
        world.wait(700);
    }
    assert_eq!(given(&world, CommandKind::Drain), vec![]);
    world.wait(200);
    let drains = given(&world, CommandKind::Drain);
    assert_eq!(drains.len(), 1, "{drains:#?}");
    assert_eq!(
        (drains[0].subject.as_str(), drains[0].jobs.as_slice()),
        ("node-1", &["wide-1".to_owned()][..])
    );
    // A long job does not start there meanwhile.
    world.pending("small-9", "small");
    world.offer_with("n-2", "T2_X", |it| {
        (it.node, it.cores_free, it.cores_total) = ("node-1", 4, 8);
        it.wall_left_s = 172_800;
    });
    world.rounds(3);
    assert_eq!(world.matched_jobs().len(), 4, "{:?}", world.matched_jobs());
    // The job starts elsewhere: the node is let go.
    world.offer("big", "T2_Y", 8);
    world.rounds(5);
    assert_eq!(world.matched_jobs()[4], "wide-1");
    let undrained = given(&world, CommandKind::Undrain);
    assert_eq!(undrained.len(), 1, "{undrained:#?}");
    world.rounds(3);
    assert_eq!(
        world.matched_jobs().len(),
        6,
        "the small job has the node: {:?}",
        world.matched_jobs()
    );
    world.check();
}

/// A name that is used again long after its workflow was killed and forgotten is a new workflow.
#[test]
fn a_killed_workflow_that_was_forgotten_may_come_again() {
    let mut world = world();
    let facts = WorkflowFacts { test_jobs: Some(2), total_jobs: Some(3), ..central() };
    world.workflow("twice", "ops", facts.clone());
    for seq in 1..=3 {
        let job = format!("first-{seq}");
        world.job(&job, "twice", Status::Activated, |_, wants| wants.seq = Some(seq));
    }
    for (seq, site) in [(1, "T2_X"), (2, "T2_Y")] {
        world.offer(&format!("at-{site}"), site, 1);
        world.rounds(3);
        run(&mut world, "twice", seq, Some(FailureClass::Payload));
    }
    assert_eq!(given(&world, CommandKind::KillWorkflow).len(), 1);
    world.job("first-3", "twice", Status::Cancelled, |_, wants| wants.seq = Some(3));
    world.yard.pass(13 * 86_400 * S);
    world.rounds(2);
    while world.drive.state().pool.workflows.of("twice").is_some() {
        world.yard.pass(3_600 * S);
        world.rounds(2);
    }
    world.workflow("twice", "ops", facts);
    world.job("second-1", "twice", Status::Activated, |_, wants| wants.seq = Some(1));
    world.offer("later", "T2_X", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs().last().map(String::as_str), Some("second-1"));
    world.check();
}

/// S-06, TS-14: what a policy in a dry run asks for is not carried out either.
#[test]
fn a_policy_in_a_dry_run_gives_no_command_to_carry_out() {
    let mut world = World::with(&[("kind = \"cms\"", "kind = \"cms\"\nmode = \"dry_run\"")]);
    world.site("T2_X", "T2", 100, |_| ());
    world.user("ops", &["production"], &[]);
    world.workflow("tail", "ops", WorkflowFacts { total_jobs: Some(20), ..central() });
    world.pending("tail-19", "tail");
    world.rounds(3);
    world.wait(60);
    for at in 0..19 {
        let end = world.yard.now;
        world.job(&format!("tail-{at:02}"), "tail", Status::Finished, |state, _| {
            (state.queue, state.started_at, state.ended_at) = ("T2_X", end - 60 * S, end);
        });
    }
    world.offer("any", "T2_X", 1);
    world.rounds(5);
    let boosts = given(&world, CommandKind::Boost);
    assert!(!boosts.is_empty() && boosts.iter().all(|it| it.dry_run), "{boosts:#?}");
    world.check();
}

/// C-50 with C-53: what a test job of a range used on many cores is stated at its base.
#[test]
fn a_workflow_of_ranges_learns_at_the_base() {
    let mut world = world();
    let facts = WorkflowFacts { test_jobs: Some(1), total_jobs: Some(9), ..central() };
    world.workflow("range", "ops", facts);
    for seq in 1..=2 {
        world.job(&format!("range-{seq}"), "range", Status::Activated, |_, wants| {
            (wants.seq, wants.cores_min, wants.cores_max) = (Some(seq), 2, Some(8));
            (wants.max_wall_time_s, wants.max_rss_mb) = (Some(3_600), Some(1_000));
        });
    }
    world.offer("wide", "T2_X", 8);
    world.rounds(3);
    // A second job fits no more.
    run(&mut world, "range", 1, None);
    world.withdraw("wide", "T2_X");
    world.offer("narrow", "T2_X", 2);
    world.rounds(3);
    let (_, matched) = world.matches().pop().unwrap();
    assert_eq!((matched.job.as_str(), matched.cores), ("range-2", 2));
    // 1,500 MB on eight cores are none on two, so that what is stated holds.
    assert_eq!((matched.rss_mb, matched.wall_time_s), (1_000, 3_600), "{matched:#?}");
    world.check();
}
