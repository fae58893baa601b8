//! The history: counters and the figures of curves at stated intervals, every decision, throttle
//! and command, and what changed of facts, configuration and lead, kept in files beside the store
//! so that a look back does not read the log.
//!
//! It is a cache like the store. It holds what this process published or read back since it first
//! ran here, a rebuild fills it from the log, and what is missing in it (a process that was killed
//! loses what it had not written yet) is stated as a gap. The loop hands over copies; a thread of
//! its own writes, and questions are answered without the loop.

mod at_hand;
mod block;
mod changed;
mod figures;
mod files;
mod keeper;
mod look;
mod message;
mod open;
mod series;
mod writer;

pub use figures::{FIGURES, SeriesOf};
pub use files::{HistoryIdentity, Keeps};
pub use keeper::{Keeper, LoopPosition};
pub use look::{Counted, FoundOutputs, History, Reach, Search};
pub use series::{SeriesAsked, SeriesFound, SeriesPoint};

use yardmaster_core::cut::Topic;
use yardmaster_core::output::Output;

/// A number that orders all outputs, the same in every process: cycle, topic, number in the cycle.
/// Below 2^53 for some billions of cycles, so that JavaScript reads it as it is.
pub fn sequence(output: &Output) -> u64 {
    let topic = u64::from(code(output.topic()));
    let number = u64::from(output.number()).min((1 << NUMBER_BITS) - 1);
    output.cycle() << CYCLE_SHIFT | topic << NUMBER_BITS | number
}

/// Topics of outputs, by the number that stands for them in files and sequences.
const TOPICS: &[Topic] = Output::TOPICS;

/// The number that stands for a topic of outputs.
fn code(topic: Topic) -> u8 {
    TOPICS.iter().position(|it| *it == topic).unwrap_or(TOPICS.len()) as u8
}

/// Before the key of a queue at a glance, among the keys of counters.
const VIEW: &str = "view/";

/// Bits of an output's number within its cycle.
const NUMBER_BITS: u32 = 18;
/// Where a sequence has the cycle.
const CYCLE_SHIFT: u32 = NUMBER_BITS + 2;

/// The names under which an output can be found.
fn names(output: &Output) -> Vec<&str> {
    let mut names = output.names();
    names.retain(|name| !name.is_empty());
    names
}
