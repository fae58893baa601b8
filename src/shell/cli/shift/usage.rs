//! `usage`: who uses how much, shares against their targets.

use super::{ShiftArgs, cell, print_json, print_rows};
use crate::api::UsageAnswer;
use crate::cli::Ended;
use crate::cli::table::{Column, TableArgs, terminal_width};
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::io::{self, Write};
use yardmaster_core::view::GridUsage;

/// Letters of a bar that stands for all that runs.
const BAR: f64 = 40.0;

/// Whose use is listed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Leaf shares; of a pool its classes of jobs.
    Share,
    /// Users.
    User,
    /// Working groups.
    Group,
}

/// Lists who uses how much of what runs: shares against their targets, those furthest above first;
/// users or working groups over all queues, the largest first.
///
/// Examples:
///   yardmaster usage --store /var/lib/yardmaster/store
///   yardmaster usage --dir yard --by user
///   yardmaster usage --http leader:9187 --json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct UsageVerb {
    #[command(flatten)]
    place: ShiftArgs,
    /// Whose use.
    #[arg(long, value_enum, default_value_t = By::Share)]
    by: By,
    #[command(flatten)]
    table: TableArgs,
}

impl UsageVerb {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let columns = self.by.columns();
        self.table.check(columns.iter().map(|it| it.name.as_str()))?;
        let path = "/api/v1/usage";
        let made =
            self.place.answer(path, |engine, _, _| UsageAnswer::of(&GridUsage::of(engine)))?;
        let list = &made[self.by.list()];
        if self.table.json {
            return print_json(list);
        }
        let all = list.as_array().map_or(&[][..], Vec::as_slice);
        let mut out = io::BufWriter::new(io::stdout().lock());
        if all.is_empty() {
            writeln!(out, "{}", self.by.nothing())?;
        }
        let rows = all.iter().map(|it| self.by.row(it)).collect();
        print_rows(&mut out, self.table.sheet(columns, terminal_width()), rows)?;
        out.flush()?;
        Ok(std::process::ExitCode::SUCCESS)
    }
}

impl By {
    fn list(self) -> &'static str {
        match self {
            By::Share => "shares",
            By::User => "users",
            By::Group => "groups",
        }
    }

    fn nothing(self) -> &'static str {
        match self {
            By::Share => "there are no shares",
            By::User => "no user has jobs",
            By::Group => "no working group has jobs",
        }
    }

    fn columns(self) -> Vec<Column> {
        let jobs = [
            Column::figure("running", 3),
            Column::figure("queued", 3),
            Column::figure("cores running", 4),
            Column::figure("cores queued", 5),
        ];
        let own = match self {
            By::Share => vec![
                Column::text("share", 0),
                Column::figure("use %", 1),
                Column::figure("target %", 1),
                Column::figure("points", 2),
            ],
            By::User => vec![Column::text("user", 0), Column::figure("use %", 1)],
            By::Group => vec![Column::text("group", 0), Column::figure("use %", 1)],
        };
        let last = match self {
            By::Share => Column::whole("bar", 6),
            By::User | By::Group => Column::text("throttled by", 2),
        };
        own.into_iter().chain(jobs).chain([last]).collect()
    }

    fn row(self, it: &Value) -> Vec<String> {
        let percent = |name: &str| format!("{:.1}", it[name].as_f64().unwrap_or(0.0) * 100.0);
        let own = match self {
            By::Share => {
                let points = format!("{:+.1}", it["points"].as_f64().unwrap_or(0.0));
                vec![cell(it, "gshare"), percent("use"), percent("target"), points]
            }
            By::User | By::Group => vec![cell(it, "owner"), percent("part")],
        };
        let jobs = ["running", "queued", "running_cores", "queued_cores"];
        let jobs = jobs.map(|name| match &it["jobs"][name] {
            Value::Null => "-".to_owned(),
            figure => figure.to_string(),
        });
        let last = match self {
            By::Share => bar(it["use"].as_f64(), it["target"].as_f64()),
            By::User | By::Group => {
                let rules = it["throttled"].as_array().into_iter().flatten();
                let rules: Vec<&str> = rules.filter_map(Value::as_str).collect();
                super::or_dash(&rules.join(", "))
            }
        };
        own.into_iter().chain(jobs).chain([last]).collect()
    }
}

/// A part of all as a bar, with a mark at its target.
fn bar(part: Option<f64>, target: Option<f64>) -> String {
    let letters = |part: Option<f64>| (part.unwrap_or(0.0).clamp(0.0, 1.0) * BAR).round() as usize;
    let (filled, mark) = (letters(part), letters(target));
    let letter = |at: usize| match (at == mark, at < filled) {
        (true, _) => '|',
        (false, true) => '#',
        (false, false) => '.',
    };
    (0..filled.max(mark + 1)).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_a_part_and_its_target() {
        assert_eq!(bar(Some(0.25), Some(0.2)), "########|#");
        assert_eq!(bar(Some(0.1), Some(0.2)), "####....|");
        assert_eq!(bar(Some(0.0), Some(0.0)), "|");
    }
}
