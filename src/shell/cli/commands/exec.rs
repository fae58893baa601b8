//! Commands are carried out: each open one is handed to a program, and what became of it is
//! published. After an error that may mend itself it begins again with nothing in memory, once the
//! programs under way have ended.

use super::answer::{answer, expired, outcome_entry};
use super::command_log::{CommandLog, NewRecord};
use super::listed::{CommandState, Listed, outcome_name};
use super::program::{Exit, Finished, MOST_AFTER_TIMEOUT, Program};
use super::switch::Switch;
use super::{Stop, Wants};
use crate::cli::log_args::LogArgs;
use crate::cli::pause::Pause;
use crate::cli::record_publisher::RecordPublisher;
use crate::cli::table::Layout;
use crate::cli::{Ended, Usage};
use crate::clock;
use crate::kafka::KafkaConf;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use yardmaster_core::cut::Topic;
use yardmaster_core::output::command::Command;
use yardmaster_core::state::commands::CommandAnswer;
use yardmaster_core::unit::Millis;
use yardmaster_drive::orders::{KNOWN_MAX, Orders};
use yardmaster_drive::port::LogError;
use yardmaster_wire::topology::Topology;

/// Topics that are read.
const TOPICS: [Topic; 4] = [Topic::Command, Topic::Outcome, Topic::Parameter, Topic::Progress];
/// While so many commands wait for their turn, no more are read; they are again below half of it.
const WAITING_MAX: usize = 1_000;
/// How long one look at the log may wait, and so a signal.
const LOOK: Duration = Duration::from_millis(100);
/// The same while programs are under way.
const LOOK_BUSY: Duration = Duration::from_millis(20);
/// Between two tries to publish outcomes.
const PUBLISH_AGAIN: Duration = Duration::from_secs(1);

/// The commands that are carried out, and the program that does it.
pub(super) struct Exec {
    pub log_args: LogArgs,
    pub wants: Wants,
    /// How commands that are done are printed; `None`: as JSON.
    pub layout: Option<Layout>,
    pub program: Arc<Program>,
    /// How many programs are under way at one time.
    pub parallel: usize,
}

impl Exec {
    /// Runs the verb until it is stopped.
    pub fn run(&self, stop: &Stop) -> Ended {
        if self.log_args.dir.is_some() {
            let why = "--exec with --dir: what became of a command is published on topic outcome, \
                       and a directory log has one writer, the `run` that leads; give a Kafka \
                       (--bootstrap-server HOST:PORT)";
            return Err(Usage(why.to_owned()).into());
        }
        let topology = self.log_args.read_log()?.topology;
        let conf = self.log_args.kafka(&topology)?.for_a_service();
        if let Some(layout) = &self.layout {
            writeln!(io::stdout().lock(), "{}", layout.head())?;
        }
        let mut pause = Pause::new("commands", &topology);
        while stop.goes_on() {
            match self.live(&topology, &conf, stop, &mut pause) {
                Ok(()) => {}
                Err(error @ LogError::Stop(_)) => return Err(error.into()),
                Err(error) => pause.wait(&error, &|| stop.goes_on()),
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// From the beginning until it is stopped, or something fails.
    fn live(
        &self,
        topology: &Topology,
        conf: &KafkaConf,
        stop: &Stop,
        pause: &mut Pause,
    ) -> Result<(), LogError> {
        let mut life = Life::begin(self, topology, conf, stop)?;
        if !stop.goes_on() {
            return Ok(());
        }
        let (open, path) = (life.orders.waiting(), self.program.path().display());
        let (seconds, parallel) = (self.program.timeout.as_secs(), self.parallel);
        tracing::info!(
            "{open} commands are open; each is handed to {path}, {parallel} side by side, for \
             {seconds} s at most"
        );
        pause.reset();
        let worked = life.work(stop);
        let finished = life.finish();
        finished.and(worked)
    }
}

/// Report of a thread on a command that was handed to the program.
struct Report {
    command: Command,
    finished: Finished,
    took: Duration,
}

/// One life of the executor.
struct Life<'a> {
    exec: &'a Exec,
    log: CommandLog,
    orders: Orders,
    switch: Switch,
    publisher: RecordPublisher,
    reports: (Sender<Report>, Receiver<Report>),
    /// Programs under way.
    running: usize,
    /// Outcomes that are not acknowledged yet. They keep their places beside those under way.
    unpublished: Vec<(Command, CommandAnswer)>,
    publish_at: Instant,
    /// Whether stdout takes what is printed.
    prints: bool,
}

impl<'a> Life<'a> {
    /// Finds what is open.
    fn begin(
        exec: &'a Exec,
        topology: &Topology,
        conf: &KafkaConf,
        stop: &Stop,
    ) -> Result<Life<'a>, LogError> {
        let log = exec.log_args.log_of(topology, &TOPICS).map_err(log_error)?;
        let mut life = Life {
            exec,
            log: CommandLog::open(log, topology, &TOPICS)?,
            orders: Orders::default(),
            switch: Switch::new(&topology.domain),
            publisher: RecordPublisher::open(conf.clone(), topology, &[Topic::Outcome])?,
            reports: channel(),
            running: 0,
            unpublished: Vec::new(),
            publish_at: Instant::now(),
            prints: true,
        };
        let now = clock::now();
        let wants = |it: &Command| exec.wants.wants(it) && !it.is_expired(now);
        let (orders, switch) = (&mut life.orders, &mut life.switch);
        life.log.read_back(&wants, &|| stop.goes_on(), |news| take(orders, switch, news))?;
        life.log.follow()?;
        Ok(life)
    }

    /// Reads, hands out, and publishes what became of it, until it is stopped.
    fn work(&mut self, stop: &Stop) -> Result<(), LogError> {
        while stop.goes_on() {
            let is_busy = self.running > 0 || !self.unpublished.is_empty();
            let news = self.log.take(if is_busy { LOOK_BUSY } else { LOOK })?;
            let wants = |it: &NewRecord| match it {
                NewRecord::Published(command) => self.exec.wants.wants(command),
                NewRecord::Answered(..) | NewRecord::Parameter { .. } => true,
            };
            let (orders, switch) = (&mut self.orders, &mut self.switch);
            news.into_iter().filter(wants).for_each(|it| take(orders, switch, it));
            self.log.take_notices().iter().for_each(|notice| tracing::warn!("{notice}"));
            self.start();
            self.collect();
            self.publish()?;
            match self.orders.waiting() {
                WAITING_MAX.. => self.log.set_paused(true)?,
                waiting if waiting < WAITING_MAX / 2 => self.log.set_paused(false)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// This host's time, or that of the newest cycle if it is later.
    fn now(&self) -> Millis {
        clock::now().max(self.log.now())
    }

    /// Hands commands out while there is room. Nothing is begun while the kill switch is on, or
    /// while the broker does not answer, so that it could be.
    fn start(&mut self) {
        if self.switch.is_on() || self.log.is_unreachable() {
            return;
        }
        while self.running + self.unpublished.len() < self.exec.parallel {
            let Some((command, last)) = self.orders.take() else { return };
            let now = self.now();
            if command.is_expired(now) {
                let answer = expired(&command, now);
                self.note(command, answer, Duration::ZERO);
                continue;
            }
            match self.spawn(&command, last.as_ref()) {
                Ok(()) => self.running += 1,
                Err(error) => {
                    let exit = Exit::NotStarted(format!("no thread for it: {error}"));
                    let finished = Finished { exit, stderr: Vec::new(), stdout: Vec::new() };
                    let answer = answer(&command, &finished, self.exec.program.timeout, now);
                    self.note(command, answer, Duration::ZERO);
                }
            }
        }
    }

    /// Starts the program for a command, in a thread that waits for it.
    fn spawn(&self, command: &Command, last: Option<&CommandAnswer>) -> io::Result<()> {
        let listed = Listed { state: CommandState::Open, command, answer: last };
        let input = format!("{}\n", listed.json()).into_bytes();
        let (program, reports) = (Arc::clone(&self.exec.program), self.reports.0.clone());
        let command = command.clone();
        let work = move || {
            let began = Instant::now();
            let id = command.id.to_string();
            let kind = command.kind.name();
            let variables =
                [("YARDMASTER_COMMAND_ID", id.as_str()), ("YARDMASTER_COMMAND_KIND", kind)];
            let finished = program.run(input, &variables);
            // Nobody receives it only if the process gave up waiting.
            let _ = reports.send(Report { command, finished, took: began.elapsed() });
        };
        std::thread::Builder::new().name("command".into()).spawn(work).map(drop)
    }

    /// Takes up what programs have ended.
    fn collect(&mut self) {
        while let Ok(report) = self.reports.1.try_recv() {
            self.take_report(report);
        }
    }

    fn take_report(&mut self, Report { command, finished, took }: Report) {
        self.running -= 1;
        let answer = answer(&command, &finished, self.exec.program.timeout, clock::now());
        self.note(command, answer, took);
    }

    fn note(&mut self, command: Command, answer: CommandAnswer, took: Duration) {
        let Command { id, kind, subject, rule, repeat, .. } = &command;
        tracing::info!(
            "command {id} ({} {subject}, {rule}, repeat {repeat}): {} after {took:.1?}; {}",
            kind.name(),
            outcome_name(answer.kind),
            answer.reason
        );
        self.unpublished.push((command, answer));
    }

    /// Publishes what became of commands; only then they are done. What may mend itself is tried
    /// again.
    fn publish(&mut self) -> Result<(), LogError> {
        if self.unpublished.is_empty() || Instant::now() < self.publish_at {
            return Ok(());
        }
        let entries = self.unpublished.iter().map(|(command, it)| outcome_entry(command, it));
        match self.publisher.publish(&entries.collect::<Vec<_>>()) {
            Ok(()) => {
                for (command, answer) in std::mem::take(&mut self.unpublished) {
                    self.print(&command, &answer);
                    self.orders.done(&command, answer);
                }
                Ok(())
            }
            Err(error @ LogError::Stop(_)) => Err(error),
            Err(error) => {
                let count = self.unpublished.len();
                tracing::warn!("{count} outcomes are not published: {error}; they are tried again");
                self.publish_at = Instant::now() + PUBLISH_AGAIN;
                Ok(())
            }
        }
    }

    /// Waits for the programs under way, and publishes what became of them.
    fn finish(&mut self) -> Result<(), LogError> {
        let limit = Instant::now() + self.exec.program.timeout + MOST_AFTER_TIMEOUT;
        while self.running > 0 && Instant::now() < limit {
            if let Ok(report) = self.reports.1.recv_timeout(LOOK) {
                self.take_report(report);
            }
            self.publish_at = Instant::now();
            self.publish()?;
        }
        self.publish_at = Instant::now();
        self.publish()?;
        match self.running + self.unpublished.len() {
            0 => Ok(()),
            count => Err(LogError::Stop(format!(
                "the outcomes of {count} commands were not published; the next start hands these \
                 commands over again"
            ))),
        }
    }

    /// Prints a command that is done. That nobody reads it keeps no command from being carried out.
    fn print(&mut self, command: &Command, answer: &CommandAnswer) {
        let now = self.now();
        let state = CommandState::of(command, Some(answer), now).unwrap_or(CommandState::Open);
        let listed = Listed { state, command, answer: Some(answer) };
        let mut out = io::stdout().lock();
        let printed = match &self.exec.layout {
            None => writeln!(out, "{}", listed.json()),
            Some(layout) => writeln!(out, "{}", layout.line(&listed.row(now))),
        };
        if let Err(error) = printed.and_then(|()| out.flush())
            && std::mem::replace(&mut self.prints, false)
        {
            tracing::warn!("stdout: {error}; commands are carried out and no longer printed");
        }
    }
}

fn take(orders: &mut Orders, switch: &mut Switch, news: NewRecord) {
    match news {
        NewRecord::Published(command) => {
            let (id, subject) = (command.id, command.subject.clone());
            if !orders.publish(*command) {
                tracing::warn!(
                    "command {id} about {subject} is left to its next repeat: {KNOWN_MAX} others \
                     wait"
                );
            }
        }
        NewRecord::Answered(id, answer) => orders.answer(id, answer),
        NewRecord::Parameter { written, name, record } => {
            switch.take(&written, &name, record.as_deref());
        }
    }
}

/// An error of a log that was opened.
fn log_error(error: anyhow::Error) -> LogError {
    error.downcast::<LogError>().unwrap_or_else(|error| LogError::Stop(format!("{error:#}")))
}
