//! `audit`: is every counter what a recount gives?

use crate::ask::Ask;
use crate::cli::Ended;
use crate::cli::http_args::AskArgs;
use crate::cli::log_args::LogArgs;
use crate::cli::rebuild::{Until, rebuild};
use crate::cli::table::{Column, TableArgs, report_left_out, terminal_width};
use crate::ports::AnyStore;
use crate::store::SledStore;
use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use yardmaster_core::state::audit::{Drift, audit};
use yardmaster_core::state::counters::{counters, key_of};
use yardmaster_wire::counter::to_json;

/// Rebuilds everything from the log, recounts it from the records, and compares: the counters that
/// were kept in the store with those of the same cycle, and at the end every counter with its
/// recount. Exits 0 when clean, 1 on drift. Beside a running process (that holds the store) it asks
/// that process for its own recount, and for its counters, which are compared as those of the store
/// are. A drift is a row: the counter, the figure, what was kept, what the recount gives. With
/// --json each drift is an object with `drift`, `kept` and `recount`, and the last object is the
/// summary, with `drifted`: how many there are.
///
/// Examples:
///   yardmaster audit --dir yard
///   yardmaster audit --bootstrap-server kafka:9092 --store /var/lib/yardmaster
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Audit {
    #[command(flatten)]
    log_args: LogArgs,
    /// Where the store lies.
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    store: Option<PathBuf>,
    #[command(flatten)]
    ask_args: AskArgs,
    #[command(flatten)]
    table: TableArgs,
}

impl Audit {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read_log()?;
        self.log_args.check()?;
        self.table.check(COLUMNS)?;
        let dir = self.log_args.store(self.store.as_deref(), &read.topology.domain);
        let mut drifts = Vec::new();
        let mut asked = None;
        let (mut kept, mut kept_by) = (BTreeMap::new(), "store");
        if dir.is_dir() {
            let process = Ask::of_store(&dir, self.ask_args.proof()?);
            let ask = |path| process.as_ref().map(|process| process.text(path)).transpose();
            if let Some(text) = ask("/api/v1/audit")?.flatten() {
                let (found, summary) = audited(&text).context("the answer of the process")?;
                drifts.extend(found);
                asked = Some(summary);
                let text = ask("/api/v1/counters")?.flatten().unwrap_or_default();
                kept = counted(&text).context("the counters of the process")?;
                kept_by = "process";
            } else {
                kept = SledStore::counters(&dir)?.into_iter().collect();
            }
        }
        let at_cycle = kept.remove("cycle").and_then(|number| number.parse::<u64>().ok());
        let mut compared = 0;
        let until = at_cycle.map_or(Until::End, Until::EndPast);
        let rebuilt = rebuild(&self.log_args, &read, AnyStore::Nothing, false, until, |drive| {
            let lines = counters(drive.state());
            let recount: BTreeMap<String, String> =
                lines.iter().map(|line| (line.key(), to_json(line))).collect();
            compared = recount.len().max(kept.len()).max(1);
            drifts.extend(compare(kept_by, &kept, &recount));
        })?;
        if let (Some(number), 0) = (at_cycle, compared) {
            drifts.push(Drift {
                counter: format!("{kept_by} cycle"),
                kept: number.to_string(),
                recount: format!("the log ends at cycle {}", rebuilt.drive.state().number),
            });
        }
        let (state, strays) = (rebuilt.drive.state(), rebuilt.strays);
        drifts.extend(audit(state));
        let count = counters(state).len();
        if self.table.json {
            drifts.iter().for_each(|drift| println!("{}", json_of(drift)));
            let with = format!("compared_with_{kept_by}");
            println!(
                "{}",
                json!({"counters": count, with: compared, "cycle": state.number,
                    "strays": strays, "running_process": asked, "drifted": drifts.len()})
            );
        } else {
            self.print(&drifts)?;
            if strays > 0 {
                println!("strays {strays}");
            }
            if let Some(asked) = asked {
                println!("running process: {asked}");
            }
            println!(
                "{} counters at cycle {}, {compared} compared with the {kept_by}, {} drifted",
                count,
                state.number,
                drifts.len()
            );
        }
        Ok(if drifts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Columns of the table of drifts.
const COLUMNS: [&str; 4] = ["counter", "figure", "kept", "recount"];

impl Audit {
    fn print(&self, drifts: &[Drift]) -> io::Result<()> {
        let columns = COLUMNS.iter().zip([0, 1, 2, 3]);
        let columns = columns.map(|(name, rank)| Column::text(name, rank)).collect();
        let sheet = self.table.sheet(columns, terminal_width());
        let mut printer = sheet.printer(io::stdout().lock());
        drifts.iter().flat_map(rows_of).try_for_each(|row| printer.push(row.into()))?;
        report_left_out(&printer.end()?);
        Ok(())
    }
}

/// A kept or recounted value: the figures of a counter, if it is written as an object of them.
fn value_of(text: &str) -> Value {
    let object = serde_json::from_str(text).ok().filter(Value::is_object);
    object.unwrap_or_else(|| Value::from(text))
}

fn json_of(drift: &Drift) -> Value {
    let (kept, recount) = (value_of(&drift.kept), value_of(&drift.recount));
    json!({"drift": drift.counter, "kept": kept, "recount": recount})
}

/// A row for each figure that differs; one for the whole where nothing is known of figures.
fn rows_of(drift: &Drift) -> Vec<[String; 4]> {
    let (kept, recount) = (value_of(&drift.kept), value_of(&drift.recount));
    let (Some(kept), Some(recount)) = (kept.as_object(), recount.as_object()) else {
        let Drift { counter, kept, recount } = drift.clone();
        return vec![[counter, String::new(), kept, recount]];
    };
    let figures: BTreeSet<&String> = kept.keys().chain(recount.keys()).collect();
    let differs = |figure: &&&String| kept.get(**figure) != recount.get(**figure);
    let text = |value: Option<&Value>| value.map_or_else(|| "0".to_owned(), Value::to_string);
    let row = |figure: &String| {
        let (kept, recount) = (text(kept.get(figure)), text(recount.get(figure)));
        [drift.counter.clone(), figure.clone(), kept, recount]
    };
    figures.iter().filter(differs).map(|figure| row(figure)).collect()
}

fn compare(
    kept_by: &str,
    kept: &BTreeMap<String, String>,
    recount: &BTreeMap<String, String>,
) -> Vec<Drift> {
    let mut drifts = Vec::new();
    for key in kept.keys().chain(recount.keys().filter(|key| !kept.contains_key(*key))) {
        let text = |side: &BTreeMap<String, String>| {
            side.get(key).cloned().unwrap_or_else(|| "nothing".to_owned())
        };
        if kept.get(key) != recount.get(key) {
            let counter = format!("{kept_by} {key}");
            drifts.push(Drift { counter, kept: text(kept), recount: text(recount) });
        }
    }
    drifts
}

/// The counters of a running process under their keys, as a store has them, and under `cycle` the
/// number of the cycle at whose end they stood so.
fn counted(text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let answer: Value = serde_json::from_str(text)?;
    let mut counted = BTreeMap::new();
    counted.insert("cycle".to_owned(), answer["cycle"].to_string());
    for counter in answer["counters"].as_array().into_iter().flatten() {
        // The kind comes first, then the names; figures are numbers.
        let members = counter.as_object().into_iter().flatten();
        let mut words = members.filter_map(|(_, value)| value.as_str());
        let kind = words.next().unwrap_or_default();
        counted.insert(key_of(kind, words), counter.to_string());
    }
    Ok(counted)
}

/// The drifts that a running process found, and a line that sums its answer up.
fn audited(text: &str) -> anyhow::Result<(Vec<Drift>, String)> {
    let answer: Value = serde_json::from_str(text)?;
    let of = |drift: &Value, name: &str| drift[name].as_str().unwrap_or_default().to_owned();
    let drifts = answer["drifts"].as_array().into_iter().flatten();
    let drifts: Vec<Drift> = drifts
        .map(|it| Drift {
            counter: of(it, "counter"),
            kept: of(it, "kept"),
            recount: of(it, "recount"),
        })
        .collect();
    let (counters, cycle, drifted) = (&answer["counters"], &answer["cycle"], drifts.len());
    Ok((drifts, format!("{counters} counters at cycle {cycle}, {drifted} drifted")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift(kept: &str, recount: &str) -> Drift {
        let counter = "store queue/NORTH".to_owned();
        Drift { counter, kept: kept.to_owned(), recount: recount.to_owned() }
    }

    #[test]
    fn a_drift_is_shown_by_the_figures_that_differ() {
        let kept = r#"{"counter":"queue","queue":"NORTH","jobs_running":5,"jobs_failed":1}"#;
        let recount = r#"{"counter":"queue","queue":"NORTH","jobs_running":6}"#;
        let row = |figure: &str, kept: &str, recount: &str| {
            ["store queue/NORTH", figure, kept, recount].map(str::to_owned)
        };
        assert_eq!(
            rows_of(&drift(kept, recount)),
            [row("jobs_failed", "1", "0"), row("jobs_running", "5", "6")]
        );
        assert_eq!(rows_of(&drift(kept, "nothing")), [row("", kept, "nothing")]);
        let object = json_of(&drift(kept, "nothing"));
        assert_eq!(
            (&object["kept"]["jobs_running"], &object["recount"]),
            (&5.into(), &"nothing".into())
        );
    }
}
