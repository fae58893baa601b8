//! Short words for building a pool and reading a cut.

use super::whole::{Cut, run};
use crate::domain::cms::policy::admission::{Admission, admit};
use crate::domain::cms::policy::decision::PoolAction;
use crate::domain::cms::policy::entry::Standing;
use crate::domain::cms::policy::facts::{
    Band, Class, FailureClass, HeldJob, MilliWeight, PendingJob, Seconds, SlotQuota, Tier,
};
use crate::domain::cms::policy::judge::MatchRules;
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::policy::settings::Settings;
use crate::domain::cms::state::{
    PoolEnded, PoolOffer, PoolPriority, PoolWorkflow, PoolWorkflowRecord,
};
use crate::event::{OwnSlotOffer, User, WorkflowFacts};
use crate::unit::SECOND;

/// The moment of every cut, unless a test says otherwise.
pub const NOW_S: Seconds = 1_000_000;
/// When jobs were queued, unless a test says otherwise: long ago.
pub const LONG_AGO_S: Seconds = 100_000;

/// A pool with offers that wait for a cut.
pub struct World {
    pub pool: Pool,
    pub now_s: Seconds,
    offers: Vec<PoolOffer>,
}

impl World {
    pub fn new() -> World {
        World::with(Settings::default())
    }

    pub fn with(settings: Settings) -> World {
        World { pool: Pool::new(settings, NOW_S), now_s: NOW_S, offers: Vec::new() }
    }

    /// A T2 with so many pledged slots, half for each class.
    pub fn t2(&mut self, name: &str, slots: i64) {
        self.site(name, SlotQuota { pledged_slots: slots, ..quota(Tier::T2) });
    }

    pub fn site(&mut self, name: &str, quota: SlotQuota) {
        self.pool.put_site(name, &quota);
    }

    /// A central workflow without test jobs.
    pub fn central(&mut self, name: &str, priority: i64) {
        self.workflow(central(name, priority));
    }

    /// A workflow of analysis without test jobs.
    pub fn analysis(&mut self, name: &str, user: &str) {
        self.workflow(analysis(name, user));
    }

    pub fn workflow(&mut self, workflow: PoolWorkflow) {
        let name = self.pool.name(&workflow.workflow);
        let known = name.and_then(|name| self.pool.workflow(name));
        let ended = known.map(|entry| entry.known.ended.clone()).unwrap_or_default();
        self.pool.put_workflow(PoolWorkflow { ended, ..workflow });
    }

    /// A user in a group or none, with a decayed usage.
    pub fn user(&mut self, name: &str, group: &str, decayed_milli: MilliWeight) {
        self.pool.put_user(User {
            name: name.to_owned(),
            groups: group.split(' ').filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            past_usage_milli: decayed_milli,
            past_usage_at: self.now_s * SECOND,
            ..User::default()
        });
    }

    pub fn pending(&mut self, job: PendingJob) {
        self.pool.put_pending(job);
    }

    /// So many jobs of a workflow that fit anywhere, queued in order.
    pub fn many(&mut self, workflow: &str, count: i64) {
        for seq in 1..=count {
            self.pending(job(&format!("{workflow}{seq}"), workflow, seq));
        }
    }

    /// A job of a workflow that runs.
    pub fn running(&mut self, name: &str, workflow: &str, site: &str, cores: i64) {
        let held = self.held(name, workflow, site, cores);
        self.pool.put_held(held);
    }

    /// A job that runs, to be changed by a test.
    pub fn held(&self, name: &str, workflow: &str, site: &str, cores: i64) -> HeldJob {
        let entry = self.pool.name(workflow).and_then(|it| self.pool.workflow(it));
        let record = entry.and_then(|it| it.known.record.clone()).expect("a workflow");
        let site_name = self.pool.name(site).expect("a site");
        let kappa = self.pool.site(site_name).expect("a site").kappa_milli;
        HeldJob {
            job: job(name, workflow, 1_000),
            class: record.facts.class,
            user: record.user,
            run_site: site.to_owned(),
            cores,
            rss_mb: 2_000 * cores,
            weight_milli: cores * kappa,
            band: Band::Normal,
            overflow_source: None,
            charged_group: None,
            node: None,
            reserved_at_s: None,
            counts_from_s: self.now_s,
            started_at_s: None,
            expected_end_s: None,
        }
    }

    /// A test job that failed.
    pub fn failed(&mut self, workflow: &str, seq: i64, site: &str, failure: FailureClass) {
        let ended = PoolEnded {
            job: format!("{workflow}{seq}"),
            failure: Some(failure),
            site: site.to_owned(),
            wall_s: 100,
            rss_mb: 100,
            ..PoolEnded::default()
        };
        end_job(&mut self.pool, workflow, seq, ended);
    }

    /// An offer of so many cores.
    pub fn offer(&mut self, name: &str, site: &str, cores: i64) {
        self.offers.push(offer(name, site, cores));
    }

    pub fn put_offer(&mut self, offer: PoolOffer) {
        self.offers.push(offer);
    }

    /// One cut over the offers so far.
    pub fn cut(&mut self) -> Cut {
        let mut offers = std::mem::take(&mut self.offers);
        offers.iter_mut().for_each(|offer| offer.changed_at = self.now_s * SECOND);
        run(&MatchRules::full(), &mut self.pool, &offers, self.now_s)
    }

    /// The jobs of one cut in the order in which they were matched.
    pub fn matched(&mut self) -> Vec<String> {
        jobs(&self.cut())
    }

    /// The jobs matched by so many offers of one core, each in a cut of its own.
    pub fn one_by_one(&mut self, site: &str, count: usize) -> Vec<String> {
        let each = (0..count).map(|at| {
            self.offer(&format!("o{at}"), site, 1);
            self.matched().concat()
        });
        each.collect()
    }

    pub fn admit(&self, job: &PendingJob) -> Admission {
        admit(&self.pool, job, self.now_s, self.now_s)
    }

    pub fn is_pending(&self, job: &str) -> bool {
        matches!(self.pool.job(job), Some(Standing::Pending(_)))
    }

    /// Weight of a class at a site.
    pub fn used(&self, site: &str, class: Class) -> MilliWeight {
        let site = self.pool.name(site).expect("a site");
        self.pool.counters().site(site).used.of(class)
    }

    /// Overflow slots of a host in use.
    pub fn overflow(&self, site: &str) -> i64 {
        self.pool.counters().site(self.pool.name(site).expect("a site")).overflow
    }

    /// HighIO jobs on a storage.
    pub fn high_io(&self, site: &str) -> i64 {
        self.pool.counters().site(self.pool.name(site).expect("a site")).high_io
    }
}

/// A quota set of a tier, with every default (A.2).
pub fn quota(tier: Tier) -> SlotQuota {
    SlotQuota {
        tier: tier.name().to_owned(),
        central_permille: 500,
        high_io_slots: 25,
        corepower_mhs06: 10_000,
        ..SlotQuota::default()
    }
}

/// A job of a workflow that ended in its first attempt.
pub fn end_job(pool: &mut Pool, workflow: &str, seq: i64, ended: PoolEnded) {
    let entry = pool.name(workflow).and_then(|it| pool.workflow(it));
    let mut known = entry.expect("a workflow").known.clone();
    known.ended.insert((seq, 0), ended);
    pool.put_workflow(known);
}

pub fn central(name: &str, priority: i64) -> PoolWorkflow {
    let (test_jobs, total_jobs) = (Some(0), Some(1_000));
    let facts = WorkflowFacts { test_jobs, total_jobs, ..WorkflowFacts::default() };
    let priority = Some(stated(0, priority, false));
    PoolWorkflow { priority, ..workflow(name, "production", facts) }
}

/// A priority as a workflow's record states it.
pub fn stated(revision: i64, priority: i64, override_tail: bool) -> PoolPriority {
    PoolPriority { revision, changed_at: 0, priority, override_tail }
}

pub fn analysis(name: &str, user: &str) -> PoolWorkflow {
    let (class, test_jobs) = (Class::Analysis, Some(0));
    workflow(name, user, WorkflowFacts { class, test_jobs, ..WorkflowFacts::default() })
}

/// A workflow whose record was read.
pub fn workflow(name: &str, user: &str, facts: WorkflowFacts) -> PoolWorkflow {
    let user = user.to_owned();
    let record = Some(PoolWorkflowRecord { user, facts, ..PoolWorkflowRecord::default() });
    PoolWorkflow { workflow: name.to_owned(), record, ..PoolWorkflow::default() }
}

/// A workflow whose record states something else.
pub fn stating(
    mut workflow: PoolWorkflow,
    change: impl FnOnce(&mut WorkflowFacts),
) -> PoolWorkflow {
    change(&mut workflow.record.as_mut().expect("a record").facts);
    workflow
}

/// A job of one core that may run anywhere.
pub fn job(name: &str, workflow: &str, seq: i64) -> PendingJob {
    PendingJob::new(name, workflow, seq, LONG_AGO_S + seq)
}

/// A job of one core with a whitelist.
pub fn listed(name: &str, workflow: &str, seq: i64, sites: &[&str]) -> PendingJob {
    let sites = sites.iter().map(|site| (*site).to_owned()).collect();
    PendingJob { site_whitelist: Some(sites), ..job(name, workflow, seq) }
}

/// An offer of a whole pilot that was announced at the moment of most cuts.
pub fn offer(name: &str, site: &str, cores: i64) -> PoolOffer {
    let offer = OwnSlotOffer {
        offer: name.to_owned(),
        cores_free: cores,
        cores_total: cores,
        wall_left_s: 172_800,
        mem_free_mb: 4_000 * cores,
        ..OwnSlotOffer::default()
    };
    let (site, changed_at) = (site.to_owned(), NOW_S * SECOND);
    PoolOffer { offer, site, changed_at, ..PoolOffer::default() }
}

/// An offer that states something else.
pub fn changed(mut offer: PoolOffer, change: impl FnOnce(&mut OwnSlotOffer)) -> PoolOffer {
    change(&mut offer.offer);
    offer
}

/// The matched jobs of a cut, in order.
pub fn jobs(cut: &Cut) -> Vec<String> {
    cut.assignments.iter().map(|it| it.matched.job.clone()).collect()
}

/// The matches of a cut, in order: `offer job`.
pub fn matches(cut: &Cut) -> Vec<String> {
    cut.assignments.iter().map(|it| format!("{} {}", it.offer, it.matched.job)).collect()
}

/// The code of the reason for which a job was refused at the last look of a cut.
pub fn reason(cut: &Cut, job: &str) -> Option<&'static str> {
    let served = cut.served.last()?;
    let look = served.last_look.as_ref().unwrap_or(&served.first_look);
    let found = look.not_eligible.iter().find(|(_, jobs)| jobs.iter().any(|it| &**it == job));
    found.map(|(code, _)| *code)
}

/// The workflows boosted in a cut.
pub fn boosted(cut: &Cut) -> Vec<&str> {
    let each = cut.actions.iter().filter_map(|action| match action {
        PoolAction::Boosted { workflow, .. } => Some(workflow.as_str()),
        _ => None,
    });
    each.collect()
}

/// The workflows killed in a cut.
pub fn killed(cut: &Cut) -> Vec<&str> {
    let each = cut.actions.iter().filter_map(|action| match action {
        PoolAction::Kill { workflow, .. } => Some(workflow.as_str()),
        _ => None,
    });
    each.collect()
}
