//! The simulated grid after two hours, its queues repeated under other names until there are
//! enough.

use super::feed::close;
use crate::grid::{Facts, Grid, GridPlan, Unfit};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Event;
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::state::State;
use yardmaster_core::unit::{HOUR, Millis};
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_wire::avro::{Arena, Codec};

const START: Millis = 1_760_400_000_000;

/// An engine that has read all that the grid published, requests and load included.
///
/// # Errors
/// No grid can be made of so many queues.
pub fn engine(epoch_config: EpochConfig, queues: usize) -> Result<Engine, Unfit> {
    let facts = repeated(queues);
    let domain = epoch_config.setting.domain.clone();
    let plan = GridPlan {
        seed: 3,
        scale: 0.02,
        start: START,
        hours: 6,
        domain,
        facts,
        speed: 1,
        series: 0,
    };
    let mut grid = Grid::new(plan)?;
    let mut state = State::new(epoch_config.setting);
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
    let at_end = LaneFlags { at_end: true, ..LaneFlags::default() };
    let inputs = Topic::ALL.iter().filter(|topic| !topic.is_own());
    let flags = inputs.map(|topic| (Lane::new(*topic, 0), at_end)).collect();
    close(&mut state, START + 2 * HOUR, flags);
    Ok(Engine::new(state, epoch_config.policies))
}

/// The built-in grid with so many queues.
fn repeated(queues: usize) -> Facts {
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
    facts
}
