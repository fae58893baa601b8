//! `audit`: is every counter what a recount gives?

use crate::core::state::audit::{Drift, audit};
use crate::core::state::counters::counters;
use crate::shell::ask::Ask;
use crate::shell::cli::Ended;
use crate::shell::cli::http_args::AskArgs;
use crate::shell::cli::log_args::LogArgs;
use crate::shell::cli::replay::rebuild;
use crate::shell::ports::AnyStore;
use crate::shell::store::SledStore;
use crate::wire::counter::to_json;
use clap::Args;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Rebuilds everything from the log, recounts it from the records, and compares: the counters that
/// were kept in the store with those of the same cycle, and at the end every counter with its
/// recount. Exits 0 when clean, 1 on drift. Beside a running process (that holds the store) it asks
/// that process for its own recount too.
///
/// Examples:
///   yardmaster audit --dir yard
///   yardmaster audit --bootstrap-server kafka:9092 --store /var/lib/yardmaster
#[derive(Args)]
pub struct Audit {
    #[command(flatten)]
    log_args: LogArgs,
    /// Where the store lies.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    #[command(flatten)]
    ask_args: AskArgs,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
}

impl Audit {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read()?;
        self.log_args.check()?;
        let dir = self.log_args.store(self.store.as_deref(), &read.topology.domain);
        let mut drifts = Vec::new();
        let mut asked = None;
        let mut kept = BTreeMap::new();
        if dir.is_dir() {
            let process = Ask::of_store(&dir, self.ask_args.proof()?);
            let answer = process.map(|process| process.text("/v1/audit")).transpose()?;
            if let Some(text) = answer.flatten() {
                drifts.extend(drifts_of(&text));
                asked = Some(text.lines().next().unwrap_or_default().to_owned());
            } else {
                kept = SledStore::counters(&dir)?.into_iter().collect();
            }
        }
        let at_cycle = kept.remove("cycle").and_then(|number| number.parse::<u64>().ok());
        let mut compared = 0;
        let rebuilt =
            rebuild(&self.log_args, &read, AnyStore::Nothing, false, at_cycle, |drive| {
                let lines = counters(drive.state());
                let recount: BTreeMap<String, String> =
                    lines.iter().map(|line| (line.key(), to_json(line))).collect();
                compared = recount.len().max(kept.len()).max(1);
                drifts.extend(compare(&kept, &recount));
            })?;
        if let (Some(number), 0) = (at_cycle, compared) {
            drifts.push(Drift {
                counter: "store cycle".into(),
                kept: number.to_string(),
                recount: format!("the log ends at cycle {}", rebuilt.drive.state().number),
            });
        }
        let (state, strays) = (rebuilt.drive.state(), rebuilt.strays);
        drifts.extend(audit(state));
        let count = counters(state).len();
        if self.json {
            let drifts: Vec<_> = drifts
                .iter()
                .map(|it| {
                    let (counter, kept, recount) = (&it.counter, &it.kept, &it.recount);
                    serde_json::json!({"counter": counter, "kept": kept, "recount": recount})
                })
                .collect();
            println!(
                "{}",
                serde_json::json!({"counters": count, "compared_with_store": compared,
                    "cycle": state.number, "strays": strays, "drifts": drifts})
            );
        } else {
            for drift in &drifts {
                println!("drift {}: kept {}, recount {}", drift.counter, drift.kept, drift.recount);
            }
            if strays > 0 {
                println!("strays {strays}");
            }
            if let Some(asked) = asked {
                println!("running process: {asked}");
            }
            println!(
                "{} counters at cycle {}, {compared} compared with the store, {} drifted",
                count,
                state.number,
                drifts.len()
            );
        }
        Ok(if drifts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn compare(kept: &BTreeMap<String, String>, recount: &BTreeMap<String, String>) -> Vec<Drift> {
    let mut drifts = Vec::new();
    for key in kept.keys().chain(recount.keys().filter(|key| !kept.contains_key(*key))) {
        let text = |side: &BTreeMap<String, String>| {
            side.get(key).cloned().unwrap_or_else(|| "nothing".to_owned())
        };
        if kept.get(key) != recount.get(key) {
            let counter = format!("store {key}");
            drifts.push(Drift { counter, kept: text(kept), recount: text(recount) });
        }
    }
    drifts
}

/// What a running process reported of its own recount: a line for each drift after the first.
fn drifts_of(text: &str) -> Vec<Drift> {
    text.lines()
        .skip(1)
        .map(|line| Drift { counter: line.to_owned(), kept: String::new(), recount: String::new() })
        .collect()
}
