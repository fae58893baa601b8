//! Decode and fold, from memory.

use super::{Figures, cpu_seconds, resident_bytes};
use crate::cli::log_args::Read;
use crate::cli::progress::Bar;
use crate::clock;
use yardmaster_core::state::State;
use yardmaster_core::unit::Millis;
use yardmaster_drive::fold::fold_batch;
use yardmaster_drive::port::Batch;
use yardmaster_sim::load::Load;
use yardmaster_sim::scenario::feed::close;
use yardmaster_sim::scenario::median;
use yardmaster_wire::avro::{Arena, Codec};

/// Records in one measured batch.
const BATCH: usize = 10_000;
/// Records in one round.
const ROUND: usize = 1_000_000;
const START: Millis = 1_760_400_000_000;

struct Line {
    state: State,
    codec: Codec,
    arena: Arena,
}

/// Measures folding at `jobs` live jobs, and how its cost grows from 10 k to 5 M.
pub fn measure(read: &Read, jobs: u64, rounds: u32, figures: &mut Figures) -> anyhow::Result<()> {
    let sizes = [(10_000, "10k"), (jobs, "main"), (5_000_000, "5m")];
    let events = |jobs: u64| jobs + u64::from(rounds) * ROUND as u64;
    let mut bar = Bar::new("folding", "events", sizes.iter().map(|it| events(it.0)).sum());
    let mut done = 0;
    for (jobs, name) in sizes {
        let before = resident_bytes();
        let mut line = Line {
            state: State::new(read.epoch_config()?.setting),
            codec: Codec::default(),
            arena: Arena::default(),
        };
        let mut load = Load::new(7, jobs, START);
        for from in (0..jobs).step_by(BATCH) {
            let batch = load.first(from, from + BATCH as u64);
            line.fold(&batch);
            bar.at(done + from);
        }
        let live = line.state.jobs.slab.len().max(1);
        let bytes = resident_bytes().saturating_sub(before) as f64 / live as f64;
        let (mut cpu, mut wall) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            bar.at(done + jobs + u64::from(round) * ROUND as u64);
            let (round_cpu, round_wall) = line.round(&mut load);
            cpu.push(round_cpu);
            wall.push(round_wall);
        }
        done += events(jobs);
        let ns = median(&mut cpu);
        match name {
            "main" => {
                figures.insert("fold_live_jobs".into(), jobs as f64);
                figures.insert("fold_cpu_ns_per_event".into(), ns);
                figures.insert("fold_wall_ns_per_event".into(), median(&mut wall));
                figures.insert("fold_events_per_second".into(), 1e9 / ns);
                figures.insert("fold_bytes_per_live_job".into(), bytes);
            }
            name => {
                figures.insert(format!("fold_cpu_ns_per_event_{name}_jobs"), ns);
            }
        }
    }
    let ratio =
        figures["fold_cpu_ns_per_event_5m_jobs"] / figures["fold_cpu_ns_per_event_10k_jobs"];
    figures.insert("fold_cost_ratio_5m_to_10k_jobs".into(), ratio);
    Ok(())
}

impl Line {
    fn fold(&mut self, batch: &Batch) {
        let mut garbled = Vec::new();
        let Line { state, codec, arena, .. } = self;
        fold_batch(state, codec, arena, batch, &batch.records, &mut garbled);
        // A cycle each 10,000 records, as the loop makes them.
        let now = batch.records.last().map_or(START, |record| record.appended_at);
        close(&mut self.state, now, Vec::new());
        self.state.touched = Default::default();
    }

    /// CPU and wall time of one round; ns per event. Making the records is not counted.
    fn round(&mut self, load: &mut Load) -> (f64, f64) {
        let (mut cpu, mut wall) = (0.0, 0.0);
        for _ in 0..ROUND / BATCH {
            let batch = load.mixed(BATCH);
            let (cpu_began, wall_began) = (cpu_seconds(), clock::stopwatch());
            self.fold(&batch);
            cpu += cpu_seconds() - cpu_began;
            wall += (clock::stopwatch() - wall_began) as f64;
        }
        (cpu * 1e9 / ROUND as f64, wall / ROUND as f64)
    }
}
