//! A copy of the state in portions, one in each turn of the loop, none of which takes long.

use std::time::{Duration, Instant};
use yardmaster_core::copy::CopyFor;
use yardmaster_core::state::State;
use yardmaster_core::state::snapshot::CopiedState;

/// How long a portion may take: the next one is smaller if one took longer.
const PORTION: Duration = Duration::from_micros(500);
/// Size of the first portion, and the smallest and largest of one; small records.
const FIRST: usize = 4_096;
const LEAST: usize = 64;
const MOST: usize = 8_192;

/// A copy under way.
#[derive(Debug)]
pub struct Portions {
    copy_for: CopyFor,
    /// Size of the next portion; small records.
    next: usize,
    took: Duration,
}

impl Portions {
    /// Begins a copy of the state as it is now. There must be none under way.
    pub fn begin(state: &mut State, copy_for: CopyFor) -> Portions {
        let began = Instant::now();
        state.begin_copy(copy_for);
        Portions { copy_for, next: FIRST, took: began.elapsed() }
    }

    /// Whether the state is the one that is being copied, and not another that took its place.
    pub fn is_of(&self, state: &State) -> bool {
        state.copying_for() == Some(self.copy_for)
    }

    /// How long the loop has copied so far.
    pub fn took(&self) -> Duration {
        self.took
    }

    /// Its purpose.
    pub fn copy_for(&self) -> CopyFor {
        self.copy_for
    }

    /// Copies a portion. Hands the copy over after the last one.
    pub fn copy(&mut self, state: &mut State) -> Option<Box<CopiedState>> {
        let began = Instant::now();
        let copied = state.copy_more(self.next);
        let took = began.elapsed();
        self.took += took;
        let next = if took > PORTION { self.next / 2 } else { self.next + self.next / 8 };
        self.next = next.clamp(LEAST, MOST);
        copied
    }
}
