//! `throttles`: who is held as a whole, since when, by which figure, and what lifts it.

use super::{ShiftArgs, age_of, cell, figure_of, moment_of, print_json, print_rows, text};
use crate::api::ThrottlesAnswer;
use crate::cli::Ended;
use crate::cli::table::{Column, TableArgs, terminal_width};
use crate::waiting::Waiting;
use clap::Args;
use std::io::{self, Write};
use std::process::ExitCode;
use yardmaster_core::output::throttle::Throttle;
use yardmaster_core::state::State;
use yardmaster_core::unit::DAY;
use yardmaster_core::view::PoolGlance;

/// Lists throttles in force: the subject of each, since when, what was measured against which
/// limit, and what lifts it. Those of a policy in mode dry_run hold nothing, and are marked.
///
/// Examples:
///   yardmaster throttles --store /var/lib/yardmaster/store
///   yardmaster throttles --dir yard --columns all
///   yardmaster throttles --http leader:9187 --all --json
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Throttles {
    #[command(flatten)]
    place: ShiftArgs,
    /// Those too that were lifted or lapsed within the last day.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    table: TableArgs,
}

impl Throttles {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        self.table.check(columns().iter().map(|it| it.name.as_str()))?;
        let path = format!("/api/v1/throttles?all={}", u8::from(self.all));
        let answer = self.place.answer(&path, |engine, _, _| {
            let waiting = Waiting::of(engine, PoolGlance::of(engine).as_ref());
            let over = if self.all { over_lately(&engine.state) } else { Vec::new() };
            ThrottlesAnswer::of(&waiting, &over)
        })?;
        if self.table.json {
            return print_json(&answer["throttles"]);
        }
        let now = answer["now"].as_i64().unwrap_or(0);
        let throttles = answer["throttles"].as_array().map_or(&[][..], Vec::as_slice);
        let mut out = io::BufWriter::new(io::stdout().lock());
        if throttles.is_empty() {
            writeln!(out, "nobody is throttled")?;
        }
        let rows = throttles.iter().map(|it| {
            let figures = [figure_of(it, "measured"), figure_of(it, "limit"), cell(it, "unit")];
            let first = [
                format!("{} {}", text(it, "kind"), text(it, "subject")),
                text(it, "state").replace('_', " "),
                cell(it, "rule"),
                cell(it, "help"),
            ];
            let last = [
                age_of(it, "since", now),
                moment_of(it, "until"),
                cell(it, "lifted_when"),
                cell(it, "spec"),
                cell(it, "counter"),
                cell(it, "policy"),
                moment_of(it, "since"),
                moment_of(it, "published_at"),
            ];
            [&first[..], &figures[..], &last[..]].concat()
        });
        print_rows(&mut out, self.table.sheet(columns(), terminal_width()), rows.collect())?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Throttles of the state that are over since a day at most.
fn over_lately(state: &State) -> Vec<Throttle> {
    let since = state.now.saturating_sub(DAY);
    let is_over = |it: &&Throttle| !it.stands(state.now) && it.over_at() >= since;
    state.throttles.iter().map(|(_, throttle)| throttle).filter(is_over).cloned().collect()
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("subject", 0),
        Column::text("state", 1),
        Column::text("rule", 2),
        Column::text("why", 6),
        Column::figure("measured", 3),
        Column::figure("limit", 3),
        Column::text("unit", 4),
        Column::whole("for", 3),
        Column::whole("until", 5),
        Column::text("lifted", 5),
        Column::text("spec", 9).unusual(),
        Column::text("counter", 9).unusual(),
        Column::text("policy", 9).unusual(),
        Column::whole("since", 9).unusual(),
        Column::whole("published", 9).unusual(),
    ]
}
