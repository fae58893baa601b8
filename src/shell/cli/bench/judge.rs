//! One decision: survey, gather, filters, weights, division, and what follows in the state.

use super::{Figures, cpu_seconds};
use crate::cli::log_args::Read;
use crate::cli::progress::Bar;
use yardmaster_core::output::Output;
use yardmaster_core::unit::HOUR;
use yardmaster_sim::scenario::feed::close;
use yardmaster_sim::scenario::median;
use yardmaster_sim::scenario::simulated::engine;

/// Measures decisions over each of some numbers of queues, on a grid with jobs, links and storage,
/// for the requests that the simulated grid makes of itself.
pub fn measure(
    read: &Read,
    sizes: &[usize],
    rounds: u32,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let rounds = rounds.max(3);
    let mut bar = Bar::new("judging", "rounds", sizes.len() as u64 * u64::from(rounds));
    for (queues, done) in sizes.iter().copied().zip((0..).step_by(rounds as usize)) {
        let mut engine = engine(read.epoch_config()?, queues)?;
        let mut all = Vec::new();
        for round in 0..rounds {
            bar.at(u64::from(done + round));
            let now = engine.state.now + HOUR + 1;
            close(&mut engine.state, now, Vec::new());
            engine.settle();
            loop {
                let began = cpu_seconds();
                let Some(Output::Decision(decision)) = engine.next_output() else { break };
                all.push((cpu_seconds() - began) * 1e6);
                // Not folded: then the same requests are judged again in the next round.
                std::hint::black_box(decision);
            }
        }
        figures.insert(format!("decision_cpu_us_{queues}_queues"), median(&mut all));
        figures.insert(format!("decision_samples_{queues}_queues"), all.len() as f64);
    }
    Ok(())
}
