//! Outputs that every process folds: decisions, throttles, commands.

use crate::cut::Topic;
use crate::output::command::{Command, CommandKind};
use crate::output::decision::{Decision, Outcome};
use crate::output::throttle::{Action, Throttle};
use crate::unit::Millis;
use std::ops::{Deref, DerefMut};

/// What an output may be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A queue that jobs are sent to, or that it is about.
    Queue,
    /// A leaf share.
    Share,
    /// A user.
    User,
    /// A working group.
    Group,
    /// A task, or the subject of a request.
    Task,
    /// A job.
    Job,
    /// The policy or rule that gave it.
    Rule,
}

/// What outputs of every kind have, whatever their records are.
pub trait Folded {
    /// The topic it is published on.
    fn topic(&self) -> Topic;
    /// The record's key.
    fn key(&self) -> String;
    /// Subject of the output, for messages.
    fn title(&self) -> String;
    /// Subject of the output, as its record has it.
    fn subject(&self) -> String;
    /// Which output about its subject it is, from 1.
    fn ordinal(&self) -> u32;
    /// Epoch, cycle and now it was made at.
    fn moment(&self) -> (u64, u64, Millis);
    /// Its number in its cycle, among those of its topic, from 0.
    fn number(&self) -> u32;
    /// The domain whose leader made it.
    fn domain(&self) -> &str;
    /// Its id.
    fn id(&self) -> [u8; 16];
    /// Whether its id is the one that follows from its content.
    fn has_right_id(&self) -> bool;
    /// Whether it is only published, not to be carried out.
    fn is_dry_run(&self) -> bool;
    /// Name of its effect: assign, defer, reject; set, lift; kinds of commands.
    fn effect(&self) -> &'static str;
    /// The policy or rule that gave it.
    fn rule(&self) -> &str;
    /// Leaf share; empty where it is about none.
    fn gshare(&self) -> &str;
    /// User; empty where it is about none.
    fn user(&self) -> &str;
    /// Task; empty where it is about none.
    fn task(&self) -> &str;
    /// Queues that jobs are sent to, or that a command is about.
    fn queues(&self) -> Vec<&str>;
    /// Jobs that are sent or commanded.
    fn amount(&self) -> u64;
    /// Whether it is about something of a name.
    fn is_about(&self, what: About, name: &str) -> bool;
    /// The names under which it can be found; some may be empty.
    fn names(&self) -> Vec<&str>;
    /// Counts it as of an earlier moment than its cycle's now; its own times move with it.
    fn count_at(&mut self, now: Millis);

    /// The number of the cycle it was made in.
    fn cycle(&self) -> u64 {
        self.moment().1
    }

    /// The order in which outputs are made: cycle by cycle, topic by topic, by number.
    fn order(&self) -> (u64, Topic, u32) {
        (self.cycle(), self.topic(), self.number())
    }
}

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
