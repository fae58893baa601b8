//! TN-34, TN-35 and TN-40: targets that refuse, and alternatives.

use super::world::World;

const JOB: &str = "&(executable=run)";

fn world() -> World {
    let mut world = World::new();
    world.open("ce-a/q", "4");
    world.open("ce-a/r", "4");
    world.open("ce-b/q", "8");
    world
}

/// The target refuses the job: its outcome is folded, the next attempt excludes it.
fn refuse(world: &mut World, target: &str) {
    world.refuse("gsid-0001", world.attempt);
    world.excluded.push(target.to_owned());
    world.attempt += 1;
}

#[test]
fn tn_34_after_a_refusal_the_rest_is_tried_by_a_new_draw() {
    let mut world = world();
    let first = world.submit("gsid-0001", JOB);
    assert_eq!(first.draw().map(|it| it.1), Some(16));
    let target = first.verdict.clone();
    assert!(world.free_for(&target, 1) < world.decide("gsid-0002", JOB).free_set.len() as u64 * 8);
    refuse(&mut world, &target);
    let free: Vec<u64> = ["ce-a/q", "ce-a/r", "ce-b/q"].map(|it| world.free_for(it, 1)).into();
    assert_eq!(free, [4, 4, 8], "the reservation is released");
    let second = world.submit("gsid-0001", JOB);
    assert_eq!(second.refused[&target], "excluded");
    assert_ne!(second.verdict, target);
    let draw = &second.decision.tried[0].chosen.as_ref().expect("a target").draw;
    assert_eq!(draw.as_ref().map(|it| it.attempt), Some(1));
}

#[test]
fn tn_34_another_queue_of_the_same_cluster_stays_in() {
    let mut world = world();
    refuse(&mut world, "ce-a/q");
    refuse(&mut world, "ce-b/q");
    assert_eq!(world.submit("gsid-0001", JOB).verdict, "ce-a/r");
}

#[test]
fn tn_35_if_all_refuse_no_target_is_left_and_nothing_is_held() {
    let mut world = world();
    let before = world.facts.ahead.clone();
    for _ in 0..3 {
        let target = world.submit("gsid-0001", JOB).verdict;
        refuse(&mut world, &target);
    }
    let answer = world.submit("gsid-0001", JOB);
    assert_eq!((answer.verdict.as_str(), answer.refused.len()), ("no_target_left", 3));
    assert!(world.facts.ahead.has_sums_of(&before));
}

#[test]
fn tn_40_the_second_alternative_is_tried_if_the_first_has_no_target() {
    let mut world = world();
    let xrsl = "&(executable=run)(|(queue=long)(queue=r)(queue=q))";
    let answer = world.decide("gsid-0001", xrsl);
    assert_eq!((answer.verdict.as_str(), answer.decision.tried.len()), ("ce-a/r", 2));
    refuse(&mut world, "ce-a/r");
    let answer = world.decide("gsid-0001", xrsl);
    assert_eq!(answer.decision.tried.len(), 3, "a target that refused is out for all of them");
    assert!(["ce-a/q", "ce-b/q"].contains(&answer.verdict.as_str()));
}

#[test]
fn an_outcome_known_before_its_reservation_releases_it_as_well() {
    let mut world = world();
    let answer = world.decide("gsid-0001", JOB);
    let changes = answer.changes.expect("changes");
    world.refuse("gsid-0001", 0);
    world.fold("gsid-0001", &changes);
    assert!(world.facts.ahead.has_sums_of(&World::new().facts.ahead));
}

/// A job is sent again to the target where an earlier attempt is in the batch system.
#[test]
fn facts_that_contain_an_earlier_attempt_need_not_contain_this_one() {
    let mut world = world();
    let changes = world.submit("gsid-0001", "&(executable=run)(queue=r)").changes;
    let changes = changes.expect("changes");
    world.job_in_batch("gsid-0001", "ce-a/r", 1, world.now);
    let free = world.free_for("ce-a/r", 1);
    assert_eq!(free, 4, "facts of that moment contain it");
    (world.attempt, world.now) = (1, world.now + 1);
    world.fold("gsid-0001", &changes);
    assert_eq!(world.free_for("ce-a/r", 1), 3, "they do not contain the second attempt");
    world.refuse("gsid-0001", 1);
    assert_eq!(world.free_for("ce-a/r", 1), 4);
}
