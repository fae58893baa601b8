//! Verdicts on test jobs whose ends say nothing, or not all (C-49, C-50).

use super::*;
use yardmaster::core::output::command::{Command, CommandKind};

/// An end of a test job, as it is reported.
#[derive(Clone, Copy)]
struct End {
    status: Status,
    failure: Option<FailureClass>,
    last: bool,
    /// Whether its start is known.
    started: bool,
    /// Memory as measured, MB.
    memory: i64,
}

const DONE: End =
    End { status: Status::Finished, failure: None, last: true, started: true, memory: 1_500 };
const FAILED: End =
    End { status: Status::Failed, failure: Some(FailureClass::Payload), last: true, ..DONE };
const BY_SITE: End = End { failure: Some(FailureClass::Site), ..FAILED };
const REMOVED: End = End { status: Status::Cancelled, failure: None, ..FAILED };

/// A workflow of CRAB with five probes and a hundred jobs; sites with a node of eight cores each.
fn world() -> World {
    let mut world = World::new();
    settled(&mut world);
    world
}

fn settled(world: &mut World) {
    for site in ["T2_DE_DESY", "T2_IT_Pisa"] {
        world.site(site, "T2", 100, |_| ());
    }
    let facts = WorkflowFacts { test_jobs: Some(5), total_jobs: Some(100), ..analysis() };
    world.workflow("240611_ann_skim", "ann", facts);
    world.rounds(3);
    for seq in 1..=100 {
        waits(world, seq, 0);
    }
    world.rounds(2);
}

fn waits(world: &World, seq: i64, attempt: u32) {
    let job = format!("240611_ann_skim.{seq}");
    world.job(&job, "240611_ann_skim", Status::Pending, |state, wants| {
        (state.attempt, state.created_at) = (attempt, 1_000);
        (wants.seq, wants.max_wall_time_s, wants.max_rss_mb) =
            (Some(seq), Some(75_000), Some(2_000));
    });
}

/// Each of the five probes ends so, in turn at two sites.
fn end(world: &mut World, attempt: u32, ends: &[(i64, End)]) {
    world.wait(120);
    let now = world.yard.now;
    for (seq, it) in ends {
        let site = if seq % 2 == 0 { "T2_DE_DESY" } else { "T2_IT_Pisa" };
        let job = format!("240611_ann_skim.{seq}");
        world.job(&job, "240611_ann_skim", it.status, |state, wants| {
            (state.queue, state.attempt, state.ended_at) = (site, attempt, now);
            state.started_at = if it.started { now - 100 * S } else { 0 };
            (wants.seq, wants.failure, wants.last_attempt) = (Some(*seq), it.failure, it.last);
            (wants.used_rss_mb, wants.max_wall_time_s) = (it.memory, Some(75_000));
        });
    }
    world.rounds(4);
}

fn given(world: &World, kind: CommandKind) -> Vec<Command> {
    let is_given = |it: &Command| it.kind == kind && it.is_order() && it.repeat == 0;
    world.yard.commands().into_iter().filter(is_given).collect()
}

/// A probe that a site failed for good, and one that somebody removed, say nothing: the three
/// others decide.
#[test]
fn one_probe_that_says_nothing_does_not_keep_the_others_from_a_verdict() {
    for void in [BY_SITE, REMOVED] {
        let mut world = world();
        end(&mut world, 0, &[(1, FAILED), (2, FAILED), (3, void), (4, FAILED), (5, FAILED)]);
        let killed = given(&world, CommandKind::KillWorkflow);
        assert_eq!((killed.len(), killed[0].amount), (1, 95), "{killed:#?}");
        world.check();
        let mut world = self::world();
        end(&mut world, 0, &[(1, DONE), (2, DONE), (3, void), (4, DONE), (5, DONE)]);
        assert_eq!(given(&world, CommandKind::Profile).len(), 1);
        world.check();
    }
}

/// Probes that all fail by sites condemn nothing; tried again they do.
#[test]
fn a_probe_that_a_site_failed_is_tried_again() {
    let mut world = world();
    let open = End { last: false, ..BY_SITE };
    end(&mut world, 0, &[(1, FAILED), (2, FAILED), (3, open), (4, FAILED), (5, FAILED)]);
    assert_eq!(given(&world, CommandKind::KillWorkflow), vec![]);
    waits(&world, 3, 1);
    world.rounds(3);
    assert_eq!(given(&world, CommandKind::KillWorkflow), vec![], "its next attempt waits");
    end(&mut world, 1, &[(3, FAILED)]);
    assert_eq!(given(&world, CommandKind::KillWorkflow).len(), 1);
    world.check();
    let mut none = self::world();
    let all: Vec<(i64, End)> = (1..=5).map(|seq| (seq, BY_SITE)).collect();
    end(&mut none, 0, &all);
    assert_eq!(given(&none, CommandKind::KillWorkflow), vec![], "none says anything");
    none.check();
}

/// A job that runs for ten hours whose probes report neither start nor memory does not go to a slot
/// of a minute.
#[test]
fn what_was_not_measured_is_not_learnt_as_nothing() {
    let shrink = [("kind = \"cms\"", "kind = \"cms\"\nprofile_shrink = true")];
    let unknown = End { started: false, memory: 0, ..DONE };
    for (probe, learnt) in [
        (unknown, vec![]),
        (End { memory: 1_500, ..unknown }, vec![(0.0, 1_650.0)]),
        (End { started: true, ..unknown }, vec![(120.0, 0.0)]),
    ] {
        let mut world = World::with(&shrink);
        settled(&mut world);
        let all: Vec<(i64, End)> = (1..=5).map(|seq| (seq, probe)).collect();
        end(&mut world, 0, &all);
        let profiles = given(&world, CommandKind::Profile);
        let found: Vec<(f64, f64)> = profiles.iter().map(|it| (it.measured, it.limit)).collect();
        assert_eq!(found, learnt);
        world.offer_with("minute", "T2_DE_DESY", |it| it.wall_left_s = 60);
        world.rounds(4);
        assert_eq!(world.matched_jobs(), [""; 0]);
        world.check();
    }
}

/// More test jobs than are kept: the first thousand are they.
#[test]
fn a_thousand_test_jobs_are_enough() {
    let mut world = World::new();
    world.site("T2_DE_DESY", "T2", 100, |_| ());
    let facts = WorkflowFacts { test_jobs: Some(5_000), total_jobs: Some(9_000), ..analysis() };
    world.workflow("240611_ann_skim", "ann", facts);
    world.rounds(3);
    let all: Vec<(i64, End)> = (1..=1_000).map(|seq| (seq, FAILED)).collect();
    end(&mut world, 0, &all);
    assert_eq!(given(&world, CommandKind::KillWorkflow).len(), 1);
    world.check();
}

/// A node of eight cores and 16 GB at each site, whose pilots last for two days.
fn nodes(world: &mut World) {
    for (offer, site) in [("desy", "T2_DE_DESY"), ("pisa", "T2_IT_Pisa")] {
        world.offer_with(offer, site, |it| {
            (it.node, it.cores_free, it.cores_total) = (offer, 8, 8);
            (it.mem_free_mb, it.wall_left_s) = (16_000, 172_800);
            it.expires_at = 1;
        });
    }
    world.rounds(3);
}

/// C-50: what the probes needed no site has: operations are alerted, and the workflow is killed if
/// that is wanted.
#[test]
fn a_workflow_that_no_site_can_host_is_reported_and_killed_on_demand() {
    let kills = ("kind = \"cms\"", "kind = \"cms\"\nkill_if_impossible = true");
    for (changes, killed) in [(&[][..], 0), (&[kills][..], 1)] {
        let mut world = World::with(changes);
        settled(&mut world);
        let needs = End { memory: 40_000, ..DONE };
        let all: Vec<(i64, End)> = (1..=5).map(|seq| (seq, needs)).collect();
        end(&mut world, 0, &all);
        assert_eq!(given(&world, CommandKind::Alert), vec![], "no node is known yet");
        nodes(&mut world);
        let alerts = given(&world, CommandKind::Alert);
        assert_eq!((alerts.len(), alerts[0].notes[0].as_str()), (1, "no_site_can_host"));
        assert_eq!(given(&world, CommandKind::KillWorkflow).len(), killed);
        world.wait(3_000);
        assert_eq!(given(&world, CommandKind::Alert).len(), 1, "once");
        world.check();
    }
    let mut small = world();
    nodes(&mut small);
    let all: Vec<(i64, End)> = (1..=5).map(|seq| (seq, DONE)).collect();
    end(&mut small, 0, &all);
    small.wait(600);
    assert_eq!(given(&small, CommandKind::Alert), vec![], "the nodes can host it");
    small.check();
}
