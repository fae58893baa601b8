//! Topics, lanes and cuts: where a record stands in the log, and how far the log has been read.

use std::collections::BTreeMap;

macro_rules! topics {
    ($($variant:ident = $number:literal $text:literal,)*) => {
        /// A kind of topic. The name on the bus comes from the topology file; these are the
        /// words for it everywhere else. The numbers are persisted: never give one again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Topic { $(#[doc = $text] $variant = $number,)* }

        impl Topic {
            /// Every topic there is, in order of their numbers.
            pub const ALL: &'static [Topic] = &[$(Topic::$variant,)*];

            /// The word for it: its schema, its default name on the bus, its metric label.
            pub const fn name(self) -> &'static str {
                match self { $(Topic::$variant => $text,)* }
            }
        }
    };
}

topics! {
    JobState = 0 "job-state",
    Heartbeat = 1 "heartbeat",
    Transfer = 2 "transfer",
    Pilot = 3 "pilot",
    Task = 4 "task",
    Outcome = 5 "outcome",
    Queue = 6 "queue",
    Site = 7 "site",
    Storage = 8 "storage",
    Link = 9 "link",
    Release = 10 "release",
    Replica = 11 "replica",
    Share = 12 "share",
    Quota = 13 "quota",
    User = 14 "user",
    Parameter = 15 "parameter",
    Decision = 16 "decision",
    Throttle = 17 "throttle",
    Command = 18 "command",
    Progress = 19 "progress",
    Counter = 20 "counter",
    DeadLetter = 21 "dead-letter",
}

impl Topic {
    /// The topic of a word.
    pub fn from_name(name: &str) -> Option<Topic> {
        Topic::ALL.iter().copied().find(|topic| topic.name() == name)
    }

    /// The topic of a persisted number.
    pub fn from_number(number: u8) -> Option<Topic> {
        Topic::ALL.get(usize::from(number)).copied()
    }

    /// Said by us.
    pub fn is_own(self) -> bool {
        self >= Topic::Decision
    }

    /// Said by us, and read back by us: all of it but counters, which are a function of the rest.
    pub fn is_read_back(self) -> bool {
        self.is_own() && self != Topic::Counter
    }

    /// Said by us and counted like any fact: answers, and who is held as a whole.
    pub fn is_word(self) -> bool {
        matches!(self, Topic::Decision | Topic::Throttle)
    }

    /// Slowly changing facts: a null removes one, and silence is no sign of trouble.
    pub fn is_config(self) -> bool {
        (Topic::Queue..=Topic::Parameter).contains(&self)
    }
}

/// One partition of one topic: an ordered strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The topic.
    pub topic: Topic,
    /// The partition, counted from 0.
    pub partition: u32,
}

impl Lane {
    /// A lane by its two parts.
    pub const fn new(topic: Topic, partition: u32) -> Lane {
        Lane { topic, partition }
    }
}

impl std::fmt::Display for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]", self.topic.name(), self.partition)
    }
}

/// Per lane, the next offset to read: "as of", in space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut(pub BTreeMap<Lane, u64>);

impl Cut {
    /// The next offset to read in a lane; `None` when nothing was read there.
    pub fn next(&self, lane: Lane) -> Option<u64> {
        self.0.get(&lane).copied()
    }

    /// Moves a lane forward; never back.
    pub fn advance(&mut self, lane: Lane, next: u64) {
        let entry = self.0.entry(lane).or_insert(next);
        *entry = (*entry).max(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_have_their_numbers_and_names() {
        for (index, topic) in Topic::ALL.iter().enumerate() {
            assert_eq!(*topic as usize, index);
            assert_eq!(Topic::from_name(topic.name()), Some(*topic));
            assert_eq!(Topic::from_number(index as u8), Some(*topic));
        }
        assert_eq!(Topic::from_number(22), None);
    }
}
