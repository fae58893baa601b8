//! A NorduGrid in a box: index servers, clusters with queues and caches, files, users and their
//! jobs. Jobs are described in xRSL; decisions are obeyed; clusters accept, refuse, or lose what
//! they are sent, stage it, run it, and publish what they have a little late.
//!
//! Pure and seeded: the same plan and the same decisions at the same times give the same records,
//! byte for byte.

mod agenda;
mod answers;
mod cache;
mod catalogue;
mod clusters;
mod index;
mod jobs;
mod requests;
mod staging;
mod summary;
mod users;
mod words;
mod work;

pub use summary::NordugridSummary;

use crate::agenda::Agenda;
use crate::dice::Dice;
use crate::grid::{Handle, Pool, Record, Spans, Unfit};
use crate::publisher::{Mistakes, Publisher};
use agenda::NordugridStep;
use catalogue::Catalogue;
use clusters::{BatchQueue, Cluster, Standing};
use jobs::NordugridJob;
use std::collections::BTreeMap;
use users::NordugridUser;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};

/// Parameters of a simulation.
#[derive(Clone, Debug)]
pub struct NordugridPlan {
    /// Decides everything that is drawn.
    pub seed: u64,
    /// Size: 1 is sixty clusters with some 30,000 CPUs and 300 users.
    pub scale: f64,
    /// Simulated time of the first record; ms since 1970.
    pub start: Millis,
    /// Jobs are submitted for so long; what was submitted goes on after that.
    pub hours: u32,
    /// Domain that the requests are for.
    pub domain: String,
    /// Policy that is to answer.
    pub policy: String,
    /// How many times shorter jobs are, with as much less to read; as many times more of them are
    /// submitted.
    pub speed: u32,
}

/// The simulated NorduGrid: index servers, clusters, files, users and jobs.
pub struct NorduGrid {
    now: Millis,
    start: Millis,
    end: Millis,
    domain: String,
    policy: String,
    speed: u32,
    /// Mean time between two submissions.
    gap_ms: f64,
    agenda: Agenda<NordugridStep>,
    publisher: Publisher,
    dice: Dice,
    catalogue: Catalogue,
    clusters: Vec<Cluster>,
    queues: Vec<BatchQueue>,
    by_queue: BTreeMap<String, u32>,
    users: Vec<NordugridUser>,
    jobs: Pool<NordugridJob>,
    by_name: BTreeMap<String, Handle>,
    places: Spans,
    starts: Spans,
    /// CPU time used, in CPU ms, and up to when it is counted.
    used: (u128, Millis),
    count: NordugridSummary,
}

/// Part of the CPUs that what is submitted keeps busy; local jobs take others.
const LOAD: f64 = 0.7;

impl NorduGrid {
    /// A grid that has published nothing yet: its facts come with the first `advance`.
    pub fn new(plan: NordugridPlan) -> Result<NorduGrid, Unfit> {
        let NordugridPlan { seed, scale, start, hours, domain, policy, speed } = plan;
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Unfit::Scale(scale));
        }
        let speed = speed.max(1);
        let catalogue = Catalogue::new(seed, speed);
        let (clusters, queues) = clusters::make(seed, scale, speed, &catalogue);
        let cpus: u64 = queues.iter().map(|queue| queue.cpus).sum();
        let by_queue = queues.iter().zip(0..).map(|(queue, at)| (queue.name.clone(), at));
        let mut grid = NorduGrid {
            now: start,
            start,
            end: start.saturating_add(Millis::from(hours) * HOUR),
            domain,
            policy,
            speed,
            gap_ms: work::mean_cpu_s(speed) * 1_000.0 / (cpus as f64 * LOAD),
            agenda: Agenda::default(),
            publisher: Publisher::new(0, "publisher", start, Mistakes::None),
            dice: Dice::new(seed, "nordugrid"),
            catalogue,
            by_queue: by_queue.collect(),
            clusters,
            queues,
            users: users::make(seed, scale),
            jobs: Pool::default(),
            by_name: BTreeMap::new(),
            places: Spans::default(),
            starts: Spans::default(),
            used: (0, start),
            count: NordugridSummary { cpus, ..NordugridSummary::default() },
        };
        grid.begin();
        Ok(grid)
    }

    /// Takes decisions, as of the time reached, and lets the grid go on to a later time. Appends
    /// what is published on the way. Only the first answer to a job that waits has an effect.
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
        *out = std::mem::take(&mut self.publisher.out);
    }

    /// When it began.
    pub fn start(&self) -> Millis {
        self.start
    }

    /// How it fares.
    pub fn summary(&self) -> NordugridSummary {
        let (used, until) = self.used;
        let used = used + u128::from(self.count.cpus_busy) * (self.now - until).max(0) as u128;
        let all = u128::from(self.count.cpus) * (self.now - self.start).max(1) as u128;
        let waiting = self.jobs.iter().filter(|(_, job)| {
            matches!(job.stage, jobs::NordugridStage::Waiting | jobs::NordugridStage::Answered(_))
        });
        let oldest = waiting.map(|(_, job)| self.now - job.submitted_at).max();
        NordugridSummary {
            now: self.now,
            records: self.publisher.published,
            cpu_use: used as f64 / all.max(1) as f64,
            oldest_waiting: oldest.unwrap_or(0),
            place_median: self.places.quantile(0.5),
            start_median: self.starts.quantile(0.5),
            start_p95: self.starts.quantile(0.95),
            ..self.count.clone()
        }
    }

    fn happen(&mut self, planned: NordugridStep) {
        match planned {
            NordugridStep::Begins => self.say_catalogue(),
            NordugridStep::IndexRegisters(country) => self.index_registers(country),
            NordugridStep::ClusterRegisters(cluster) => self.cluster_registers(cluster),
            NordugridStep::Asked(cluster) => self.asked(cluster),
            NordugridStep::Arrives(cluster) => self.arrives(cluster),
            NordugridStep::LocalLoad(queue) => self.local_load(queue),
            NordugridStep::GoesDown(cluster) => self.goes_down(cluster),
            NordugridStep::ComesBack(cluster) => self.comes_back(cluster),
            NordugridStep::Purged(cluster) => self.purged(cluster),
            NordugridStep::Submitted => self.submitted(),
            NordugridStep::Answered(job) => self.answered(job),
            NordugridStep::Step(job) => self.step(job),
            NordugridStep::GivenUp(job) => self.given_up(job),
        }
    }

    /// Plans all that goes on by itself. Jobs are submitted once every cluster was asked.
    fn begin(&mut self) {
        self.after(0, NordugridStep::Begins);
        self.plan_registrations();
        for cluster in 0..self.clusters.len() as u32 {
            self.after_between(SECOND, MINUTE, NordugridStep::Asked(cluster));
            self.plan_down(cluster);
        }
        for queue in 0..self.queues.len() as u32 {
            self.after_between(0, SECOND, NordugridStep::LocalLoad(queue));
        }
        self.after(4 * MINUTE, NordugridStep::Submitted);
    }

    fn forget(&mut self, handle: Handle) {
        if let Some(job) = self.jobs.remove(handle) {
            self.by_name.remove(&job.name);
        }
    }

    /// Counts the CPU time used until now.
    fn settle_use(&mut self) {
        let (used, until) = &mut self.used;
        *used += u128::from(self.count.cpus_busy) * (self.now - *until).max(0) as u128;
        *until = self.now;
    }

    fn after(&mut self, span: Millis, what: NordugridStep) {
        self.agenda.plan(self.now.saturating_add(span.max(0)), what);
    }

    fn after_between(&mut self, from: Millis, to: Millis, what: NordugridStep) {
        let span = self.dice.between(from, to);
        self.after(span, what);
    }
}
