//! Jobs of many cores, and nodes that are drained for them (C-52..C-56, F-6, F-7).

use super::world::{NOW_S, World, central, changed, job, jobs, offer, reason};
use crate::domain::cms::policy::decision::PoolAction;
use crate::domain::cms::policy::facts::{CoresMax, PendingJob};
use crate::domain::cms::policy::settings::Settings;
use crate::domain::cms::state::{PoolDrain, PoolNode, PoolOffer};
use crate::unit::SECOND;

const HOUR_S: i64 = 3_600;

fn world() -> World {
    world_with(Settings::default())
}

fn world_with(settings: Settings) -> World {
    let mut world = World::with(settings);
    world.t2("T2_Y", 200);
    world.central("w", 100);
    world.central("v", 0);
    world
}

#[test]
fn tc_39_a_whole_node() {
    let mut world = world();
    let whole = PendingJob { whole_node: true, cores_min: 8, ..job("whole", "w", 1) };
    world.pending(whole);
    world.put_offer(changed(offer("o1", "T2_Y", 7), |it| it.cores_total = 8));
    world.put_offer(offer("o2", "T2_Y", 8));
    let cut = world.cut();
    let taken: Vec<_> = cut
        .assignments
        .iter()
        .map(|it| (&*it.offer, it.matched.cores, it.matched.weight_milli))
        .collect();
    assert_eq!(taken, [("o2", 8, 8_000)]);
    assert_eq!(cut.served[0].first_look.not_eligible["cores"].len(), 1);
}

#[test]
fn tc_40_a_range_of_cores() {
    let expected = [
        (1, None),
        (2, Some((2, 975, 2_000))),
        (8, Some((8, 255, 5_000))),
        (16, Some((8, 255, 5_000))),
    ];
    for (cores, found) in expected {
        let mut world = world();
        world.pending(PendingJob {
            cores_min: 2,
            cores_max: Some(CoresMax::Cores(8)),
            base_cores: Some(4),
            max_wall_time_s: Some(480 * 60),
            max_rss_mb: Some(3_000),
            ..job("range", "w", 1)
        });
        world.offer("o", "T2_Y", cores);
        let cut = world.cut();
        let matched = cut.assignments.first().map(|it| &it.matched);
        let taken = matched.map(|it| (it.cores, it.wall_time_s / 60, it.rss_mb));
        assert_eq!(taken, found, "{cores} cores");
    }
}

/// A node of so many cores.
fn node_of(node: &str, cores_total: i64) -> PoolNode {
    PoolNode {
        node: node.to_owned(),
        site: "T2_Y".to_owned(),
        cores_total,
        seen_at: NOW_S * SECOND,
        ends_at: (NOW_S + 72 * HOUR_S) * SECOND,
        mem_most_mb: 2_000 * cores_total,
        wall_most_s: 72 * HOUR_S,
        ..PoolNode::default()
    }
}

/// An offer on a node of so many cores.
fn on_node(node: &str, cores_total: i64, offer: PoolOffer) -> PoolOffer {
    changed(offer, |it| (it.node, it.cores_total) = (node.to_owned(), cores_total))
}

/// Node n, drained for a job until a moment.
fn drained_for(job: &str, until_s: i64) -> PoolNode {
    let drain = PoolDrain { job: job.to_owned(), until_s, since: 0 };
    PoolNode { drain: Some(drain), ..node_of("n", 16) }
}

/// Nodes A, B and C of WE-8, and a job of so many cores that fits nowhere.
fn drained(need: i64) -> World {
    drained_with(Settings::default(), need)
}

fn drained_with(settings: Settings, need: i64) -> World {
    let mut world = world_with(settings);
    for node in ["A", "B", "C"] {
        world.pool.put_node(node_of(node, 8));
    }
    let mut run = |node: &str, cores, half_hours: i64| {
        let name = format!("{node}{half_hours}");
        let mut held = world.held(&name, "v", "T2_Y", cores);
        held.node = Some(node.to_owned());
        held.expected_end_s = Some(world.now_s + half_hours * HOUR_S / 2);
        world.pool.put_held(held);
    };
    run("A", 4, 12);
    run("A", 4, 2);
    (1..=8).for_each(|half_hours| run("B", 1, half_hours));
    run("C", 6, 6);
    world.pending(PendingJob { cores_min: need, ..job("big", "w", 1) });
    world
}

/// Node, hours until it is ready, idle core hours.
fn plan(world: &mut World) -> Option<(String, i64, i64)> {
    let now_s = world.now_s;
    world.cut().actions.iter().find_map(|action| match action {
        PoolAction::DrainNode { node, drain, idle_core_s, .. } => {
            Some((node.clone(), (drain.until_s - now_s) / HOUR_S, idle_core_s / HOUR_S))
        }
        _ => None,
    })
}

#[test]
fn tc_44_the_node_that_idles_least() {
    let mut world = drained(8);
    assert_eq!(plan(&mut world), Some(("C".to_owned(), 3, 6)));
    assert_eq!(plan(&mut world), None, "one drain for a job");
    let of_hours = |name: &str, seq, hours: i64| PendingJob {
        max_wall_time_s: Some(hours * HOUR_S),
        ..job(name, "v", seq)
    };
    world.pending(of_hours("two", 1, 2));
    world.pending(of_hours("three", 2, 3));
    world.put_offer(on_node("C", 8, offer("o", "T2_Y", 2)));
    let cut = world.cut();
    assert_eq!(
        (jobs(&cut), reason(&cut, "three")),
        (vec!["two".to_owned()], Some("draining_node"))
    );
    assert_eq!(plan(&mut drained(4)), Some(("A".to_owned(), 1, 0)));
}

#[test]
fn c_55_a_drain_whose_job_is_gone_is_cancelled() {
    let mut world = drained(8);
    plan(&mut world);
    world.pool.remove_job("big");
    let (node, job) = ("C".to_owned(), "big".into());
    assert_eq!(world.cut().actions, [PoolAction::DrainCancelled { node, job }]);
    assert_eq!(world.pool.drains().count(), 0);
}

#[test]
fn c_55_neither_too_early_nor_too_many() {
    let mut early = drained(8);
    let mut young = early.pool.job("big").expect("it").job().clone();
    young.not_fitted_since_s = Some(early.now_s - 3_599);
    early.pending(young);
    assert_eq!(plan(&mut early), None);
    let mut world = drained(8);
    plan(&mut world);
    world.pending(PendingJob { cores_min: 8, ..job("second", "w", 2) });
    assert_eq!(plan(&mut world), None, "one drain an hour at a site");
    world.now_s += HOUR_S;
    assert!(plan(&mut world).is_some());
    let mut low = drained(8);
    low.workflow(central("urgent", 101));
    low.many("urgent", 1);
    assert_eq!(plan(&mut low), None, "jobs of the highest priority alone");
}

#[test]
fn c_55_each_drain_that_one_cut_began_counts_for_the_rate() {
    let mut world = drained_with(Settings { drain_rate_per_hour: 2, ..Settings::default() }, 8);
    let eight = |name: &str, seq| PendingJob { cores_min: 8, ..job(name, "w", seq) };
    world.pending(eight("second", 2));
    let begun = world.cut().actions;
    assert_eq!(begun.iter().filter(|it| matches!(it, PoolAction::DrainNode { .. })).count(), 2);
    world.pending(eight("third", 3));
    assert_eq!(plan(&mut world), None, "two drains an hour at a site");
}

#[test]
fn c_56_the_job_itself_starts_on_its_node() {
    let mut world = world();
    world.pending(PendingJob { cores_min: 8, ..job("big", "w", 1) });
    world.pending(PendingJob { cores_min: 8, ..job("other", "w", 2) });
    let drain_starts = vec![world.now_s * 1_000];
    world.pool.put_node(PoolNode { drain_starts, ..drained_for("other", world.now_s + 100) });
    world.put_offer(on_node("n", 8, offer("o", "T2_Y", 8)));
    let cut = world.cut();
    assert_eq!(jobs(&cut), ["other"]);
    assert!(cut.actions.is_empty(), "not cancelled: it is there");
    assert_eq!(reason(&cut, "big"), Some("draining_node"));
}

/// A node whose job has started there, and its drain.
fn reached(world: &mut World) {
    world.pool.put_node(drained_for("other", world.now_s + 100));
    let mut held = world.held("other", "v", "T2_Y", 8);
    held.node = Some("n".to_owned());
    world.pool.put_held(held);
}

#[test]
fn c_56_a_node_is_filled_as_before_once_its_job_is_there() {
    let mut world = world();
    reached(&mut world);
    world.pending(job("long", "w", 1));
    world.put_offer(on_node("n", 16, offer("o", "T2_Y", 8)));
    let cut = world.cut();
    assert_eq!((jobs(&cut), reason(&cut, "long")), (vec!["long".to_owned()], None));
}

#[test]
fn c_55_a_drain_that_reached_its_end_leaves_room_for_others() {
    for (max_draining, found) in [(1, true), (0, false)] {
        let mut world = drained_with(Settings { max_draining, ..Settings::default() }, 8);
        reached(&mut world);
        assert_eq!(plan(&mut world).is_some(), found, "{max_draining} at most");
    }
}

#[test]
fn f_6_memory_of_fewer_cores_is_not_below_nothing() {
    let mut world = world();
    world.pending(PendingJob {
        cores_max: Some(CoresMax::Cores(8)),
        base_cores: Some(8),
        max_wall_time_s: Some(3_600),
        max_rss_mb: Some(1_000),
        ..job("j", "w", 1)
    });
    world.put_offer(changed(offer("o", "T2_Y", 1), |it| it.mem_free_mb = 100));
    let cut = world.cut();
    let left = cut.served[0].open.mem_left_mb();
    assert_eq!((cut.assignments[0].matched.rss_mb, left), (0, 100));
}

#[test]
fn c_55_drains_as_far_as_the_rate_of_their_sites_goes() {
    for (rate, found) in [(0, 0), (1, 1), (2, 2), (9, 3)] {
        let mut world =
            drained_with(Settings { drain_rate_per_hour: rate, ..Settings::default() }, 8);
        for seq in 2..=5 {
            world.pending(PendingJob { cores_min: 8, ..job(&format!("j{seq}"), "w", seq) });
        }
        assert_eq!(world.cut().actions.len(), found, "{rate} an hour, three nodes of one site");
    }
}

#[test]
fn nothing_is_kept_of_a_node_whose_jobs_are_gone() {
    let mut world = drained(8);
    let held: Vec<String> = world.pool.jobs().map(|it| it.job().job.to_string()).collect();
    assert_eq!(world.pool.held_on("B").count(), 8);
    held.iter().for_each(|job| drop(world.pool.remove_job(job)));
    assert_eq!((world.pool.held_on("B").count(), world.pool.on_node.len()), (0, 0));
}
