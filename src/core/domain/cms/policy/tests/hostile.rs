//! Numbers and names that nobody means: none of them stops a cut.

use super::random::{Numbers, Put, Records};
use super::whole::run;
use super::world::{NOW_S, World, changed, end_job, job, jobs, offer, quota, reason};
use crate::domain::cms::policy::admission::Admission;
use crate::domain::cms::policy::bounds::{MAX_MB, MAX_SECONDS, MAX_SLOTS};
use crate::domain::cms::policy::facts::{CoresMax, ExtraBlock, PendingJob, SlotQuota, Tier};
use crate::domain::cms::policy::judge::MatchRules;
use crate::domain::cms::policy::quota::terms;
use crate::domain::cms::policy::settings::Settings;
use crate::domain::cms::state::{PoolEnded, PoolNode};
use crate::event::{BadQuota, User};
use proptest::prelude::{ProptestConfig, any, proptest};

const WORST: [i64; 8] = [i64::MIN, i64::MIN + 1, -1, 0, 1, MAX_SLOTS + 1, i64::MAX / 2, i64::MAX];

/// One number in three becomes one of the worst.
fn spoil(numbers: &mut Numbers, number: &mut i64) {
    if numbers.one_in(3) {
        *number = WORST[numbers.below(WORST.len() as i64) as usize];
    }
}

fn spoil_some(numbers: &mut Numbers, number: &mut Option<i64>) {
    number.iter_mut().for_each(|it| spoil(numbers, it));
}

fn spoil_job(numbers: &mut Numbers, job: &mut PendingJob) {
    let mut base = numbers.one_in(2).then_some(2);
    spoil_some(numbers, &mut base);
    job.base_cores = base;
    for number in [&mut job.cores_min, &mut job.queued_at_s, &mut job.seq, &mut job.user_priority] {
        spoil(numbers, number);
    }
    spoil_some(numbers, &mut job.max_wall_time_s);
    spoil_some(numbers, &mut job.max_rss_mb);
    if let Some(CoresMax::Cores(cores)) = &mut job.cores_max {
        spoil(numbers, cores);
    }
}

fn spoil_put(numbers: &mut Numbers, put: &mut Put) {
    match put {
        // What the door of configurations lets through.
        Put::Site(_, site) => {
            for number in [
                &mut site.overflow_slots,
                &mut site.high_io_slots,
                &mut site.corepower_mhs06,
                &mut site.pledged_slots,
            ] {
                spoil(numbers, number);
                *number = (*number).clamp(0, MAX_SLOTS / 2);
            }
        }
        Put::Workflow(workflow) => {
            let record = workflow.record.get_or_insert_default();
            for number in [
                &mut workflow.priority.get_or_insert_default().priority,
                &mut record.injected_at,
                &mut workflow.done,
                &mut workflow.failed_final,
            ] {
                spoil(numbers, number);
            }
            record.facts.total_jobs = numbers.one_in(2).then_some(7);
            spoil_some(numbers, &mut record.facts.total_jobs);
            spoil_some(numbers, &mut record.facts.test_jobs);
            record.facts.tail_permille = numbers.one_in(2).then_some(i64::MAX);
        }
        Put::User(user) => {
            spoil(numbers, &mut user.past_usage_milli);
            spoil(numbers, &mut user.past_usage_at);
        }
        Put::Pending(job) => spoil_job(numbers, job),
        Put::Held(held) => {
            spoil_job(numbers, &mut held.job);
            let node = numbers.one_in(2).then(|| "n".to_owned());
            held.node = node;
            for number in [&mut held.cores, &mut held.weight_milli, &mut held.counts_from_s] {
                spoil(numbers, number);
            }
            spoil_some(numbers, &mut held.reserved_at_s);
            held.expected_end_s = numbers.one_in(2).then_some(NOW_S);
            spoil_some(numbers, &mut held.expected_end_s);
        }
    }
}

fn spoil_settings(numbers: &mut Numbers, settings: &mut Settings) {
    for number in [
        &mut settings.tail_priority,
        &mut settings.overflow_idle_s,
        &mut settings.restricted_charge_permille,
        &mut settings.reservation_ttl_s,
        &mut settings.workflow_hold_s,
        &mut settings.drain_wait_s,
        &mut settings.backfill_margin_s,
        &mut settings.default_rss_mb_per_core,
        &mut settings.extra_mb_per_core,
        &mut settings.resize_overhead_s,
    ] {
        spoil(numbers, number);
    }
    for number in [&mut settings.reference_mhs06, &mut settings.half_life_s] {
        spoil(numbers, number);
        *number = (*number).max(1);
    }
}

fn spoiled(seed: u64, jobs: i64) -> Records {
    let mut records = Records::of(seed, jobs);
    let numbers = &mut Numbers(seed ^ 1);
    records.puts.iter_mut().for_each(|put| spoil_put(numbers, put));
    spoil_settings(numbers, &mut records.settings);
    for grant in &mut records.grants {
        spoil(numbers, &mut grant.level);
        spoil_some(numbers, &mut grant.cap_weight_milli);
    }
    for offer in &mut records.offers {
        let offer = &mut offer.offer;
        offer.node = if numbers.one_in(2) { "n".to_owned() } else { String::new() };
        spoil_some(numbers, &mut offer.corepower_mhs06);
        for number in [
            &mut offer.cores_free,
            &mut offer.cores_total,
            &mut offer.wall_left_s,
            &mut offer.mem_free_mb,
        ] {
            spoil(numbers, number);
        }
    }
    records
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_number_stops_a_cut(seed in any::<u64>(), jobs in 1i64..40, worst in 0usize..8) {
        let records = spoiled(seed, jobs);
        let mut pool = records.pool();
        let (node, site) = ("n".to_owned(), "s1".to_owned());
        let (many, rss_mb) = (i64::MAX, WORST[worst]);
        pool.put_node(PoolNode { node, site, cores_total: many, ..PoolNode::default() });
        let (job, site, wall_s) = ("e".to_owned(), "s1".to_owned(), WORST[worst]);
        let ended = PoolEnded { job, site, wall_s, rss_mb, ..PoolEnded::default() };
        end_job(&mut pool, "w1", 1, ended);
        for at in [NOW_S, WORST[worst]] {
            run(&MatchRules::full(), &mut pool, &records.offers, at);
        }
        pool.set_past_use("u0", WORST[worst].into());
        let held: Vec<_> = pool.jobs().map(|it| it.job().job.clone()).collect();
        held.iter().for_each(|job| drop(pool.remove_job(job)));
    }
}

#[test]
fn configurations_beyond_all_bounds_are_rejected() {
    let good = || SlotQuota { pledged_slots: 10, ..quota(Tier::T3) };
    let verdict = |config: SlotQuota| terms(&config, &Settings::default()).map(|_| ());
    let block = |slots| ExtraBlock { slots, ..ExtraBlock::default() };
    let restricted = |slots| ExtraBlock { restricted_group: Some("g".to_owned()), ..block(slots) };
    let over = MAX_SLOTS + 1;
    for config in [
        SlotQuota { pledged_slots: over, ..good() },
        SlotQuota { overflow_slots: over, ..good() },
        SlotQuota { high_io_slots: over, ..good() },
        SlotQuota { corepower_mhs06: over, ..good() },
        SlotQuota { extra_blocks: vec![block(MAX_SLOTS - 9)], ..good() },
        SlotQuota { extra_blocks: vec![restricted(MAX_SLOTS), restricted(1)], ..good() },
        SlotQuota { extra_blocks: vec![block(i64::MAX); 3], ..good() },
    ] {
        assert_eq!(verdict(config.clone()), Err(BadQuota::BadQuota), "{config:?}");
    }
    let extra_blocks = vec![block(MAX_SLOTS - 10)];
    assert_eq!(verdict(SlotQuota { extra_blocks, ..good() }), Ok(()));
}

#[test]
fn jobs_beyond_all_bounds_are_rejected() {
    let mut world = World::new();
    world.central("w", 0);
    let good = || job("j", "w", 1);
    let over = MAX_SLOTS + 1;
    let most = |cores| Some(CoresMax::Cores(cores));
    for (job, code) in [
        (PendingJob { cores_min: over, ..good() }, Some("bad_core_request")),
        (PendingJob { cores_max: most(over), ..good() }, Some("bad_core_request")),
        (PendingJob { base_cores: Some(over), ..good() }, Some("bad_core_request")),
        (PendingJob { max_rss_mb: Some(MAX_MB + 1), ..good() }, Some("bad_resource_request")),
        (
            PendingJob { max_wall_time_s: Some(MAX_SECONDS + 1), ..good() },
            Some("bad_resource_request"),
        ),
        (
            PendingJob {
                cores_max: most(MAX_SLOTS),
                max_rss_mb: Some(MAX_MB),
                max_wall_time_s: Some(MAX_SECONDS),
                ..good()
            },
            None,
        ),
    ] {
        let found = match world.admit(&job) {
            Admission::Reject(why) => Some(why.code()),
            Admission::Accept(_) | Admission::Hold(_) => None,
        };
        assert_eq!(found, code, "{job:?}");
    }
}

#[test]
fn an_offer_at_an_unknown_site_meets_no_site_without_a_name() {
    let mut world = World::new();
    world.t2("", 20);
    world.central("w", 0);
    world.many("w", 1);
    world.offer("o", "NOWHERE", 1);
    let cut = world.cut();
    assert_eq!((jobs(&cut).len(), reason(&cut, "w1")), (0, Some("site_status")));
    world.offer("o", "", 1);
    assert_eq!(world.matched(), ["w1"], "the site itself");
}

#[test]
fn a_block_of_an_unknown_group_is_not_for_a_group_without_a_name() {
    for labelled in [false, true] {
        let mut world = World::new();
        let block = ExtraBlock {
            label: Some("special".to_owned()),
            slots: 2,
            restricted_group: Some("unknown".to_owned()),
            priority_group: None,
            ..ExtraBlock::default()
        };
        let central_slots = Some(0);
        let quota = SlotQuota { central_slots, extra_blocks: vec![block], ..quota(Tier::T3) };
        world.site("T3_D", quota);
        world.analysis("a", "ann");
        let (user, groups) = ("ann".to_owned(), vec![String::new()]);
        let record = User { name: user, groups, ..User::default() };
        world.pool.put_user(record);
        world.many("a", 1);
        let block = if labelled { "special" } else { "" };
        world.put_offer(changed(offer("o", "T3_D", 1), |it| it.block = block.to_owned()));
        let cut = world.cut();
        assert_eq!((jobs(&cut).len(), reason(&cut, "a1")), (0, Some("restricted_pool")));
    }
}
