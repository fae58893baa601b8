//! What ended jobs leave behind (C-40, C-42, CD-10; F-2, F-3).

use super::world::{World, analysis, central, listed, reason};
use crate::policy::cms::entry::Standing;
use crate::policy::cms::facts::{HeldJob, SiteConfig, Tier, Workflow};
use crate::policy::cms::pool::Pool;
use crate::policy::cms::settings::Settings;
use crate::policy::cms::usage::Decay;

const HALF_LIFE_S: i64 = 86_400;

fn world_with(settings: Settings) -> World {
    let mut world = World::with(settings);
    world.site(SiteConfig { pledged_slots: 1_000, ..SiteConfig::new("Y", Tier::T3) });
    world.workflow(analysis("w", "u"));
    world
}

fn world() -> World {
    world_with(Settings::default())
}

fn decayed(pool: &Pool, at_s: i64) -> i128 {
    let user = pool.name("u").expect("it");
    pool.counters().user(user).usage.decayed_milli(pool.decay().growth(at_s))
}

/// Decayed usage of a user whose job of 100 slots ended after two half-lives.
fn ended(settings: Settings, change: fn(&mut HeldJob)) -> (World, i128) {
    let mut world = world_with(settings);
    let mut held = world.held("r", "w", "Y", 100);
    change(&mut held);
    world.pool.put_held(held);
    world.now_s += 2 * HALF_LIFE_S;
    world.pool.pass_time(world.now_s);
    assert!(matches!(world.pool.end_job("r", world.now_s), Some(Standing::Held(_))));
    let found = decayed(&world.pool, world.now_s);
    (world, found)
}

#[test]
fn f_2_past_use_outlives_its_job_and_a_change_of_parameters() {
    let (world, found) = ended(Settings::default(), |_| {});
    let (now_s, later_s) = (world.now_s, world.now_s + HALF_LIFE_S);
    assert_eq!((found, decayed(&world.pool, later_s)), (75_000, 37_500));
    let settings = Settings { half_life_s: 2 * HALF_LIFE_S, ..Settings::default() };
    let slower = world.pool.with_settings(settings, now_s);
    assert_eq!(
        (decayed(&slower, now_s), decayed(&slower, now_s + 2 * HALF_LIFE_S)),
        (75_000, 37_500)
    );
}

#[test]
fn f_3_a_job_ends_once() {
    let (mut world, found) = ended(Settings::default(), |_| {});
    assert!(world.pool.end_job("r", world.now_s).is_none(), "a duplicate");
    assert_eq!(decayed(&world.pool, world.now_s), found);
}

#[test]
fn cd_10_a_part_of_the_use_of_a_restricted_pool_counts() {
    let settings = Settings { restricted_charge_permille: 500, ..Settings::default() };
    let (_, found) = ended(settings, |held| held.charged_group = Some("de".to_owned()));
    assert_eq!(found, 37_500);
}

#[test]
fn c_58_a_reservation_leaves_nothing_behind() {
    let reserved = |held: &mut HeldJob| {
        held.reserved_at_s = Some(held.counts_from_s);
        held.overflow_source = Some("H".to_owned());
    };
    let (world, found) = ended(Settings::default(), reserved);
    assert_eq!(found, 0);
    let entry = world.pool.name("w").and_then(|name| world.pool.workflow(name)).expect("it");
    assert!(entry.overflow_used.is_empty());
}

#[test]
fn an_end_before_the_start_takes_no_usage_away() {
    let mut world = world();
    world.running("r", "w", "Y", 100);
    world.pool.end_job("r", world.now_s - HALF_LIFE_S);
    assert_eq!(decayed(&world.pool, world.now_s), 0);
}

#[test]
fn f_3_stated_past_use_replaces_that_of_ended_jobs_alone() {
    let (mut world, _) = ended(Settings::default(), |_| {});
    let now_s = world.now_s;
    let x = world.pool.past_use("u");
    let unit = world.pool.decay().growth(now_s);
    assert_eq!(x.div_euclid(unit), 75_000);
    world.user("u", "", 1_000);
    let mut held = world.held("long", "w", "Y", 8);
    held.counts_from_s = now_s - HALF_LIFE_S;
    world.pool.put_held(held);
    let with_all = decayed(&world.pool, now_s);
    assert_eq!(with_all, 75_000 + 1_000 + 4_000);
    world.pool.set_past_use("u", 3_000 * unit);
    assert_eq!(decayed(&world.pool, now_s), 3_000 + 1_000 + 4_000);
    world.pool.set_past_use("u", x);
    assert_eq!((decayed(&world.pool, now_s), world.pool.past_use("u")), (with_all, x));
    world.pool.end_job("long", now_s);
    assert_eq!(decayed(&world.pool, now_s), with_all, "what it used goes on to count");
}

#[test]
fn f_3_the_landmark_moves_with_stated_past_use() {
    let mut world = world();
    let unit = world.pool.decay().growth(world.now_s);
    world.pool.set_past_use("u", 64_000 * unit);
    assert_eq!(*world.pool.decay(), Decay::at(HALF_LIFE_S, world.now_s));
    let (before, half_life_s) = (world.pool.decay().landmark(), world.pool.decay().half_life_s());
    let later_s = world.now_s + 40 * half_life_s;
    world.pool.pass_time(later_s);
    assert_eq!(world.pool.decay().landmark(), before + 32);
    world.pool.set_past_use("u", world.pool.decay().growth(later_s) * 7);
    assert_eq!(decayed(&world.pool, later_s), 7);
}

#[test]
fn c_40_a_site_stays_in_the_spread_when_its_job_ends() {
    let mut world = World::new();
    for (name, overflow_slots) in [("H", 9), ("C", 0), ("D", 0)] {
        let config = SiteConfig { overflow_slots, ..SiteConfig::new(name, Tier::T2) };
        world.site(SiteConfig { pledged_slots: 100, ..config });
    }
    let spread = Workflow { max_overflow_sites: Some(Some(1)), ..central("w", 0) };
    let workflow = Workflow { allow_overflow: true, ..spread };
    world.workflow(workflow.clone());
    let mut held = world.held("r", "w", "C", 1);
    held.overflow_source = Some("H".to_owned());
    world.pool.put_held(held);
    world.pool.end_job("r", world.now_s);
    assert_eq!(world.overflow("H"), 0, "released (C-42)");
    world.pending(listed("j", "w", 1, &["H"]));
    world.offer("d", "D", 1);
    assert_eq!(reason(&world.cut(), "j"), Some("overflow_max_sites"));
    world.workflow(workflow);
    world.pool = world.pool.with_settings(Settings::default(), world.now_s);
    world.offer("d", "D", 1);
    assert_eq!(reason(&world.cut(), "j"), Some("overflow_max_sites"), "for the workflow's life");
    world.offer("c", "C", 1);
    assert_eq!(world.matched(), ["j"]);
}
