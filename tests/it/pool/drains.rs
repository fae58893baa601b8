//! Which nodes are drained for which jobs (C-55, C-56): jobs of WMAgent on eight cores, pilots of
//! eight cores with 2 GB each.

use super::*;
use yardmaster::core::output::command::{Command, CommandKind};

/// A node, and where it is.
const NODE: &str = "glidein-1";
const SITE: &str = "T2_DE_DESY";
/// From one pilot of a site that passes by to the next, s.
const PASSES: i64 = 600;

fn world() -> World {
    world_with(&[])
}

fn world_with(changes: &[(&str, &str)]) -> World {
    let mut world = World::with(changes);
    for site in [SITE, "T2_US_Nebraska"] {
        world.site(site, "T2", 100, |_| ());
    }
    world.user("cmsdataops", &["production"], &[]);
    let small = WorkflowFacts { priority: 85_000, priority_revision: 1, ..central() };
    world.workflow("small", "cmsdataops", small);
    let wide = WorkflowFacts { priority: 110_000, priority_revision: 1, ..central() };
    world.workflow("wide", "cmsdataops", wide);
    world.rounds(3);
    world
}

fn given(world: &World, kind: CommandKind) -> Vec<Command> {
    let is_given = |it: &Command| it.kind == kind && it.is_order() && it.repeat == 0;
    world.yard.commands().into_iter().filter(is_given).collect()
}

fn drained(world: &World) -> Vec<String> {
    given(world, CommandKind::Drain).into_iter().map(|it| it.subject).collect()
}

/// A pilot offers a node of eight cores; time is in s, memory in MB.
fn offers(world: &World, offer: &str, node: &str, (cores, memory, time): (i64, i64, i64)) {
    world.offer_with(offer, SITE, |it| {
        (it.node, it.cores_free, it.cores_total) = (node, cores, 8);
        (it.mem_free_mb, it.wall_left_s) = (memory, time);
    });
}

/// A node whose eight cores run jobs of one core, with a pilot that lasts so long.
fn busy(world: &mut World, node: &str, time: i64) {
    for at in 0..8 {
        let job = format!("{node}-{at}");
        world.job(&job, "small", Status::Pending, |_, wants| {
            (wants.max_wall_time_s, wants.max_rss_mb) = (Some(36_000), Some(2_000));
        });
    }
    world.rounds(2);
    offers(world, &format!("at-{node}"), node, (8, 16_000, time));
    world.rounds(3);
    let start = world.yard.now;
    for at in 0..8 {
        world.job(&format!("{node}-{at}"), "small", Status::Running, |state, _| {
            (state.queue, state.started_at) = (SITE, start);
        });
    }
    world.rounds(2);
}

/// A job as WMAgent has it: 8 cores, 15.9 GB, 8 hours.
fn wide(world: &World, job: &str, change: impl FnOnce(&mut Requirements<&str>)) {
    world.job(job, "wide", Status::Pending, |_, wants| {
        (wants.cores_min, wants.max_rss_mb) = (8, Some(15_900));
        (wants.max_wall_time_s, wants.site_whitelist) = (Some(28_800), Some(SITE));
        change(wants);
    });
}

/// Time passes while pilots of the site pass by that have room for nobody: commands are held back
/// where no pilot reports.
fn pass(world: &mut World, seconds: i64) {
    for _ in 0..seconds / PASSES {
        world.offer_with(&format!("pass-{}", world.yard.now), SITE, |it| it.wall_left_s = 1);
        world.wait(PASSES);
    }
}

#[test]
fn a_node_is_drained_for_a_job_that_fits_but_for_the_cores() {
    let mut world = world();
    busy(&mut world, NODE, 172_800);
    wide(&world, "wide-1", |_| ());
    pass(&mut world, 3_000);
    assert_eq!(drained(&world), [""; 0], "not within the hour");
    pass(&mut world, 1_200);
    assert_eq!(drained(&world), [NODE]);
    world.check();
}

/// Counts of public reports: 721 jobs at once asked for what no pilot has.
#[test]
fn no_node_is_drained_for_jobs_that_fit_none() {
    type Ask = fn(&mut Requirements<&str>);
    let never: [(&str, Ask); 4] = [
        ("memory", |it| it.max_rss_mb = Some(64_000)),
        ("time", |it| it.max_wall_time_s = Some(172_000)),
        ("cores", |it| it.cores_min = 64),
        ("whitelist", |it| it.site_whitelist = Some("T2_US_Nebraska")),
    ];
    for (what, ask) in never {
        let mut world = world();
        busy(&mut world, NODE, 172_800);
        for at in 0..20 {
            wide(&world, &format!("wide-{at}"), ask);
        }
        pass(&mut world, 9_000);
        assert_eq!(drained(&world), [""; 0], "{what}");
        world.check();
    }
}

#[test]
fn no_node_is_drained_at_a_site_that_takes_no_jobs_of_the_class() {
    let mut world = world();
    busy(&mut world, NODE, 172_800);
    let closed = |it: &mut SlotQuota| {
        (it.revision, it.pledged_slots, it.surplus_central) = (2, 0, Some(false));
    };
    world.site(SITE, "T2", 0, closed);
    wide(&world, "wide-1", |_| ());
    pass(&mut world, 6_000);
    assert_eq!(drained(&world), [""; 0]);
    world.check();
}

/// A pilot that is gone costs nothing, and gives nothing.
#[test]
fn nodes_of_pilots_that_are_gone_are_not_drained() {
    let mut world = world();
    offers(&world, "lost", "glidein-0", (4, 64_000, 172_800));
    world.rounds(3);
    world.yard.pass(7_200 * S);
    world.rounds(2);
    busy(&mut world, NODE, 172_800);
    wide(&world, "wide-1", |_| ());
    wide(&world, "wide-2", |_| ());
    pass(&mut world, 9_000);
    assert_eq!(drained(&world), [NODE]);
    world.check();
}

/// A job that came while no pilot of its sites offered anything has not failed to fit.
#[test]
fn a_job_that_no_offer_was_tried_for_drains_nothing() {
    let mut world = world_with(&[("kind = \"cms\"", "kind = \"cms\"\ndrain_wait_s = 300")]);
    busy(&mut world, NODE, 172_800);
    world.yard.pass(S);
    wide(&world, "wide-1", |_| ());
    world.offer("far", "T2_US_Nebraska", 1);
    world.wait(600);
    let all = world.yard.commands();
    assert!(all.iter().all(|it| it.kind != CommandKind::Drain), "held back neither: {all:#?}");
    pass(&mut world, PASSES);
    assert_eq!(drained(&world), [NODE]);
    world.check();
}

/// A node is let go when the workflow of its job ends, and none is drained for that workflow.
#[test]
fn a_node_is_let_go_with_the_workflow_of_its_job() {
    let mut world = world();
    busy(&mut world, NODE, 172_800);
    wide(&world, "wide-1", |_| ());
    wide(&world, "wide-2", |_| ());
    pass(&mut world, 4_200);
    assert_eq!(drained(&world), [NODE]);
    world.task("wide", "cmsdataops", TaskPhase::Ended, central());
    world.rounds(5);
    assert_eq!(given(&world, CommandKind::Undrain).len(), 1);
    pass(&mut world, 9_000);
    assert_eq!(drained(&world), [NODE], "once");
    world.check();
}

/// The jobs of a node end, and what is free of it is offered.
fn node_is_free(world: &mut World, memory: i64) {
    let end = world.yard.now;
    for at in 0..8 {
        world.job(&format!("{NODE}-{at}"), "small", Status::Finished, |state, _| {
            (state.queue, state.started_at, state.ended_at) = (SITE, end - 1, end);
        });
    }
    world.rounds(2);
    offers(world, "ready", NODE, (8, memory, 160_000));
    world.rounds(4);
}

/// Jobs that go before all others do not take the node in parts once it is ready.
#[test]
fn the_job_takes_its_node_in_the_cut_in_which_it_fits() {
    let mut world = world();
    busy(&mut world, NODE, 172_800);
    wide(&world, "wide-1", |_| ());
    pass(&mut world, 4_200);
    assert_eq!(drained(&world), [NODE]);
    for at in 0..3 {
        world.job(&format!("merge-{at}"), "small", Status::Pending, |_, wants| {
            (wants.system_job, wants.max_wall_time_s) = (true, Some(600));
            (wants.site_whitelist, wants.max_rss_mb) = (Some(SITE), Some(1_000));
        });
    }
    node_is_free(&mut world, 16_000);
    assert_eq!(world.matched_jobs().last().map(String::as_str), Some("wide-1"));
    let cores: i64 =
        world.decided("ready").iter().filter_map(|it| it.matched.as_ref()).map(|it| it.cores).sum();
    assert_eq!(cores, 8);
    world.check();
}

/// A node that turns out to be too small for its job is let go at once, not after a day.
#[test]
fn a_node_that_is_ready_and_does_not_fit_is_let_go() {
    let mut world = world();
    busy(&mut world, NODE, 172_800);
    wide(&world, "wide-1", |_| ());
    pass(&mut world, 4_200);
    assert_eq!(drained(&world), [NODE]);
    world.pending("after", "small");
    node_is_free(&mut world, 15_000);
    assert_eq!(given(&world, CommandKind::Undrain).len(), 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs().last().map(String::as_str), Some("after"));
    world.check();
}
