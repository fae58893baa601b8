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

            /// The word for it in metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Taken::$variant => $text,)* }
            }
        }
    };
}

outcomes! {
    Said "said" "It said something new, and so did we.",
    Known "known" "It said nothing new: told before, or overtaken.",
    Ignored "ignored" "It is of a kind, or a null, that is no concern of ours.",
    DeadLetter "dead_letter" "Nobody could read it; it went to the dead letters.",
}

/// Counts since this was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [[u64; Taken::ALL.len()]; Dialect::ALL.len()],
    /// Jobs that a limit kept from waiting for their task's facts, or that it made us forget.
    pub dropped: u64,
}

impl Tally {
    /// Adds one.
    pub(super) fn count(&mut self, dialect: Dialect, taken: Taken) {
        self.counts[dialect as usize][taken as usize] += 1;
    }

    /// Messages of a dialect with an outcome.
    pub fn of(&self, dialect: Dialect, taken: Taken) -> u64 {
        self.counts[dialect as usize][taken as usize]
    }

    /// Takes another's counts in.
    pub fn add(&mut self, other: &Tally) {
        for (sums, counts) in self.counts.iter_mut().zip(&other.counts) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        self.dropped += other.dropped;
    }
}
