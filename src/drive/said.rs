//! Decisions, throttles and cycles as they were read back.

use crate::core::cut::{Lane, Topic};
use crate::core::output::decision::{Decision, DecisionId};
use crate::core::output::progress::Progress;
use crate::core::output::throttle::{Throttle, ThrottleId};
use crate::core::unit::Millis;

/// A word of ours as it was said.
pub(super) struct Said {
    pub lane: Lane,
    pub offset: u64,
    /// Hash of the bytes without their framing.
    pub hash: u64,
    pub word: Word,
    pub bytes: Vec<u8>,
}

/// What is counted like any fact.
pub(super) enum Word {
    Decision(Box<Decision>),
    Throttle(Box<Throttle>),
}

impl Word {
    /// Epoch, cycle and now it was said at.
    pub fn moment(&self) -> (u64, u64, Millis) {
        match self {
            Word::Decision(it) => (it.epoch, it.cycle, it.now),
            Word::Throttle(it) => (it.epoch, it.cycle, it.now),
        }
    }

    /// The number of the cycle it was said in.
    pub fn cycle(&self) -> u64 {
        self.moment().1
    }

    /// Its number in that cycle, among those of its topic.
    pub fn number(&self) -> u32 {
        match self {
            Word::Decision(it) => it.number,
            Word::Throttle(it) => it.number,
        }
    }

    /// Whose it is.
    pub fn domain(&self) -> &str {
        match self {
            Word::Decision(it) => &it.domain,
            Word::Throttle(it) => &it.domain,
        }
    }

    /// Whether its id is the one that follows from its content.
    pub fn is_named_rightly(&self) -> bool {
        match self {
            Word::Decision(it) => {
                it.id == DecisionId::derive(&it.domain, &it.subject, it.attempt, it.ordinal)
            }
            Word::Throttle(it) => {
                it.id == ThrottleId::derive(&it.domain, &it.rule, &it.key(), it.ordinal)
            }
        }
    }

    /// The order in which words are made: cycle by cycle, decisions before throttles, by number.
    pub fn order(&self) -> (u64, Topic, u32) {
        match self {
            Word::Decision(it) => (it.cycle, Topic::Decision, it.number),
            Word::Throttle(it) => (it.cycle, Topic::Throttle, it.number),
        }
    }
}

/// A cycle as it was said.
pub(super) struct Cycle {
    pub progress: Progress,
    pub appended_at: Millis,
}
