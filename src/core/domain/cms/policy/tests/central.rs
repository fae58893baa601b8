//! Central jobs: priority, first come first served, tails, T1 first, closeness (C-13..C-17, C-22,
//! C-23).

use super::world::{World, boosted, central, job, jobs, matches, quota, stated, stating};
use crate::domain::cms::policy::facts::{PendingJob, SlotQuota, Tier};
use crate::domain::cms::policy::settings::Settings;

/// A site for central jobs alone.
fn world_of(settings: Settings) -> World {
    let mut world = World::with(settings);
    world.site("T1_X", SlotQuota { pledged_slots: 1_000, ..quota(Tier::T1) });
    world
}

fn world() -> World {
    world_of(Settings::default())
}

#[test]
fn tc_08_the_higher_priority_whatever_the_queue() {
    let mut world = world();
    world.central("p10", 10);
    world.central("p20", 20);
    world.pending(job("early", "p10", 1));
    world.pending(job("late", "p20", 9));
    assert_eq!(world.one_by_one("T1_X", 1), ["late"]);
}

#[test]
fn tc_09_equal_priority_first_come_first_served() {
    let mut world = world_of(Settings { fifo_bucket_s: 0, ..Settings::default() });
    world.central("w", 10);
    world.pending(job("sixth", "w", 6));
    world.pending(job("fifth", "w", 5));
    assert_eq!(world.one_by_one("T1_X", 2), ["fifth", "sixth"]);
}

#[test]
fn c_15_an_urgent_workflow_takes_the_next_slots() {
    let mut world = world();
    world.central("deep", 10);
    world.central("urgent", 11);
    world.many("deep", 100);
    world.many("urgent", 2);
    assert_eq!(world.one_by_one("T1_X", 3), ["urgent1", "urgent2", "deep1"]);
}

#[test]
fn tc_12_a_tail_begins_at_its_fraction() {
    let mut world = world();
    let mut workflow = stating(central("w", 10), |it| it.total_jobs = Some(200));
    workflow.done = 189;
    world.workflow(workflow.clone());
    world.many("w", 1);
    assert!(boosted(&world.cut()).is_empty());
    workflow.done = 190;
    world.workflow(workflow);
    assert_eq!(boosted(&world.cut()), ["w"]);
    assert!(boosted(&world.cut()).is_empty(), "once");
    world.central("other", 899_999);
    world.many("other", 1);
    assert_eq!(world.one_by_one("T1_X", 1), ["w1"]);
}

#[test]
fn c_16_operations_end_a_tail() {
    let mut world = world();
    let mut tail = central("w", 10);
    tail.done = 990;
    world.workflow(tail.clone());
    world.many("w", 2);
    world.central("other", 899_999);
    world.many("other", 2);
    assert_eq!(boosted(&world.cut()), ["w"]);
    assert_eq!(world.one_by_one("T1_X", 1), ["w1"]);
    tail.priority = Some(stated(1, 20, false));
    world.workflow(tail.clone());
    world.offer("o", "T1_X", 1);
    assert_eq!(world.matched(), ["w2"], "a mere change of priority does not");
    world.pool.remove_job("w2");
    world.many("w", 2);
    tail.priority = Some(stated(1, 20, true));
    world.workflow(tail);
    world.offer("o", "T1_X", 1);
    let cut = world.cut();
    assert_eq!((jobs(&cut), boosted(&cut)), (vec!["other1".to_owned()], vec![]), "nor again");
}

#[test]
fn tc_13_the_five_tails_with_the_least_work() {
    let mut world = world();
    for at in 1..=7 {
        let name = format!("w{at}");
        let mut workflow = central(&name, 10);
        workflow.done = 990;
        world.workflow(workflow);
        world.many(&name, 8 - at);
    }
    assert_eq!(boosted(&world.cut()), ["w7", "w6", "w5", "w4", "w3"]);
}

#[test]
fn tc_14_central_jobs_fill_t1_first() {
    let mut world = world();
    world.t2("T2_A", 20);
    world.central("w", 10);
    world.many("w", 1);
    world.offer("a", "T2_A", 1);
    world.offer("b", "T1_X", 1);
    let cut = world.cut();
    assert_eq!(matches(&cut), ["b w1"]);
    assert_eq!(cut.served[1].open.cores_left(), 1);
}

/// The jobs of WE-9: run time in minutes, memory in MB.
fn closeness(bucket_s: i64) -> Vec<String> {
    let mut world = world_of(Settings { fifo_bucket_s: bucket_s, ..Settings::default() });
    world.now_s = 100_000;
    world.central("w", 10);
    let jobs = [
        ("short1", 100, 240, 2_000),
        ("long1", 200, 2_700, 2_000),
        ("long2", 201, 2_700, 3_900),
        ("long3", 30_000, 2_880, 4_000),
    ];
    for (seq, (name, queued_at_s, minutes, rss)) in (1..).zip(jobs) {
        let (max_wall_time_s, max_rss_mb) = (Some(minutes * 60), Some(rss));
        let job = PendingJob { queued_at_s, max_wall_time_s, max_rss_mb, ..job(name, "w", seq) };
        world.pending(job);
    }
    let each = (0..4).map(|at| {
        let offer = format!("o{at}");
        world.offer(&offer, "T1_X", 1);
        world.matched().concat()
    });
    each.collect()
}

#[test]
fn tc_41_closeness_inside_a_bucket() {
    assert_eq!(closeness(21_600), ["long2", "long1", "short1", "long3"]);
    assert_eq!(closeness(0), ["short1", "long1", "long2", "long3"]);
}

#[test]
fn tc_42_short_jobs_do_not_starve() {
    let mut world = world();
    let bucket = world.pool.settings().fifo_bucket_s;
    world.central("w", 10);
    let of_hours = |name: &str, seq, queued_at_s, hours: i64| PendingJob {
        queued_at_s,
        max_wall_time_s: Some(hours * 3_600),
        ..job(name, "w", seq)
    };
    world.pending(of_hours("short", 1, bucket - 1, 4));
    for seq in 2..=4 {
        world.pending(of_hours(&format!("long{seq}"), seq, bucket - 1, 48));
    }
    for seq in 5..100 {
        world.pending(of_hours(&format!("later{seq}"), seq, bucket * (seq - 4), 48));
    }
    let taken = world.one_by_one("T1_X", 4);
    assert_eq!(taken, ["long2", "long3", "long4", "short"]);
    assert_eq!(jobs(&world.cut()).len(), 0);
}

#[test]
fn c_61_retries_keep_their_place() {
    let mut world = world();
    world.central("w", 10);
    world.many("w", 3);
    assert_eq!(world.one_by_one("T1_X", 1), ["w1"]);
    let mut retry = world.pool.job("w1").expect("it").job().clone();
    retry.attempt += 1;
    world.pending(retry);
    assert_eq!(world.one_by_one("T1_X", 2), ["w1", "w2"]);
}
