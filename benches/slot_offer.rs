//! Cost of one slot offer before many pending jobs: `cargo bench --bench slot_offer`.

use divan::{Bencher, black_box};
use yardmaster::core::domain::cms::policy::cut::next;
use yardmaster::core::domain::cms::policy::decision::Assignment;
use yardmaster::core::domain::cms::policy::entry::Standing;
use yardmaster::core::domain::cms::policy::facts::{
    Band, Class, CoresMax, ExtraBlock, HeldJob, PendingJob, SlotQuota, Tier,
};
use yardmaster::core::domain::cms::policy::judge::MatchRules;
use yardmaster::core::domain::cms::policy::pool::Pool;
use yardmaster::core::domain::cms::policy::settings::Settings;
use yardmaster::core::domain::cms::state::{
    PoolOffer, PoolPriority, PoolWorkflow, PoolWorkflowRecord,
};
use yardmaster::core::event::{
    Grant, GrantScopeKind, OwnSlotOffer, PrincipalKind, User, WorkflowFacts,
};

const NOW_S: i64 = 1_700_000_000;
const NOW: i64 = NOW_S * 1_000;
const JOBS: u64 = 100_000;
const USERS: u64 = 2_000;
const SITES: u64 = 60;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        (self.0 >> 33) % bound
    }
}

fn site_name(at: u64) -> String {
    format!("T2_S{at:02}")
}

fn sites(pool: &mut Pool, numbers: &mut Numbers) {
    for at in 0..SITES {
        let tier = if at < 6 { Tier::T1 } else { Tier::T2 };
        let block = ExtraBlock {
            slots: 200,
            priority_group: Some(format!("g{}", at % 20)),
            ..ExtraBlock::default()
        };
        let quota = SlotQuota {
            tier: tier.name().to_owned(),
            central_permille: 500,
            high_io_slots: 25,
            pledged_slots: 2_000 + numbers.below(4_000) as i64,
            overflow_slots: numbers.below(300) as i64,
            corepower_mhs06: 8_000 + numbers.below(6_000) as i64,
            extra_blocks: vec![block],
            region: Some(format!("r{}", at % 8)),
            ..SlotQuota::default()
        };
        pool.put_site(&site_name(at), &quota);
    }
}

fn users(pool: &mut Pool, numbers: &mut Numbers) {
    let mut grants = Vec::new();
    for at in 0..USERS {
        let user = format!("u{at:04}");
        pool.put_user(User {
            name: user.clone(),
            groups: vec![format!("g{}", numbers.below(20)), format!("g{}", numbers.below(20))],
            past_usage_milli: numbers.below(900_000) as i64,
            past_usage_at: (NOW_S - 3_600) * 1_000,
            ..User::default()
        });
        if at.is_multiple_of(20) {
            grants.push(Grant {
                principal: user,
                scope_kind: GrantScopeKind::Site,
                scope: site_name(at % SITES),
                level: 10,
                ..Grant::default()
            });
        }
    }
    for at in 0..20 {
        grants.push(Grant {
            principal_kind: PrincipalKind::Group,
            principal: format!("g{at}"),
            level: 10,
            cap_weight_milli: Some(16_000_000),
            ..Grant::default()
        });
    }
    pool.set_grants(grants);
}

fn workflows(pool: &mut Pool, numbers: &mut Numbers, count: u64) {
    for at in 0..count {
        let (class, user) = match at % 5 {
            0 | 1 => (Class::Central, "production".to_owned()),
            _ => (Class::Analysis, format!("u{:04}", at * 7 % USERS)),
        };
        let priority = numbers.below(1_000) as i64 * 100;
        let priority = Some(PoolPriority { priority, ..PoolPriority::default() });
        let (total_jobs, allow_overflow) = (Some(1_000), at.is_multiple_of(2));
        let injected_at = NOW - numbers.below(500_000) as i64 * 1_000;
        let facts = WorkflowFacts { class, total_jobs, allow_overflow, ..WorkflowFacts::default() };
        let record = PoolWorkflowRecord { user, injected_at, facts, ..Default::default() };
        let (workflow, record) = (format!("w{at:05}"), Some(record));
        pool.put_workflow(PoolWorkflow { workflow, record, priority, ..PoolWorkflow::default() });
    }
}

fn job(numbers: &mut Numbers, at: u64, workflows: u64) -> PendingJob {
    let workflow = at % workflows;
    let seq = (at / workflows) as i64 + 1;
    let queued = NOW_S - numbers.below(400_000) as i64;
    let name = format!("w{workflow:05}");
    let mut job = PendingJob::new(&format!("j{at:07}"), &name, seq, queued);
    let listed = 1 + workflow % 8;
    job.site_whitelist = (!workflow.is_multiple_of(10))
        .then(|| (0..listed).map(|it| site_name((workflow * 13 + it * 7) % SITES)).collect());
    job.cores_min = if workflow.is_multiple_of(7) { 4 } else { 1 };
    job.cores_max = workflow.is_multiple_of(14).then_some(CoresMax::Cores(8));
    job.max_wall_time_s = Some(3_600 * (1 + (workflow % 20) as i64));
    job.high_io = workflow % 11 == 1;
    job.system_job = workflow % 50 == 1 && seq % 20 == 0;
    job
}

fn full_pool(count: u64) -> Pool {
    let (mut pool, mut numbers) = (Pool::new(Settings::default(), NOW_S), Numbers(1));
    sites(&mut pool, &mut numbers);
    users(&mut pool, &mut numbers);
    workflows(&mut pool, &mut numbers, count);
    for at in 0..JOBS {
        let job = job(&mut numbers, at, count);
        pool.put_pending(job);
    }
    for at in 0..20_000 {
        let mut job = job(&mut numbers, at, count);
        job.job = format!("r{at:07}").into();
        let class = if at % count % 5 < 2 { Class::Central } else { Class::Analysis };
        let user = match class {
            Class::Central => "production".to_owned(),
            Class::Analysis => format!("u{:04}", at % count * 7 % USERS),
        };
        pool.put_held(HeldJob {
            job,
            class,
            user,
            run_site: site_name(at % SITES),
            cores: 1,
            rss_mb: 2_000,
            weight_milli: 1_000,
            band: Band::Normal,
            overflow_source: None,
            charged_group: None,
            node: None,
            reserved_at_s: None,
            counts_from_s: NOW_S - numbers.below(40_000) as i64,
            started_at_s: None,
            expected_end_s: None,
        });
    }
    pool
}

fn offer(site: u64, cores: i64, mem_free_mb: i64) -> PoolOffer {
    let offer = OwnSlotOffer {
        offer: "o".to_owned(),
        cores_free: cores,
        cores_total: cores,
        wall_left_s: 48 * 3_600,
        mem_free_mb,
        ..OwnSlotOffer::default()
    };
    PoolOffer { offer, site: site_name(site), changed_at: NOW, ..PoolOffer::default() }
}

/// One look: 100,000 pending jobs, 2,000 users.
#[divan::bench(args = [500, 2_500])]
fn one_offer(bencher: Bencher, workflows: u64) {
    let (pool, judges, open) = (full_pool(workflows), MatchRules::full(), offer(17, 8, 16_000));
    let (found, refusals) = next(&judges, &pool, &open, NOW);
    assert!(found.is_some() && refusals.eligible > 1_000, "{refusals:?}");
    bencher.bench(|| next(black_box(&judges), black_box(&pool), black_box(&open), NOW));
}

/// A job holds the slots that it got.
fn hold(pool: &mut Pool, made: &Assignment) {
    let matched = &made.matched;
    let Some(Standing::Pending(job)) = pool.job(&matched.job) else { return };
    let stated = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let held = HeldJob {
        job: (**job).clone(),
        class: matched.class,
        user: made.user.clone(),
        run_site: made.site.clone(),
        cores: matched.cores,
        rss_mb: matched.rss_mb,
        weight_milli: matched.weight_milli,
        band: matched.band,
        overflow_source: stated(&matched.overflow_source),
        charged_group: stated(&matched.charged_group),
        node: stated(&matched.node),
        reserved_at_s: Some(NOW_S),
        counts_from_s: NOW_S,
        started_at_s: None,
        expected_end_s: Some(NOW_S + matched.wall_time_s),
    };
    pool.put_held(held);
}

/// Looks of one core each, every assignment folded: the pool changes as it does in a cut.
#[divan::bench(args = [500])]
fn thousand_offers(bencher: Bencher, workflows: u64) {
    let judges = MatchRules::full();
    let pool = full_pool(workflows);
    bencher.with_inputs(|| pool.clone()).bench_values(|mut pool| {
        let mut matched = 0;
        for at in 0..1_000 {
            let open = offer(at % SITES, 1, 4_000);
            if let (Some(assignment), _) = next(&judges, &pool, &open, NOW) {
                hold(&mut pool, &assignment);
                matched += 1;
            }
        }
        matched
    });
}

fn main() {
    divan::main();
}
