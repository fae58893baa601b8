//! Telling counters: those that changed, as absolute values, in the transaction of the cycle at
//! whose end they stood so.
//!
//! At the beginning of an epoch every counter that is not 0 is told, later what changed since they
//! were last told. A follower that counts a cycle in which counters were told knows that all its
//! own notes of changes are told too. A store is written only at a cycle where nothing is left to
//! tell, so no fall to 0 is forgotten in a restart.

use crate::core::changed::Changed;
use crate::core::cut::{Lane, Topic};
use crate::core::id::hash;
use crate::core::progress::Progress;
use crate::core::unit::Millis;
use crate::drive::port::{Log, Output, Store};
use crate::drive::{Drive, Role};

/// When a counter had the value that is told.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Domain.
    pub domain: &'a str,
    /// Epoch of the leader that tells it.
    pub epoch: u64,
    /// Number of the cycle.
    pub cycle: u64,
    /// The cycle's now.
    pub now: Millis,
}

/// Writes a counter as records of its topic: each a key and a value.
pub type WriteCounter = fn(&Changed<'_>, &Moment<'_>, &mut dyn FnMut(Vec<u8>, Vec<u8>));

/// How counters are told.
#[derive(Clone, Copy, Debug)]
pub struct Tell {
    /// Least time between two tellings; ms.
    pub interval: Millis,
    /// Whether they are told before every lane has caught up. They are what was read so far then:
    /// of use where one looks on while a log is worked off.
    pub is_early: bool,
    /// Their form.
    pub write: WriteCounter,
}

impl<L: Log, S: Store> Drive<L, S> {
    /// What is to be told at the end of this cycle. The last cycle tells everything, so that it can
    /// be kept.
    pub(super) fn counters(&mut self, is_last: bool) -> Vec<Output> {
        let Some(tell) = self.config.counters else { return Vec::new() };
        let Role::Leader(lead) = &mut self.role else { return Vec::new() };
        let state = &mut self.engine.state;
        let is_due = is_last || state.now - lead.told_at >= tell.interval;
        let is_blind = !lead.caught_up && !tell.is_early;
        if lead.counter_lanes == 0 || !is_due || is_blind {
            return Vec::new();
        }
        lead.told_at = state.now;
        let (lanes, domain) = (u64::from(lead.counter_lanes), state.setting.domain.as_str());
        let moment = Moment { domain, epoch: lead.epoch, cycle: state.number, now: state.now };
        let mut outputs = Vec::new();
        state.ledger.tell(&state.names, &mut |changed| {
            (tell.write)(&changed, &moment, &mut |key, value| {
                let lane = Lane::new(Topic::Counter, (hash(&key) % lanes) as u32);
                outputs.push(Output { lane, key, value: Some(value), headers: Vec::new() });
            });
        });
        outputs
    }

    /// A cycle was counted: what was told in it need not be told by us.
    pub(super) fn hear(&mut self, progress: &Progress) {
        if progress.outputs.iter().any(|(lane, _)| lane.topic == Topic::Counter) {
            let state = &mut self.engine.state;
            state.ledger.tell(&state.names, &mut |_| ());
        }
    }

    /// Whether a store may be written at this cycle.
    pub(super) fn is_told(&self) -> bool {
        self.config.counters.is_none() || self.engine.state.ledger.is_told()
    }
}
