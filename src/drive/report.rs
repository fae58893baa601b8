//! Report of a drive, for metrics and messages. Nothing here is read back by it.

use crate::stray::StrayCounts;
use std::collections::BTreeMap;
use yardmaster_core::budget::Exceeded;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Garbled;
use yardmaster_core::oddity::Oddity;
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::output::throttle::Throttle;
use yardmaster_core::unit::Millis;

/// Counts and events since the last report was taken.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Records folded, by topic.
    pub events: BTreeMap<Topic, u64>,
    /// Records that could not be read, by topic and reason.
    pub garbled: BTreeMap<(Topic, Garbled), u64>,
    /// Oddities.
    pub oddities: Vec<(Topic, Oddity, u64)>,
    /// Records on our own topics that are no outputs, by topic and by what is wrong with them.
    pub strays: StrayCounts,
    /// Outputs made and published, or read back and folded when following.
    pub outputs: Vec<Output>,
    /// Outputs of cycles that are confirmed, as they are written, in order; only where they are
    /// asked for.
    pub written: Vec<(Topic, Vec<u8>)>,
    /// The last cycle that is confirmed: published by us, or read back.
    pub confirmed: Option<u64>,
    /// Cycles closed.
    pub cycles: u64,
    /// Time spent folding; ns.
    pub fold_ns: u64,
    /// Time each decision took; ns.
    pub decision_ns: Vec<u64>,
    /// Time each cycle took, from the first record drawn to the last output written; ns.
    pub cycle_ns: Vec<u64>,
    /// Time each transaction took, from its first record to its commit; ns.
    pub commit_ns: Vec<u64>,
    /// Age of the newest record of each cycle that answered something, when it was committed; ms.
    pub latency_ms: Vec<Millis>,
    /// Time each checkpoint took to copy; ns.
    pub checkpoint_ns: Vec<u64>,
    /// Decisions and throttles made again: same, different, and not verifiable (of another engine
    /// revision, under a configuration this version cannot read, or of what the log no longer
    /// holds).
    pub verified: [u64; 3],
    /// Of those not verifiable: under a configuration this version cannot read.
    pub unread: u64,
    /// Decisions by the class of their task and by outcome, of tasks that have classes.
    pub classed: BTreeMap<[&'static str; 2], u64>,
    /// How often the budgets of cycles left work for later ones.
    pub exceeded: Exceeded,
    /// Where they differ, the first few.
    pub differences: Vec<String>,
    /// Notices for an operator.
    pub notices: Vec<String>,
}

impl Report {
    /// The decisions among the outputs.
    pub fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.outputs.iter().filter_map(Output::decision)
    }

    /// The throttles among the outputs.
    pub fn throttles(&self) -> impl Iterator<Item = &Throttle> {
        self.outputs.iter().filter_map(Output::throttle)
    }

    /// The commands among the outputs.
    pub fn commands(&self) -> impl Iterator<Item = &Command> {
        self.outputs.iter().filter_map(Output::command)
    }
}
