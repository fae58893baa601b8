//! Replay of a directory log, its recorded decisions included.

use super::Figures;
use crate::cli::demo::record;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::progress::Bar;
use crate::cli::rebuild::{Until, rebuild};
use crate::ports::AnyStore;
use std::path::Path;
use yardmaster_sim::scenario::median;

/// Measures the replay of --dir, or of a log that the simulated grid makes first.
pub fn measure(
    log_args: &LogArgs,
    read: &Read,
    scratch: &Path,
    hours: u32,
    rounds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let mut log_args = log_args.clone();
    log_args.bootstrap_server = None;
    if log_args.dir.is_none() {
        let dir = scratch.join("replay");
        record(&dir, read, hours)?;
        log_args.dir = Some(dir);
    }
    let mut rates = Vec::new();
    let mut bar = Bar::new("replaying", "rounds", rounds.into());
    for round in 0..rounds {
        bar.at(round.into());
        let rebuilt = rebuild(&log_args, read, AnyStore::Nothing, false, Until::End, |_| ())?;
        rates.push(rebuilt.events as f64 / rebuilt.seconds.max(1e-9));
        figures.insert("replay_events".into(), rebuilt.events as f64);
        figures.insert("replay_decisions".into(), rebuilt.decisions as f64);
    }
    figures.insert("replay_events_per_second".into(), median(&mut rates));
    Ok(())
}
