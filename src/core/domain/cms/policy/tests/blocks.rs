//! Blocks of resources for one group or one class, and what is reported of a site that is full
//! (C-28, C-30, C-60; A.13 6).

use super::world::{World, analysis, changed, offer, quota};
use crate::domain::cms::policy::entry::Standing;
use crate::domain::cms::policy::facts::{Class, ExtraBlock, SlotQuota, Tier};
use crate::domain::cms::policy::judge::MatchRules;
use crate::domain::cms::policy::look::{Look, Pending};
use crate::domain::cms::state::PoolOffer;
use crate::policy::phrase::{number, objection_figure, phrase};
use crate::unit::SECOND;

/// A T3 with so many slots, some for central jobs.
fn t3(slots: i64, central_slots: i64) -> SlotQuota {
    SlotQuota { pledged_slots: slots, central_slots: Some(central_slots), ..quota(Tier::T3) }
}

/// A site for both classes, with a block for one group and, of it, for one class alone.
fn kept_world(open_slots: i64, kept_slots: i64) -> World {
    let mut world = World::new();
    let block = |slots, class_only| ExtraBlock {
        slots,
        restricted_group: Some("de".to_owned()),
        class_only,
        ..ExtraBlock::default()
    };
    let extra_blocks = vec![block(open_slots, None), block(kept_slots, Some(Class::Analysis))];
    world.site("T3_D", SlotQuota { extra_blocks, ..t3(2, 2) });
    world.central("c", 0);
    world.workflow(analysis("a", "ann"));
    world.user("production", "de", 0);
    world.user("ann", "de", 0);
    world.many("c", 9);
    world
}

#[test]
fn a_13_6_a_restricted_block_for_one_class_alone() {
    let mut world = kept_world(0, 2);
    assert_eq!(world.one_by_one("T3_D", 3), ["c1", "c2", ""], "what all share, and not the block");
    world.many("a", 9);
    assert_eq!(world.one_by_one("T3_D", 3), ["a1", "a2", ""]);
    let charged = |job: &str| match world.pool.job(job) {
        Some(Standing::Held(held)) => held.charged_group.clone(),
        _ => panic!("{job} is held"),
    };
    assert_eq!((charged("c1"), charged("a1").as_deref()), (None, Some("de")));
}

#[test]
fn a_13_6_a_pool_with_a_part_for_one_class() {
    let mut world = kept_world(1, 2);
    assert_eq!(world.one_by_one("T3_D", 4), ["c1", "c2", "c3", ""], "one of the pool, two shared");
    world.many("a", 9);
    assert_eq!(world.one_by_one("T3_D", 3), ["a1", "a2", ""], "the part for analysis is free");
    world.pool.remove_job("c1");
    world.pool.remove_job("c2");
    assert_eq!(world.one_by_one("T3_D", 3), ["c4", "c5", ""], "c3 is in the pool");
}

/// Why a job is refused before an offer, as people read it.
fn reason_text(world: &World, offer: &PoolOffer, job: &str) -> String {
    let look = Look::new(&world.pool, offer, world.now_s * SECOND);
    let mut clusters = world.pool.clusters().iter();
    let cluster =
        clusters.find(|it| it.places().any(|place| &*place.job == job)).expect("it waits");
    let pending = Pending::new(&look, cluster, super::world::LONG_AGO_S);
    let found = MatchRules::full().objection(&look, &pending).expect("an objection");
    phrase(found.reason.sentence, &|figure| objection_figure(figure, found.measured, found.limit))
}

#[test]
fn what_is_reported_of_a_full_site_is_true() {
    let mut world = World::new();
    let block = ExtraBlock {
        label: Some("special".to_owned()),
        slots: 1,
        restricted_group: Some("de".to_owned()),
        ..ExtraBlock::default()
    };
    world.site("T3_D", SlotQuota { extra_blocks: vec![block], ..t3(2, 0) });
    for user in ["x", "d"] {
        world.workflow(analysis(user, user));
        world.many(user, 3);
    }
    world.user("d", "de", 50_000);
    let plain = offer("o", "T3_D", 1);
    let labelled = changed(plain.clone(), |it| it.block = "special".to_owned());
    let no_room = |used: i64| {
        format!(
            "the offer is for another group, or neither a pool of the user's groups nor what all \
     share has room for the job: {used} of 2 cores by power of that are \
     used"
        )
    };
    assert_eq!(reason_text(&world, &labelled, "x1"), no_room(0), "for the group alone");
    assert_eq!(world.one_by_one("T3_D", 3), ["x1", "x2", "d1"]);
    assert_eq!(reason_text(&world, &plain, "d2"), no_room(2), "TC-27: a member, and all is full");
    assert_eq!(reason_text(&world, &plain, "x3"), no_room(2));
}

#[test]
fn what_is_reported_of_a_class_over_its_quota_is_what_was_measured() {
    let over = |measured: i64, limit: i64| {
        format!(
            "with the job, its class would use {} of the {} cores by power that it may use at the \
             site",
            number(measured as f64 / 1e3),
            number(limit as f64 / 1e3)
        )
    };
    let mut world = World::new();
    let surplus_central = Some(false);
    world.site("S", SlotQuota { surplus_central, ..t3(10, 5) });
    let class_only = Some(Class::Analysis);
    let block = ExtraBlock { slots: 2, class_only, ..ExtraBlock::default() };
    world.site("B", SlotQuota { extra_blocks: vec![block], ..t3(4, 4) });
    world.central("c", 0);
    world.running("r", "c", "S", 5);
    world.running("s", "c", "B", 4);
    world.many("c", 1);
    assert_eq!(reason_text(&world, &offer("o", "S", 1), "c1"), over(6_000, 5_000));
    assert_eq!(reason_text(&world, &offer("o", "B", 1), "c1"), over(5_000, 4_000));
}
