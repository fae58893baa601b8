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
    /// How long the end of each cycle took; ms.
    cut: Vec<f64>,
}

/// Measures folding at each of some numbers of live jobs, over what `over` makes of the load.
pub fn measure(
    read: &Read,
    sizes: &[u64],
    over: &dyn Fn(Load) -> Load,
    rounds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let events = |jobs: u64| jobs + u64::from(rounds) * ROUND as u64;
    let mut bar = Bar::new("folding", "events", sizes.iter().map(|it| events(*it)).sum());
    let mut done = 0;
    for jobs in sizes.iter().copied() {
        let name = |what: &str| format!("fold_{jobs}_jobs_{what}");
        let before = resident_bytes();
        let state = State::new(read.epoch_config()?.setting);
        let (codec, arena) = (Codec::default(), Arena::default());
        let mut line = Line { state, codec, arena, cut: Vec::new() };
        let mut load = over(Load::new(7, jobs, START));
        for from in (0..jobs).step_by(BATCH) {
            let batch = load.first(from, from + BATCH as u64);
            line.fold(&batch);
            bar.at(done + from);
        }
        let live = line.state.jobs.slab.len().max(1);
        let bytes = resident_bytes().saturating_sub(before) as f64 / live as f64;
        line.cut.clear();
        let (mut cpu, mut wall) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            bar.at(done + jobs + u64::from(round) * ROUND as u64);
            let (round_cpu, round_wall) = line.round(&mut load);
            cpu.push(round_cpu);
            wall.push(round_wall);
        }
        done += events(jobs);
        let ns = median(&mut cpu);
        figures.insert(name("cpu_ns_per_event"), ns);
        figures.insert(name("wall_ns_per_event"), median(&mut wall));
        figures.insert(name("events_per_second"), 1e9 / ns);
        figures.insert(name("bytes_per_live_job"), bytes);
        figures.insert(name("cut_ms"), median(&mut line.cut));
    }
    let (first, last) = (sizes.iter().min(), sizes.iter().max());
    if let (Some(first), Some(last)) = (first, last) {
        let of = |jobs: &u64| figures[&format!("fold_{jobs}_jobs_cpu_ns_per_event")];
        figures.insert("fold_cost_ratio_most_to_fewest_jobs".into(), of(last) / of(first));
    }
    Ok(())
}

impl Line {
    fn fold(&mut self, batch: &Batch) {
        let mut garbled = Vec::new();
        let Line { state, codec, arena, .. } = self;
        fold_batch(state, codec, arena, batch, &batch.records, &mut garbled);
        // A cycle each 10,000 records, as the loop makes them.
        let now = batch.records.last().map_or(START, |record| record.appended_at);
        let began = clock::stopwatch();
        close(&mut self.state, now, Vec::new());
        self.cut.push((clock::stopwatch() - began) as f64 / 1e6);
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
