//! The work of a pool's cycle is bounded by numbers: the rest is done in the next cycles, in the
//! same order, by the process that leads then.

use super::restarts::Story;
use super::*;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::budget::CycleLoop;
use yardmaster::core::output::command::CommandKind;

/// The topology with limits of its own.
fn world(limits: &str) -> World {
    let mut world = World::with(&[("domain = \"cms\"\n", &with_limits(limits))]);
    world.site("T1_A", "T1", 100, |_| ());
    world.site("T2_B", "T2", 100, |_| ());
    world.user("ops", &["production"], &[]);
    for workflow in ["one", "two", "wide"] {
        world.workflow(workflow, "ops", central());
    }
    world.rounds(3);
    world
}

fn with_limits(limits: &str) -> String {
    format!("domain = \"cms\"\n[limits]\n{limits}\n")
}

/// How often a loop's budget left work, so far.
fn exceeded(world: &mut World, of: CycleLoop) -> u64 {
    world.drive.take_report().exceeded.of(of)
}

/// By cycle: how many decisions it made.
fn by_cycle(decisions: &[Decision]) -> BTreeMap<u64, usize> {
    let mut cycles = BTreeMap::new();
    decisions.iter().for_each(|it| *cycles.entry(it.cycle).or_default() += 1);
    cycles
}

/// Jobs of two kinds that fit nowhere, and one that fits where the last offer is.
fn offers(limits: &str) -> (Vec<String>, BTreeMap<u64, usize>, u64) {
    let mut world = world(limits);
    for workflow in ["one", "two"] {
        world.job(workflow, workflow, Status::Activated, |_, wants| wants.cores_min = 64);
    }
    for at in 0..12 {
        let site = if at % 2 == 0 { "T2_B" } else { "T1_A" };
        world.offer(&format!("o-{at:02}"), site, 1);
    }
    for _ in 0..10 {
        world.rounds(2);
    }
    let deferred = world.yard.decisions();
    let order: Vec<String> = deferred.iter().map(|it| it.subject.clone()).collect();
    // All offers are idle. One that a job fits is found, whichever it is.
    for (job, site) in [("a", "T1_A"), ("b", "T2_B")] {
        world.job(job, "one", Status::Activated, |_, wants| wants.site_whitelist = Some(site));
    }
    for _ in 0..30 {
        world.rounds(1);
    }
    assert_eq!(world.matched_jobs().into_iter().collect::<BTreeSet<_>>(), names(["a", "b"]));
    let times = exceeded(&mut world, CycleLoop::Offers);
    // When all are looked at and nothing changes, nothing is left for later.
    world.rounds(40);
    exceeded(&mut world, CycleLoop::Offers);
    world.rounds(40);
    assert_eq!(exceeded(&mut world, CycleLoop::Offers), 0);
    let cycles = by_cycle(&deferred);
    world.check();
    (order, cycles, times)
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

#[test]
fn offers_beyond_what_a_cycle_compares_are_answered_in_the_next_ones() {
    let (all, at_once, times) = offers("");
    assert_eq!((all.len(), at_once.len(), times), (12, 1, 0));
    assert!(all[..6].iter().all(|it| !it.ends_with(['0', '2', '4', '6', '8'])), "{all:?}");
    // Two kinds of jobs: six comparisons are three offers.
    let (order, cycles, times) = offers("pool_comparisons_per_cycle = 6");
    assert_eq!(order, all);
    assert_eq!(cycles.into_values().collect::<Vec<_>>(), [3; 4]);
    assert!(times >= 3, "{times}");
    let (order, cycles, _) = offers("pool_comparisons_per_cycle = 1");
    assert_eq!(order, all);
    assert_eq!(cycles.into_values().collect::<Vec<_>>(), [1; 12]);
}

#[test]
fn jobs_without_a_workflow_are_refused_as_many_in_a_cycle_as_it_judges() {
    let mut world = world("judgements_per_cycle = 2");
    for job in ["e", "c", "d", "a", "b"] {
        world.pending(job, "unknown");
        world.yard.pass(S);
        world.rounds(1);
    }
    world.wait(300);
    // In the meantime the hold is nothing that a cycle looks at.
    assert_eq!(world.yard.decisions(), vec![]);
    world.yard.pass(700 * S);
    // One that cannot run at all goes first.
    world.job("z", "one", Status::Activated, |_, wants| wants.cores_min = 0);
    world.rounds(5);
    let refused = world.yard.decisions();
    let order: Vec<&str> = refused.iter().map(|it| it.subject.as_str()).collect();
    assert_eq!(order, ["z", "e", "c", "d", "a", "b"]);
    assert_eq!(by_cycle(&refused).into_values().collect::<Vec<_>>(), [2; 3]);
    assert_eq!(world.rejection("a").as_deref(), Some("workflow_unknown"));
    assert_eq!(exceeded(&mut world, CycleLoop::Judgements), 2);
    world.check();
}

/// C-02: a record that comes in time lets the jobs in.
#[test]
fn a_job_whose_workflow_comes_is_not_refused_later() {
    let mut world = world("judgements_per_cycle = 1");
    world.pending("early", "later");
    world.pending("never", "unknown");
    world.wait(300);
    world.workflow("later", "ops", central());
    world.rounds(3);
    world.wait(900);
    world.offer("o", "T2_B", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["early"]);
    assert_eq!(world.rejection("never").as_deref(), Some("workflow_unknown"));
    assert_eq!(world.rejection("early"), None);
    world.check();
}

/// Many kinds of large jobs that may run nowhere, queued before the one that a node can be drained
/// for. Returns the jobs that nodes were drained for, and how often there were too many kinds.
fn drains(limits: &str) -> (Vec<Vec<String>>, u64) {
    let mut world = world(limits);
    world.offer_with("n", "T2_B", |it| {
        (it.node, it.cores_free, it.cores_total) = ("node-1", 4, 8);
    });
    for at in 0..4 {
        world.pending(&format!("small-{at}"), "one");
    }
    world.rounds(3);
    for at in 0..4 {
        let start = world.yard.now;
        world.job(&format!("small-{at}"), "one", Status::Running, |state, _| {
            (state.queue, state.started_at) = ("T2_B", start);
        });
    }
    for at in 0..10 {
        world.job(&format!("nowhere-{at}"), "wide", Status::Activated, |_, wants| {
            (wants.cores_min, wants.max_rss_mb) = (8, Some(1_000 + at));
            wants.site_whitelist = Some("T1_A");
        });
    }
    world.job("somewhere", "wide", Status::Activated, |_, wants| {
        (wants.cores_min, wants.max_wall_time_s) = (8, Some(28_800));
    });
    for at in 0..6 {
        world.offer_with(&format!("short-{at}"), "T2_B", |it| it.wall_left_s = 1);
        world.wait(700);
    }
    let given = world.yard.commands().into_iter().filter(|it| it.kind == CommandKind::Drain);
    let given = given.map(|command| command.jobs).collect();
    let times = exceeded(&mut world, CycleLoop::Drains);
    world.check();
    (given, times)
}

#[test]
fn a_node_is_drained_for_the_one_job_of_many_that_fits_whatever_a_cycle_compares() {
    let wanted = vec![vec!["somewhere".to_owned()]];
    assert_eq!(drains(""), (wanted.clone(), 0));
    let (given, times) = drains("pool_comparisons_per_cycle = 2");
    assert_eq!(given, wanted);
    assert!(times > 0);
}

#[test]
fn where_a_cycle_stopped_is_known_to_a_process_that_starts() {
    let (mut matched, mut times) = (0, 0);
    for (seed, limits) in [
        (21, "pool_comparisons_per_cycle = 1"),
        (22, "pool_comparisons_per_cycle = 2"),
        (23, "pool_comparisons_per_cycle = 4"),
        (24, "pool_comparisons_per_cycle = 1\njudgements_per_cycle = 2"),
        (25, "pool_comparisons_per_cycle = 1"),
        (26, "pool_comparisons_per_cycle = 2"),
    ] {
        let mut story = Story::of(seed, &[("domain = \"cms\"\n", &with_limits(limits))]);
        (0..250).for_each(|_| story.step());
        story.world.rounds(3);
        matched += story.world.matches().len();
        times += exceeded(&mut story.world, CycleLoop::Offers);
        story.world.check();
    }
    assert!(matched > 100 && times > 100, "{matched} {times}");
}

/// A job comes that fits one of many idle offers. Where a process begins, from a store of any
/// moment while they are looked at one part a cycle, it makes the same decisions.
#[test]
fn a_process_that_starts_in_the_middle_of_the_turns_goes_on_with_them() {
    for fitting in [0, 3, 6, 9, 12, 15] {
        let mut world = world("pool_comparisons_per_cycle = 4\ncheckpoint_interval_ms = 10");
        world.job("huge", "one", Status::Activated, |_, wants| wants.cores_min = 64);
        for at in 0..16 {
            let cores = if at == fitting { 3 } else { 1 };
            world.offer(&format!("o-{at:02}"), "T2_B", cores);
        }
        (0..10).for_each(|_| world.rounds(1));
        assert_eq!(world.yard.decisions().len(), 16);
        world.job("three", "two", Status::Activated, |_, wants| wants.cores_min = 3);
        while world.matched_jobs().is_empty() {
            world.rounds(1);
        }
        world.rounds(3);
        world.drive.finish(world.yard.now).unwrap();
        let all = world.drive.store().clone();
        let from = |count| world.verify_from(all.older(count));
        let made: Vec<u64> = (all.count().saturating_sub(60)..all.count()).map(from).collect();
        assert!(made.contains(&1), "{made:?}");
        world.drive = drive(&world.yard, &world.text, "next", PaperStore::default(), false);
        (0..20).for_each(|_| world.rounds(1));
        world.check();
    }
}
