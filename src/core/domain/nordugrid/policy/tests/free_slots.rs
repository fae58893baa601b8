//! TN-11 to TN-15 and TN-38: free CPUs and the jobs in front.

use super::world::{World, at};

fn world(free_slots: &str) -> World {
    let mut world = World::new();
    world.open("ce-a/q", free_slots);
    world
}

#[test]
fn tn_11_a_job_is_free_if_enough_cpus_last_as_long_as_it_needs() {
    let world = world("6:600 10:60");
    let free_set = |count: u32| {
        world
            .decide("gsid-0001", &format!("&(executable=run)(cputime=120)(count={count})"))
            .free_set
    };
    assert_eq!(free_set(6), ["ce-a/q"]);
    assert!(free_set(7).is_empty());
}

#[test]
fn tn_12_a_job_in_front_takes_cpus_of_its_window_and_shorter_ones() {
    let mut world = world("6:600 10:60");
    world.job("other-1", "ce-a/q", "ACCEPTED", 2, 100);
    assert_eq!((world.free_for("ce-a/q", 120), world.free_for("ce-a/q", 30)), (4, 8));
}

#[test]
fn tn_13_a_short_job_in_front_leaves_the_longer_window_what_the_shorter_one_has() {
    let mut world = world("6:600 10:60");
    world.job("other-1", "ce-a/q", "ACCEPTED", 2, 30);
    assert_eq!((world.free_for("ce-a/q", 60), world.free_for("ce-a/q", 600)), (8, 6));
    world.job("other-1", "ce-a/q", "ACCEPTED", 5, 30);
    assert_eq!((world.free_for("ce-a/q", 60), world.free_for("ce-a/q", 600)), (5, 5));
}

#[test]
fn tn_14_what_is_published_is_made_not_to_grow() {
    let world = world("2 4:25 5:180");
    assert_eq!((world.free_for("ce-a/q", 25), world.free_for("ce-a/q", 180)), (5, 5));
    let unlimited = "&(executable=run)";
    let free = world.look("ce-a/q", unlimited, |it, _, case| it.free_slots(case, &mut Vec::new()));
    assert_eq!(free, 2, "a job that states no time needs CPUs without limit");
}

#[test]
fn tn_15_a_job_in_the_batch_system_counts_until_newer_facts() {
    let mut world = world("10");
    world.job_in_batch("other-1", "ce-a/q", 2, at(5));
    world.now = at(6);
    assert_eq!(world.free_for("ce-a/q", 60), 8);
    world.user("ce-a/q", "10", |it| it.changed_at = at(10));
    world.now = at(11);
    assert_eq!(world.free_for("ce-a/q", 60), 10);
    world.job_in_batch("other-2", "ce-a/q", 3, at(10));
    assert_eq!(world.free_for("ce-a/q", 60), 10, "facts of the same moment contain it");
    world.job_in_batch("other-3", "ce-a/q", 3, at(10) + 1);
    assert_eq!(world.free_for("ce-a/q", 60), 7);
}

#[test]
fn a_job_that_ended_is_not_in_front() {
    let mut world = world("10");
    world.submit("gsid-0001", "&(executable=run)(count=4)");
    assert_eq!(world.free_for("ce-a/q", 60), 6);
    world.job("gsid-0001", "ce-a/q", "ACCEPTED", 4, 60);
    assert_eq!(world.free_for("ce-a/q", 60), 6, "its record and its reservation count once");
    world.job("gsid-0001", "ce-a/q", "FINISHED", 4, 60);
    assert_eq!(world.free_for("ce-a/q", 60), 10);
}

#[test]
fn tn_38_each_of_ten_jobs_takes_a_cpu_and_the_eleventh_finds_none() {
    let mut world = world("10");
    for job in 1..=10 {
        assert_eq!(world.free_for("ce-a/q", 60), 11 - job);
        let answer = world.submit(&format!("gsid-{job:02}"), "&(executable=run)");
        assert_eq!((answer.verdict.as_str(), answer.free_set.len()), ("ce-a/q", 1));
    }
    let answer = world.submit("gsid-11", "&(executable=run)");
    assert_eq!(world.free_for("ce-a/q", 60), 0);
    assert_eq!((answer.verdict.as_str(), answer.free_set.len()), ("ce-a/q", 0));
    assert_eq!(answer.changes.expect("changes").queued_jobs_delta, 1);
}

#[test]
fn the_time_needed_is_cpu_time_then_wall_time_then_the_queue_s_default() {
    let mut world = world("1:600 2:300 3:60");
    let free = |world: &World, xrsl: &str| {
        world.look("ce-a/q", xrsl, |it, _, case| it.free_slots(case, &mut Vec::new()))
    };
    assert_eq!(free(&world, "&(executable=run)(cputime=30)(walltime=500)"), 3);
    assert_eq!(free(&world, "&(executable=run)(walltime=200)"), 2);
    assert_eq!(free(&world, "&(executable=run)"), 0);
    world.queue("ce-a/q", |it| it.default_wall_time_s = Some(36_000));
    assert_eq!(free(&world, "&(executable=run)"), 1);
    world.queue("ce-a/q", |it| it.default_cpu_time_s = Some(60));
    assert_eq!(free(&world, "&(executable=run)"), 3);
    world.cluster("ce-a", |it| it.clock_mhz = Some(2800));
    assert_eq!(free(&world, "&(executable=run)(gridtime=300)"), 2);
    world.cluster("ce-a", |it| it.clock_mhz = Some(2799));
    assert_eq!(free(&world, "&(executable=run)(gridtime=300)"), 1);
}

#[test]
fn facts_of_a_user_at_a_cluster_without_queues_are_forgotten_as_they_were_taken() {
    let mut world = World::new();
    world.open("ce-b", "10");
    let free_set = |world: &World| world.decide("gsid-0001", "&(executable=run)").free_set;
    assert_eq!(free_set(&world), ["ce-b/"]);
    world.forget_user("ce-b");
    assert!(free_set(&world).is_empty());
}
