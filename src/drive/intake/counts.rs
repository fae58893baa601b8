//! Counts of foreign messages by their outcome.

use yardmaster_wire::dialect::Dialect;

macro_rules! outcomes {
    ($(#[$mark:meta])* $name:ident: $($variant:ident $text:literal $doc:literal,)*) => {
        $(#[$mark])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $(#[doc = $doc] $variant,)* }

        impl $name {
            /// Every outcome.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Its name in metrics.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

outcomes! {
    /// Outcome of a foreign message.
    Taken:
    Published "published" "It had something new, which was published.",
    Known "known" "It had nothing new: known before, or overtaken.",
    Ignored "ignored" "It is of a kind that intake has no use for, or a null.",
    DeadLetter "dead_letter" "It could not be read; it became a dead letter.",
}

outcomes! {
    /// Further effect of a change message, or the reason why it had nothing new.
    Noted:
    Repeated "repeated" "A change that was sent again: its position was passed.",
    Equal "equal" "A row that is as it was, by all that is published of it.",
    Overtaken "overtaken" "A row of an attempt that is older, or that ended already.",
    EndedByDelete "ended_by_delete" "A job whose row was deleted and not inserted again.",
    EndedBySnapshot "ended_by_snapshot" "A job that a complete snapshot does not have.",
    KeptAfterSnapshot "kept_after_snapshot"
        "A job that a complete snapshot does not have, nor any other of its table: it stays.",
    Returned "returned" "A job that was over and is there again: its row came back, or its id was \
        given again.",
    Restored "restored" "A partition whose database was restored: another era begins.",
    ColumnMissing "column_missing"
        "A row without a column that is read: it was renamed or dropped, or is not captured.",
}

/// Counts since this was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntakeCounts {
    counts: [[u64; Taken::ALL.len()]; Dialect::ALL.len()],
    noted: [u64; Noted::ALL.len()],
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

    /// Adds to what change messages brought about.
    pub(super) fn note(&mut self, noted: Noted, count: u64) {
        self.noted[noted as usize] += count;
    }

    /// How often change messages brought something about.
    pub fn noted(&self, noted: Noted) -> u64 {
        self.noted[noted as usize]
    }

    /// Takes another's counts in.
    pub fn add(&mut self, other: &IntakeCounts) {
        for (sums, counts) in self.counts.iter_mut().zip(&other.counts) {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        self.noted.iter_mut().zip(&other.noted).for_each(|(sum, count)| *sum += count);
        self.dropped += other.dropped;
    }
}
