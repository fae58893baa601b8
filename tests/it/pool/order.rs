//! Which jobs go where and count for what: T1 first, hosts that are offline, system jobs of users,
//! ends by a job's own limits (C-05, C-16, C-17, C-38).

use super::*;
use yardmaster::core::explain::explain_pool_name;
use yardmaster::core::output::command::CommandKind;

fn world_with(changes: &[(&str, &str)]) -> World {
    let mut world = World::with(changes);
    world.site("T1_DE_KIT", "T1", 100, |_| ());
    world.site("T2_DE_DESY", "T2", 100, |_| ());
    world.user("cmsdataops", &["production"], &[]);
    world.workflow("B2G-Run3", "cmsdataops", central());
    world.workflow("240611_ann_skim", "ann", analysis());
    world.rounds(3);
    world
}

fn world() -> World {
    world_with(&[])
}

/// C-17: pilots of a T1 and of a T2 seldom report in the same cut.
#[test]
fn central_jobs_wait_for_a_t1_for_a_while() {
    let mut world = world();
    world.offer("full", "T1_DE_KIT", 1);
    world.pending("first", "B2G-Run3");
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["first"]);
    world.pending("second", "B2G-Run3");
    world.pending("probe", "240611_ann_skim");
    world.offer("t2", "T2_DE_DESY", 2);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["first", "probe"], "jobs of users do not wait");
    world.wait(20);
    world.offer("t1", "T1_DE_KIT", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs().last().map(String::as_str), Some("second"));
    assert_eq!(world.decided("t1").len(), 1);
    // Nobody waits for ever: neither by its own age, nor for a T1 that offers nothing any more.
    world.pending("third", "B2G-Run3");
    world.wait(290);
    assert_eq!(world.matched_jobs().len(), 3);
    world.wait(30);
    assert_eq!(world.matched_jobs().last().map(String::as_str), Some("third"));
    world.pending("fourth", "B2G-Run3");
    world.offer("next", "T2_DE_DESY", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs().last().map(String::as_str), Some("fourth"));
    world.check();
}

/// C-38: the storage of a host that is offline serves nobody.
#[test]
fn a_host_that_is_offline_has_no_overflow_slots() {
    for (status, matched) in [
        (yardmaster::core::event::SiteStatus::Offline, 0),
        (yardmaster::core::event::SiteStatus::Drain, 1),
    ] {
        let mut world = world();
        world.site("T2_IT_Pisa", "T2", 100, |it| (it.status, it.overflow_slots) = (status, 50));
        world.rounds(2);
        world.job("far", "240611_ann_skim", Status::Pending, |_, wants| {
            (wants.site_whitelist, wants.allow_overflow) = (Some("T2_IT_Pisa"), Some(true));
        });
        world.rounds(2);
        world.wait(1_300);
        world.offer("o", "T2_DE_DESY", 1);
        world.rounds(3);
        assert_eq!(world.matched_jobs().len(), matched, "{status:?}");
        world.check();
    }
}

/// C-05: a user without a role may have so many system jobs at once, and others like any job.
#[test]
fn users_have_so_many_system_jobs_at_once() {
    let flagged = |world: &World, job: &str| {
        world.job(job, "240611_ann_skim", Status::Pending, |_, wants| wants.system_job = true);
    };
    let mut strict = world();
    flagged(&strict, "merge");
    strict.rounds(3);
    assert_eq!(strict.rejection("merge").as_deref(), Some("system_flag_unauthorised"));
    strict.check();
    let mut world = world_with(&[("kind = \"cms\"", "kind = \"cms\"\nsystem_cap_user = 2")]);
    (0..4).for_each(|at| flagged(&world, &format!("merge-{at}")));
    world.offer("o", "T2_DE_DESY", 4);
    world.rounds(3);
    let bands = world.matches().into_iter().map(|(_, matched)| matched.band.name());
    assert_eq!(bands.collect::<Vec<_>>(), ["system", "system", "normal", "normal"]);
    world.check();
}

/// C-16: a job that its own limits end is tried again; one that somebody removes is not.
#[test]
fn an_end_by_its_own_limits_is_a_failed_try() {
    let mut world = world();
    world.workflow("tail", "cmsdataops", WorkflowFacts { total_jobs: Some(20), ..central() });
    world.pending("tail-19", "tail");
    let over = |world: &World, at: usize, failure: Option<FailureClass>, is_last: bool| {
        let end = world.yard.now;
        world.job(&format!("tail-{at:02}"), "tail", Status::Cancelled, |state, wants| {
            (state.queue, state.started_at, state.ended_at) = ("T2_DE_DESY", end - 60 * S, end);
            (wants.failure, wants.last_attempt) = (failure, is_last);
        });
    };
    (0..18).for_each(|at| over(&world, at, None, false));
    over(&world, 18, Some(FailureClass::Payload), false);
    world.rounds(5);
    let tally = |world: &World| {
        let known = world.drive.state().pool.workflows.of("tail").unwrap();
        (known.done, known.failed_final)
    };
    assert_eq!(tally(&world), (0, 18));
    let boosts = |world: &World| {
        world.yard.commands().into_iter().filter(|it| it.kind == CommandKind::Boost).count()
    };
    assert_eq!(boosts(&world), 0);
    over(&world, 18, Some(FailureClass::Payload), true);
    world.rounds(3);
    assert_eq!(tally(&world), (0, 18), "of an attempt the first end counts");
    world.check();
}

/// C-14: HTCondor's JobPrio is changed in place; the newest counts.
#[test]
fn a_priority_is_lowered_without_a_revision() {
    let mut world = world();
    let stated = |world: &World, name: &str, priority: i64| {
        world.workflow(name, "cmsdataops", WorkflowFacts { priority, ..central() });
    };
    stated(&world, "high", 110_000);
    stated(&world, "low", 85_000);
    world.pending("a", "high");
    world.pending("b", "low");
    world.rounds(3);
    world.yard.pass(S);
    stated(&world, "high", 63_000);
    world.rounds(3);
    world.offer("o", "T2_DE_DESY", 1);
    world.rounds(3);
    assert_eq!(world.matched_jobs(), ["b"]);
    let (_, matched) = world.matches().pop().unwrap();
    let second = matched.second.expect("another fits");
    assert_eq!((&*second.job, &*second.workflow, &*second.key), ("a", "high", "minus_priority"));
    assert_eq!((&*second.of_match, &*second.of_second), ("-85000", "-63000"));
    let text = explain_pool_name(world.drive.engine(), "high").unwrap();
    for part in ["high: a workflow, central", "priority  63000 (as of", "jobs      1 wait, 0 have"]
    {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    world.check();
}
