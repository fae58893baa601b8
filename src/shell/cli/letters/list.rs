//! The list of dead letters.

use super::letter::Letter;
use super::{Filter, each_letter, open};
use crate::core::explain::iso;
use crate::drive::port::LogError;
use crate::shell::cli::Ended;
use crate::shell::cli::log_args::LogArgs;
use crate::shell::dirlog::Mode;
use clap::Args;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;

/// What is listed, and how.
#[derive(Args)]
pub struct List {
    #[command(flatten)]
    log_args: LogArgs,
    #[command(flatten)]
    filter: Filter,
    /// One JSON object per letter instead of a table.
    #[arg(long)]
    json: bool,
}

impl List {
    /// Prints the list; letters are printed as they are read, so any number of them may be there.
    pub fn run(self) -> Ended {
        let read = self.log_args.read()?;
        let mut log = open(&self.log_args, &read, Mode::Read)?;
        let mut out = io::BufWriter::new(io::stdout().lock());
        let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
        let mut print = |letter: Letter| {
            let first = reasons.is_empty();
            *reasons.entry(letter.reason.clone()).or_default() += 1;
            let written = match self.json {
                true => writeln!(out, "{}", json_of(&letter)),
                false if first => writeln!(out, "{}\n{}", row(HEAD), line_of(&letter)),
                false => writeln!(out, "{}", line_of(&letter)),
            };
            written.map_err(|error| LogError::Stop(format!("stdout: {error}")))
        };
        each_letter(&mut log, &read, &self.filter, &mut print)?;
        if !self.json {
            let count: u64 = reasons.values().sum();
            let each = reasons.iter().map(|(reason, count)| format!("{count} {reason}"));
            let each: Vec<String> = each.collect();
            let colon = if each.is_empty() { "" } else { ": " };
            writeln!(out, "{count} dead letters{colon}{}", each.join(", "))?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What stands over the columns of [`row`].
const HEAD: [&str; 5] = ["when", "topic/partition/offset", "reason", "bytes", "key"];

/// One line of the table.
fn row([at, from, reason, bytes, key]: [&str; 5]) -> String {
    format!("{at:<24}  {from:<28}  {reason:<14}  {bytes:<23}  {key}").trim_end().to_owned()
}

fn line_of(letter: &Letter) -> String {
    let (at, from) = (iso(letter.at), letter.from());
    row([&at, &from, &letter.reason, &letter.bytes(), &letter.key_text()])
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
