//! Random records: small worlds in which most rules apply.

use super::world::{NOW_S, changed, quota, stated};
use crate::domain::cms::policy::facts::{
    Band, Class, CoresMax, ExtraBlock, FailureClass, HeldJob, PendingJob, SiteStatus, SlotQuota,
    Tier,
};
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::policy::settings::Settings;
use crate::domain::cms::state::{PoolOffer, PoolWorkflow, PoolWorkflowRecord};
use crate::event::{Grant, GrantScopeKind, PrincipalKind, User, WorkflowFacts};
use crate::unit::SECOND;

/// Numbers that look random, made of a seed.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, bound: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        ((self.0 >> 33) % bound.max(1) as u64) as i64
    }

    pub fn one_in(&mut self, bound: i64) -> bool {
        self.below(bound) == 0
    }

    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at as i64 + 1) as usize);
        }
    }

    fn name(&mut self, letter: &str, bound: i64) -> String {
        format!("{letter}{}", self.below(bound))
    }
}

/// A record of any kind.
#[derive(Clone, Debug)]
pub enum Put {
    Site(String, SlotQuota),
    Workflow(PoolWorkflow),
    User(User),
    Pending(PendingJob),
    Held(HeldJob),
}

impl Put {
    pub fn into(self, pool: &mut Pool) {
        match self {
            Put::Site(name, quota) => drop(pool.put_site(&name, &quota)),
            Put::Workflow(workflow) => pool.put_workflow(workflow),
            Put::User(user) => pool.put_user(user),
            Put::Pending(job) => pool.put_pending(job),
            Put::Held(held) => pool.put_held(held),
        }
    }
}

/// Records, offers and parameters of a world.
#[derive(Clone, Debug)]
pub struct Records {
    pub settings: Settings,
    pub puts: Vec<Put>,
    pub grants: Vec<Grant>,
    pub offers: Vec<PoolOffer>,
}

const SITES: i64 = 5;
const WORKFLOWS: i64 = 8;
const USERS: i64 = 4;

impl Records {
    pub fn of(seed: u64, jobs: i64) -> Records {
        let mut numbers = Numbers(seed);
        let settings = settings(&mut numbers);
        let mut puts: Vec<Put> =
            (0..SITES).map(|at| Put::Site(format!("s{at}"), site(&mut numbers, at))).collect();
        let workflows: Vec<PoolWorkflow> =
            (0..WORKFLOWS).map(|at| workflow(&mut numbers, at)).collect();
        puts.extend((0..USERS).map(|at| Put::User(user(&mut numbers, at))));
        for at in 0..jobs {
            let job = job(&mut numbers, &format!("p{at:03}"), at);
            puts.push(Put::Pending(job));
        }
        for at in 0..jobs / 2 {
            let job = job(&mut numbers, &format!("r{at:03}"), at);
            let of = workflows.iter().find(|workflow| workflow.workflow == job.workflow);
            puts.extend(of.map(|of| Put::Held(held(&mut numbers, job, of))));
        }
        puts.extend(workflows.into_iter().map(Put::Workflow));
        let grants = (0..3).map(|_| grant(&mut numbers)).collect();
        let offers = (0..4).map(|at| offer(&mut numbers, at)).collect();
        Records { settings, puts, grants, offers }
    }

    /// A pool of them, in their order.
    pub fn pool(&self) -> Pool {
        let mut pool = Pool::new(self.settings.clone(), NOW_S);
        pool.set_grants(self.grants.clone());
        self.puts.iter().cloned().for_each(|put| put.into(&mut pool));
        pool
    }
}

fn settings(numbers: &mut Numbers) -> Settings {
    Settings {
        fifo_bucket_s: [21_600, 21_600, 0][numbers.below(3) as usize],
        overflow_in_cores: numbers.one_in(3),
        overflow_idle_s: [1_200, 0][numbers.below(2) as usize],
        high_io_overflow: numbers.one_in(2),
        system_overflow: numbers.one_in(2),
        test_band_user_cap: 1 + numbers.below(6),
        restricted_charge_permille: 500 * numbers.below(3),
        profile_shrink: numbers.one_in(2),
        t1_first_s: [300, 1_000][numbers.below(2) as usize],
        ..Settings::default()
    }
}

fn site(numbers: &mut Numbers, at: i64) -> SlotQuota {
    let tier = [Tier::T1, Tier::T2, Tier::T2, Tier::T3, Tier::Cloud][at as usize];
    let block = |numbers: &mut Numbers| ExtraBlock {
        label: numbers.one_in(2).then(|| "block".to_owned()),
        slots: numbers.below(6),
        central_slots: None,
        restricted_group: numbers.one_in(2).then(|| numbers.name("g", 2)),
        priority_group: numbers.one_in(2).then(|| numbers.name("g", 2)),
        class_only: numbers.one_in(3).then(|| Class::ALL[numbers.below(2) as usize]),
    };
    SlotQuota {
        pledged_slots: numbers.below(12),
        central_slots: (tier == Tier::Cloud && numbers.one_in(2)).then_some(0),
        overflow_slots: numbers.below(5),
        high_io_slots: numbers.below(4),
        corepower_mhs06: 8_000 + 1_000 * numbers.below(5),
        status: if numbers.one_in(9) { SiteStatus::Test } else { SiteStatus::Online },
        region: Some(numbers.name("r", 2)),
        extra_blocks: (0..numbers.below(3)).map(|_| block(numbers)).collect(),
        surplus_analysis: numbers.one_in(2).then_some(false),
        ..quota(tier)
    }
}

fn workflow(numbers: &mut Numbers, at: i64) -> PoolWorkflow {
    let class = if at % 2 == 0 { Class::Central } else { Class::Analysis };
    let user = match class {
        Class::Central => "production".to_owned(),
        Class::Analysis => numbers.name("u", USERS),
    };
    let priority = Some(stated(0, numbers.below(3) * 100, false));
    let working_group = if numbers.one_in(2) { numbers.name("g", 2) } else { String::new() };
    let injected_at = numbers.below(1_000) * SECOND;
    let test_jobs = Some(numbers.below(4) * 5);
    let max_overflow_sites = numbers.one_in(2).then(|| numbers.below(3));
    let allow_overflow = numbers.one_in(2);
    let overflow_sites = (0..numbers.below(2)).map(|_| numbers.name("s", SITES)).collect();
    let site_test = numbers.one_in(4);
    let facts = WorkflowFacts {
        class,
        test_jobs,
        max_overflow_sites,
        allow_overflow,
        site_test,
        ..WorkflowFacts::default()
    };
    let record = PoolWorkflowRecord {
        user,
        working_group,
        injected_at,
        facts,
        ..PoolWorkflowRecord::default()
    };
    PoolWorkflow {
        workflow: format!("w{at}"),
        record: Some(record),
        priority,
        overflow_sites,
        ..PoolWorkflow::default()
    }
}

fn user(numbers: &mut Numbers, at: i64) -> User {
    User {
        name: format!("u{at}"),
        groups: (0..numbers.below(3)).map(|_| numbers.name("g", 2)).collect(),
        past_usage_milli: numbers.below(4) * 2_000,
        past_usage_at: NOW_S * SECOND,
        ..User::default()
    }
}

fn job(numbers: &mut Numbers, name: &str, seq: i64) -> PendingJob {
    // One job in many is of a workflow that is not known.
    let workflow = numbers.name("w", WORKFLOWS * 20);
    let known = workflow[1..].parse::<i64>().unwrap_or(0);
    let workflow = if known < 2 { "unknown".to_owned() } else { format!("w{}", known % WORKFLOWS) };
    let age = [500, 5_000, 90_000][numbers.below(3) as usize] + numbers.below(5);
    let listed = numbers.below(4);
    PendingJob {
        site_whitelist: (listed > 0)
            .then(|| (0..listed).map(|_| numbers.name("s", SITES + 1)).collect()),
        allow_overflow: numbers.one_in(3).then(|| numbers.one_in(2)),
        high_io: numbers.one_in(5),
        system_job: numbers.one_in(12),
        whole_node: numbers.one_in(25),
        cores_min: if numbers.one_in(4) { 2 } else { 1 },
        cores_max: numbers.one_in(6).then_some(CoresMax::Cores(4)),
        max_wall_time_s: Some(3_600 * (1 + numbers.below(3))),
        max_rss_mb: Some(1_000 * (1 + numbers.below(3))),
        user_priority: numbers.below(2),
        last_failure: numbers.one_in(9).then_some(FailureClass::RemoteOpen),
        ..PendingJob::new(name, &workflow, seq + 1, NOW_S - age)
    }
}

fn held(numbers: &mut Numbers, job: PendingJob, workflow: &PoolWorkflow) -> HeldJob {
    let cores = 1 + numbers.below(2);
    let is_reserved = numbers.one_in(3);
    let run_site = numbers.name("s", SITES);
    let record = workflow.record.clone().unwrap_or_default();
    HeldJob {
        overflow_source: numbers.one_in(5).then(|| numbers.name("s", SITES)),
        charged_group: numbers.one_in(6).then(|| "g0".to_owned()),
        reserved_at_s: is_reserved.then_some(NOW_S - 600 - numbers.below(2) * 600),
        band: if numbers.one_in(4) { Band::Test } else { Band::Normal },
        class: record.facts.class,
        user: record.user,
        run_site,
        cores,
        rss_mb: 2_000 * cores,
        weight_milli: cores * 1_000,
        node: None,
        counts_from_s: NOW_S - numbers.below(100_000),
        started_at_s: None,
        expected_end_s: None,
        job,
    }
}

fn grant(numbers: &mut Numbers) -> Grant {
    let (principal_kind, principal) = match numbers.one_in(2) {
        true => (PrincipalKind::User, numbers.name("u", USERS)),
        false => (PrincipalKind::Group, numbers.name("g", 2)),
    };
    let (scope_kind, scope) = match numbers.below(3) {
        0 => (GrantScopeKind::Global, String::new()),
        1 => (GrantScopeKind::Region, numbers.name("r", 2)),
        _ => (GrantScopeKind::Site, numbers.name("s", SITES)),
    };
    let only_with_group = numbers.one_in(4).then(|| numbers.name("g", 2));
    Grant {
        principal_kind,
        principal,
        only_with_group: only_with_group.unwrap_or_default(),
        scope_kind,
        scope,
        level: 1 + numbers.below(20),
        cap_weight_milli: numbers.one_in(2).then(|| numbers.below(20) * 1_000),
        valid_to: if numbers.one_in(4) { (NOW_S - 1) * SECOND } else { 0 },
        ..Grant::default()
    }
}

fn offer(numbers: &mut Numbers, at: i64) -> PoolOffer {
    let (site, cores) = (numbers.name("s", SITES), 1 + numbers.below(6));
    changed(super::world::offer(&format!("o{at}"), &site, cores), |it| {
        it.block = if numbers.one_in(4) { "block".to_owned() } else { String::new() };
        it.cores_total = cores + numbers.below(2);
        it.corepower_mhs06 = numbers.one_in(4).then_some(12_000);
        (it.wall_left_s, it.mem_free_mb) = (10_000, 2_500 * cores);
    })
}
