//! `waiting`: requests that wait, by reason, and each with what would let it go.

use super::{ShiftArgs, age_of, cell, moment_of, print_json, print_rows, text};
use crate::api::{WaitingAnswer, WaitingFilter};
use crate::ask::in_query;
use crate::cli::table::{Column, TableArgs, terminal_width};
use crate::cli::units::span;
use crate::cli::{Ended, Usage};
use crate::named::helps_text;
use crate::waiting::{RequestFigures, Waiting, WaitingRow};
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::ExitCode;
use yardmaster_core::engine::Engine;
use yardmaster_core::unit::Millis;
use yardmaster_core::view::PoolGlance;

/// So many requests are judged again for their figures where no process runs.
const JUDGED_MAX: usize = 100;

/// Lists requests that wait now: how many for which reason, since when, whether waiting helps; then
/// the oldest ones, each with the candidate that comes nearest to taking it, with its figures.
///
/// A running process is asked; its figures are those of the newest decisions. Where none runs, the
/// log is replayed, and the first hundred requests are judged again at its last cut for theirs.
///
/// Examples:
///   yardmaster waiting --store /var/lib/yardmaster/store
///   yardmaster waiting --dir yard --by share
///   yardmaster waiting --dir yard --queue CERN-PROD --top 50
///   yardmaster waiting --http leader:9187 --reason room --json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct WaitingVerb {
    #[command(flatten)]
    place: ShiftArgs,
    /// Only requests that wait for this reason: a filter, not_judged, throttled, deferred_as_whole.
    #[arg(long, value_name = "REASON")]
    reason: Option<String>,
    /// Only those of this leaf share.
    #[arg(long, value_name = "SHARE")]
    share: Option<String>,
    /// Only those of this user or working group.
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only those of this task.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only those that this queue rejects, each with its reason; not in a pool of slots.
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// By which the summary is grouped.
    #[arg(long, value_enum, default_value_t = By::Reason, help_heading = "Output")]
    by: By,
    /// Only the N oldest requests; 0: the summary alone.
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Output")]
    top: usize,
    #[command(flatten)]
    table: TableArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    Reason,
    Share,
    User,
    Task,
}

impl WaitingVerb {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        self.table.check(columns().iter().map(|it| it.name.as_str()))?;
        let filter = self.filter();
        let answer = self.place.answer(&self.path(), |engine, reasons, _| {
            let waiting = Waiting::of(engine, PoolGlance::of(engine).as_ref());
            let rows = filter.chosen(&waiting);
            WaitingAnswer::of(&waiting, &filter, &rows, &judged(engine, &rows), reasons)
        })?;
        if let Some((what, remedy)) = self.filter().refusal(text(&answer, "of")) {
            return Err(Usage(format!("{what}; {remedy}")).into());
        }
        if self.table.json {
            return print_json(&answer["requests"]);
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        self.print(&answer, &mut out)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    fn filter(&self) -> WaitingFilter {
        WaitingFilter {
            reason: self.reason.clone(),
            share: self.share.clone(),
            user: self.user.clone(),
            task: self.task.clone(),
            queue: self.queue.clone(),
            limit: 1_000,
        }
    }

    fn path(&self) -> String {
        let given = [
            ("reason", &self.reason),
            ("share", &self.share),
            ("user", &self.user),
            ("task", &self.task),
            ("queue", &self.queue),
        ];
        let given = given.iter().filter_map(|(name, it)| Some((name, it.as_deref()?)));
        let given: Vec<String> =
            given.map(|(name, it)| format!("{name}={}", in_query(it))).collect();
        format!("/api/v1/waiting?{}", given.join("&"))
    }

    /// Sums by reason, of the reason that is asked for.
    fn of_reason(&self, answer: &Value) -> Vec<Value> {
        let all = answer["by_reason"].as_array().into_iter().flatten();
        let is_wanted =
            |it: &&Value| self.reason.as_deref().is_none_or(|reason| text(it, "reason") == reason);
        all.filter(is_wanted).cloned().collect()
    }

    fn print(&self, answer: &Value, out: &mut impl Write) -> anyhow::Result<()> {
        let now = answer["now"].as_i64().unwrap_or(0);
        let requests = answer["requests"].as_array().map_or(&[][..], Vec::as_slice);
        let open = answer["open"].as_u64().unwrap_or(0);
        let kind = text(answer, "of");
        if open == 0 {
            writeln!(out, "no {} waits", kind.trim_end_matches('s'))?;
            return Ok(());
        }
        let looked_at = answer["looked_at"].as_u64().unwrap_or(0);
        let of = if looked_at < open { format!(", of {open} in all") } else { String::new() };
        let of_reason = self.of_reason(answer);
        let wanted = sum(of_reason.iter(), "requests");
        if wanted == 0 {
            let all = answer["by_reason"].as_array().into_iter().flatten();
            let reasons: Vec<&str> = all.map(|it| text(it, "reason")).collect();
            let of = match (self.reason.is_some(), reasons.is_empty()) {
                (true, false) => format!("; there are those of {}", reasons.join(", ")),
                _ => String::new(),
            };
            writeln!(out, "none of the {open} {kind} that wait is asked for by these flags{of}")?;
            return Ok(());
        }
        let jobs = sum(of_reason.iter(), "jobs");
        writeln!(out, "{wanted} {kind} wait{of}, with {jobs} jobs")?;
        match self.by {
            By::Reason => reasons(kind, &of_reason, now, out)?,
            by => groups(by, requests, now, out)?,
        }
        if self.top == 0 || requests.is_empty() {
            return Ok(());
        }
        let shown = &requests[..requests.len().min(self.top)];
        writeln!(out, "\nthe oldest {}", shown.len())?;
        let rows = shown.iter().map(|it| row(it, now)).collect();
        print_rows(out, self.table.sheet(columns(), terminal_width()), rows)
    }
}

/// The requests judged again, by subject.
fn judged(engine: &Engine, rows: &[&WaitingRow]) -> BTreeMap<String, RequestFigures> {
    let tasks = rows.iter().take(JUDGED_MAX).filter_map(|row| {
        let task = engine.state.requests.of(&row.subject)?.task.as_ref()?;
        let mut newest = engine.judge_task(task)?;
        let fates = std::mem::take(&mut newest.fates).into_iter();
        let fates = fates.map(|fate| (fate.queue.clone(), fate)).collect();
        Some((row.subject.clone(), RequestFigures { newest, fates, is_whole: true }))
    });
    tasks.collect()
}

fn sum<'a>(all: impl Iterator<Item = &'a Value>, name: &str) -> u64 {
    all.filter_map(|it| it[name].as_u64()).sum()
}

fn reasons(kind: &str, all: &[Value], now: Millis, out: &mut impl Write) -> anyhow::Result<()> {
    let columns = vec![
        Column::figure(kind, 0),
        Column::figure("jobs", 2),
        Column::whole("oldest", 3),
        Column::text("why", 1),
        Column::text("reason", 5),
        Column::text("what helps", 4),
    ];
    let rows = all.iter().map(|it| {
        let figures = [it["requests"].to_string(), it["jobs"].to_string()];
        let texts = [age_of(it, "oldest_at", now), cell(it, "title"), cell(it, "reason")];
        [&figures[..], &texts[..], &[helps_text(text(it, "helps")).to_owned()]].concat()
    });
    print_rows(out, TableArgs::default().sheet(columns, terminal_width()), rows.collect())
}

fn groups(by: By, requests: &[Value], now: Millis, out: &mut impl Write) -> anyhow::Result<()> {
    let name = match by {
        By::Reason => "reason",
        By::Share => "gshare",
        By::User => "user",
        By::Task => "task",
    };
    let mut groups: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for it in requests {
        let group = text(it, "group");
        let is_of_group = by == By::User && !group.is_empty();
        groups.entry(if is_of_group { group } else { text(it, name) }).or_default().push(it);
    }
    let mut groups: Vec<(&str, Vec<&Value>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    let rows = groups.into_iter().map(|(name, all)| {
        let oldest = all.iter().filter_map(|it| it["asked_at"].as_i64()).min();
        let in_vain = all.iter().filter(|it| text(it, "helps") == "configuration").count();
        vec![
            super::or_dash(name),
            all.len().to_string(),
            sum(all.iter().copied(), "jobs").to_string(),
            oldest.map_or("-".to_owned(), |at| span(now.saturating_sub(at))),
            in_vain.to_string(),
        ]
    });
    let columns = vec![
        Column::text(name, 0),
        Column::figure("requests", 1),
        Column::figure("jobs", 2),
        Column::whole("oldest", 3),
        Column::figure("waiting in vain", 4),
    ];
    print_rows(out, TableArgs::default().sheet(columns, terminal_width()), rows.collect())
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("subject", 0),
        Column::figure("jobs", 5),
        Column::whole("waits", 1),
        Column::text("why", 2),
        Column::text("nearest", 3),
        Column::text("share", 6),
        Column::text("user", 7),
        Column::figure("answers", 8),
        Column::whole("judged again", 8),
        Column::text("reason", 9).unusual(),
        Column::text("what helps", 9).unusual(),
        Column::text("task", 9).unusual(),
        Column::text("policy", 9).unusual(),
        Column::whole("asked", 9).unusual(),
        Column::whole("judged", 9).unusual(),
        Column::figure("rejected", 9).unusual(),
    ]
}

fn row(it: &Value, now: Millis) -> Vec<String> {
    let held = &it["held_by"];
    let nearest = &it["nearest"];
    let near = if held.is_object() {
        let figure = |name| super::figure_of(held, name);
        let until = moment_of(held, "until");
        format!(
            "{} of {}: {} {}, limit {}; until {until} unless renewed",
            text(held, "rule"),
            text(held, "subject"),
            figure("measured"),
            text(held, "unit"),
            figure("limit")
        )
    } else if nearest.is_object() {
        format!("{}: {}", text(nearest, "queue"), text(nearest, "text"))
    } else if it["last_slots_at"].is_i64() {
        format!("last slots {} ago", age_of(it, "last_slots_at", now))
    } else {
        cell(it, "as_whole")
    };
    let owner = if text(it, "group").is_empty() { "user" } else { "group" };
    vec![
        cell(it, "subject"),
        it["jobs"].to_string(),
        age_of(it, "asked_at", now),
        cell(it, "title"),
        near,
        cell(it, "gshare"),
        cell(it, owner),
        Some(it["answers"].to_string()).filter(|it| it != "0").unwrap_or_else(|| "-".to_owned()),
        moment_of(it, "until"),
        cell(it, "reason"),
        helps_text(text(it, "helps")).to_owned(),
        cell(it, "task"),
        cell(it, "policy"),
        moment_of(it, "asked_at"),
        moment_of(it, "judged_at"),
        it["rejected"].to_string(),
    ]
}
