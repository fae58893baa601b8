//! What became of foreign messages, counted.

use crate::wire::dialect::Dialect;

macro_rules! outcomes {
    ($($variant:ident $text:literal $doc:literal,)*) => {
        /// What became of a foreign message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Taken { $(#[doc = $doc] $variant,)* }

        impl Taken {
            /// Every outcome.
            pub const ALL: &'static [Taken] = &[$(Taken::$variant,)*];

            /// Its name in metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Taken::$variant => $text,)* }
            }
        }
    };
}

outcomes! {
    Published "said" "It had something new, which was published.",
    Known "known" "It had nothing new: known before, or overtaken.",
    Ignored "ignored" "It is of a kind that intake has no use for, or a null.",
    DeadLetter "dead_letter" "It could not be read; it became a dead letter.",
}

/// Counts since this was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntakeCounts {
    counts: [[u64; Taken::ALL.len()]; Dialect::ALL.len()],
    /// Jobs that a limit kept from waiting for their task's facts, or that it made us forget.
    pub dropped: u64,
}

impl IntakeCounts {
    /// Adds one.
    pub(super) fn count(&mut self, dialect: Dialect, taken: Taken) {
        self.counts[dialect as usize][taken as usize] += 1;
    }

    /// Messages of a dialect with an outcome.
    pub fn of(&self, dialect: Dialect, taken: Taken) -> u64 {
        self.counts[dialect as usize][taken as usize]
    }

    /// Takes another's counts in.
    pub fn add(&mut self, other: &IntakeCounts) {
        for (sums, counts) in self.counts.iter_mut().zip(&other.counts) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        self.dropped += other.dropped;
    }
}
