//! The list of dead letters.

use super::letter::Letter;
use super::{Filter, each_letter, open};
use crate::cli::log_args::LogArgs;
use crate::cli::table::{Column, Printer, TableArgs, report_left_out, terminal_width};
use crate::cli::{Ended, units};
use crate::clock;
use crate::dirlog::Mode;
use clap::Args;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use yardmaster_core::cut::Lane;
use yardmaster_core::explain::iso;
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::LogError;

/// Flags of the list: which letters, and how they are printed.
#[derive(Args)]
pub struct List {
    #[command(flatten)]
    log_args: LogArgs,
    #[command(flatten)]
    filter: Filter,
    /// Only the N that were published last.
    #[arg(long, value_name = "N", help_heading = "Output")]
    last: Option<usize>,
    #[command(flatten)]
    table: TableArgs,
}

impl List {
    /// Prints the list. Letters are printed as they are read, so any number of them may be there;
    /// with --last no more are held than that.
    pub fn run(self) -> Ended {
        let columns = columns();
        self.table.check(columns.iter().map(|it| it.name.as_str()))?;
        let read = self.log_args.read_log()?;
        let filter = self.filter.settled(&self.log_args, &read)?;
        let mut log = open(&self.log_args, &read, Mode::Read)?;
        let sheet = self.table.sheet(columns, terminal_width());
        let mut print = Print {
            is_json: self.table.json,
            printer: sheet.printer(io::BufWriter::new(io::stdout().lock())),
            reasons: BTreeMap::new(),
        };
        let mut newest: BTreeMap<(Millis, Lane, u64), Letter> = BTreeMap::new();
        each_letter(&mut log, &read, &filter, &mut |letter| {
            let Some(last) = self.last else { return print.letter(&letter) };
            newest.insert((letter.at, letter.lane, letter.offset), letter);
            if newest.len() > last {
                newest.pop_first();
            }
            Ok(())
        })?;
        newest.values().try_for_each(|letter| print.letter(letter))?;
        print.end()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A list that is being printed.
struct Print<W> {
    is_json: bool,
    printer: Printer<W>,
    reasons: BTreeMap<String, u64>,
}

impl<W: Write> Print<W> {
    fn letter(&mut self, letter: &Letter) -> Result<(), LogError> {
        *self.reasons.entry(letter.reason.clone()).or_default() += 1;
        let written = match self.is_json {
            true => self.printer.line(&json_of(letter).to_string()),
            false => self.printer.push(row_of(letter)),
        };
        written.map_err(|error| LogError::Stop(format!("stdout: {error}")))
    }

    fn end(self) -> io::Result<()> {
        let left_out = self.printer.end()?;
        if !self.is_json {
            let count: u64 = self.reasons.values().sum();
            let each = self.reasons.iter().map(|(reason, count)| format!("{count} {reason}"));
            let each: Vec<String> = each.collect();
            let colon = if each.is_empty() { "" } else { ": " };
            println!("{count} dead letters{colon}{}", each.join(", "));
            report_left_out(&left_out);
        }
        Ok(())
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::whole("when", 3),
        Column::text("age", 3).unusual(),
        Column::text("from", 0),
        Column::text("reason", 1),
        Column::text("bytes", 4),
        Column::text("key", 2),
        Column::text("letter", 5).unusual(),
    ]
}

/// The cells of [`columns`].
fn row_of(letter: &Letter) -> Vec<String> {
    let bytes = match (units::bytes(letter.length), letter.is_cut()) {
        (bytes, true) => format!("{bytes} (cut to {})", units::bytes(letter.value.len() as u64)),
        (bytes, false) => bytes,
    };
    let Letter { lane, offset, at, reason, .. } = letter;
    let place = format!("{}/{}/{offset}", lane.topic.name(), lane.partition);
    let (age, reason) = (units::span(clock::now() - at), reason.clone());
    vec![iso(*at), age, letter.from(), reason, bytes, letter.key_text(), place]
}

/// A letter without its bytes, for programs.
pub fn json_of(letter: &Letter) -> serde_json::Value {
    let origin = letter.origin.as_ref();
    json!({
        "at": letter.at,
        "topic": origin.map(|it| &it.topic),
        "partition": origin.map(|it| it.partition),
        "offset": origin.map(|it| it.offset),
        "reason": letter.reason,
        "length": letter.length,
        "kept": letter.value.len(),
        "key": letter.key_text(),
        "letter": {"partition": letter.lane.partition, "offset": letter.offset},
    })
}
