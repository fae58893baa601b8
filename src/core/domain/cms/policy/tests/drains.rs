//! Where a node is drained, and when it is released (C-55).

use super::world::{NOW_S, World, central, changed, job, jobs, offer, quota};
use crate::domain::cms::policy::decision::PoolAction;
use crate::domain::cms::policy::facts::{PendingJob, SiteStatus, Tier};
use crate::domain::cms::state::{PoolDrain, PoolNode};
use crate::event::SlotQuota;
use crate::unit::SECOND;

const HOUR_S: i64 = 3_600;

/// A node of eight cores and 16 GB whose pilot lasts for a day.
fn node() -> PoolNode {
    PoolNode {
        node: "n".to_owned(),
        site: "T2_Y".to_owned(),
        cores_total: 8,
        seen_at: NOW_S * SECOND,
        ends_at: (NOW_S + 24 * HOUR_S) * SECOND,
        mem_most_mb: 16_000,
        wall_most_s: 24 * HOUR_S,
        ..PoolNode::default()
    }
}

/// A job of eight cores, as WMAgent has it.
fn wide() -> PendingJob {
    let (max_wall_time_s, max_rss_mb) = (Some(8 * HOUR_S), Some(15_900));
    PendingJob { cores_min: 8, max_wall_time_s, max_rss_mb, ..job("wide", "w", 1) }
}

/// A job of eight cores waits; the node has a job of four for two hours.
fn world() -> World {
    let mut world = World::new();
    world.t2("T2_Y", 200);
    world.central("w", 100);
    world.central("v", 0);
    world.pool.put_node(node());
    let mut held = world.held("small", "v", "T2_Y", 4);
    held.node = Some("n".to_owned());
    held.expected_end_s = Some(NOW_S + 2 * HOUR_S);
    world.pool.put_held(held);
    world.pending(wide());
    world
}

fn is_drained(world: &mut World) -> bool {
    world.cut().actions.iter().any(|action| matches!(action, PoolAction::DrainNode { .. }))
}

fn is_released(world: &mut World) -> bool {
    world.cut().actions.iter().any(|action| matches!(action, PoolAction::DrainCancelled { .. }))
}

/// A record that is otherwise, and in which way.
type Changed<T> = (&'static str, fn(&mut T));

#[test]
fn a_node_is_drained_only_where_all_but_the_cores_fits() {
    assert!(is_drained(&mut world()));
    let nodes: [Changed<PoolNode>; 3] = [
        ("memory", |it| it.mem_most_mb = 15_800),
        ("time", |it| it.ends_at = (NOW_S + 9 * HOUR_S) * SECOND),
        ("no offer since it waits", |it| it.seen_at = SECOND),
    ];
    for (what, change) in nodes {
        let mut world = world();
        let mut node = node();
        change(&mut node);
        world.pool.put_node(node);
        assert!(!is_drained(&mut world), "{what}");
    }
    let sites: [Changed<SlotQuota>; 2] = [
        ("status", |it| it.status = SiteStatus::Drain),
        ("class", |it| (it.central_permille, it.surplus_central) = (0, Some(false))),
    ];
    for (what, change) in sites {
        let mut world = world();
        let mut stated = SlotQuota { pledged_slots: 200, revision: 1, ..quota(Tier::T2) };
        change(&mut stated);
        world.site("T2_Y", stated);
        assert!(!is_drained(&mut world), "{what}");
    }
}

#[test]
fn a_node_is_drained_only_if_it_lives_and_is_busy() {
    let mut idle = world();
    idle.pool.remove_job("small");
    assert!(!is_drained(&mut idle), "it has neither an offer nor a job");
    idle.put_offer(changed(offer("o", "T2_Y", 8), |it| {
        (it.node, it.mem_free_mb) = ("n".to_owned(), 15_000);
    }));
    assert!(!is_drained(&mut idle), "the cores are free already");
}

#[test]
fn no_node_is_drained_for_a_workflow_that_ended() {
    let mut world = world();
    let mut ended = central("w", 100);
    ended.record.as_mut().expect("a record").closed = true;
    world.workflow(ended);
    assert!(!is_drained(&mut world));
}

/// The node drained for the job.
fn drained() -> World {
    let mut world = world();
    let drain = PoolDrain { job: "wide".to_owned(), until_s: NOW_S + 2 * HOUR_S, since: 1 };
    world.pool.put_node(PoolNode { drain: Some(drain), ..node() });
    world
}

#[test]
fn a_drain_that_cannot_help_is_over() {
    assert!(!is_released(&mut drained()));
    let ready = |memory: i64| {
        changed(offer("o", "T2_Y", 8), |it| {
            (it.node, it.mem_free_mb) = ("n".to_owned(), memory);
        })
    };
    let mut small = drained();
    small.pool.remove_job("small");
    small.put_offer(ready(15_000));
    assert!(is_released(&mut small), "ready, and too small");
    let mut gone = drained();
    gone.pool.remove_job("small");
    gone.now_s += 2 * HOUR_S + 301;
    assert!(is_released(&mut gone), "no sign of it since it was to be ready");
    let mut over = drained();
    over.now_s += 17 * HOUR_S;
    assert!(is_released(&mut over), "too little time is left");
}

#[test]
fn the_job_takes_its_node_before_system_jobs() {
    let mut world = drained();
    world.pool.remove_job("small");
    for seq in 2..5 {
        let (system_job, max_wall_time_s) = (true, Some(600));
        let name = format!("merge{seq}");
        world.pending(PendingJob { system_job, max_wall_time_s, ..job(&name, "w", seq) });
    }
    world.put_offer(changed(offer("o", "T2_Y", 8), |it| it.node = "n".to_owned()));
    let cut = world.cut();
    assert_eq!(jobs(&cut), ["wide"]);
    assert_eq!(cut.assignments[0].matched.relaxed, ["drained"]);
}
