//! The CMS global pool in a box: sites of all tiers with their quotas, nodes with pilots that offer
//! what is free, central workflows and users with theirs. Decisions are obeyed: a job that gets
//! slots starts there, runs, and ends well or badly; commands are carried out.
//!
//! The pool checks each match by counts of its own, which do not use the program's (`checks`).
//!
//! Pure and seeded: the same plan and the same decisions at the same times give the same records,
//! byte for byte.

mod agenda;
mod answers;
mod arrivals;
mod bad;
mod checks;
mod commands;
mod drains;
mod held;
mod jobs;
mod nodes;
mod progress;
mod sites;
mod summary;
mod trouble;
mod usage;
mod users;
mod work;
mod workflows;

pub use summary::{Chosen, CmsSummary};

use crate::agenda::Agenda;
use crate::dice::Dice;
use crate::grid::{Handle, Pool, Record, Unfit};
use crate::publisher::{Mistakes, Publisher};
use agenda::CmsStep;
use jobs::{CmsJob, CmsStage};
use nodes::Node;
use progress::Progress;
use sites::Site;
use std::collections::BTreeMap;
use summary::Waits;
use usage::Usage;
use users::{CmsUser, Demand};
use work::Kind;
use workflows::Workflow;
use yardmaster_core::event::Class;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::{HOUR, MINUTE, Millis};

/// Parameters of a simulation.
#[derive(Clone, Debug)]
pub struct CmsPlan {
    /// Decides everything that is drawn.
    pub seed: u64,
    /// Size: 1 is seventy-four sites with some 250,000 cores.
    pub scale: f64,
    /// Simulated time of the first record; ms since 1970.
    pub start: Millis,
    /// Work arrives for so long; what arrived goes on after that.
    pub hours: u32,
    /// Domain that the work is for.
    pub domain: String,
    /// Policy that is to answer.
    pub policy: String,
    /// How many times shorter jobs are; as many times more of them arrive.
    pub speed: u32,
}

/// The simulated pool: sites, nodes, users, workflows and jobs.
pub struct Cms {
    now: Millis,
    start: Millis,
    end: Millis,
    domain: String,
    policy: String,
    speed: u32,
    agenda: Agenda<CmsStep>,
    publisher: Publisher,
    dice: Dice,
    sites: Vec<Site>,
    nodes: Vec<Node>,
    users: Vec<CmsUser>,
    workflows: Pool<Workflow>,
    jobs: Pool<CmsJob>,
    site_by_name: BTreeMap<String, u32>,
    node_by_name: BTreeMap<String, u32>,
    /// Nodes by what their pilots offer.
    node_by_offer: BTreeMap<String, u32>,
    workflow_by_name: BTreeMap<String, Handle>,
    job_by_name: BTreeMap<String, Handle>,
    /// How often each node was drained for a job.
    drained: BTreeMap<(u32, String), u32>,
    /// Slots that a user with steady demand has, about.
    steady_slots: f64,
    /// Central work of the beginning that has not arrived yet; core s.
    central_backlog_s: f64,
    workflows_made: u64,
    pilots: u64,
    bad_jobs: i64,
    usage: Usage,
    /// Waits by kind of work.
    waited: BTreeMap<Kind, Waits>,
    progress: Progress,
    /// Core time used and offered, in core ms, and up to when it is counted.
    used: (u128, u128, Millis),
    count: CmsSummary,
}

impl Cms {
    /// A pool that has published nothing yet: its facts come with the first `advance`.
    pub fn new(plan: CmsPlan) -> Result<Cms, Unfit> {
        let CmsPlan { seed, scale, start, hours, domain, policy, speed } = plan;
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Unfit::Scale(scale));
        }
        // A root is exact on every machine.
        let root = scale.sqrt();
        let mut sites = sites::make(seed, root);
        let nodes = nodes::make(seed, &mut sites);
        let (users, steady_slots) = users::make(&sites, root);
        let steady = users.iter().filter(|it| it.demand == Demand::Steady).count();
        let sizes = [sites.len(), nodes.len(), users.len(), steady];
        let mut pool = Cms {
            now: start,
            start,
            end: start.saturating_add(Millis::from(hours) * HOUR),
            domain,
            policy,
            speed: speed.max(1),
            agenda: Agenda::default(),
            publisher: Publisher::new(seed, "cms publisher", start, Mistakes::Repeats),
            dice: Dice::new(seed, "cms"),
            site_by_name: sites.iter().zip(0..).map(|(it, at)| (it.name.clone(), at)).collect(),
            node_by_name: nodes.iter().zip(0..).map(|(it, at)| (it.name.clone(), at)).collect(),
            node_by_offer: BTreeMap::new(),
            workflow_by_name: BTreeMap::new(),
            job_by_name: BTreeMap::new(),
            drained: BTreeMap::new(),
            usage: Usage::new(users.len(), start),
            sites,
            nodes,
            users,
            workflows: Pool::default(),
            jobs: Pool::default(),
            steady_slots,
            central_backlog_s: 0.0,
            workflows_made: 0,
            pilots: 0,
            bad_jobs: 0,
            waited: BTreeMap::new(),
            progress: Progress::default(),
            used: (0, 0, start),
            count: CmsSummary { sizes, ..CmsSummary::default() },
        };
        pool.begin();
        Ok(pool)
    }

    /// Takes decisions, as of the time reached, and lets the pool go on to a later time. Appends
    /// the records that are published on the way.
    pub fn advance(&mut self, to: Millis, decisions: &[Decision], out: &mut Vec<Record>) {
        self.publisher.out = std::mem::take(out);
        for decision in decisions {
            self.hear(decision);
        }
        while let Some((at, planned)) = self.agenda.next(to) {
            self.now = at;
            self.publisher.now = at;
            self.happen(planned);
        }
        self.now = self.now.max(to);
        self.publisher.now = self.now;
        self.usage.pass(self.now);
        *out = std::mem::take(&mut self.publisher.out);
    }

    /// When it began.
    pub fn start(&self) -> Millis {
        self.start
    }

    /// Its counts so far: without those that are found at the end.
    pub fn now(&self) -> &CmsSummary {
        &self.count
    }

    /// How it fares.
    pub fn summary(&self) -> CmsSummary {
        let (used, offered, until) = self.used;
        let passed = (self.now - until).max(0) as u128;
        let used = used + passed * u128::from(self.count.cores_used);
        let offered = offered + passed * u128::from(self.count.cores_offered);
        let usages = self.steady_usage();
        let mut summary = CmsSummary {
            now: self.now,
            records: self.publisher.published,
            core_use: used as f64 / offered.max(1) as f64,
            share_error: usage::spread(&usages),
            share_milli: usages.iter().sum::<i64>() / usages.len().max(1) as i64,
            ..self.count.clone()
        };
        self.state_waits(&mut summary);
        summary
    }

    /// States waits to the first start, that of jobs which still wait included.
    fn state_waits(&self, summary: &mut CmsSummary) {
        let of_class = [Class::Central, Class::Analysis].map(|class| {
            let kinds = self.waited.iter().filter(|(kind, _)| kind.class() == class);
            Waits::sum(kinds.map(|(_, waits)| waits))
        });
        let bound_of = |kind: Kind| of_class[kind.class() as usize].bound();
        summary.longest = [0, 1].map(|at: usize| of_class[at].longest());
        let mut progress = self.progress.clone();
        let late = &mut summary.late;
        for (kind, waits) in &self.waited {
            *late.entry(kind.name()).or_default() += waits.beyond(bound_of(*kind));
        }
        for (_, job) in self.jobs.iter().filter(|(_, it)| it.stage == CmsStage::Waiting) {
            let workflow = job.workflow.and_then(|it| self.workflows.get(it));
            let Some(workflow) = workflow.filter(|_| job.attempt == 0) else { continue };
            let kind = workflow.kind;
            progress.waited(kind.class(), self.who(workflow), job.created_at, self.now);
            let (at, waits) = (kind.class() as usize, self.now - job.created_at);
            summary.longest[at] = summary.longest[at].max(waits);
            *late.entry(kind.name()).or_default() += u64::from(waits > bound_of(kind));
        }
        late.retain(|_, jobs| *jobs > 0);
        summary.starved = [Class::Central, Class::Analysis]
            .map(|class| progress.beyond(class, of_class[class as usize].bound()));
        summary.waits = of_class.map(|it| (it.quantile(0.5), it.quantile(0.95)));
    }

    /// Who is to make progress: a user, or a central workflow, for all of these are of one user.
    fn who<'a>(&'a self, workflow: &'a Workflow) -> &'a str {
        match workflow.kind.class() {
            Class::Central => &workflow.name,
            Class::Analysis => &self.users[workflow.user].name,
        }
    }

    /// Decayed usage of each user with steady demand; thousandths of a core.
    fn steady_usage(&self) -> Vec<i64> {
        let mut running: BTreeMap<usize, Vec<(i64, Millis)>> = BTreeMap::new();
        for holding in self.jobs.iter().filter_map(|(_, job)| job.holding.as_ref()) {
            if let Some(from) = holding.counts_from {
                running.entry(holding.user).or_default().push((holding.weight_milli, from));
            }
        }
        let steady = self.users.iter().enumerate();
        let steady = steady.filter(|(_, user)| user.demand == Demand::Steady);
        let of = |(at, _): (usize, &CmsUser)| {
            let running = running.get(&at).into_iter().flatten().copied();
            self.usage.decayed_milli(at, running, self.now)
        };
        steady.map(of).collect()
    }

    fn happen(&mut self, planned: CmsStep) {
        match planned {
            CmsStep::Begins => self.say_facts(),
            CmsStep::PilotStarts(node) => self.pilot_starts(node),
            CmsStep::Announces(node, pilot) => self.announces(node, pilot),
            CmsStep::RunsOut(node, pilot) => self.runs_out(node, pilot),
            CmsStep::PilotCloses(node, pilot) => self.pilot_closes(node, pilot),
            CmsStep::PilotEnds(node, pilot) => self.pilot_ends(node, pilot),
            CmsStep::PilotIsLost(node, pilot) => self.pilot_is_lost(node, pilot),
            CmsStep::Withdraws(node) => self.withdraws(node),
            CmsStep::CentralArrives => self.central_arrives(),
            CmsStep::SkimArrives => self.skim_arrives(),
            CmsStep::RareArrives(at) => self.rare_arrives(at),
            CmsStep::UserSubmits(user) => self.user_submits(user),
            CmsStep::UserGoesOn(user) => self.user_goes_on(user),
            CmsStep::RecordArrives(workflow) => self.record_arrives(workflow),
            CmsStep::UserKills(workflow) => self.user_kills(workflow),
            CmsStep::PriorityChanges => self.priority_changes(),
            CmsStep::LatePriority(workflow) => self.late_priority(workflow),
            CmsStep::BadJob => self.bad_job(),
            CmsStep::Starts(job, attempt) => self.starts(job, attempt),
            CmsStep::NeverStarts(job, attempt) => self.never_starts(job, attempt),
            CmsStep::Released(job, attempt) => self.released(job, attempt),
            CmsStep::Ends(job, attempt) => self.ends(job, attempt),
            CmsStep::TriesAgain(job) => self.tries_again(job),
            CmsStep::StatusChanges => self.status_changes(),
            CmsStep::ComesBack(site) => self.comes_back(site),
            CmsStep::SiteFails => self.site_fails(),
            CmsStep::PledgeChanges(at) => self.pledge_changes(at),
        }
    }

    /// Plans all that goes on by itself. Work arrives before the first pilot offers anything.
    fn begin(&mut self) {
        self.after(0, CmsStep::Begins);
        self.plan_arrivals();
        self.plan_trouble();
        for node in 0..self.nodes.len() as u32 {
            self.after_between(2 * MINUTE, 4 * MINUTE, CmsStep::PilotStarts(node));
        }
        self.after(10 * MINUTE, CmsStep::PriorityChanges);
        self.after(5 * MINUTE, CmsStep::BadJob);
    }

    /// Sites, users and grants are published.
    fn say_facts(&mut self) {
        for site in 0..self.sites.len() as u32 {
            self.publish_site(site);
        }
        for user in &self.users {
            let record = user.record(&mut self.dice, self.now);
            self.publisher.fact(&record);
        }
        for grant in users::grants(&self.sites, self.now) {
            self.publisher.fact(&grant);
        }
    }

    /// Counts the core time until now; before cores are taken or given back.
    fn settle_use(&mut self) {
        let (used, offered, until) = &mut self.used;
        let passed = (self.now - *until).max(0) as u128;
        *used += passed * u128::from(self.count.cores_used);
        *offered += passed * u128::from(self.count.cores_offered);
        *until = self.now;
    }

    fn after(&mut self, span: Millis, what: CmsStep) {
        self.agenda.plan(self.now.saturating_add(span.max(0)), what);
    }

    fn after_between(&mut self, from: Millis, to: Millis, what: CmsStep) {
        let span = self.dice.between(from, to);
        self.after(span, what);
    }
}
