//! Verbs of a shift, `attention`, `waiting`, `throttles`: asked of a running process, or else
//! answered from the log.

pub mod attention;
pub mod throttles;
pub mod usage;
pub mod waiting;

use crate::api::Reasons;
use crate::ask::Ask;
use crate::cli::http_args::HttpArgs;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::rebuild::{Until, rebuild};
use crate::cli::table::{Sheet, report_left_out};
use crate::cli::units;
use crate::cli::{Ended, Usage};
use crate::ports::AnyStore;
use anyhow::Context;
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use yardmaster_core::engine::Engine;
use yardmaster_core::unit::Millis;

/// Place of the answer.
#[derive(Args)]
pub struct ShiftArgs {
    #[command(flatten)]
    log_args: LogArgs,
    #[command(flatten)]
    http_args: HttpArgs,
    /// Where the store lies: the running process that holds it is asked.
    #[arg(long, value_name = "DIR", help_heading = "Store", conflicts_with = "http")]
    store: Option<PathBuf>,
}

impl ShiftArgs {
    /// The answer of the process to a path, or that which `made` makes of the log. `made` gets an
    /// engine that is ready to judge at the log's last cut.
    fn answer<T: Serialize>(
        &self,
        path: &str,
        made: impl FnOnce(&Engine, &Reasons, &Read) -> T,
    ) -> anyhow::Result<Value> {
        if let Some(process) = self.http_args.process()? {
            return process.json(path);
        }
        let read = self.log_args.read()?;
        let store = self.log_args.store(self.store.as_deref(), &read.topology.domain);
        let ask = Ask::of_store(&store, self.http_args.proof()?);
        if let Some(text) = ask.map(|ask| ask.text(path)).transpose()?.flatten() {
            return serde_json::from_str(&text).context("the answer of the process");
        }
        if self.log_args.check().is_err() {
            let store = store.display();
            return Err(Usage(format!(
                "no process runs that holds {store}: give --http HOST:PORT of one, or the log to \
                 read instead with --dir DIR or --bootstrap-server HOST:PORT"
            ))
            .into());
        }
        eprintln!("no process runs that holds {}: answered from the log", store.display());
        let read = self.log_args.read_log()?;
        let until = Until::End;
        let nothing = AnyStore::Nothing;
        let mut rebuilt = rebuild(&self.log_args, &read, nothing, false, until, |_| ())?;
        let engine = rebuilt.drive.engine_to_copy();
        engine.make_ready();
        let reasons = Reasons::of(&read.epoch_config()?);
        Ok(serde_json::to_value(made(engine, &reasons, &read))?)
    }
}

/// Prints a table; no head if there is no row.
fn print_rows(out: &mut impl Write, sheet: Sheet, rows: Vec<Vec<String>>) -> anyhow::Result<()> {
    let mut printer = sheet.printer(&mut *out);
    rows.into_iter().try_for_each(|row| printer.push(row))?;
    report_left_out(&printer.end()?);
    Ok(())
}

/// Prints each element of a list as JSON on a line of its own.
fn print_json(list: &Value) -> Ended {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for it in list.as_array().into_iter().flatten() {
        writeln!(out, "{it}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A text of an object; empty where there is none.
fn text<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or_default()
}

/// A text as a cell.
fn cell(of: &Value, name: &str) -> String {
    or_dash(text(of, name))
}

fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

/// A moment as a cell.
fn moment_of(of: &Value, name: &str) -> String {
    of[name].as_i64().map_or_else(|| "-".to_owned(), units::moment)
}

/// How long ago a moment was, as a cell.
fn age_of(of: &Value, name: &str, now: Millis) -> String {
    let at = of[name].as_i64();
    at.map_or_else(|| "-".to_owned(), |at| units::span(now.saturating_sub(at)))
}

/// A figure as a cell.
fn figure_of(of: &Value, name: &str) -> String {
    match of[name].as_f64() {
        Some(figure) if figure.fract() == 0.0 => format!("{figure:.0}"),
        Some(figure) => format!("{figure:.1}"),
        None => "-".to_owned(),
    }
}
