//! Outputs that every process folds: decisions, throttles, commands.

use super::common::Folded;
use crate::cut::Topic;
use crate::output::command::{Command, CommandKind};
use crate::output::decision::{Decision, Outcome};
use crate::output::throttle::{Action, Throttle};
use std::ops::{Deref, DerefMut};

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

/// Passes all kinds of outputs to a macro, in the order in which a leader makes those of a cycle.
#[macro_export]
macro_rules! each_output {
    ($use:ident) => {
        $use! { Decision, Throttle, Command, }
    };
}
pub use each_output;

macro_rules! outputs {
    ($($kind:ident,)*) => {
        impl Output {
            /// Topics of all kinds, in their order.
            pub const TOPICS: &'static [Topic] = &[$(Topic::$kind,)*];
        }

        impl Deref for Output {
            type Target = dyn Folded;

            fn deref(&self) -> &Self::Target {
                match self { $(Output::$kind(it) => &**it,)* }
            }
        }

        impl DerefMut for Output {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self { $(Output::$kind(it) => &mut **it,)* }
            }
        }

        $(impl From<$kind> for Output {
            fn from(record: $kind) -> Output {
                Output::$kind(Box::new(record))
            }
        })*
    };
}
each_output!(outputs);

impl Output {
    /// Effects that outputs of a topic may have, as [`Folded::effect`] names them.
    pub fn effects(topic: Topic) -> Vec<&'static str> {
        match topic {
            Topic::Decision => Outcome::NAMES.to_vec(),
            Topic::Throttle => Action::ALL.map(Action::name).to_vec(),
            Topic::Command => CommandKind::ALL.map(CommandKind::name).to_vec(),
            _ => Vec::new(),
        }
    }

    /// The answer to a request, if it is one.
    pub fn decision(&self) -> Option<&Decision> {
        if let Output::Decision(it) = self { Some(it) } else { None }
    }

    /// The record by which an owner or task is throttled, or no longer, if it is one.
    pub fn throttle(&self) -> Option<&Throttle> {
        if let Output::Throttle(it) = self { Some(it) } else { None }
    }

    /// The order about jobs, if it is one.
    pub fn command(&self) -> Option<&Command> {
        if let Output::Command(it) = self { Some(it) } else { None }
    }
}
