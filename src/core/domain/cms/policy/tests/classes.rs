//! Bands, classes and quotas (C-10..C-12, C-24, C-27..C-30; A.13 6).

use super::world::{World, analysis, central, job, jobs, listed, quota, reason, stated, stating};
use crate::domain::cms::policy::facts::{Class, ExtraBlock, PendingJob, PerClass, SlotQuota, Tier};

/// A T3 with so many slots, some for central jobs.
fn t3(slots: i64, central_slots: i64) -> SlotQuota {
    SlotQuota { pledged_slots: slots, central_slots: Some(central_slots), ..quota(Tier::T3) }
}

fn system(name: &str, workflow: &str, queued_at_s: i64) -> PendingJob {
    PendingJob { system_job: true, queued_at_s, ..job(name, workflow, 1) }
}

#[test]
fn tc_05_a_system_job_before_all_others() {
    let mut world = World::new();
    world.t2("T2_Y", 20);
    world.central("merge", 0);
    world.central("urgent", 999_999);
    world.workflow(stating(analysis("probe", "ann"), |it| it.test_jobs = Some(5)));
    world.pending(system("s", "merge", 900_000));
    world.many("urgent", 1);
    world.many("probe", 1);
    assert_eq!(world.one_by_one("T2_Y", 3), ["s", "probe1", "urgent1"]);
}

#[test]
fn tc_06_system_jobs_come_first_in_first_out() {
    let mut world = World::new();
    world.t2("T2_Y", 20);
    world.central("high", 999_999);
    world.central("low", 1);
    world.pending(system("S1", "high", 100));
    world.pending(system("S2", "low", 50));
    assert_eq!(world.one_by_one("T2_Y", 1), ["S2"]);
}

#[test]
fn tc_11_a_merge_stays_first_when_its_priority_falls() {
    let mut world = World::new();
    world.t2("T2_Y", 20);
    world.central("other", 10);
    let mut workflow = central("w", 500);
    workflow.priority = Some(stated(1, 0, false));
    world.workflow(workflow);
    world.pending(system("merge", "w", 900_000));
    world.many("other", 1);
    assert_eq!(world.one_by_one("T2_Y", 1), ["merge"]);
}

#[test]
fn tc_16_the_class_further_below_its_quota() {
    let mut world = World::new();
    let block = ExtraBlock { slots: 200, central_slots: Some(50), ..ExtraBlock::default() };
    world.site(
        "T2_Y",
        SlotQuota { pledged_slots: 1_000, extra_blocks: vec![block], ..quota(Tier::T2) },
    );
    world.central("c", 0);
    world.analysis("a", "ann");
    world.running("rc", "c", "T2_Y", 540);
    world.running("ra", "a", "T2_Y", 600);
    world.many("c", 70);
    world.many("a", 70);
    let taken = world.one_by_one("T2_Y", 70).concat();
    assert!(taken.starts_with('a'));
    assert_eq!(taken.matches('a').count(), 55, "WE-3: {taken}");
    assert_eq!(world.used("T2_Y", Class::Central), 555_000);
}

#[test]
fn tc_17_the_sequence_from_empty() {
    let mut world = World::new();
    world.site("S", t3(120, 55));
    world.central("c", 0);
    world.analysis("a", "ann");
    world.many("c", 24);
    world.many("a", 24);
    let sequence: String =
        world.one_by_one("S", 24).iter().filter_map(|job| job.chars().next()).collect();
    assert_eq!(sequence, "caacacacacacaacacacacaca");
}

#[test]
fn tc_18_surplus_where_it_is_accepted() {
    for accepts in [true, false] {
        let mut world = World::new();
        let surplus_central = Some(accepts);
        world.site("S", SlotQuota { surplus_central, ..t3(10, 5) });
        world.central("c", 0);
        world.analysis("a", "ann");
        world.running("rc", "c", "S", 5);
        world.running("ra", "a", "S", 2);
        world.many("c", 1);
        world.offer("o", "S", 1);
        let cut = world.cut();
        assert_eq!(jobs(&cut).len(), usize::from(accepts));
        let code = (!accepts).then_some("class_over_quota");
        assert_eq!(reason(&cut, "c1"), code);
    }
}

#[test]
fn tc_19_above_the_total_in_the_same_proportion() {
    let mut world = World::new();
    world.site("S", t3(100, 50));
    world.central("c", 0);
    world.analysis("a", "ann");
    world.running("rc", "c", "S", 60);
    world.running("ra", "a", "S", 50);
    world.many("c", 20);
    world.many("a", 20);
    let taken = world.one_by_one("S", 10).concat();
    assert_eq!(taken.matches('a').count(), 10);
    assert_eq!(world.used("S", Class::Analysis), 60_000);
}

#[test]
fn tc_15_analysis_at_a_t1_only_where_it_is_switched_on() {
    for switched_on in [false, true] {
        let mut world = World::new();
        world.site(
            "T1_X",
            SlotQuota {
                pledged_slots: 100,
                surplus_analysis: switched_on.then_some(true),
                ..quota(Tier::T1)
            },
        );
        world.analysis("a", "ann");
        world.many("a", 1);
        world.offer("o", "T1_X", 1);
        let cut = world.cut();
        assert_eq!(jobs(&cut).len(), usize::from(switched_on));
        assert_eq!(reason(&cut, "a1"), (!switched_on).then_some("class_not_admitted"));
    }
}

#[test]
fn tc_27_resources_for_one_group() {
    let mut world = World::new();
    let group = Some("de".to_owned());
    let block = ExtraBlock { slots: 2, restricted_group: group, ..ExtraBlock::default() };
    world.site("T3_D", SlotQuota { extra_blocks: vec![block], ..t3(3, 0) });
    world.analysis("x", "x");
    world.analysis("d", "d");
    world.user("x", "", 0);
    world.user("d", "de", 50_000);
    world.many("x", 5);
    world.many("d", 4);
    assert_eq!(world.one_by_one("T3_D", 5), ["x1", "x2", "x3", "d1", "d2"]);
    world.offer("o", "T3_D", 1);
    let cut = world.cut();
    assert_eq!((jobs(&cut).len(), reason(&cut, "d3")), (0, Some("restricted_pool")));
}

#[test]
fn a_labelled_offer_is_for_its_group_alone() {
    let mut world = World::new();
    let block = ExtraBlock {
        label: Some("special".to_owned()),
        slots: 2,
        restricted_group: Some("de".to_owned()),
        ..ExtraBlock::default()
    };
    world.site("T3_D", SlotQuota { extra_blocks: vec![block], ..t3(3, 0) });
    world.analysis("x", "x");
    world.analysis("d", "d");
    world.user("d", "de", 50_000);
    world.many("x", 1);
    world.many("d", 1);
    let plain = super::world::offer("o", "T3_D", 1);
    world.put_offer(super::world::changed(plain, |it| it.block = "special".to_owned()));
    let cut = world.cut();
    assert_eq!(jobs(&cut), ["d1"]);
    assert_eq!(cut.assignments[0].matched.charged_group, "de");
    let limit = &cut.assignments[0].limits[0];
    assert_eq!(
        (limit.name.as_str(), limit.before, limit.after, limit.max),
        ("restricted_pool", 0, 1_000, 2_000)
    );
}

#[test]
fn tc_43_and_c_10_nothing_is_stopped_to_make_room() {
    let mut world = World::new();
    world.t2("T2_Y", 2);
    world.central("low", 1);
    world.central("urgent", 1_000_000);
    world.running("r1", "low", "T2_Y", 2);
    world.many("urgent", 1);
    let cut = world.cut();
    assert!(cut.assignments.is_empty() && cut.actions.is_empty());
    assert!(world.pool.job("r1").is_some());
}

#[test]
fn tc_51_a_pledge_that_is_cut_stops_new_jobs_alone() {
    let mut world = World::new();
    let config = SlotQuota { surplus_central: Some(false), ..t3(100, 100) };
    world.site("S", config.clone());
    world.central("c", 0);
    world.running("r", "c", "S", 80);
    world.many("c", 2);
    assert_eq!(world.one_by_one("S", 1), ["c1"]);
    world
        .site("S", SlotQuota { pledged_slots: 50, central_slots: Some(50), revision: 1, ..config });
    world.offer("o", "S", 1);
    let cut = world.cut();
    assert_eq!((jobs(&cut).len(), reason(&cut, "c2")), (0, Some("class_over_quota")));
    assert!(cut.actions.is_empty());
    assert_eq!(world.used("S", Class::Central), 81_000);
    world.pool.remove_job("r");
    assert_eq!(world.one_by_one("S", 1), ["c2"]);
}

#[test]
fn a_13_6_blocks_for_one_class_alone() {
    let mut world = World::new();
    let only = Some(Class::Analysis);
    let block = ExtraBlock { slots: 2, class_only: only, ..ExtraBlock::default() };
    world
        .site("T2_Y", SlotQuota { pledged_slots: 4, extra_blocks: vec![block], ..quota(Tier::T2) });
    world.central("c", 0);
    world.analysis("a", "ann");
    world.many("c", 9);
    let taken = world.one_by_one("T2_Y", 4);
    assert_eq!(taken, ["c1", "c2", "c3", "c4"], "all but the block");
    world.offer("o", "T2_Y", 1);
    let cut = world.cut();
    assert_eq!((jobs(&cut).len(), reason(&cut, "c5")), (0, Some("class_over_quota")));
    world.pending(system("s", "c", 1));
    world.offer("o", "T2_Y", 1);
    assert_eq!(world.matched().len(), 0, "not even a system job");
    world.many("a", 9);
    let taken = world.one_by_one("T2_Y", 3).concat();
    assert_eq!(taken, "a1a2a3", "analysis has no such bound");
}

#[test]
fn a_13_6_such_a_block_is_of_its_class_at_every_tier() {
    for tier in [Tier::T1, Tier::T2, Tier::T3] {
        let only = Some(Class::Analysis);
        let block = ExtraBlock { slots: 7, class_only: only, ..ExtraBlock::default() };
        let config = SlotQuota { extra_blocks: vec![block], ..quota(tier) };
        let mut world = World::new();
        world.site("S", config);
        let terms = world.pool.name("S").and_then(|name| world.pool.site(name)).expect("it");
        assert_eq!(terms.slots, PerClass { central: 0, analysis: 7 }, "{tier:?}");
    }
}

#[test]
fn we_10_a_whole_cut() {
    let mut world = World::new();
    world.now_s = 10_000;
    let t1 = SlotQuota { pledged_slots: 1_000, ..quota(Tier::T1) };
    world.site("T1_X", SlotQuota { overflow_slots: 5, ..t1 });
    world.t2("T2_Y", 20);
    world.t2("T2_Z", 10);
    for (name, priority) in [("m", 0), ("a", 100_000), ("b", 200_000)] {
        world.central(name, priority);
    }
    let mut tail = stating(central("c", 50_000), |it| it.total_jobs = Some(200));
    tail.done = 190;
    world.workflow(tail);
    for user in ["ursula", "victor"] {
        world.analysis(user, user);
    }
    world.workflow(stating(analysis("xenia", "xenia"), |it| it.test_jobs = Some(5)));
    for (name, workflow, site, cores) in [
        ("r1", "m", "T1_X", 900),
        ("r2", "m", "T2_Y", 4),
        ("r3", "victor", "T2_Y", 4),
        ("r4", "ursula", "T2_Y", 3),
        ("r5", "xenia", "T2_Y", 1),
        ("r6", "xenia", "T2_Z", 2),
    ] {
        world.running(name, workflow, site, cores);
    }
    world.user("ursula", "", 10_000);
    world.user("victor", "", 4_000);
    let at = |job: PendingJob, queued_at_s| PendingJob { queued_at_s, ..job };
    let merge = |job: PendingJob| PendingJob { system_job: true, high_io: true, ..job };
    world.pending(merge(at(listed("M1", "m", 1, &["T2_Z"]), 9_990)));
    world.pending(merge(at(listed("M2", "m", 2, &["T2_Y"]), 9_000)));
    world.pending(at(listed("A1", "a", 1, &["T1_X", "T2_Y"]), 100));
    world.pending(at(listed("A2", "a", 2, &["T1_X", "T2_Y"]), 101));
    world.pending(at(listed("B1", "b", 1, &["T2_Y"]), 8_000));
    let b2 = at(listed("B2", "b", 2, &["T1_X"]), 8_001);
    world.pending(PendingJob { allow_overflow: Some(true), ..b2 });
    world.pending(at(listed("C1", "c", 191, &["T2_Z"]), 60));
    for (name, workflow) in [("U1", "ursula"), ("U2", "ursula"), ("V1", "victor")] {
        world.pending(at(job(name, workflow, 1), 100));
    }
    world.pending(at(listed("X1", "xenia", 1, &["T2_Y"]), 100));
    let offers = [("o1", "T1_X"), ("o2", "T2_Y"), ("o3", "T2_Y"), ("o4", "T2_Y"), ("o7", "T2_Y")];
    for (name, site) in offers.into_iter().chain([("o5", "T2_Z"), ("o6", "T2_Z"), ("o8", "T2_Z")]) {
        world.offer(name, site, 1);
    }
    let expected =
        ["o1 B2", "o2 M2", "o3 X1", "o4 B1", "o7 A1", "o5 M1", "o6 C1", "o8 V1"].map(str::to_owned);
    assert_eq!(super::world::matches(&world.cut()), expected);
    let used = |site| (world.used(site, Class::Central), world.used(site, Class::Analysis));
    assert_eq!((used("T2_Y"), used("T2_Z")), ((7_000, 9_000), (2_000, 3_000)));
}
