//! Unexpected records and values in the log: counted, harmless. No decision reads an oddity, and
//! none is in a digest or store, for they may depend on the order in which lanes were merged.

use crate::cut::Topic;

macro_rules! oddities {
    ($($variant:ident $text:literal $doc:literal,)*) => {
        /// A kind of oddity.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Oddity { $(#[doc = $doc] $variant,)* }

        impl Oddity {
            /// All kinds.
            pub const ALL: &'static [Oddity] = &[$(Oddity::$variant,)*];

            /// Its name in metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Oddity::$variant => $text,)* }
            }
        }
    };
}

oddities! {
    Stale "stale" "Older than what is known of the thing.",
    Repeated "repeated" "The same as what is known of the thing.",
    Backwards "backwards" "A state that may not follow the known one within an attempt.",
    AfterEnd "after_end" "A state after the end of its attempt.",
    UnknownJob "unknown_job" "A heartbeat of a job of which nothing else is known.",
    UnknownQueue "unknown_queue" "About a queue that is not configured.",
    TooLate "too_late" "About a thing that ended so long ago that it may have been forgotten.",
    FromTheFuture "from_the_future" "Ahead of its stamp beyond the limit; taken as of the stamp.",
    NameMeeting "name_meeting" "Two names with the same number; the later one has no effect.",
    UnknownDecision "unknown_decision" "An outcome of a decision that is not known.",
    UnknownCommand "unknown_command" "An outcome of a command that is not known.",
    OtherDomain "other_domain" "A request or answer of another domain.",
    BadValue "bad_value" "What cannot be; a figure is read as the nearest that can.",
    Garbled "garbled" "Bytes that could not be read.",
    KeyMismatch "key_mismatch" "Its key is not the one its content asks for; the content counts.",
    Evicted "evicted" "Forgotten before its time, since there were more than may be held.",
    BelowCut "below_cut" "Delivered again although it was counted.",
}

/// How often each kind was seen, by topic, since the counts were last taken.
#[derive(Clone, Debug, Default)]
pub struct Oddities {
    counts: Vec<u64>,
}

impl Oddities {
    /// Counts one.
    #[inline]
    pub fn count(&mut self, topic: Topic, oddity: Oddity) {
        if self.counts.is_empty() {
            self.counts = vec![0; Topic::ALL.len() * Oddity::ALL.len()];
        }
        self.counts[topic as usize * Oddity::ALL.len() + oddity as usize] += 1;
    }

    /// The counts that are not 0; all counts are 0 again then.
    pub fn take(&mut self) -> Vec<(Topic, Oddity, u64)> {
        let mut seen = Vec::new();
        for (at, count) in std::mem::take(&mut self.counts).into_iter().enumerate() {
            let (topic, oddity) = (at / Oddity::ALL.len(), at % Oddity::ALL.len());
            if count > 0 {
                seen.push((Topic::ALL[topic], Oddity::ALL[oddity], count));
            }
        }
        seen
    }
}
