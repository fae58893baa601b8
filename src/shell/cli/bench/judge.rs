//! One decision: survey, gather, filters, weights, division, and what follows in the state.

use super::{Figures, cpu_seconds, median};
use crate::core::cut::{Lane, Topic};
use crate::core::engine::Engine;
use crate::core::event::Event;
use crate::core::output::Output;
use crate::core::state::State;
use crate::core::state::close::Closing;
use crate::core::unit::{HOUR, Millis};
use crate::shell::cli::place::Read;
use crate::sim::grid::{Facts, Grid, Plan};
use crate::wire::avro::{Arena, Codec};

const START: Millis = 1_760_400_000_000;

/// Measures decisions over 300 and 1000 queues, on a grid with jobs, links and storage, for the
/// requests that the simulated grid makes of itself.
pub fn measure(read: &Read, rounds: u32, figures: &mut Figures) -> anyhow::Result<()> {
    for queues in [300, 1000] {
        let mut engine = engine(read, queues)?;
        let mut all = Vec::new();
        for round in 0..rounds.max(3) {
            let closing = Closing {
                epoch: 1,
                number: 2 + u64::from(round),
                now: engine.state.now + HOUR + 1,
                flags: Vec::new(),
            };
            engine.state.close(&closing);
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

/// The built-in grid, its queues published again under other names until there are enough.
pub(super) fn engine(read: &Read, queues: usize) -> anyhow::Result<Engine> {
    let mut facts = Facts::built_in();
    let originals = facts.queues.clone();
    for at in originals.len()..queues {
        let mut queue = originals[at % originals.len()].clone();
        let copy = at / originals.len();
        queue.name = format!("{}_{copy}", queue.name);
        queue.unified = format!("{}_{copy}", queue.unified);
        facts.queues.push(queue);
    }
    facts.queues.truncate(queues);
    let domain = read.topology.domain.clone();
    let plan = Plan { seed: 3, scale: 0.02, start: START, hours: 6, domain, facts };
    let mut grid = Grid::new(plan)?;
    let terms = read.terms()?;
    let mut state = State::new(terms.setting);
    let codec = Codec::default();
    let mut records = Vec::new();
    grid.advance(START + 2 * HOUR, &[], &mut records);
    let mut arena = Arena::default();
    for (offset, record) in records.iter().enumerate() {
        let lane = Lane::new(record.topic, 0);
        let key = Some(record.key.as_slice());
        let event = codec.read(record.topic, key, record.value.as_deref(), &mut arena);
        if matches!(event, Event::Garbled(_)) {
            continue;
        }
        state.fold(lane, offset as u64, record.at, &event);
        arena.clear();
    }
    let mut flags = Vec::new();
    for topic in Topic::ALL.iter().filter(|topic| !topic.is_own()) {
        let flag = crate::core::output::progress::LaneFlags { at_end: true, ..Default::default() };
        flags.push((Lane::new(*topic, 0), flag));
    }
    state.close(&Closing { epoch: 1, number: 1, now: START + 2 * HOUR, flags });
    Ok(Engine::new(state, terms.policies))
}
