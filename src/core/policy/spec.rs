//! A policy as data: what a topology file has of it.

use super::param::{Arg, ListedStep, Rules};
use crate::unit::Millis;

/// A policy as listed in a topology file, before it is checked.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    /// Name by which tasks ask for it.
    pub name: String,
    /// Which built-in pipeline: the name of a [`super::Flavour`].
    pub kind: String,
    /// Whether its answers and throttles are only published, for people to see: nothing is
    /// reserved by them, and nothing held back.
    pub dry_run: bool,
    /// Which reading decides the defaults of all parameters.
    pub rules: Rules,
    /// Event that lets a deferred request be judged again.
    pub wake: Wake,
    /// How long a deferral lasts at most (spec atlas 2.7: 1 h).
    pub defer: Millis,
    /// Least time between two judgements of a request.
    pub dwell: Millis,
    /// Most queues in an answer (spec atlas 2.7: 10).
    pub candidates_max: u32,
    /// Jobs drawn to a queue at a time (spec atlas 2.7: 25).
    pub bunch: u32,
    /// The same for scouts (spec atlas 2.7: 2).
    pub bunch_scout: u32,
    /// The kind's own parameters that were given (`exclude_test` ...): every other key beside
    /// those above.
    pub args: Vec<(String, Arg)>,
    /// Filters, in order.
    pub filters: Vec<ListedStep>,
    /// Weights, in order.
    pub weights: Vec<ListedStep>,
}

/// Event that lets a deferred request be judged again before its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// As soon as an objection that blocked it disappears.
    Event,
    /// Nothing: the deadline alone.
    Timer,
}

impl Wake {
    /// Its name in a topology file.
    pub const fn name(self) -> &'static str {
        match self {
            Wake::Event => "event",
            Wake::Timer => "timer",
        }
    }

    /// The wake of a name.
    pub fn from_name(name: &str) -> Option<Wake> {
        [Wake::Event, Wake::Timer].into_iter().find(|wake| wake.name() == name)
    }
}
