//! TN-26, TN-27 and TN-29 to TN-33: the best target, and the worked example of B.12.

use super::world::{World, mb};
use crate::unit::MIB;

const FIRST: &str = r#"&(executable=run)(count=4)(cputime=120)(disk=500)(inputfiles=
    ("f1" "rls://rc/f1")("f2" "rls://rc/f2" "cache=no")("f3" "")("f4" "rls://rc/f4"))"#;

/// The grid of B.12.
fn worked_example() -> World {
    let mut world = World::new();
    let targets = [
        ("ce-a/long", Some("se1"), mb(5000), 3000, "6:600 10:60"),
        ("ce-b/grid", Some("se2"), mb(1000), 5000, "20"),
        ("ce-c/grid", None, mb(9000), 900, "50"),
        ("ce-d/main", Some("se1"), None, 4000, "8"),
        ("ce-e/q", None, mb(9000), 9000, "9"),
    ];
    for (target, storage, cache, disk, free_slots) in targets {
        world.queue(target, |_| ());
        world.user(target, free_slots, |it| it.disk_free_bytes = mb(disk));
        world.cluster(&target[..4], |it| {
            it.local_storage = storage.map(str::to_owned).into_iter().collect();
            it.cache_free_bytes = cache;
        });
    }
    world.queue("ce-e/q", |it| it.status = "inactive, gridftpd is down".to_owned());
    for (source, size, element) in [("f1", 2000, "se1"), ("f2", 300, "se2"), ("f4", 150, "se9")] {
        world.file(&format!("rls://rc/{source}"), mb(size), &[element]);
    }
    world.uploads.insert("f3".to_owned(), 10 * MIB);
    world.cache("ce-c", "rls://rc/f4", true, None);
    world.job("other-1", "ce-a/long", "ACCEPTED", 2, 100);
    world.cut_id = "c0000000000000aa".to_owned();
    world
}

#[test]
fn tn_26_the_worked_example() {
    let world = worked_example();
    let sums = |target: &str| {
        world.look(target, FIRST, |_, it, _| {
            [it.cache_sum, it.session_sum, it.remote_bytes, it.local_bytes].map(|it| it / MIB)
        })
    };
    assert_eq!(sums("ce-a/long"), [2150, 810, 460, 2000]);
    assert_eq!(sums("ce-b/grid"), [2150, 810, 2160, 300]);
    assert_eq!(sums("ce-c/grid"), [2000, 810, 2310, 0]);
    assert_eq!(sums("ce-d/main"), [2150, 810, 460, 2000]);
    let answer = world.decide("gsid-JN2", FIRST);
    assert_eq!(answer.refused["ce-b/grid"], "cache_space");
    assert_eq!(answer.refused["ce-e/q"], "queue_status");
    assert_eq!(answer.free_set, ["ce-a/long", "ce-c/grid", "ce-d/main"]);
    assert_eq!((answer.verdict.as_str(), answer.rule), ("ce-a/long", "draw"));
    assert_eq!(answer.draw(), Some((0, 12, vec![("ce-a/long", 4), ("ce-d/main", 8)])));
}

#[test]
fn tn_27_the_worked_example_for_another_job() {
    let answer = worked_example().decide("gsid-JN1", FIRST);
    assert_eq!((answer.verdict.as_str(), answer.draw().map(|it| it.0)), ("ce-d/main", Some(7)));
}

#[test]
fn what_the_worked_example_changes_and_its_next_job() {
    let mut world = worked_example();
    let changes = world.submit("gsid-JN2", FIRST).changes.expect("changes");
    assert_eq!((world.free_for("ce-a/long", 600), world.free_for("ce-a/long", 60)), (0, 4));
    assert_eq!(changes.cache_free_bytes_after, mb(2850));
    assert_eq!(changes.disk_free_bytes_after, mb(2190));
    assert!(changes.tags.iter().eq(["rls://rc/f1", "rls://rc/f4"]));
    let next = |minutes: u32| {
        let inputs = r#"("f1" "rls://rc/f1")("f4" "rls://rc/f4")"#;
        let xrsl = format!("&(executable=run)(cputime={minutes})(inputfiles={inputs})");
        world.decide("gsid-next", &xrsl)
    };
    let short = next(30);
    assert_eq!((short.verdict.as_str(), short.rule), ("ce-a/long", "remote_bytes"));
    let long = next(90);
    assert!(!long.free_set.contains(&"ce-a/long".to_owned()));
    assert_eq!((long.verdict.as_str(), long.rule), ("ce-d/main", "remote_bytes"));
}

/// Two queues of two clusters; the job has one file far away from each and one close by at each.
fn two(remote: [u64; 2], local: [u64; 2], free_slots: [&str; 2]) -> World {
    let mut world = World::new();
    for (at, cluster) in ["ce-a", "ce-b"].into_iter().enumerate() {
        world.open(&format!("{cluster}/q"), free_slots[at]);
        let element = format!("se-{cluster}");
        world.cluster(cluster, |it| it.local_storage = vec![element.clone()]);
        // What is far away from this cluster and in the cache of the other one.
        world.file(&format!("u:far-{cluster}"), Some(remote[at]), &["se9"]);
        world.file(&format!("u:near-{cluster}"), Some(local[at]), &[&element]);
        let other = if at == 0 { "ce-b" } else { "ce-a" };
        world.cache(other, &format!("u:far-{cluster}"), true, None);
        world.cache(other, &format!("u:near-{cluster}"), true, None);
    }
    world
}

const INPUTS: &str = r#"&(executable=run)(inputfiles=("a" "u:far-ce-a")("b" "u:far-ce-b")
    ("c" "u:near-ce-a")("d" "u:near-ce-b"))"#;

#[test]
fn tn_29_free_cpus_matter_only_on_ties() {
    let answer = two([100, 101], [0, 0], ["1", "1000"]).decide("gsid-0001", INPUTS);
    assert_eq!((answer.verdict.as_str(), answer.rule), ("ce-a/q", "remote_bytes"));
}

#[test]
fn tn_30_local_bytes_come_second_and_leave_nothing_to_draw() {
    let answer = two([100, 100], [5, 6], ["1", "1000"]).decide("gsid-0001", INPUTS);
    assert_eq!((answer.verdict.as_str(), answer.rule), ("ce-a/q", "local_bytes"));
    assert_eq!(answer.draw(), None);
}

#[test]
fn tn_31_a_target_that_is_not_free_does_not_count_beside_one_that_is() {
    let mut world = two([100, 0], [0, 0], ["4", "3"]);
    let xrsl = format!("{INPUTS}(count=4)");
    let answer = world.decide("gsid-0001", &xrsl);
    assert_eq!(answer.free_set, ["ce-a/q"]);
    assert_eq!((answer.verdict.as_str(), answer.rule), ("ce-a/q", "only_candidate"));
    world.user("ce-b/q", "4", |_| ());
    assert_eq!(world.decide("gsid-0001", &xrsl).verdict, "ce-b/q");
}

#[test]
fn tn_32_if_nobody_is_free_the_smallest_queue_by_cpus_is_taken() {
    let mut world = two([0, 900], [0, 900], ["0", "0"]);
    world.queue("ce-a/q", |it| (it.total_slots, it.grid_queued_jobs) = (Some(200), 30));
    world.queue("ce-b/q", |it| (it.total_slots, it.local_queued_jobs) = (Some(100), 14));
    let answer = world.decide("gsid-0001", INPUTS);
    assert_eq!((answer.verdict.as_str(), answer.rule), ("ce-b/q", "queue_ratio"));
    world.job("other-1", "ce-b/q", "SUBMIT", 8, 10);
    assert_eq!(world.decide("gsid-0001", INPUTS).rule, "queue_ratio_draw", "15 / 100 is 30 / 200");
}

#[test]
fn tn_33_equal_queues_are_drawn_by_their_cpus() {
    let mut world = World::new();
    for (target, slots) in [("ce-y/q", 100), ("ce-x/q", 200)] {
        world.open(target, "");
        world.queue(target, |it| it.total_slots = Some(slots));
    }
    world.cut_id = "c000000000000010".to_owned();
    let answer = world.decide("gsid-11", "&(executable=run)");
    assert_eq!((answer.verdict.as_str(), answer.rule), ("ce-x/q", "queue_ratio_draw"));
    assert_eq!(answer.draw(), Some((40, 300, vec![("ce-x/q", 200), ("ce-y/q", 100)])));
}
