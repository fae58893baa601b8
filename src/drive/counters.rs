//! Publishing counters: those that changed, as absolute values, in the transaction of the cycle at
//! whose end they stood so.
//!
//! At the beginning of an epoch every counter that is not 0 is published, later what changed since.
//! They go out in slices of `counters_per_cycle`, so that no request waits for a long transaction.
//! `progress` shows of a slice whether it is the first or the last of all that had changed; after
//! the last one a standby clears its own notes from before the first. A store holds the notes of
//! counters that fell to 0, to which nothing else in it leads, so no fall to 0 is forgotten in a
//! restart.

use crate::port::{Log, OutputRecord, Store};
use crate::{Drive, Role};
use bytes::Bytes;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::id::hash;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::state::changed::Changed;
use yardmaster_core::unit::Millis;

/// When a counter had the value that is published.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Domain.
    pub domain: &'a str,
    /// Epoch of the leader that publishes it.
    pub epoch: u64,
    /// Number of the cycle.
    pub cycle: u64,
    /// The cycle's now.
    pub now: Millis,
}

/// Writes a counter as records of its topic: each a key and a value.
pub type WriteCounter = fn(&Changed<'_>, &Moment<'_>, &mut dyn FnMut(&[u8], &[u8]));

/// How counters are published.
#[derive(Clone, Copy, Debug)]
pub struct CounterPublishing {
    /// Least time between two tellings; ms.
    pub interval: Millis,
    /// Whether they are published before every lane has caught up. They are what was read so far
    /// then: of use where one looks on while a log is worked off.
    pub is_early: bool,
    /// Their form.
    pub write: WriteCounter,
}

/// Keys and values of one lane, one after the other: there are many, and each would else have two
/// blocks of memory of its own, made by one thread and freed by another.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    /// Where each key and each value ends.
    ends: Vec<(usize, usize)>,
}

impl Block {
    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    fn records(self, lane: Lane) -> impl Iterator<Item = OutputRecord> {
        let (bytes, mut start) = (Bytes::from(self.bytes), 0);
        self.ends.into_iter().map(move |(key_end, end)| {
            let (key, value) = (bytes.slice(start..key_end), Some(bytes.slice(key_end..end)));
            start = end;
            OutputRecord { lane, key, value, headers: Vec::new() }
        })
    }
}

impl<L: Log, S: Store> Drive<L, S> {
    /// The counters that go out with this cycle. Requests that found no place in it come first, for
    /// `publishing.interval` at most. The last cycle of a leader begins to publish all that
    /// changed.
    pub(super) fn counters(&mut self, progress: &mut Progress, is_last: bool) -> Vec<OutputRecord> {
        let Some(publishing) = self.config.counters else { return Vec::new() };
        let request_waits = self.engine.has_ready();
        let Role::Leader(lead) = &mut self.role else { return Vec::new() };
        let state = &mut self.engine.state;
        let is_blind = !lead.caught_up && !publishing.is_early;
        let gives_way =
            request_waits && state.now - lead.counters_at < publishing.interval && !is_last;
        if lead.counter_lanes == 0 || is_blind || gives_way {
            return Vec::new();
        }
        let begun_at = lead.counters_begun_at;
        let is_due = is_last || begun_at.is_none_or(|at| state.now - at >= publishing.interval);
        // What an earlier leader left unpublished belongs to our first.
        let goes_on = begun_at.is_some() && state.ledger.is_publishing() && !is_last;
        progress.counters_continue = goes_on;
        if !goes_on {
            if !is_due {
                return Vec::new();
            }
            lead.counters_begun_at = Some(state.now);
            state.ledger.begin_publishing();
        }
        lead.counters_at = state.now;
        let (lanes, domain) = (u64::from(lead.counter_lanes), state.setting.domain.as_str());
        let moment = Moment { domain, epoch: lead.epoch, cycle: state.number, now: state.now };
        let mut blocks: Vec<Block> = (0..lanes).map(|_| Block::default()).collect();
        let most = state.setting.limits.counters_per_cycle;
        state.ledger.publish(most, &state.names, &mut |changed| {
            (publishing.write)(&changed, &moment, &mut |key, value| {
                blocks[(hash(key) % lanes) as usize].push(key, value);
            });
        });
        progress.counters_follow = state.ledger.is_publishing();
        let numbered = (0..).zip(blocks);
        numbered.flat_map(|(lane, block)| block.records(Lane::new(Topic::Counter, lane))).collect()
    }

    /// Whether counters that changed wait for the next cycle.
    pub(super) fn has_counters(&self) -> bool {
        self.engine.state.ledger.is_publishing() && self.has_published()
    }

    /// A cycle was counted: what was published with it, and before, need not be published by us.
    pub(super) fn note_cycle(&mut self, progress: &Progress) {
        if progress.outputs.iter().any(|(lane, _)| lane.topic == Topic::Counter) {
            let ledger = &mut self.engine.state.ledger;
            if !progress.counters_continue {
                ledger.begin_publishing();
            }
            if !progress.counters_follow {
                ledger.end_publishing();
            }
        }
    }
}
