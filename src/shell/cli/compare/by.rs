//! Keys by which comparisons are grouped.

use clap::ValueEnum;
use std::collections::BTreeSet;
use yardmaster_core::comparison::{Comparison, Side, refusals};

/// Stands for a name that the client did not give.
const UNKNOWN: &str = "-";

/// Key by which comparisons are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum GroupKey {
    /// Leaf share of the task.
    Gshare,
    /// Queues for production or analysis.
    QueueType,
    /// Filter by which a side rejected a queue that the other chose: only comparisons with such a
    /// filter, and each in the group of every one.
    Filter,
    /// Queue that comes first: only comparisons in which a side assigns, in the groups of both
    /// sides' queues.
    Queue,
    /// Production source label.
    Label,
    /// Resource type of the task.
    ResourceType,
}

impl GroupKey {
    /// Its name on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether each comparison is in one group and in no other.
    pub fn is_partition(self) -> bool {
        matches!(
            self,
            GroupKey::Gshare | GroupKey::QueueType | GroupKey::Label | GroupKey::ResourceType
        )
    }

    /// The groups that a comparison is in.
    pub fn groups(self, comparison: &Comparison) -> BTreeSet<String> {
        let one =
            |name: &str| BTreeSet::from([if name.is_empty() { UNKNOWN } else { name }.to_owned()]);
        match self {
            GroupKey::Gshare => one(&comparison.gshare),
            GroupKey::QueueType => one(&comparison.queue_type),
            GroupKey::Label => one(&comparison.label),
            GroupKey::ResourceType => one(&comparison.resource_type),
            GroupKey::Queue => {
                let first = |side: Side| comparison.of(side).first().map(str::to_owned);
                Side::ALL.into_iter().filter_map(first).collect()
            }
            GroupKey::Filter => {
                let found = refusals(comparison);
                let filter = |it: &yardmaster_core::comparison::QueueRefusal<'_>| {
                    it.fate.map(|fate| format!("{}: {}", it.by.name(), fate.filter))
                };
                found.iter().filter_map(filter).collect()
            }
        }
    }
}
