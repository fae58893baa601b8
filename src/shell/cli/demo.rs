//! `demo`: a simulated grid on the embedded log, in a closed loop.

mod commands;
mod compare;
mod facts;
mod faults;
mod polled;

use crate::core::output::command::Command;
use crate::core::output::decision::Decision;
use crate::core::output::throttle::Throttle;
use crate::core::state::audit::audit;
use crate::core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};
use crate::drive::epoch_config::EpochConfig;
use crate::drive::{Config, Drive};
use crate::shell::cli::http_args::ServeArgs;
use crate::shell::cli::import::lane;
use crate::shell::cli::log_args::{Read, dir_topics, open_store};
use crate::shell::cli::{Ended, Usage};
use crate::shell::clock;
use crate::shell::dirlog::{DirLog, DirOptions, DirWriter, Mode};
use crate::shell::http::Door;
use crate::shell::ports::{AnyLog, AnyStore};
use crate::shell::serve::Show;
use crate::sim::grid::{Facts, Grid, Plan, Record, Summary};
use clap::Args;
use faults::Faults;
use polled::Polled;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// When the simulated time begins: a fixed moment, so that the same seed gives the same log.
const START: Millis = 1_760_400_000_000;
/// Simulated time between two cycles.
const STEP: Millis = 10 * SECOND;
/// Marks a directory as ours to clear.
const MARK: &str = "yardmaster-demo";

/// Runs a simulated grid against the real line: tasks arrive, decisions are obeyed, jobs run,
/// transfers flow, some fail, some lie. The log is a directory; nothing else is needed. At the end
/// prints a summary and audits everything; exits 0 only if the audit was clean.
///
/// Examples:
///   yardmaster demo
///   yardmaster demo --hours 6 --scale 0.02 --seed 7 --dir yard
///   yardmaster demo --compare --hours 72 --seeds 5
///   yardmaster demo --faults --hours 168 --commands on --scale 0.02
///   yardmaster demo --cric queues.json
///   yardmaster demo --cric queues.json --netmetrics links.json --storage space.json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Demo {
    /// Simulated hours.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=8760))]
    hours: u32,
    /// Size against ATLAS: 1 is about a million jobs a day.
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// Same seed, same log.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directory for log and store; an earlier demo there is cleared.
    #[arg(long, value_name = "DIR", default_value = "yardmaster-demo")]
    dir: PathBuf,
    /// Queues from a CRIC dump instead of the built-in grid. Links and storage space are made up
    /// unless files of them are given, too.
    #[arg(long, value_name = "FILE", help_heading = "Grid")]
    cric: Option<PathBuf>,
    /// Links from a network matrix.
    #[arg(long, value_name = "FILE", requires = "cric", help_heading = "Grid")]
    netmetrics: Option<PathBuf>,
    /// Storage space.
    #[arg(long, value_name = "FILE", requires = "cric", help_heading = "Grid")]
    storage: Option<PathBuf>,
    /// Nuclei; without it tier-1 and the largest tier-2 sites of the CRIC dump.
    #[arg(long, value_name = "FILE", requires = "cric", help_heading = "Grid")]
    nuclei: Option<PathBuf>,
    /// Topology file; without it the built-in one for ATLAS.
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Decides as a broker that polls a database does, for comparison: once a simulated minute, on
    /// counts of a minute ago, with deferrals that wait for their timer alone.
    #[arg(long)]
    polled: bool,
    /// Runs every seed on events, as `--polled`, and as `--polled` but six times a minute on the
    /// counts of the moment; prints how jobs, cores, shares and waits compare. Nothing is left in
    /// the directory.
    #[arg(long, conflicts_with = "polled")]
    compare: bool,
    /// How many seeds are compared: `--seed` and those after it.
    #[arg(long, default_value_t = 5, requires = "compare")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Sets the mode of all rules that give commands (off, dry_run, on) in place of the topology's;
    /// with `on` the simulated grid carries the commands out.
    #[arg(long, value_name = "MODE")]
    #[arg(value_parser = ["off", "dry_run", "on"])]
    commands: Option<String>,
    /// Much goes wrong, on days of their own: heartbeats die for three hours and come back all at
    /// once (day 1), a queue is silent for a day (day 2), a site's links are blocked for twelve
    /// hours (day 3), job states and heartbeats arrive two hours late (days 4 and 5), and all the
    /// time the clocks of two queues are wrong by minutes. For a whole week: --hours 168
    /// --commands on.
    #[arg(long, conflicts_with_all = ["polled", "compare"])]
    faults: bool,
    /// Without the staleness limits and budgets of the topology, to see what they save.
    #[arg(long, requires = "faults")]
    unguarded: bool,
    /// Where metrics are served meanwhile; port 0 for any free one.
    #[arg(long, value_name = "HOST:PORT", help_heading = "HTTP", default_value = "127.0.0.1:9187")]
    http: SocketAddr,
    #[command(flatten)]
    serve_args: ServeArgs,
}

impl Demo {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = Read::open(self.topology.as_deref())?;
        let read = match &self.commands {
            Some(mode) => commands::with_mode(&read, mode)?,
            None => read,
        };
        if self.compare {
            return self.compare(&read);
        }
        let read = if self.polled { polled::by_timer(&read)? } else { read };
        let read = if self.unguarded { faults::unguarded(&read)? } else { read };
        let door = self.serve_args.door(self.http, &read.topology.limits)?;
        clear(&self.dir)?;
        let facts = self.facts()?;
        let faults = self.faults.then(|| Faults::of(self.seed, START, &facts));
        let plan = Plan {
            seed: self.seed,
            scale: self.scale,
            start: START,
            hours: self.hours,
            domain: read.topology.domain.clone(),
            facts,
        };
        let grid = Grid::new(plan).map_err(|unfit| Usage(unfit.to_string()))?;
        let mut show = Show::new(&read.topology.domain, read.topology.limits.metric_labels_max);
        self.listen(&mut show, door, &read.epoch_config()?);
        println!("log and store in {}", self.dir.display());
        let mut demo = Live::start(&self.dir, &read, grid, show)?;
        let key = read.epoch_config()?.key_fingerprint;
        let history = self.dir.join("store").join("history");
        demo.show.keep(&history, key.as_deref(), &mut demo.drive);
        demo.polled = self.polled.then(Polled::default);
        demo.faults = faults;
        demo.run(START + Millis::from(self.hours) * HOUR)?;
        demo.end()
    }

    /// The port may be taken, by another demo perhaps: then any free one will do.
    fn listen(&self, show: &mut Show, door: Door, config: &EpochConfig) {
        let any = SocketAddr::new(self.http.ip(), 0);
        let scheme = door.scheme();
        let bound = show.listen_with_api(self.http, door.clone(), config);
        match bound.or_else(|_| show.listen_with_api(any, door, config)) {
            Ok(bound) => {
                println!("metrics on {scheme}://{bound}/metrics");
                println!("page on {scheme}://{bound}/");
            }
            Err(error) => println!("no metrics: {error:#}"),
        }
    }
}

/// Makes a log of some simulated hours of the built-in grid, to be measured; prints nothing.
pub fn record(dir: &Path, read: &Read, hours: u32) -> anyhow::Result<()> {
    clear(dir)?;
    let (domain, facts) = (read.topology.domain.clone(), Facts::built_in());
    let grid = Grid::new(Plan { seed: 1, scale: 0.05, start: START, hours, domain, facts })?;
    let show = Show::new(&read.topology.domain, read.topology.limits.metric_labels_max);
    let mut live = Live::start(dir, read, grid, show)?;
    live.is_quiet = true;
    live.run(START + Millis::from(hours) * HOUR)?;
    Ok(live.drive.finish(live.now)?)
}

/// Makes room: removes what an earlier demo left, and nothing else.
fn clear(dir: &Path) -> anyhow::Result<()> {
    let mark = dir.join(MARK);
    if dir.is_dir() && std::fs::read_dir(dir)?.next().is_some() {
        if !mark.is_file() {
            let dir = dir.display();
            return Err(Usage(format!(
                "--dir {dir}: not empty, and no earlier demo; name another directory"
            ))
            .into());
        }
        std::fs::remove_dir_all(dir)?;
    }
    std::fs::create_dir_all(dir)?;
    std::fs::write(mark, "made by yardmaster demo; the next demo here clears it\n")?;
    Ok(())
}

/// A demo under way.
struct Live {
    drive: Drive<AnyLog, AnyStore>,
    writer: DirWriter,
    grid: Grid,
    show: Show,
    clock: Arc<AtomicI64>,
    partitions: BTreeMap<crate::core::cut::Topic, u32>,
    now: Millis,
    /// Decisions published and not yet obeyed.
    decisions: Vec<Decision>,
    /// Commands likewise.
    commands: Vec<Command>,
    totals: Totals,
    reported_ns: u64,
    reported_events: u64,
    is_quiet: bool,
    polled: Option<Polled>,
    faults: Option<Faults>,
}

/// What the demo counts for its summary.
#[derive(Default)]
struct Totals {
    events: u64,
    outcomes: BTreeMap<&'static str, u64>,
    rejected: BTreeMap<String, u64>,
    /// Throttles: by rule, set and lifted.
    throttles: BTreeMap<String, [u64; 2]>,
    commands: commands::Totals,
    first_answer: BTreeMap<String, Millis>,
}

impl Live {
    fn start(dir: &Path, read: &Read, grid: Grid, show: Show) -> anyhow::Result<Live> {
        let clock = Arc::new(AtomicI64::new(START));
        let simulated = Arc::clone(&clock);
        let options =
            DirOptions { sync: false, clock: Arc::new(move || simulated.load(Ordering::Relaxed)) };
        let log = DirLog::open(dir, Mode::Write, &dir_topics(&read.topology), options)?;
        let writer = log.writer()?;
        let config = Config {
            instance: "demo".to_owned(),
            epoch_config: read.epoch_config()?,
            stopwatch: clock::stopwatch,
            verify: false,
            keeps: true,
            uptime: None,
            counters: None,
        };
        let store = open_store(&dir.join("store"))?;
        let mut drive = Drive::start(AnyLog::dir(log)?, store, config)?;
        while !drive.own_lanes_at_end() {
            drive.pump(Duration::from_millis(10))?;
        }
        drive.take_lead(START)?;
        drive.settle(START)?;
        let topics = &read.topology.topics;
        Ok(Live {
            drive,
            writer,
            grid,
            show,
            clock,
            partitions: topics.iter().map(|(topic, it)| (*topic, it.partitions)).collect(),
            now: START,
            decisions: Vec::new(),
            commands: Vec::new(),
            totals: Totals::default(),
            reported_ns: clock::stopwatch(),
            reported_events: 0,
            is_quiet: false,
            polled: None,
            faults: None,
        })
    }

    fn run(&mut self, end: Millis) -> anyhow::Result<()> {
        while self.now < end {
            self.now += STEP;
            self.clock.store(self.now, Ordering::Relaxed);
            let decisions = std::mem::take(&mut self.decisions);
            let mut records = Vec::new();
            self.grid.obey(&std::mem::take(&mut self.commands), &mut records);
            self.grid.advance(self.now, &decisions, &mut records);
            if let Some(faults) = &mut self.faults {
                records = faults.pass(&mut self.grid, records, self.now);
            }
            let (known, is_due) = match &mut self.polled {
                None => (records, true),
                Some(polled) => (polled.pass(records, self.now), polled.is_due(self.now)),
            };
            self.append(known)?;
            if is_due {
                self.cycle()?;
            }
            if !self.is_quiet && clock::stopwatch() - self.reported_ns > 1_000_000_000 {
                self.progress();
            }
        }
        if !self.is_quiet {
            self.progress();
        }
        Ok(())
    }

    fn append(&mut self, records: Vec<Record>) -> anyhow::Result<()> {
        for Record { topic, key, value, at } in records {
            let partitions = self.partitions.get(&topic).copied().unwrap_or(1);
            let lane = lane(topic, &String::from_utf8_lossy(&key), partitions);
            self.writer.append(lane, Some(&key), value.as_deref(), &[], at)?;
        }
        Ok(self.writer.flush()?)
    }

    /// Reads all there is, and makes a cycle of it. What it publishes is in the log before anything
    /// else is read: else the machine's speed would decide which cycle reads what.
    fn cycle(&mut self) -> anyhow::Result<()> {
        loop {
            while self.drive.pump(Duration::ZERO)? > 0 {}
            self.drive.lead(self.now)?;
            self.drive.settle(self.now)?;
            let report = self.show.report(&mut self.drive);
            self.totals.count(report.decisions());
            self.totals.count_throttles(report.throttles());
            self.totals.events += report.events.values().sum::<u64>();
            self.decisions.extend(report.decisions().cloned());
            self.totals.commands.count(report.commands());
            self.commands.extend(report.commands().filter(|it| it.is_order()).cloned());
            if !self.drive.has_more() {
                return Ok(());
            }
            // More came than one cycle takes: the next follows at once, a moment later.
            self.now += 200;
            self.clock.store(self.now, Ordering::Relaxed);
        }
    }

    fn progress(&mut self) {
        let now = clock::stopwatch();
        let seconds = (now - self.reported_ns) as f64 / 1e9;
        let rate = (self.totals.events - self.reported_events) as f64 / seconds.max(1e-9);
        (self.reported_ns, self.reported_events) = (now, self.totals.events);
        let summary = self.grid.summary();
        let simulated = self.now - START;
        let decisions: u64 = self.totals.outcomes.values().sum();
        println!(
            "day {} {:02}:{:02}  {rate:>8.0} events/s  {:>9} events  {decisions:>6} decisions  {:>7} \
             running  {:>3.0} % of cores busy  {} waiting",
            simulated / DAY,
            simulated % DAY / HOUR,
            simulated % HOUR / MINUTE,
            self.totals.events,
            summary.running,
            100.0 * summary.cpu_use_recent,
            summary.chunks_waiting,
        );
    }

    fn end(mut self) -> Ended {
        self.drive.finish(self.now)?;
        let drifts = audit(self.drive.state());
        self.totals.print(&self.grid.summary(), self.drive.state().number);
        for drift in drifts.iter().take(10) {
            println!("  drift {}: kept {}, recount {}", drift.counter, drift.kept, drift.recount);
        }
        let counters = crate::core::state::counters::counters(self.drive.state()).len();
        match drifts.len() {
            0 => println!("audit: clean, {counters} counters recounted"),
            some => println!("audit: {some} of {counters} counters drifted"),
        }
        self.show.stop();
        Ok(if drifts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

impl Totals {
    fn count<'a>(&mut self, decisions: impl Iterator<Item = &'a Decision>) {
        for decision in decisions {
            *self.outcomes.entry(decision.outcome.name()).or_default() += 1;
            for count in &decision.counts {
                *self.rejected.entry(count.filter.clone()).or_default() +=
                    u64::from(count.rejected);
            }
            if decision.outcome.is_final() {
                self.first_answer.entry(decision.subject.clone()).or_insert(decision.now);
            }
        }
    }

    fn count_throttles<'a>(&mut self, throttles: impl Iterator<Item = &'a Throttle>) {
        for throttle in throttles {
            let by_action = self.throttles.entry(throttle.rule.clone()).or_default();
            by_action[throttle.action as usize] += 1;
        }
    }

    fn print(&self, summary: &Summary, cycles: u64) {
        println!();
        println!("{} events, {cycles} cycles", self.events);
        println!(
            "jobs: {} finished, {} failed, {} cancelled, {} closed, {} live, {} fell silent",
            summary.finished,
            summary.failed,
            summary.cancelled,
            summary.closed,
            summary.live,
            summary.silent
        );
        println!(
            "grid: {} cores, {:.1} % of them busy over the run; share error {:.1} %",
            summary.cores,
            100.0 * summary.cpu_use,
            100.0 * summary.share_error
        );
        println!(
            "wait from generation to start: median {}, p95 {}",
            span(summary.wait_median),
            span(summary.wait_p95)
        );
        let outcomes: Vec<String> =
            self.outcomes.iter().map(|(name, count)| format!("{count} {name}")).collect();
        println!("decisions: {}", outcomes.join(", "));
        let throttles = self.throttles.iter();
        let throttles: Vec<String> = throttles
            .map(|(rule, [set, lift])| format!("{rule} set {set} times, lifted {lift}"))
            .collect();
        if !throttles.is_empty() {
            println!("throttles: {}", throttles.join("; "));
        }
        self.commands.print(summary);
        let mut rejected: Vec<_> = self.rejected.iter().collect();
        rejected.sort_by(|a, b| b.1.cmp(a.1));
        let top: Vec<String> =
            rejected.iter().take(6).map(|(filter, count)| format!("{filter} {count}")).collect();
        println!("queues rejected by: {}", top.join(", "));
    }
}

fn span(millis: Millis) -> String {
    match millis {
        short if short < MINUTE => format!("{} s", short / SECOND),
        middle if middle < HOUR => format!("{} min", middle / MINUTE),
        long => format!("{:.1} h", long as f64 / HOUR as f64),
    }
}
