//! Records on our own topics that are no output of a cycle: counted, named, and passed over.

use std::collections::BTreeMap;
use yardmaster_core::cut::{Lane, Topic};

/// Strays of a topic that are named one by one; further ones are counted only.
const NAMED_MAX: u32 = 10;

/// Reason why a record on one of our own topics is no output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stray {
    /// It is no record of this topic, or a null.
    Unreadable,
    /// It states a cycle of this domain and is none of its outputs: a copy, or from somebody else.
    Surplus,
}

impl Stray {
    /// Both.
    pub const ALL: [Stray; 2] = [Stray::Unreadable, Stray::Surplus];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Stray::Unreadable => "unreadable",
            Stray::Surplus => "surplus",
        }
    }
}

/// Counts of strays, by topic and by what is wrong.
pub type StrayCounts = BTreeMap<(Topic, Stray), u64>;

/// Strays since they were last asked for.
#[derive(Default)]
pub(super) struct Strays {
    counts: StrayCounts,
    notices: Vec<String>,
    /// How many were named since the start, by topic.
    named: BTreeMap<Topic, u32>,
    /// How many could not be read since the start, over all topics.
    pub unreadable: u64,
}

impl Strays {
    /// Counts a stray, and names it if it is among the first of its topic.
    pub fn note(&mut self, lane: Lane, offset: u64, stray: Stray, why: &str) {
        *self.counts.entry((lane.topic, stray)).or_default() += 1;
        self.unreadable += u64::from(stray == Stray::Unreadable);
        let named = self.named.entry(lane.topic).or_default();
        *named += 1;
        if *named <= NAMED_MAX {
            self.notices.push(format!(
                "{lane} offset {offset}: {why}; the record is passed over. Only yardmaster may \
                 write to this topic: find out who else did (kafka-acls.sh takes the right away)"
            ));
        }
        if *named == NAMED_MAX {
            let topic = lane.topic.name();
            self.notices.push(format!(
                "topic {topic}: further records of this kind are counted and not named \
                 (metric yardmaster_stray_records_total)"
            ));
        }
    }

    /// Counts and messages since this was last called.
    pub fn take(&mut self) -> (StrayCounts, Vec<String>) {
        (std::mem::take(&mut self.counts), std::mem::take(&mut self.notices))
    }
}
