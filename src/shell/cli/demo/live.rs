//! A demo in a directory: the grid and the engine in one process, in simulated time.

use super::STEP;
use super::next::NextLook;
use super::played::Played;
use super::polled::Polled;
use super::totals::Totals;
use crate::cli::Ended;
use crate::cli::import::lane;
use crate::cli::log_args::{Read, dir_topics, open_store};
use crate::cli::stop::Stop;
use crate::clock;
use crate::dirlog::{DirLog, DirOptions, DirWriter, Mode};
use crate::ports::{AnyLog, AnyStore};
use crate::serve::Show;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::state::audit::audit;
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis};
use yardmaster_drive::{Config, Drive};
use yardmaster_sim::grid::Record;

/// How long a demo that holds waits between two looks at what is asked.
const TURN: Duration = Duration::from_millis(10);

/// A demo under way, of a simulated grid.
pub(super) struct Live<G> {
    /// The engine.
    pub drive: Drive<AnyLog, AnyStore>,
    writer: DirWriter,
    pub grid: G,
    pub show: Show,
    clock: Arc<AtomicI64>,
    partitions: BTreeMap<yardmaster_core::cut::Topic, u32>,
    pub now: Millis,
    /// Decisions published and not yet obeyed.
    decisions: Vec<Decision>,
    /// Commands likewise.
    commands: Vec<Command>,
    totals: Totals,
    reported_ns: u64,
    reported_events: u64,
    pub is_quiet: bool,
    pub polled: Option<Polled>,
}

impl<G: Played> Live<G> {
    pub fn start(dir: &Path, read: &Read, grid: G, show: Show) -> anyhow::Result<Live<G>> {
        let start = grid.start();
        let clock = Arc::new(AtomicI64::new(start));
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
            store_not_before: 0,
            uptime: None,
            counters: None,
        };
        let store = open_store(&dir.join("store"))?;
        let mut drive = Drive::start(AnyLog::dir(log)?, store, config)?;
        while !drive.own_lanes_at_end() {
            drive.pump(Duration::from_millis(10))?;
        }
        drive.take_lead(start)?;
        drive.settle(start)?;
        let topics = &read.topology.topics;
        Ok(Live {
            drive,
            writer,
            grid,
            show,
            clock,
            partitions: topics.iter().map(|(topic, it)| (*topic, it.partitions)).collect(),
            now: start,
            decisions: Vec::new(),
            commands: Vec::new(),
            totals: Totals::default(),
            reported_ns: clock::stopwatch(),
            reported_events: 0,
            is_quiet: false,
            polled: None,
        })
    }

    pub fn run(&mut self, end: Millis) -> anyhow::Result<()> {
        while self.now < end {
            self.now += STEP;
            self.clock.store(self.now, Ordering::Relaxed);
            let decisions = std::mem::take(&mut self.decisions);
            let mut records = Vec::new();
            self.grid.obey(&std::mem::take(&mut self.commands), &mut records);
            self.grid.advance(self.now, &decisions, &mut records);
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
        let simulated = self.now - self.grid.start();
        let decisions: u64 = self.totals.outcomes.values().sum();
        println!(
            "day {} {:02}:{:02}  {rate:>8.0} events/s  {:>9} events  {decisions:>6} decisions  {}",
            simulated / DAY,
            simulated % DAY / HOUR,
            simulated % HOUR / MINUTE,
            self.totals.events,
            self.grid.progress(),
        );
    }

    /// States beside the store where this process can be asked, as verbs do while it holds the
    /// store; empty: it ends.
    pub fn write_address(&mut self, address: &str) -> anyhow::Result<()> {
        if let AnyStore::Sled(store) = self.drive.store() {
            store.write_address(address)?;
        }
        Ok(())
    }

    /// Prints the summary, and where to look next; with `holds` the page goes on until SIGINT or
    /// SIGTERM, with the day as it ended.
    pub fn end(mut self, next: &NextLook) -> Ended {
        let holds = next.page.is_some();
        if !holds {
            self.drive.finish(self.now)?;
        }
        let drifts = audit(self.drive.state());
        println!();
        println!("{} events, {} cycles", self.totals.events, self.drive.state().number);
        self.grid.print(&self.totals);
        for drift in drifts.iter().take(10) {
            println!("  drift {}: kept {}, recount {}", drift.counter, drift.kept, drift.recount);
        }
        let counters = yardmaster_core::state::counters::counters(self.drive.state()).len();
        match drifts.len() {
            0 => println!("audit: clean, {counters} counters recounted"),
            some => println!("audit: {some} of {counters} counters drifted"),
        }
        self.totals.limits.print();
        next.print(self.totals.worth_explaining());
        if holds {
            // As long as it leads, the page has all that a leader shows.
            self.hold()?;
            self.drive.finish(self.now)?;
        }
        self.write_address("")?;
        self.show.stop();
        let is_well = drifts.is_empty() && self.totals.limits.hold() && self.grid.is_well();
        Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Answers questions until it is to stop. Nothing happens meanwhile: no time passes.
    fn hold(&mut self) -> anyhow::Result<()> {
        let stop = Stop::on_signals()?;
        while stop.goes_on() {
            self.show.report(&mut self.drive);
            std::thread::sleep(TURN);
        }
        Ok(())
    }
}
