//! A simulated grid on a Kafka, beside the `run` that brokers it, by the clock: it publishes what
//! happens to it, and obeys what the `run` publishes and lists in its cycles.

use super::answers::OutputReader;
use super::earlier;
use super::publish::{DemoPublisher, TOPICS};
use super::totals::Totals;
use super::warm::warm;
use crate::cli::Ended;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::pause::Pause;
use crate::clock;
use crate::ports::AnyLog;
use crate::serve::Show;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use yardmaster_core::cut::Topic;
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::{HOUR, Millis};
use yardmaster_drive::port::{Log, LogError};
use yardmaster_sim::grid::{Grid, GridPlan, Record};

/// How long one look at what is answered may wait; the grid goes on after each.
const LOOK: Duration = Duration::from_millis(200);
/// How often it says how the grid fares.
const SAYING: Duration = Duration::from_secs(10);
/// 2025-01-01: series of numbers are seconds since then; ms since 1970.
const SERIES_FROM: Millis = 1_735_689_600_000;

/// Plays a simulated grid beside a `run`: publishes its records, and keeps the outputs that the
/// grid has not obeyed yet.
pub(super) struct GridBeside {
    log_args: LogArgs,
    read: Read,
    show: Show,
    stop: Arc<AtomicBool>,
    /// When it ends by itself.
    end: Option<Millis>,
    answers: OutputReader,
    /// Decisions that the grid has not heard yet.
    decisions: Vec<Decision>,
    /// Commands likewise.
    commands: Vec<Command>,
    /// Records that are not durable yet.
    records: Vec<Record>,
    totals: Totals,
    reported: Instant,
    reported_records: u64,
}

impl GridBeside {
    /// On a Kafka, for so many hours at most.
    pub fn new(
        log_args: LogArgs,
        read: Read,
        show: Show,
        hours: Option<u32>,
    ) -> anyhow::Result<GridBeside> {
        // What is wrong with it is reported at once.
        log_args.kafka(&read.topology)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        let answers = OutputReader::new(&read.topology.domain);
        Ok(GridBeside {
            log_args,
            read,
            show,
            stop,
            end: hours.map(|hours| clock::now() + Millis::from(hours) * HOUR),
            answers,
            decisions: Vec::new(),
            commands: Vec::new(),
            records: Vec::new(),
            totals: Totals::default(),
            reported: Instant::now(),
            reported_records: 0,
        })
    }

    /// Runs a grid by a plan, but from now on, until it is stopped.
    pub fn run(mut self, plan: GridPlan) -> Ended {
        let series = u64::try_from((clock::now() - SERIES_FROM) / 1_000).unwrap_or(0);
        self.show.status.update(|it| it.silent_because = Some("the grid is made".to_owned()));
        let mut pause = Pause::new("demo", &self.read.topology);
        let Some(left) = self.find(&mut pause)? else { return Ok(ExitCode::SUCCESS) };
        match left.len() {
            0 => {}
            count => println!("{count} jobs, requests and transfers of an earlier demo are ended"),
        }
        println!("the grid runs by itself for a while, so that it is not empty");
        let plan = GridPlan { hours: u32::MAX, series, ..plan };
        let warm = warm(&self.read, plan, &|| self.goes_on())?;
        let Some(mut grid) = warm else { return Ok(ExitCode::SUCCESS) };
        self.records = left;
        grid.stand(&mut self.records);
        self.show.turn();
        while self.goes_on() {
            match self.live(&mut grid, series, &mut pause) {
                Ok(()) => {}
                Err(error @ LogError::Stop(_)) => return Err(error.into()),
                Err(error) => self.wait(&mut pause, &error),
            }
        }
        println!();
        println!("{} records", grid.summary().records);
        self.totals.print(&grid.summary());
        self.show.stop();
        Ok(ExitCode::SUCCESS)
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed) && self.end.is_none_or(|end| clock::now() < end)
    }

    fn wait(&self, pause: &mut Pause, error: &LogError) {
        let since = clock::now();
        self.show.status.update(|status| {
            status.broker_unreachable_since.get_or_insert(since);
        });
        pause.wait(error, &|| self.goes_on());
    }

    /// Finds the topics, where the answers end, and what an earlier demo left; waits for a broker
    /// that is away. `None` if it was to stop.
    fn find(&mut self, pause: &mut Pause) -> anyhow::Result<Option<Vec<Record>>> {
        while self.goes_on() {
            let error = match self.try_find() {
                Ok(left) => return Ok(Some(left)),
                Err(error) => error,
            };
            match error.downcast_ref::<LogError>() {
                Some(LogError::Stop(_)) | None => return Err(error),
                Some(may_mend) => self.wait(pause, may_mend),
            }
        }
        Ok(None)
    }

    fn try_find(&mut self) -> anyhow::Result<Vec<Record>> {
        let topology = &self.read.topology;
        let needed: Vec<Topic> = OutputReader::topics().chain(TOPICS).collect();
        self.log_args.log_of(topology, &needed)?.lanes()?;
        self.answers.open(&mut self.log()?)?;
        earlier::left(&self.log_args, topology, clock::now())
    }

    fn log(&self) -> anyhow::Result<AnyLog> {
        let topics: Vec<Topic> = OutputReader::topics().collect();
        self.log_args.log_of(&self.read.topology, &topics)
    }

    /// One life of the connections: until it is stopped, or something fails.
    fn live(&mut self, grid: &mut Grid, series: u64, pause: &mut Pause) -> Result<(), LogError> {
        let opened = |error: anyhow::Error| {
            error.downcast().unwrap_or_else(|error| LogError::Stop(format!("{error:#}")))
        };
        let topology = &self.read.topology;
        let conf = self.log_args.kafka(topology).map_err(opened)?;
        let publisher = DemoPublisher::open(conf, topology, series)?;
        let mut log = self.log().map_err(opened)?;
        self.answers.open(&mut log)?;
        loop {
            publisher.publish(&self.records)?;
            self.records.clear();
            pause.reset();
            self.show.status.update(|status| {
                status.broker_unreachable_since = None;
                status.silent_because = None;
            });
            self.show.turn();
            self.say(grid);
            if !self.goes_on() {
                return Ok(());
            }
            for output in self.answers.take(&mut log, LOOK)? {
                self.hear(output);
            }
            self.answers.take_notices().iter().for_each(|notice| tracing::warn!("{notice}"));
            grid.obey(&std::mem::take(&mut self.commands), &mut self.records);
            let decisions = std::mem::take(&mut self.decisions);
            grid.advance(clock::now(), &decisions, &mut self.records);
        }
    }

    fn hear(&mut self, output: Output) {
        self.totals.count(output.decision().into_iter());
        self.totals.count_throttles(output.throttle().into_iter());
        self.totals.commands.count(output.command().into_iter());
        self.decisions.extend(output.decision().cloned());
        self.commands.extend(output.command().cloned());
    }

    /// Prints how the grid fares, every so often.
    fn say(&mut self, grid: &Grid) {
        let passed = self.reported.elapsed();
        if passed < SAYING {
            return;
        }
        let summary = grid.summary();
        let rate = (summary.records - self.reported_records) as f64 / passed.as_secs_f64();
        (self.reported, self.reported_records) = (Instant::now(), summary.records);
        let decisions: u64 = self.totals.outcomes.values().sum();
        let time = jiff::Timestamp::from_millisecond(clock::now()).unwrap_or_default();
        println!(
            "{}  {rate:>6.0} records/s  {decisions:>6} decisions  {:>7} running  {:>3.0} % of \
             cores busy  {} waiting",
            time.strftime("%FT%TZ"),
            summary.running,
            100.0 * summary.cores_busy as f64 / summary.cores.max(1) as f64,
            summary.chunks_waiting,
        );
    }
}
