//! A state that is fed from memory, without a log: events at the next offset, cycles closed by
//! the caller.

use yardmaster_core::cut::Lane;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::Event;
use yardmaster_core::limits::Limits;
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::policy::Policy;
use yardmaster_core::state::close::Closing;
use yardmaster_core::state::{Setting, State};
use yardmaster_core::unit::Millis;
use yardmaster_wire::topology::Topology;

/// The setting of a domain in which no topic is ever silent for too long.
pub fn setting(domain: &str, limits: Limits) -> Setting {
    Setting { domain: domain.to_owned(), limits, ..Setting::default() }
}

/// An engine that knows nothing yet, with the policies and limits of a topology.
pub fn engine(topology: &Topology) -> Engine {
    // cannot fail: a topology that was read has policies that compile.
    let compile = |spec| Policy::compile(spec).expect("a topology's policies are right");
    let policies = topology.policies.iter().map(compile).collect();
    let setting = setting(&topology.domain, topology.limits.clone());
    Engine::new(State::new(setting), policies)
}

/// Folds an event at the next offset of a lane.
pub fn fold(state: &mut State, lane: Lane, appended_at: Millis, event: &Event<'_>) {
    let offset = state.next(lane);
    state.fold(lane, offset, appended_at, event);
}

/// Closes the next cycle of the first epoch.
pub fn close(state: &mut State, now: Millis, flags: Vec<(Lane, LaneFlags)>) {
    let number = state.number + 1;
    state.close(&Closing { epoch: 1, number, now, flags });
}

/// The same with every lane that was ever read at its end.
pub fn close_at_end(state: &mut State, now: Millis) {
    let at_end = LaneFlags { at_end: true, ..LaneFlags::default() };
    let flags = state.times.lanes.iter().map(|(lane, _)| (lane, at_end)).collect();
    close(state, now, flags);
}
