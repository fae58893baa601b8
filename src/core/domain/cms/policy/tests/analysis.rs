//! Jobs of analysis: levels, fair share, grants (C-18..C-21, C-31; F-2..F-4).

use super::world::{World, analysis, job, listed, quota, stating};
use crate::domain::cms::policy::facts::{ExtraBlock, PendingJob, SlotQuota, Tier};
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::state::PoolWorkflow;
use crate::event::{Grant, GrantScopeKind, PrincipalKind};
use crate::math::decay::{Decay, Usage};

const HOUR_S: i64 = 3_600;
const HALF_LIFE_S: i64 = 86_400;

/// A site for analysis alone.
fn world() -> World {
    let mut world = World::new();
    for name in ["Y", "Z"] {
        world.site(name, SlotQuota { pledged_slots: 100_000, ..quota(Tier::T3) });
    }
    world
}

/// A workflow of a working group.
fn of_group(group: &str, mut workflow: PoolWorkflow) -> PoolWorkflow {
    workflow.record.as_mut().expect("a record").working_group = group.to_owned();
    workflow
}

fn to_user(user: &str, level: i64) -> Grant {
    Grant { principal: user.to_owned(), level, ..Grant::default() }
}

fn to_group(group: &str, level: i64, cap_weight_milli: i64) -> Grant {
    Grant {
        principal_kind: PrincipalKind::Group,
        cap_weight_milli: Some(cap_weight_milli),
        ..to_user(group, level)
    }
}

#[test]
fn tc_20_one_cycle_of_fair_share() {
    let mut world = world();
    for (user, decayed, running) in [("a", 6_000, 1), ("b", 2_000, 3), ("c", 0, 0)] {
        world.analysis(user, user);
        world.running(&format!("r{user}"), user, "Y", running);
        world.user(user, "", decayed);
        world.many(user, 12);
    }
    let taken = world.one_by_one("Y", 12);
    let users: String = taken.iter().filter_map(|job| job.chars().next()).collect();
    assert_eq!(users, "cccccbcbcabc");
}

/// Decayed usage of a user's jobs (weight, start and end in hours), at an hour.
fn decayed(jobs: &[(i64, i64, Option<i64>)], hour: i64) -> i128 {
    let mut world = world();
    world.analysis("w", "u");
    let mut x = 0;
    for (at, (weight, start, end)) in jobs.iter().enumerate() {
        let name = format!("r{at}");
        let mut held = world.held(&name, "w", "Y", 1);
        (held.weight_milli, held.counts_from_s) = (*weight, start * HOUR_S);
        world.pool.put_held(held);
        if let Some(end) = end.filter(|end| *end <= hour) {
            world.pool.remove_job(&name);
            let decay = world.pool.decay();
            let gained = decay.growth(end * HOUR_S) - decay.growth(start * HOUR_S);
            x += i128::from(*weight) * gained;
        }
    }
    world.pool.set_past_use("u", x);
    decayed_of(&world.pool, "u", hour * HOUR_S)
}

fn decayed_of(pool: &Pool, user: &str, at_s: i64) -> i128 {
    let user = pool.name(user).expect("it");
    pool.counters().user(user).usage.decayed_milli(pool.decay().growth(at_s))
}

#[test]
fn tc_21_past_use_halves_in_a_half_life() {
    let jobs = [(100_000, 0, Some(48))];
    assert_eq!((decayed(&jobs, 48), decayed(&jobs, 72)), (75_000, 37_500));
}

#[test]
fn we_4_decayed_usage() {
    assert_eq!(decayed(&[(100_000, 0, None)], 48), 75_000);
    let eight = [(8_000, 0, Some(12))];
    assert!((2_342..=2_344).contains(&decayed(&eight, 12)), "2.34315");
    assert!((1_656..=1_658).contains(&decayed(&eight, 24)), "1.65685");
    assert_eq!(decayed(&[(1_000, 0, None); 4], 24), 2_000);
}

#[test]
fn tc_22_eight_cores_are_eight_times_one() {
    for hour in [12, 31, 100] {
        let of_one = [(1_000, 0, Some(12)); 8];
        assert_eq!(decayed(&[(8_000, 0, Some(12))], hour), decayed(&of_one, hour));
    }
}

#[test]
fn f_3_moving_the_landmark_changes_no_usage() {
    let late_s = 40 * HALF_LIFE_S;
    let mut decay = Decay::at(HALF_LIFE_S, late_s - HALF_LIFE_S * 9);
    let usage = Usage { running: 0, reserved: 0, x: 5_000 * decay.growth(late_s) };
    let before = usage.decayed_milli(decay.growth(late_s));
    let digits = decay.rebase(late_s);
    let moved = Usage { x: usage.x >> digits, ..usage };
    assert_eq!((digits, before), (32, 5_000));
    assert_eq!(moved.decayed_milli(decay.growth(late_s)), before);
}

#[test]
fn tc_24_a_capped_grant_of_a_group() {
    let mut world = world();
    for user in ["h1", "h2", "n"] {
        world.workflow(of_group(if user == "n" { "" } else { "G" }, analysis(user, user)));
    }
    world.user("h1", "G", 30_000);
    world.user("h2", "G", 20_000);
    world.user("n", "", 0);
    let only_with_group = "G".to_owned();
    let own = Grant { only_with_group, ..to_user("h1", 20) };
    world.pool.set_grants(vec![to_group("G", 10, 4_000), own]);
    world.many("h1", 2);
    world.many("h2", 10);
    world.many("n", 10);
    let expected = ["h11", "h12", "h21", "h22", "n1", "n2", "n3", "n4"];
    assert_eq!(world.one_by_one("Y", 8), expected);
}

#[test]
fn tc_25_priority_inside_a_group_alone() {
    let mut world = world();
    world.workflow(of_group("G", analysis("of_group", "h1")));
    world.analysis("own", "h1");
    world.analysis("n", "n");
    world.user("h1", "G", 30_000);
    world.user("n", "", 0);
    let only_with_group = "G".to_owned();
    world.pool.set_grants(vec![Grant { only_with_group, ..to_user("h1", 5) }]);
    world.many("of_group", 1);
    world.many("own", 1);
    world.many("n", 1);
    assert_eq!(world.one_by_one("Y", 3), ["of_group1", "n1", "own1"]);
}

#[test]
fn tc_26_a_grant_holds_inside_its_scope() {
    let mut world = world();
    for user in ["g", "n"] {
        world.analysis(user, user);
        world.many(user, 4);
    }
    world.user("g", "", 50_000);
    let (scope_kind, scope) = (GrantScopeKind::Site, "Z".to_owned());
    world.pool.set_grants(vec![Grant { scope_kind, scope, ..to_user("g", 5) }]);
    assert_eq!(world.one_by_one("Y", 1), ["n1"]);
    assert_eq!(world.one_by_one("Z", 1), ["g1"]);
}

#[test]
fn tc_50_a_cap_is_looked_at_before_the_job() {
    let mut world = world();
    for user in ["g", "n"] {
        world.workflow(analysis(user, user));
    }
    world.user("g", "G", 0);
    world.running("r", "g", "Y", 15_999);
    world.pool.set_grants(vec![to_group("G", 10, 16_000_000)]);
    for seq in 1..=2 {
        world.pending(PendingJob { cores_min: 8, ..job(&format!("g{seq}"), "g", seq) });
        world.pending(PendingJob { cores_min: 8, ..job(&format!("n{seq}"), "n", seq) });
    }
    let each = (0..2).map(|at| {
        world.offer(&format!("o{at}"), "Y", 8);
        world.matched().concat()
    });
    assert_eq!(each.collect::<Vec<_>>(), ["g1", "n1"]);
}

#[test]
fn c_31_a_regional_group_first_on_its_block() {
    let mut world = World::new();
    let block =
        ExtraBlock { slots: 2, priority_group: Some("de".to_owned()), ..ExtraBlock::default() };
    let config = SlotQuota { pledged_slots: 10, ..quota(Tier::T3) };
    world.site("Y", SlotQuota { extra_blocks: vec![block], ..config });
    for user in ["d", "x"] {
        world.analysis(user, user);
        world.many(user, 4);
    }
    world.user("d", "de", 9_000);
    assert_eq!(world.one_by_one("Y", 3), ["d1", "d2", "x1"]);
}

#[test]
fn c_21_a_users_own_priority_then_local_jobs() {
    let mut world = world();
    world.workflow(stating(analysis("w", "u"), |it| it.allow_overflow = true));
    world.site("H", SlotQuota { overflow_slots: 9, ..quota(Tier::T2) });
    world.pending(listed("remote", "w", 1, &["H"]));
    world.pending(listed("local", "w", 2, &["Y"]));
    world.pending(PendingJob { user_priority: 1, ..listed("first", "w", 3, &["Y"]) });
    assert_eq!(world.one_by_one("Y", 3), ["first", "local", "remote"]);
}
