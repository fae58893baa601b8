//! Records that come again, late or in part (C-09, C-16, C-49, C-50).

use super::world::{World, boosted, central, job, killed, stated, stating};
use crate::domain::cms::policy::decision::{PoolAction, fold_action};
use crate::domain::cms::policy::entry::Standing;
use crate::domain::cms::policy::facts::{FailureClass, PendingJob};
use crate::domain::cms::policy::scaling::Needs;
use crate::domain::cms::state::PoolWorkflow;

fn world() -> World {
    let mut world = World::new();
    world.t2("Y", 20);
    world.t2("Z", 20);
    world.central("w", 0);
    world
}

fn attempt(of: i64) -> PendingJob {
    PendingJob { attempt: of, ..job("j", "w", 1) }
}

#[test]
fn c_09_a_job_that_is_held_does_not_wait_again_in_the_same_attempt() {
    for (known, comes, waits) in [(1, 0, false), (1, 1, false), (1, 2, true)] {
        let mut world = world();
        let mut held = world.held("j", "w", "Y", 1);
        held.job = attempt(known);
        world.pool.put_held(held);
        let before = world.pool.counters().trimmed();
        world.pending(attempt(comes));
        assert_eq!(world.is_pending("j"), waits, "attempt {comes} after {known}");
        assert_eq!(world.pool.counters().trimmed() == before, !waits);
    }
}

#[test]
fn c_09_an_older_attempt_never_overrides_a_newer() {
    let mut world = world();
    world.pending(attempt(2));
    world.pending(attempt(1));
    let mut held = world.held("j", "w", "Y", 1);
    held.job = attempt(1);
    world.pool.put_held(held);
    let Some(Standing::Pending(job)) = world.pool.job("j") else { panic!("it waits") };
    assert_eq!(job.attempt, 2);
}

fn known(world: &World) -> PoolWorkflow {
    let entry = world.pool.name("w").and_then(|it| world.pool.workflow(it)).expect("it");
    entry.known.clone()
}

#[test]
fn c_16_a_tail_stays_boosted() {
    let mut world = world();
    let tail = PoolWorkflow { done: 990, ..central("w", 10) };
    world.workflow(tail.clone());
    world.many("w", 3);
    assert_eq!(boosted(&world.cut()), ["w"]);
    let grown = stating(tail, |it| it.total_jobs = Some(5_000));
    world.workflow(grown);
    assert!(known(&world).boosted);
    assert!(boosted(&world.cut()).is_empty(), "once");
    world.central("other", 899_999);
    world.many("other", 1);
    assert_eq!(world.one_by_one("Y", 1), ["w1"]);
}

#[test]
fn c_49_a_workflow_that_was_killed_is_not_killed_again() {
    let mut world = world();
    let probe = stating(central("w", 0), |it| it.test_jobs = Some(1));
    world.workflow(probe.clone());
    world.failed("w", 1, "Y", FailureClass::Payload);
    assert_eq!(killed(&world.cut()), ["w"]);
    world.workflow(probe);
    assert!(known(&world).killed);
    assert!(killed(&world.cut()).is_empty());
}

#[test]
fn what_decisions_state_of_a_workflow_outlives_its_records() {
    let mut world = world();
    let learnt = Needs { wall_s: 7, rss_mb: 8 };
    let workflow = || "w".to_owned();
    for action in [
        PoolAction::Alert { workflow: workflow(), reason: "test_failed_100pct" },
        PoolAction::ProfileUpdated { workflow: workflow(), profile: learnt },
    ] {
        fold_action(&mut world.pool, &action);
    }
    world.central("w", 7);
    let found = known(&world);
    assert_eq!(found.priority, Some(stated(0, 7, false)), "the record itself is the new one");
    assert_eq!((found.alerted, found.profile), (true, Some((7, 8))));
    let mut closed = central("w", 7);
    closed.record.as_mut().expect("a record").closed = true;
    world.workflow(closed.clone());
    assert_eq!(known(&world).record, closed.record, "a later state wins");
    world.workflow(PoolWorkflow { profile: Some((70, 80)), ..central("w", 7) });
    assert_eq!(known(&world).profile, Some((70, 80)), "and what a record states itself");
}
