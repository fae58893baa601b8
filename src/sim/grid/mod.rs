//! A grid in a box: tasks arrive, decisions are obeyed, jobs are generated, pilots fetch them,
//! states change, heartbeats and transfers flow, some fail, some lie, some fall silent.
//!
//! Pure and seeded: the same plan and the same decisions at the same times give the same records,
//! byte for byte. Rates are those published of ATLAS times a scale: at 1, some 300,000 cores and a
//! million jobs a day. What arrives depends on the seed alone; what becomes of it, on the decisions
//! as well.

mod agenda;
mod built_in;
mod chunks;
mod classes;
mod commands;
mod ends;
mod facts;
mod jobs;
mod links;
mod made_up;
mod pool;
mod queues;
mod shares;
mod standing;
mod storages;
mod summary;
mod work;

pub use facts::{Facts, Unfit};
pub(crate) use pool::{Handle, Pool};
pub use summary::{GridSummary, Spans};

pub use crate::publisher::Record;

use crate::agenda::Agenda;
use crate::dice::Dice;
use crate::publisher::{Mistakes, Publisher};
use agenda::GridStep;
use chunks::{Chunk, LiveTask};
use commands::Silent;
use jobs::GridJob;
use links::Links;
use queues::Queues;
use shares::Shares;
use std::collections::BTreeMap;
use storages::Storages;
use summary::{SPAN, Use};
use work::Workload;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Hardware, Parameter, Release, confirmed};
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::{HOUR, MINUTE, Millis};

/// Parameters of a simulation.
#[derive(Clone, Debug)]
pub struct GridPlan {
    /// Decides everything that is drawn.
    pub seed: u64,
    /// Size beside ATLAS: 1 is about 300,000 cores and a million jobs a day.
    pub scale: f64,
    /// Simulated time of the first record; ms since 1970.
    pub start: Millis,
    /// Tasks arrive for so long; what has arrived goes on to its end after that.
    pub hours: u32,
    /// Domain that the requests are for.
    pub domain: String,
    /// Configuration of the grid.
    pub facts: Facts,
    /// How many times shorter all steps of a job are than in ATLAS, with as much less to read and
    /// write; as many times more of them arrive. 1: as they are.
    pub speed: u32,
    /// Numbers of tasks, jobs and transfers begin so much higher, in steps that one run does not
    /// fill: runs with different ones have no name in common.
    pub series: u64,
}

/// The simulated grid: tasks, chunks, jobs, queues, links and storage.
pub struct Grid {
    now: Millis,
    seed: u64,
    scale: f64,
    end: Millis,
    start: Millis,
    domain: String,
    agenda: Agenda<GridStep>,
    publisher: Publisher,
    dice: Dice,
    workload: Workload,
    tasks: Pool<LiveTask>,
    chunks: Pool<Chunk>,
    by_subject: BTreeMap<String, Handle>,
    jobs: Pool<GridJob>,
    /// Live jobs by name.
    by_name: BTreeMap<String, Handle>,
    silent: Silent,
    next_job: u64,
    queues: Queues,
    links: Links,
    storages: Storages,
    usage: Use,
    shares: Shares,
    waits: Spans,
    answers: Spans,
    assignments: Spans,
    starts: Spans,
    task_ends: Spans,
    count: GridSummary,
    /// How many times shorter jobs are.
    speed: u32,
    /// Topics whose facts are confirmed every so often.
    confirms: &'static [Topic],
}

/// Cores at scale 1 (published figures: 250,000-350,000).
const CORES: f64 = 300_000.0;
/// How often the import of the queues confirms what did not change.
const CONFIRMED: Millis = HOUR;
/// Number of the first job; PanDA's are of this size.
const FIRST_JOB: u64 = 6_500_000_000;
/// Most tasks, jobs and transfers of one series.
const TASKS_IN_SERIES: u64 = 10_000;
/// See `TASKS_IN_SERIES`.
const JOBS_IN_SERIES: u64 = 1_000_000;
/// See `TASKS_IN_SERIES`.
const TRANSFERS_IN_SERIES: u64 = 4_000_000;
/// At the start the grid is empty: for so long, tasks arrive faster by so much, until half a day
/// of work is at hand, more than brokerage lets queue up.
const FILLING: (Millis, f64) = (30 * MINUTE, 24.0);
/// See `FILLING`: where jobs are shorter, half a day of it is done sooner.
const FILLING_LEAST: f64 = 4.0;
/// Fast rebrokerage looks at queues with more queued jobs of a share: at scale 1, and at least.
const REBROKERED: (f64, f64) = (1_000.0, 20.0);
/// Work offered over what the cores can do swings by so much around 1, with this period.
const SWING: (f64, Millis) = (0.05, 8 * HOUR);

impl Grid {
    /// A grid that has published nothing yet: its configuration comes with the first `advance`.
    pub fn new(plan: GridPlan) -> Result<Grid, Unfit> {
        let GridPlan { seed, scale, start, hours, domain, facts, speed, series } = plan;
        let speed = speed.max(1);
        if !(scale.is_finite() && scale > 0.0) {
            return Err(Unfit::Scale(scale));
        }
        if !facts.is_generic && work::nuclei(&facts).next().is_none() {
            return Err(Unfit::Nuclei { found: facts.sites.len() });
        }
        let queues = Queues::new(seed, scale * CORES, &facts)?;
        let cores = queues.all.iter().map(|queue| u64::from(queue.cores)).sum();
        let links = Links::new(seed, &facts, &queues, (speed, series * TRANSFERS_IN_SERIES));
        let mut grid = Grid {
            now: start,
            seed,
            scale,
            end: start.saturating_add(Millis::from(hours) * HOUR),
            start,
            agenda: Agenda::default(),
            publisher: Publisher::new(seed, "publisher", start, Mistakes::Clocks),
            dice: Dice::new(seed, "grid"),
            workload: Workload::new(
                seed,
                scale,
                &domain,
                &facts,
                (speed, series * TASKS_IN_SERIES),
            ),
            domain,
            tasks: Pool::default(),
            chunks: Pool::default(),
            by_subject: BTreeMap::new(),
            jobs: Pool::default(),
            by_name: BTreeMap::new(),
            silent: Silent::default(),
            next_job: FIRST_JOB + series * JOBS_IN_SERIES,
            queues,
            links,
            storages: Storages::new(seed, &facts),
            usage: Use::new(start, cores),
            shares: Shares::new(start),
            waits: Spans::default(),
            answers: Spans::default(),
            assignments: Spans::default(),
            starts: Spans::default(),
            task_ends: Spans::default(),
            count: GridSummary { cores, ..GridSummary::default() },
            speed,
            confirms: &[Topic::Queue],
        };
        grid.begin(&facts);
        Ok(grid)
    }

    /// Takes decisions, as of the time reached, and lets the grid go on to a later time. Appends
    /// what is published on the way. Decisions may come late, twice, or be of no request: only the
    /// first answer to a request that waits has an effect.
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
    pub fn summary(&self) -> GridSummary {
        let mut usage = self.usage.clone();
        usage.settle(self.now);
        let (cpu_use, cpu_use_recent) = usage.parts();
        let waiting = self.queues.all.iter().map(|queue| queue.waits()).sum();
        GridSummary {
            now: self.now,
            records: self.publisher.published,
            live: self.jobs.len() as u64,
            waiting,
            transfers: self.links.transfers.len() as u64,
            cores_available: usage.available,
            cores_busy: usage.busy,
            cpu_use,
            cpu_use_recent,
            share_error: self.shares.error(self.now),
            wait_median: self.waits.quantile(0.5),
            wait_p95: self.waits.quantile(0.95),
            answer_median: self.answers.quantile(0.5),
            answer_p95: self.answers.quantile(0.95),
            assignment_median: self.assignments.quantile(0.5),
            assignment_p95: self.assignments.quantile(0.95),
            start_median: self.starts.quantile(0.5),
            start_p95: self.starts.quantile(0.95),
            task_end_median: self.task_ends.quantile(0.5),
            task_end_p95: self.task_ends.quantile(0.95),
            ..self.count.clone()
        }
    }

    fn happen(&mut self, planned: GridStep) {
        match planned {
            GridStep::Begins => self.say_facts(),
            GridStep::TaskArrives => self.task_arrives(),
            GridStep::ChunkAsks(chunk) => self.chunk_asks(chunk),
            GridStep::Answered(chunk) => self.answered(chunk),
            GridStep::JobStep(job) => self.job_step(job),
            GridStep::Heartbeat(job) => self.heartbeat(job),
            GridStep::Killed(job) => self.killed(job),
            GridStep::TransferStep(transfer) => self.transfer_step(transfer),
            GridStep::Fetch(queue) => self.fetch(queue),
            GridStep::Look(queue) => self.look(queue),
            GridStep::Workers(queue) => self.workers(queue),
            GridStep::GoesDown(queue) => self.goes_down(queue),
            GridStep::Cleared(queue) => self.cleared(queue),
            GridStep::ComesBack(queue) => self.comes_back(queue),
            GridStep::LinkMeasured(link) => self.link_measured(link),
            GridStep::StorageMeasured => self.storage_measured(),
            GridStep::QueuesConfirmed => {
                for topic in self.confirms {
                    self.publisher.fact(&confirmed(&self.domain, *topic, self.now));
                }
                self.after(CONFIRMED, GridStep::QueuesConfirmed);
            }
            GridStep::UseSpan => {
                self.usage.end_span(self.now);
                self.after(SPAN, GridStep::UseSpan);
            }
        }
    }

    /// Plans all that goes on by itself.
    fn begin(&mut self, facts: &Facts) {
        self.queues.sites = facts.sites.clone();
        self.agenda.plan(self.start, GridStep::Begins);
        self.after_between(MINUTE, 3 * MINUTE, GridStep::TaskArrives);
        self.after(SPAN, GridStep::UseSpan);
        self.after(storages::PERIOD, GridStep::StorageMeasured);
        self.after(CONFIRMED, GridStep::QueuesConfirmed);
        for queue in 0..self.queues.all.len() as u32 {
            self.after_between(1_000, 2 * MINUTE, GridStep::Look(queue));
            self.after_between(1_000, 5 * MINUTE, GridStep::Workers(queue));
            self.plan_bad_day(queue);
        }
        for link in 0..self.links.all.len() as u32 {
            let period = self.links.all[link as usize].period;
            self.after_between(MINUTE, period, GridStep::LinkMeasured(link));
        }
    }

    /// The whole configuration, as of the start.
    fn say_facts(&mut self) {
        let now = self.now;
        for share in self.shares.facts(now) {
            self.publisher.fact(&share);
            self.publisher.fact(&threshold(&share.name, self.scale, now));
        }
        for site in &mut self.queues.sites {
            site.changed_at = now;
            self.publisher.fact(site);
        }
        for live in &mut self.storages.all {
            live.storage.changed_at = now;
            self.publisher.fact(&live.storage);
        }
        for link in &mut self.links.all {
            link.link.changed_at = now;
            link.publish(&mut self.publisher);
        }
        for queue in &mut self.queues.idle {
            queue.changed_at = now;
            self.publisher.fact(queue);
        }
        for queue in &mut self.queues.all {
            self.publisher.fact(&software(&queue.name, now));
            for slot in &mut queue.slots {
                slot.changed_at = now;
                self.publisher.fact(slot);
            }
        }
    }

    fn after(&mut self, span: Millis, what: GridStep) {
        self.agenda.plan(self.now.saturating_add(span.max(0)), what);
    }

    fn after_between(&mut self, from: Millis, to: Millis, what: GridStep) {
        let span = self.dice.between(from, to);
        self.after(span, what);
    }

    /// The same for steps of a job, which are shorter where jobs are.
    fn after_sooner(&mut self, from: Millis, to: Millis, what: GridStep) {
        self.after_between(self.sooner(from), self.sooner(to), what);
    }

    /// A span that follows how long jobs take.
    fn sooner(&self, span: Millis) -> Millis {
        span / Millis::from(self.speed)
    }

    /// Work that arrives now over what the cores can do.
    fn load(&self) -> f64 {
        let passed = self.now - self.start;
        if passed < FILLING.0 {
            return (FILLING.1 / f64::from(self.speed)).max(FILLING_LEAST);
        }
        let period = self.sooner(SWING.1);
        let part = (passed % period) as f64 / period as f64;
        let triangle = if part < 0.5 { 4.0 * part - 1.0 } else { 3.0 - 4.0 * part };
        1.0 + SWING.0 * triangle
    }
}

/// Beyond how many queued jobs of a share at a queue these are brokered again (spec atlas 6).
fn threshold(gshare: &str, scale: f64, now: Millis) -> Parameter {
    let jobs = (REBROKERED.0 * scale).max(REBROKERED.1) as u64;
    Parameter {
        app: "pandaserver".to_owned(),
        component: "rebroker".to_owned(),
        key: format!("FAST_REBRO_THRESHOLD_NQUEUE_{gshare}"),
        value: jobs.to_string(),
        changed_at: now,
        ..Parameter::default()
    }
}

/// Software and hardware of every queue: all of CVMFS, any container, common processors.
fn software(queue: &str, now: Millis) -> Release {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let cpu = Hardware {
        arch: words(&["x86_64"]),
        vendor: words(&["intel", "amd"]),
        ..Hardware::default()
    };
    Release {
        queue: queue.to_owned(),
        changed_at: now,
        cmtconfigs: words(&["x86_64-el9-gcc13-opt"]),
        containers: words(&["any"]),
        cvmfs: words(&["any"]),
        hardware: vec![cpu],
        ..Release::default()
    }
}
