//! Replay of a directory log, its recorded decisions included.

use super::Figures;
use crate::shell::cli::demo::record;
use crate::shell::cli::place::{Place, Read};
use crate::shell::cli::replay::rebuild;
use crate::shell::ports::AnyStore;
use crate::sim::scenario::median;
use std::path::Path;

/// Measures the replay of --dir, or of a log that the simulated grid makes first.
pub fn measure(
    place: &Place,
    read: &Read,
    scratch: &Path,
    hours: u32,
    rounds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let mut place = place.clone();
    place.bootstrap_server = None;
    if place.dir.is_none() {
        let dir = scratch.join("replay");
        record(&dir, read, hours)?;
        place.dir = Some(dir);
    }
    let mut rates = Vec::new();
    for _ in 0..rounds {
        let rebuilt = rebuild(&place, read, AnyStore::Nothing, false, None, |_| ())?;
        rates.push(rebuilt.events as f64 / rebuilt.seconds.max(1e-9));
        figures.insert("replay_events".into(), rebuilt.events as f64);
        figures.insert("replay_decisions".into(), rebuilt.decisions as f64);
    }
    figures.insert("replay_events_per_second".into(), median(&mut rates));
    Ok(())
}
