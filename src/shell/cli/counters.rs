//! `counters`: the counters as last kept, as they are in a running process, or as they were.

mod by;
mod figures;
mod grouped;

use crate::ask::Ask;
use crate::cli::http_args::AskArgs;
use crate::cli::log_args::{LogArgs, Read as Topology};
use crate::cli::moment::{AsOf, rebuild_at};
use crate::cli::names::Sought;
use crate::cli::rebuild::{Until, rebuild};
use crate::cli::table::{TableArgs, report_left_out, terminal_width};
use crate::cli::{Ended, Usage, progress};
use crate::ports::{AnyLog, AnyStore};
use crate::store::SledStore;
use crate::when::{When, when};
use anyhow::Context;
use by::By;
use clap::Args;
use figures::column_of;
use grouped::{CounterGroup, all_columns, check_sort, grouped};
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use yardmaster_core::state::counters::counters;
use yardmaster_drive::Drive;
use yardmaster_wire::counter::{compared, to_json};

/// Prints the counters as tables, one for each kind of thing. They are taken from the running
/// process that holds the store, else from the store; where there is no store, or with --at, the
/// log is replayed for them. Figures that are 0 are shown as `-`.
///
/// Examples:
///   yardmaster counters --dir yard --by queue
///   yardmaster counters --dir yard --by user --sort jobs_running --top 10
///   yardmaster counters --dir yard --by link --columns source,destination,queued_bytes
///   yardmaster counters --dir yard --by user --name alice --json
///   yardmaster counters --dir yard --at 2026-05-01T12:00:00Z
///   yardmaster counters --dir yard --by share --at 1h --against 25h
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Counters {
    #[command(flatten)]
    log_args: LogArgs,
    /// Where the store lies.
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    store: Option<PathBuf>,
    #[command(flatten)]
    ask_args: AskArgs,
    /// Only counters of this kind.
    #[arg(long, value_enum)]
    by: Option<By>,
    /// Only counters that carry this name (a queue, user, share, site ...).
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// As they were at the end of the last cycle whose `now` is no later than this: a moment
    /// (2026-05-01T12:00:00Z), an age before the last cycle (30m, 2h, 7d), or ms since 1970.
    /// Made again from the log, and exact.
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with = "store")]
    at: Option<When>,
    /// Only counters that were not the same at this moment, each figure with its change since: 120
    /// (+15). From the log, as with --at.
    #[arg(long, value_name = "WHEN", value_parser = when, conflicts_with = "store")]
    against: Option<When>,
    /// In the order of this column: the greatest figure first, with --against the greatest change,
    /// or names by the alphabet.
    #[arg(long, value_name = "COLUMN", help_heading = "Output")]
    sort: Option<String>,
    /// Only the first N rows of each table.
    #[arg(long, value_name = "N", help_heading = "Output")]
    top: Option<usize>,
    #[command(flatten)]
    table: TableArgs,
}

impl Counters {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        // Names of figures are taken as JSON has them, too.
        let table = self.table.renamed(column_of);
        let sort = self.sort.as_deref().map(column_of);
        let known = all_columns(self.by);
        table.check(known.iter().map(String::as_str))?;
        sort.iter().try_for_each(|column| check_sort(column, &known))?;
        // A process that is asked, and its store, have no need of it.
        let is_replayed = self.at.or(self.against).is_some() || self.log_args.dir.is_some();
        let read = if is_replayed { self.log_args.read_log() } else { self.log_args.read() }?;
        let pseudonyms = if self.name.is_some() { read.pseudonyms()? } else { None };
        let sought = self.name.as_deref().map(|name| Sought::new(name, pseudonyms.as_deref()));
        sought.iter().for_each(Sought::note);
        let mut found = Vec::new();
        let mut lines = self.lines(&read)?;
        if let Some(against) = self.against {
            lines = compared(&lines, &self.as_of(&read, against, "against")?);
        }
        for line in lines {
            let counter: Value = serde_json::from_str(&line).context("a counter in the store")?;
            if self.wants(&counter, sought.as_ref()) {
                found.push((counter, line));
            }
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        if table.json && sort.is_none() && self.top.is_none() {
            progress::give_way();
            found.iter().try_for_each(|(_, line)| writeln!(out, "{line}"))?;
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut groups = grouped(found);
        if let Some(column) = sort {
            groups.iter_mut().for_each(|group| group.sort(&column));
        }
        let all: Vec<usize> = groups.iter().map(CounterGroup::len).collect();
        groups.iter_mut().for_each(|group| group.truncate(self.top.unwrap_or(usize::MAX)));
        match table.json {
            true => {
                let mut lines = groups.iter().flat_map(CounterGroup::lines);
                lines.try_for_each(|line| writeln!(out, "{line}"))?;
            }
            false => self.print(&groups, &all, &table, &mut out)?,
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// A table for each group, with a heading unless one kind was asked for.
    fn print(
        &self,
        groups: &[CounterGroup],
        all: &[usize],
        table: &TableArgs,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let width = terminal_width();
        let mut is_first = true;
        for (group, all) in groups.iter().zip(all) {
            let sheet = table.sheet(group.columns(table), width);
            if sheet.is_empty() {
                continue;
            }
            if self.by.is_none() {
                let (shown, of) = match group.len() {
                    shown if shown == *all => (shown, String::new()),
                    shown => (shown, format!(" of {all}")),
                };
                let blank = if is_first { "" } else { "\n" };
                writeln!(out, "{blank}by {} ({shown}{of})", group.by.name())?;
                is_first = false;
            }
            let mut printer = sheet.printer(&mut *out);
            group.rows(table).try_for_each(|row| printer.push(row))?;
            let left_out = printer.end()?;
            if self.by.is_some() {
                report_left_out(&left_out);
            }
        }
        Ok(())
    }

    /// The counters, each as a JSON object.
    fn lines(&self, read: &Topology) -> anyhow::Result<Vec<String>> {
        if let Some(when) = self.at {
            return self.as_of(read, when, "as of");
        }
        let dir = self.log_args.store(self.store.as_deref(), &read.topology.domain);
        if self.store.is_none() {
            self.log_args.check()?;
        }
        if !SledStore::is_there(&dir) {
            if self.store.is_some() {
                let dir = dir.display();
                return Err(Usage(format!(
                    "no store at {dir}: name the directory that `run` uses; without --store the \
                     log is replayed"
                ))
                .into());
            }
            return self.replayed(read, &format!("no store at {}", dir.display()));
        }
        let process = Ask::of_store(&dir, self.ask_args.proof()?);
        let answer = process.map(|process| process.text("/api/v1/counters")).transpose()?;
        if let Some(text) = answer.flatten() {
            let answer: Value = serde_json::from_str(&text).context("the answer of the process")?;
            let counters = answer["counters"].as_array().into_iter().flatten();
            return Ok(counters.map(ToString::to_string).collect());
        }
        let kept = SledStore::counters(&dir)?;
        // A store keeps none if there are more than `stored_counters_max`.
        if kept.is_empty() && self.log_args.check().is_ok() {
            return self.replayed(read, &format!("no counters in {}", dir.display()));
        }
        Ok(kept.into_iter().filter(|(key, _)| key != "cycle").map(|(_, line)| line).collect())
    }

    /// The counters as of a moment, made again from the log.
    fn as_of(&self, read: &Topology, when: When, how: &str) -> anyhow::Result<Vec<String>> {
        self.log_args.check()?;
        let rebuilt = rebuild_at(&self.log_args, read, when)?;
        AsOf::of(&rebuilt.drive).report(how);
        Ok(lines_of(&rebuilt.drive))
    }

    /// The counters made again from the log.
    fn replayed(&self, read: &Topology, why: &str) -> anyhow::Result<Vec<String>> {
        eprintln!("{why}: the log is replayed for the counters");
        let until = Until::End;
        let rebuilt = rebuild(&self.log_args, read, AnyStore::Nothing, false, until, |_| ())?;
        Ok(lines_of(&rebuilt.drive))
    }

    fn wants(&self, counter: &Value, sought: Option<&Sought>) -> bool {
        let kind = counter["counter"].as_str().unwrap_or_default();
        let named = |sought: &Sought| {
            counter.as_object().is_some_and(|object| {
                object.iter().any(|(what, value)| {
                    what != "counter" && value.as_str().is_some_and(|it| sought.is(it))
                })
            })
        };
        self.by.is_none_or(|by| by.kinds().contains(&kind)) && sought.is_none_or(named)
    }
}

fn lines_of(drive: &Drive<AnyLog, AnyStore>) -> Vec<String> {
    counters(drive.state()).iter().map(to_json).collect()
}
