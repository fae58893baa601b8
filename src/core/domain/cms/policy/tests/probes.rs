//! Test jobs of workflows (C-47..C-51).

use super::world::{World, analysis, central, end_job, job, jobs, killed, stating};
use crate::domain::cms::policy::admission::Admission;
use crate::domain::cms::policy::decision::PoolAction;
use crate::domain::cms::policy::facts::{Band, FailureClass, PerClass};
use crate::domain::cms::policy::scaling::Needs;
use crate::domain::cms::policy::settings::Settings;
use crate::domain::cms::state::{PoolEnded, PoolWorkflow};
use FailureClass::{Infrastructure, Payload};

fn world() -> World {
    let mut world = World::new();
    world.t2("Y", 200);
    world.t2("Z", 200);
    world
}

/// A workflow of analysis with so many test jobs.
fn probe(name: &str, test_jobs: i64, total: i64) -> PoolWorkflow {
    stating(analysis(name, "ann"), |it| {
        (it.test_jobs, it.total_jobs) = (Some(test_jobs), Some(total));
    })
}

#[test]
fn tc_35_a_test_job_before_the_highest_priority() {
    let mut world = world();
    world.workflow(stating(central("new", 0), |it| it.test_jobs = Some(1)));
    world.central("urgent", 999_999);
    world.many("new", 2);
    world.many("urgent", 1);
    assert_eq!(world.one_by_one("Y", 3), ["new1", "urgent1", "new2"]);
}

#[test]
fn tc_36_all_test_jobs_failed() {
    let mut world = world();
    world.workflow(probe("w", 5, 8));
    for seq in 1..=4 {
        world.failed("w", seq, if seq < 3 { "Y" } else { "Z" }, Payload);
    }
    for seq in 5..=8 {
        world.pending(job(&format!("w{seq}"), "w", seq));
    }
    assert!(world.cut().actions.is_empty());
    world.pool.remove_job("w5");
    world.failed("w", 5, "Z", Payload);
    let cut = world.cut();
    let expected = PoolAction::Kill {
        workflow: "w".to_owned(),
        reason: "test_failed_100pct",
        pending_jobs: ["w6", "w7", "w8"].map(Into::into).to_vec(),
    };
    assert_eq!(cut.actions, [expected]);
    assert!((6..=8).all(|seq| world.pool.job(&format!("w{seq}")).is_none()));
    assert!(world.cut().actions.is_empty(), "once");
}

#[test]
fn tc_37_failures_of_the_infrastructure_do_not_count() {
    let mut world = world();
    world.workflow(probe("w", 5, 8));
    for seq in 1..=5 {
        world.failed("w", seq, "Y", if seq <= 2 { Payload } else { Infrastructure });
    }
    assert!(world.cut().actions.is_empty());
    for seq in 3..=5 {
        let mut retry = job(&format!("w{seq}"), "w", seq);
        retry.attempt = 1;
        world.pending(retry);
    }
    world.central("urgent", 999_999);
    world.many("urgent", 1);
    world.offer("o", "Z", 3);
    let cut = world.cut();
    assert_eq!(jobs(&cut), ["w3", "w4", "w5"]);
    assert!(cut.assignments.iter().all(|it| it.matched.band == Band::Test), "still test jobs");
}

#[test]
fn tc_38_a_workflow_smaller_than_its_tests() {
    let mut world = world();
    world.workflow(probe("w", 5, 3));
    for (seq, site) in [(1, "Y"), (2, "Z"), (3, "Y")] {
        world.failed("w", seq, site, Payload);
    }
    assert_eq!(killed(&world.cut()), ["w"]);
    let entry = world.pool.name("w").and_then(|it| world.pool.workflow(it)).expect("it");
    assert!(entry.known.killed);
}

#[test]
fn c_49_failures_at_one_site_are_not_enough_where_others_are_possible() {
    let mut world = world();
    world.workflow(probe("w", 2, 8));
    world.failed("w", 1, "Y", Payload);
    world.failed("w", 2, "Y", Payload);
    world.pending(job("w3", "w", 3));
    assert!(killed(&world.cut()).is_empty());
    world.workflow(probe("one", 1, 8));
    world.failed("one", 1, "Y", Payload);
    assert_eq!(killed(&world.cut()), ["one"], "waived where there is one test job");
}

#[test]
fn c_49_an_alert_where_nothing_is_killed() {
    let auto_kill = PerClass { central: true, analysis: false };
    let mut world = World::with(Settings { auto_kill, ..Settings::default() });
    world.t2("Y", 20);
    world.workflow(probe("w", 1, 8));
    world.failed("w", 1, "Y", Payload);
    let (workflow, reason) = ("w".to_owned(), "test_failed_100pct");
    assert_eq!(world.cut().actions, [PoolAction::Alert { workflow, reason }]);
    assert!(world.cut().actions.is_empty(), "once");
}

#[test]
fn c_50_needs_are_learnt() {
    let mut world = world();
    world.workflow(probe("w", 2, 8));
    let end = |seq: i64, wall_s, rss_mb| {
        let (job, site) = (format!("w{seq}"), "Y".to_owned());
        PoolEnded { job, site, wall_s, rss_mb, ..PoolEnded::default() }
    };
    end_job(&mut world.pool, "w", 1, end(1, 50_000, 1_000));
    let workflow = || "w".to_owned();
    assert_eq!(world.cut().actions, [], "one of two is not all");
    end_job(&mut world.pool, "w", 2, end(2, 1_000, 3_000));
    let profile = Needs { wall_s: 60_000, rss_mb: 3_300 };
    let expected = PoolAction::ProfileUpdated { workflow: workflow(), profile };
    assert_eq!(world.cut().actions, [expected]);
    world.pending(job("w3", "w", 3));
    world.offer("o", "Y", 1);
    let cut = world.cut();
    let matched = &cut.assignments[0].matched;
    assert_eq!((matched.wall_time_s, matched.rss_mb), (60_000, 3_300));
}

#[test]
fn tc_53_a_user_has_so_many_test_jobs_at_once() {
    let mut world = world();
    for at in 1..=60 {
        let name = format!("w{at:02}");
        world.workflow(probe(&name, 1, 1));
        world.many(&name, 1);
    }
    for at in 0..60 {
        world.offer(&format!("o{at}"), "Y", 1);
    }
    let cut = world.cut();
    let of_band = |band| cut.assignments.iter().filter(|it| it.matched.band == band).count();
    assert_eq!((of_band(Band::Test), of_band(Band::Normal)), (50, 10));
}

#[test]
fn c_47_the_first_test_job_has_place_1() {
    let mut world = world();
    world.workflow(probe("w", 2, 8));
    for (seq, is_member) in [(-1, false), (0, false), (1, true), (2, true), (3, false)] {
        let job = job("j", "w", seq);
        let Admission::Accept(admitted) = world.admit(&job) else { panic!("accepted") };
        assert_eq!(admitted.test_member, is_member, "admission of {seq}");
        world.pending(job);
        let cluster = &world.pool.clusters()[0];
        assert_eq!(cluster.signature.test_member, is_member, "place {seq}");
    }
}

#[test]
fn c_49_only_test_jobs_that_ended_are_looked_at() {
    let mut world = world();
    world.workflow(stating(probe("w", i64::MAX, 0), |it| it.total_jobs = None));
    world.failed("w", 0, "Y", Payload);
    world.failed("w", 7, "Y", Payload);
    assert!(world.cut().actions.is_empty(), "in a moment, whatever number is stated");
}
