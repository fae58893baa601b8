//! Cost of deadlines: the same fold with and without rules that give commands, each cycle settled
//! as a leader does it. A steady load: jobs wait or run, and hardly one is overdue.

use super::{Figures, cpu_seconds};
use crate::cli::log_args::Read;
use crate::cli::progress::Bar;
use yardmaster_core::command::CommandSetting;
use yardmaster_core::engine::Engine;
use yardmaster_core::state::State;
use yardmaster_core::unit::Millis;
use yardmaster_drive::fold::fold_batch;
use yardmaster_drive::port::Batch;
use yardmaster_sim::load::Load;
use yardmaster_sim::scenario::feed::close;
use yardmaster_sim::scenario::median;
use yardmaster_wire::avro::{Arena, Codec};

/// Records in one cycle.
const BATCH: usize = 10_000;
/// Records in one round.
const ROUND: usize = 500_000;
const START: Millis = 1_760_400_000_000;

struct Line {
    engine: Engine,
    codec: Codec,
    arena: Arena,
    load: Load,
    commands: u64,
}

/// Measures both, in turns, over `jobs` live jobs.
pub fn measure(read: &Read, jobs: u64, rounds: u32, figures: &mut Figures) -> anyhow::Result<()> {
    let setting = read.epoch_config()?.setting;
    let without =
        yardmaster_core::state::Setting { commands: CommandSetting::default(), ..setting.clone() };
    let mut lines = [without, setting].map(|setting| Line {
        engine: Engine::new(State::new(setting), Vec::new()),
        codec: Codec::default(),
        arena: Arena::default(),
        load: Load::new(7, jobs, START).steady(),
        commands: 0,
    });
    for line in &mut lines {
        for from in (0..jobs).step_by(BATCH) {
            let batch = line.load.first(from, from + BATCH as u64);
            line.cycle(&batch);
        }
    }
    let mut costs = [Vec::new(), Vec::new()];
    let mut bar = Bar::new("folding", "rounds", 2 * u64::from(rounds));
    for round in 0..2 * rounds as usize {
        bar.at(round as u64);
        // Which of both comes first changes with each pair.
        let at = (round + round / 2) % 2;
        costs[at].push(lines[at].round());
    }
    let ratios = costs[1].iter().zip(&costs[0]).map(|(with, without)| with / without);
    let mut ratios: Vec<f64> = ratios.collect();
    figures.insert("deadlines_cost_ratio".into(), median(&mut ratios));
    figures.insert("deadlines_cpu_ns_per_event_without".into(), median(&mut costs[0]));
    figures.insert("deadlines_cpu_ns_per_event_with".into(), median(&mut costs[1]));
    figures.insert("deadlines_live_jobs".into(), lines[1].engine.state.jobs.slab.len() as f64);
    figures.insert("deadlines_entries".into(), lines[1].engine.state.looks.len() as f64);
    figures.insert("deadlines_commands".into(), lines[1].commands as f64);
    Ok(())
}

impl Line {
    fn cycle(&mut self, batch: &Batch) {
        let mut garbled = Vec::new();
        let Line { engine, codec, arena, .. } = self;
        fold_batch(&mut engine.state, codec, arena, batch, &batch.records, &mut garbled);
        let now = batch.records.last().map_or(START, |record| record.appended_at);
        close(&mut engine.state, now, Vec::new());
        engine.settle();
        while let Some(output) = engine.next_output() {
            engine.fold_output(&output);
            self.commands += 1;
        }
    }

    /// CPU time of one round; ns per event. Making the records is not counted.
    fn round(&mut self) -> f64 {
        let mut cpu = 0.0;
        for _ in 0..ROUND / BATCH {
            let batch = self.load.mixed(BATCH);
            let began = cpu_seconds();
            self.cycle(&batch);
            cpu += cpu_seconds() - began;
        }
        cpu * 1e9 / ROUND as f64
    }
}
