//! `tail`: decisions, throttles and commands as they are published.

mod filter;
mod line;
mod output_log;
mod sorter;

use crate::cli::log_args::LogArgs;
use crate::cli::outputs::newest;
use crate::cli::stop::Stop;
use crate::cli::{Ended, Usage};
use crate::clock;
use crate::when::{When, when};
use clap::Args;
use filter::Filter;
use output_log::{OutputLog, ShownOutputs};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;
use yardmaster_core::cut::Topic;
use yardmaster_core::output::Output;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::unit::Millis;
use yardmaster_drive::listing::Listed;

/// How long one look at the log may wait, and so a signal.
const LOOK: Duration = Duration::from_millis(100);
/// Offsets of each lane that are read to find the last outputs, beyond as many as are wanted.
const WINDOW: u64 = 256;
/// The same where only some outputs are wanted.
const WINDOW_FILTERED: u64 = 4_096;
/// By how much more is read if there were too few.
const FURTHER: u64 = 16;

/// Text of `--help` below the flags.
const HELP: &str = "\
Prints the last outputs, then those that are published, a line each: when, what kind, what, about
what, share, user, and where to or why. With --json a line is the record, with the field names of
its schema, and topic, partition and offset.
They are read from the topics, so no process need run. Copies, and records that no leader published,
are passed over, and counted on stderr.

Examples:
  yardmaster tail --bootstrap-server kafka:9092
  yardmaster tail --dir yard -n 100 --what defer,reject --no-follow
  yardmaster tail --bootstrap-server kafka:9092 --from 2h --user 'Jane Physicist' --json
  yardmaster tail --bootstrap-server kafka:9092 --kind command --queue CERN";

/// Live decisions, throttles and commands.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Tail {
    #[command(flatten)]
    log_args: LogArgs,
    #[command(flatten)]
    filter: Filter,
    /// How many of the last outputs are shown first, of those that are wanted.
    #[arg(
        short = 'n',
        long = "lines",
        value_name = "N",
        default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(0..=100_000)
    )]
    lines: u64,
    /// Show all outputs stamped since, instead of the last ones: an age before the last cycle (90s,
    /// 30m, 2h, 7d), a moment (2026-05-01T12:00:00Z), or ms since 1970.
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with = "lines")]
    from: Option<When>,
    /// End at the end of the log.
    #[arg(long)]
    no_follow: bool,
    /// One JSON object for each output instead of text.
    #[arg(long)]
    json: bool,
}

impl Tail {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let topology = self.log_args.read_log()?.topology;
        let topics = self.filter.topics();
        if topics.is_empty() {
            let why = "--kind and --what leave nothing to show: none of these kinds can be that";
            return Err(Usage(why.to_owned()).into());
        }
        let stop = Stop::on_signals()?;
        let read: Vec<Topic> = topics.iter().copied().chain([Topic::Progress]).collect();
        let mut log = self.log_args.log_of(&topology, &read)?;
        // A log may be an old one.
        let end = |newest: Option<Progress>| newest.map_or_else(clock::now, |newest| newest.now);
        let from = match self.from {
            Some(from) => Some(from.before(end(newest(&mut log)?))),
            None => None,
        };
        let mut log = OutputLog::open(log, &topology.domain, &topics)?;
        let show = ShownOutputs {
            wants: &|output: &Output, stamped: Millis| {
                from.is_none_or(|from| stamped >= from) && self.filter.wants(output)
            },
            line: &|listed: &Listed| match self.json {
                true => line::json(listed, &topology),
                false => line::text(&listed.output),
            },
        };
        match from {
            Some(from) => {
                log.begin_since(from)?;
                read_on(&mut log, &show, &stop, &mut |lines| print(&lines))?;
            }
            None => self.last(&mut log, &show, &stop)?,
        }
        if !self.no_follow {
            follow(&mut log, &show, &stop)?;
        }
        log.take_notices().iter().for_each(|notice| tracing::warn!("{notice}"));
        match log.passed_over() {
            0 => {}
            count => eprintln!(
                "passed over {count} records that are copies, or that no leader published"
            ),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the last outputs that are wanted. Ever more of the log is read until there are
    /// enough.
    fn last(
        &self,
        log: &mut OutputLog,
        show: &ShownOutputs<'_>,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        let count = usize::try_from(self.lines).unwrap_or(usize::MAX);
        let mut most = match (self.lines, self.filter.is_open()) {
            (0, _) => 0,
            (lines, true) => lines + WINDOW,
            (lines, false) => lines + WINDOW_FILTERED,
        };
        let mut candidates = count;
        loop {
            let is_all = log.begin_last(most, candidates, show.wants)?;
            let mut last: VecDeque<String> = VecDeque::new();
            read_on(log, show, stop, &mut |lines| {
                last.extend(lines);
                last.drain(..last.len().saturating_sub(count));
                Ok(())
            })?;
            if last.len() >= count || is_all || !stop.goes_on() {
                return Ok(print(&last)?);
            }
            most = most.saturating_mul(FURTHER);
            // Some of them were none that a leader published.
            candidates = candidates.saturating_mul(2);
        }
    }
}

/// Reads up to where the log ended at the start.
fn read_on(
    log: &mut OutputLog,
    show: &ShownOutputs<'_>,
    stop: &Stop,
    each: &mut dyn FnMut(Vec<String>) -> io::Result<()>,
) -> anyhow::Result<()> {
    while stop.goes_on() && !log.is_caught_up() {
        each(log.take(LOOK, show)?)?;
        log.is_silent()?;
    }
    Ok(each(log.flush())?)
}

/// Prints what is published until it is stopped.
fn follow(log: &mut OutputLog, show: &ShownOutputs<'_>, stop: &Stop) -> anyhow::Result<()> {
    let mut was_unreachable = false;
    while stop.goes_on() {
        print(&log.take(LOOK, show)?)?;
        log.take_notices().iter().for_each(|notice| tracing::warn!("{notice}"));
        let is_unreachable = log.is_unreachable();
        if is_unreachable && !was_unreachable {
            tracing::warn!("the broker does not answer; it is asked again until it does");
        }
        was_unreachable = is_unreachable;
    }
    Ok(())
}

fn print<'a>(lines: impl IntoIterator<Item = &'a String>) -> io::Result<()> {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_none() {
        return Ok(());
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    lines.try_for_each(|line| writeln!(out, "{line}"))?;
    out.flush()
}
