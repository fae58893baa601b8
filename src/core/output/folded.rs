//! Outputs that every process folds: decisions, throttles, commands.

use crate::cut::Topic;
use crate::output::command::{Command, CommandId};
use crate::output::decision::{Decision, DecisionId};
use crate::output::throttle::{Throttle, ThrottleId};
use crate::unit::Millis;

/// An output that counts like any event. A leader makes those of a cycle in the order of the
/// variants, those of one variant in the order of their numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// The answer to a request.
    Decision(Box<Decision>),
    /// An owner or task is throttled, or no longer.
    Throttle(Box<Throttle>),
    /// Something is to be done to jobs.
    Command(Box<Command>),
}

impl Output {
    /// The topic it is published on.
    pub fn topic(&self) -> Topic {
        match self {
            Output::Decision(_) => Topic::Decision,
            Output::Throttle(_) => Topic::Throttle,
            Output::Command(_) => Topic::Command,
        }
    }

    /// The record's key.
    pub fn key(&self) -> String {
        match self {
            Output::Decision(it) => it.subject.clone(),
            Output::Throttle(it) => it.key(),
            Output::Command(it) => it.key(),
        }
    }

    /// Subject of the output, for messages.
    pub fn subject(&self) -> String {
        match self {
            Output::Decision(it) => it.subject.clone(),
            Output::Throttle(it) => it.name(),
            Output::Command(it) => format!("{} {}", it.rule, it.subject),
        }
    }

    /// Which output about its subject it is, from 1.
    pub fn ordinal(&self) -> u32 {
        match self {
            Output::Decision(it) => it.ordinal,
            Output::Throttle(it) => it.ordinal,
            Output::Command(it) => it.repeat.saturating_add(1),
        }
    }

    /// Epoch, cycle and now it was made at.
    pub fn moment(&self) -> (u64, u64, Millis) {
        match self {
            Output::Decision(it) => (it.epoch, it.cycle, it.now),
            Output::Throttle(it) => (it.epoch, it.cycle, it.now),
            Output::Command(it) => (it.epoch, it.cycle, it.now),
        }
    }

    /// The number of the cycle it was made in.
    pub fn cycle(&self) -> u64 {
        self.moment().1
    }

    /// Its number in that cycle, among those of its topic, from 0.
    pub fn number(&self) -> u32 {
        match self {
            Output::Decision(it) => it.number,
            Output::Throttle(it) => it.number,
            Output::Command(it) => it.number,
        }
    }

    /// The domain whose leader made it.
    pub fn domain(&self) -> &str {
        match self {
            Output::Decision(it) => &it.domain,
            Output::Throttle(it) => &it.domain,
            Output::Command(it) => &it.domain,
        }
    }

    /// Whether its id is the one that follows from its content.
    pub fn has_right_id(&self) -> bool {
        match self {
            Output::Decision(it) => {
                let Decision { id, domain, subject, attempt, ordinal, .. } = &**it;
                // Before engine revision 8 an answer to an offer was named as one to a job.
                *id == DecisionId::derive(domain, subject, *attempt, *ordinal)
                    || it.answers_offer()
                        && *id == DecisionId::of_offer(domain, subject, *attempt, *ordinal)
            }
            Output::Throttle(it) => {
                it.id == ThrottleId::derive(&it.domain, &it.rule, &it.key(), it.ordinal)
            }
            Output::Command(it) => {
                let of = (it.attempt, it.clock_at);
                it.id == CommandId::derive(&it.domain, &it.rule, &it.subject, of.0, of.1)
            }
        }
    }

    /// The order in which outputs are made: cycle by cycle, topic by topic, by number.
    pub fn order(&self) -> (u64, Topic, u32) {
        (self.cycle(), self.topic(), self.number())
    }
}

impl From<Decision> for Output {
    fn from(decision: Decision) -> Output {
        Output::Decision(Box::new(decision))
    }
}

impl From<Throttle> for Output {
    fn from(throttle: Throttle) -> Output {
        Output::Throttle(Box::new(throttle))
    }
}

impl From<Command> for Output {
    fn from(command: Command) -> Output {
        Output::Command(Box::new(command))
    }
}
