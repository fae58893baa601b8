//! `attention`: things that need a person, and sites by their trouble.

use super::{ShiftArgs, age_of, cell, moment_of, print_json, print_rows, text};
use crate::api::{AttentionAnswer, LiveLook, SitesAnswer};
use crate::attention::Lookout;
use crate::cli::Ended;
use crate::cli::table::{Column, TableArgs, terminal_width};
use clap::Args;
use serde_json::Value;
use std::io::{self, Write};
use std::process::ExitCode;
use yardmaster_core::unit::Millis;

/// Lists things that need a person, the most urgent first: queues that start nothing or fail,
/// shares off their targets, requests that wait for too long, throttles, commands held back,
/// troubles of the process. Thresholds are in [attention] of the topology.
///
/// A running process is asked. Where none runs, the log is replayed, and what a process sees as
/// it goes is not listed: for how long a share is off its target, requests rejected for good.
///
/// Examples:
///   yardmaster attention --store /var/lib/yardmaster/store
///   yardmaster attention --dir yard --sites
///   yardmaster attention --http leader:9187 --json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct AttentionVerb {
    #[command(flatten)]
    place: ShiftArgs,
    /// Sites instead, those in trouble first.
    #[arg(long)]
    sites: bool,
    #[command(flatten)]
    table: TableArgs,
}

impl AttentionVerb {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let columns = if self.sites { site_columns() } else { item_columns() };
        self.table.check(columns.iter().map(|it| it.name.as_str()))?;
        let (path, list) = match self.sites {
            true => ("/api/v1/sites", "sites"),
            false => ("/api/v1/attention", "items"),
        };
        let answer = self.place.answer(path, |engine, _, read| {
            eprintln!(
                "left out, for only a running process sees them: requests rejected for good, shares \
                 off their targets, troubles of the process"
            );
            let looked =
                Lookout::new(read.topology.attention.clone(), LiveLook::default()).look(engine);
            match self.sites {
                true => serde_json::to_value(SitesAnswer::of(&looked)),
                false => serde_json::to_value(AttentionAnswer::of(Some(&looked), &[], looked.now)),
            }
            .unwrap_or_default()
        })?;
        if self.table.json {
            return print_json(&answer[list]);
        }
        let now = answer["now"].as_i64().unwrap_or(0);
        let all = answer[list].as_array().map_or(&[][..], Vec::as_slice);
        let mut out = io::BufWriter::new(io::stdout().lock());
        if all.is_empty() {
            writeln!(out, "nothing needs a person")?;
        }
        let row = if self.sites { site_row } else { item_row };
        let rows = all.iter().map(|it| row(it, now)).collect();
        print_rows(&mut out, self.table.sheet(columns, terminal_width()), rows)?;
        if let Some(more @ 1..) = answer["more"].as_u64() {
            writeln!(out, "and {more} more")?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

fn item_columns() -> Vec<Column> {
    vec![
        Column::whole("severity", 0),
        Column::text("title", 1),
        Column::whole("for", 3),
        Column::text("text", 2),
        Column::text("rule", 5).unusual(),
        Column::text("kind", 5).unusual(),
        Column::text("name", 5).unusual(),
        Column::whole("since", 5).unusual(),
        Column::figure("count", 5).unusual(),
    ]
}

fn item_row(it: &Value, now: Millis) -> Vec<String> {
    // Troubles of the process are dated by another clock than the log.
    let is_own = matches!(text(it, "kind"), "process" | "topic");
    let age = if is_own { "-".to_owned() } else { age_of(it, "since", now) };
    vec![
        cell(it, "severity"),
        cell(it, "title"),
        age,
        cell(it, "text"),
        cell(it, "rule"),
        cell(it, "kind"),
        cell(it, "name"),
        moment_of(it, "since"),
        it["count"].to_string(),
    ]
}

fn site_columns() -> Vec<Column> {
    vec![
        Column::text("site", 0),
        Column::whole("severity", 1),
        Column::figure("queues", 5),
        Column::figure("running", 2),
        Column::figure("queued", 2),
        Column::figure("failed", 4),
        Column::figure("ended", 4),
        Column::figure("held back", 6),
        Column::whole("last start", 4),
        Column::text("trouble", 3),
    ]
}

fn site_row(it: &Value, now: Millis) -> Vec<String> {
    let troubles = it["troubles"].as_array().into_iter().flatten();
    let troubles: Vec<String> =
        troubles.map(|it| format!("{}: {}", text(it, "title"), text(it, "text"))).collect();
    let figure = |name: &str| it[name].to_string();
    vec![
        cell(it, "site"),
        cell(it, "severity"),
        figure("queues"),
        figure("running"),
        figure("queued"),
        figure("failed_3h"),
        figure("ended_3h"),
        figure("held_back"),
        age_of(it, "last_start_at", now),
        super::or_dash(&troubles.join(" ")),
    ]
}
