//! Budgets of a cycle: a loop whose work has no bound of its own has a number as its budget. What
//! does not fit waits, and that it had to is counted.

use std::collections::BTreeMap;

macro_rules! loops {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// A loop of a cycle that has a budget.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum CycleLoop { $(#[doc = $doc] $variant,)* }

        impl CycleLoop {
            /// Every loop.
            pub const ALL: &'static [CycleLoop] = &[$(CycleLoop::$variant,)*];

            /// Its name in metrics.
            pub const fn name(self) -> &'static str {
                match self { $(CycleLoop::$variant => $name,)* }
            }
        }
    };
}

loops! {
    Records "records" "Records that are folded: `batch_records`.",
    Judgements "judgements" "Judgements: `judgements_per_cycle`.",
    Bytes "decision_bytes" "What decisions take: `decision_mb_per_cycle`.",
    Wakes "wakes" "Waiting requests that are evaluated: `wake_candidates_per_cycle`.",
    Throttles "throttles" "Throttles that are published: `throttles_per_cycle`.",
    Offers "offers" "Offers compared with kinds of jobs that wait: `pool_comparisons_per_cycle`.",
    Drains "drains"
        "Nodes and sites compared with jobs that fit nowhere: `pool_comparisons_per_cycle`.",
    Rebrokered "rebrokered_tasks"
        "Tasks judged for another queue: the governor's `rebrokered_tasks_per_cycle`.",
    Commands "commands" "Commands that are published: the governor's `commands_per_cycle`.",
}

/// In how many cycles the budget of each loop left work for later ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exceeded(BTreeMap<CycleLoop, u64>);

impl Exceeded {
    /// Notes that in one more cycle the budget of a loop left work, if it did.
    pub fn note(&mut self, of: CycleLoop, is_exceeded: bool) {
        if is_exceeded {
            *self.0.entry(of).or_default() += 1;
        }
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: Exceeded) {
        other.0.into_iter().for_each(|(of, cycles)| *self.0.entry(of).or_default() += cycles);
    }

    /// The loops that left work, with the number of cycles in which they did.
    pub fn iter(&self) -> impl Iterator<Item = (CycleLoop, u64)> {
        self.0.iter().map(|(of, cycles)| (*of, *cycles))
    }

    /// In how many cycles the budget of a loop left work.
    pub fn of(&self, of: CycleLoop) -> u64 {
        self.0.get(&of).copied().unwrap_or(0)
    }
}
