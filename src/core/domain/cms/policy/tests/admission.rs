//! Jobs and configurations that come (C-01..C-09, C-24..C-26).

use super::world::{World, central, job, jobs, listed, quota, reason};
use crate::domain::cms::policy::admission::{Admission, Rejection, admit};
use crate::domain::cms::policy::facts::{
    Class, CoresMax, ExtraBlock, PendingJob, PerClass, SlotQuota, Tier,
};
use crate::domain::cms::policy::quota::{SiteTerms, terms};
use crate::domain::cms::policy::records::Arrived;
use crate::domain::cms::policy::settings::Settings;
use crate::domain::cms::state::PoolNode;
use crate::event::{BadQuota, User};

#[track_caller]
fn rejects(world: &World, job: &PendingJob, code: &str) {
    let found = world.admit(job);
    let Admission::Reject(why) = found else { panic!("{found:?}") };
    assert_eq!(why.code(), code);
}

fn world() -> World {
    let mut world = World::new();
    world.t2("T2_Y", 20);
    world.central("w", 0);
    world.analysis("a", "ann");
    world
}

fn high_io() -> PendingJob {
    PendingJob { high_io: true, ..job("j", "w", 1) }
}

#[test]
fn tc_01_high_io_without_whitelist_is_rejected() {
    let world = world();
    let before = world.pool.counters().clone();
    rejects(&world, &high_io(), "highio_without_whitelist");
    assert_eq!(*world.pool.counters(), before);
}

#[test]
fn tc_02_or_treated_as_normal() {
    let settings = Settings { ignores_bare_high_io: true, ..Settings::default() };
    let mut world = World::with(settings);
    world.t2("T2_Y", 20);
    world.central("w", 0);
    let Admission::Accept(admitted) = world.admit(&high_io()) else { panic!("accepted") };
    assert!(!admitted.high_io);
    world.pending(high_io());
    world.offer("o", "T2_Y", 1);
    assert_eq!(world.matched(), ["j"]);
    assert_eq!(world.high_io("T2_Y"), 0);
}

#[test]
fn tc_03_an_empty_whitelist_is_rejected_an_absent_one_fits_everywhere() {
    let mut world = world();
    rejects(&world, &listed("A", "w", 1, &[]), "empty_whitelist");
    assert!(matches!(world.admit(&job("B", "w", 2)), Admission::Accept(_)));
    world.t2("T2_Z", 20);
    world.many("w", 2);
    world.offer("o1", "T2_Y", 1);
    world.offer("o2", "T2_Z", 1);
    assert_eq!(world.matched(), ["w1", "w2"]);
}

#[test]
fn tc_04_system_jobs_are_for_the_production_role() {
    let mut world = world();
    let system = PendingJob { system_job: true, ..job("s", "a", 1) };
    rejects(&world, &system, "system_flag_unauthorised");
    let (name, roles) = ("ann".to_owned(), vec!["production".to_owned()]);
    world.pool.put_user(User { name, roles, ..User::default() });
    assert!(matches!(world.admit(&system), Admission::Accept(_)));
}

#[test]
fn tc_54_a_job_before_its_workflow_is_held_with_its_place() {
    let mut world = world();
    let early = PendingJob::new("early", "late", 1, world.now_s);
    assert_eq!(world.admit(&early), Admission::Hold(world.now_s + 900));
    let after = world.now_s + 900;
    let given_up = admit(&world.pool, &early, world.now_s, after);
    assert_eq!(given_up, Admission::Reject(Rejection::WorkflowUnknown));
    world.pending(early.clone());
    world.offer("o", "T2_Y", 1);
    let cut = world.cut();
    assert_eq!((jobs(&cut).len(), reason(&cut, "early")), (0, Some("workflow_unknown")));
    world.now_s += 10;
    world.workflow(central("late", 0));
    assert!(matches!(world.admit(&early), Admission::Accept(_)));
    world.offer("o", "T2_Y", 1);
    let cut = world.cut();
    assert_eq!(jobs(&cut), ["early"]);
    assert_eq!(world.pool.job("early").expect("it").job().queued_at_s, early.queued_at_s);
}

#[test]
fn every_other_code_of_admission() {
    let mut world = world();
    rejects(&world, &job("j", "", 1), "no_workflow");
    let class = Some(Class::Analysis);
    rejects(&world, &PendingJob { class, ..job("j", "w", 1) }, "class_conflict");
    for (cores_min, cores_max) in [(0, None), (4, Some(CoresMax::Cores(3)))] {
        rejects(
            &world,
            &PendingJob { cores_min, cores_max, ..job("j", "w", 1) },
            "bad_core_request",
        );
    }
    let (node, site) = ("n".to_owned(), "T2_Y".to_owned());
    world.pool.put_node(PoolNode { node, site, cores_total: 8, ..PoolNode::default() });
    let whole = PendingJob { whole_node: true, cores_min: 9, ..job("j", "w", 1) };
    rejects(&world, &whole, "bad_core_request");
    let wall = PendingJob { max_wall_time_s: Some(0), ..job("j", "w", 1) };
    rejects(&world, &wall, "bad_resource_request");
    let rss = PendingJob { max_rss_mb: Some(-1), ..job("j", "w", 1) };
    rejects(&world, &rss, "bad_resource_request");
}

fn of(config: SlotQuota) -> SiteTerms {
    terms(&config, &Settings::default()).expect("valid")
}

fn slots(tier: Tier, pledged: i64, blocks: &[(i64, Option<i64>)]) -> (i64, i64) {
    let block = |(slots, central_slots): &(i64, Option<i64>)| ExtraBlock {
        slots: *slots,
        central_slots: *central_slots,
        ..ExtraBlock::default()
    };
    let extra_blocks = blocks.iter().map(block).collect();
    let config = SlotQuota { pledged_slots: pledged, extra_blocks, ..quota(tier) };
    let slots = of(config).slots;
    (slots.central, slots.analysis)
}

#[test]
fn tc_48_and_we_2_quotas_by_tier() {
    assert_eq!(slots(Tier::T1, 3_000, &[(200, None)]), (3_200, 0));
    assert_eq!(slots(Tier::T2, 1_000, &[(200, Some(50))]), (550, 650));
    assert_eq!(slots(Tier::T2, 101, &[]), (51, 50));
    assert_eq!(slots(Tier::T3, 0, &[(80, Some(0))]), (0, 80));
    let pledged_slots = 1_000;
    let opportunistic = quota(Tier::Opportunistic);
    let stated = of(SlotQuota { pledged_slots, central_slots: Some(400), ..opportunistic });
    assert_eq!(stated.slots, PerClass { central: 400, analysis: 600 });
    let unstated = of(SlotQuota { pledged_slots, ..quota(Tier::Cloud) });
    assert!(unstated.quota_missing);
    assert_eq!(unstated.slots, PerClass { central: 0, analysis: 0 });
}

#[test]
fn tc_49_a_cloud_without_a_number_is_used_as_surplus() {
    let mut world = World::new();
    world.site("CLOUD_A", SlotQuota { pledged_slots: 10, ..quota(Tier::Cloud) });
    world.central("c", 0);
    world.analysis("a", "ann");
    world.many("c", 1);
    world.many("a", 1);
    assert_eq!(world.one_by_one("CLOUD_A", 2), ["c1", "a1"], "a tie goes to central");
}

#[test]
fn configurations_that_are_rejected_leave_the_one_before() {
    let mut world = World::new();
    let good = SlotQuota { pledged_slots: 10, revision: 1, ..quota(Tier::T2) };
    assert_eq!(world.pool.put_site("S", &good), Arrived::Accepted);
    let bad = SlotQuota { pledged_slots: -1, revision: 2, ..good.clone() };
    assert_eq!(world.pool.put_site("S", &bad), Arrived::Rejected(BadQuota::BadQuota));
    let tier = "T9".to_owned();
    let unknown = SlotQuota { tier, revision: 2, ..good.clone() };
    assert_eq!(world.pool.put_site("S", &unknown), Arrived::Rejected(BadQuota::UnknownTier));
    let old = SlotQuota { pledged_slots: 30, revision: 0, ..good };
    assert_eq!(world.pool.put_site("S", &old), Arrived::Ignored);
    let again = SlotQuota { pledged_slots: 10, revision: 1, ..quota(Tier::T2) };
    assert_eq!(world.pool.put_site("S", &again), Arrived::Accepted, "a newer one of the revision");
    let site = world.pool.name("S").and_then(|name| world.pool.site(name)).expect("in force");
    assert_eq!(site.slots, PerClass { central: 5, analysis: 5 });
}

#[test]
fn tc_23_weights() {
    let settings = Settings::default();
    assert_eq!(8 * settings.kappa_milli(12_000), 9_600);
    assert_eq!(8 * settings.kappa_milli(8_000), 6_400);
    assert_eq!(settings.kappa_milli(0), 1_000, "a missing benchmark is the reference");
    let cores = Settings { counts_cores: true, ..settings };
    assert_eq!(cores.kappa_milli(12_000), 1_000);
}
