//! What the offsets that intake has committed show of its sources.
//!
//! A broker forgets offsets that were not committed again for `offsets.retention.minutes`. So each
//! offset carries, as its metadata, how many partitions of each source are committed: a partition
//! without an offset is then either new, or its offset was forgotten.

use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;

/// Longest metadata of an offset; bytes. Brokers take 4,096 by default.
const METADATA_MAX: usize = 4_000;

/// Where a partition was read to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Committed {
    /// Up to here.
    At(u64),
    /// It was read before, and the offset is gone.
    Lost,
    /// It was never read.
    Never,
}

/// The offsets of a group.
pub(super) struct Group {
    offsets: BTreeMap<(String, i32), u64>,
    /// By topic, how many partitions were committed.
    known: BTreeMap<String, usize>,
    /// Intake has published before.
    has_published: bool,
}

impl Group {
    /// By the answer of the broker.
    pub(super) fn new(answer: &TopicPartitionList, has_published: bool) -> Group {
        let (offsets, known) = (BTreeMap::new(), BTreeMap::new());
        let mut group = Group { offsets, known, has_published };
        for found in answer.elements() {
            if let Offset::Offset(at) = found.offset() {
                let at = u64::try_from(at).unwrap_or(0);
                group.note(found.topic(), found.partition(), at, found.metadata());
            }
        }
        group
    }

    fn note(&mut self, topic: &str, partition: i32, at: u64, metadata: &str) {
        self.offsets.insert((topic.to_owned(), partition), at);
        for word in metadata.split(' ') {
            let Some((topic, count)) = word.split_once('=') else { continue };
            let known = self.known.entry(topic.to_owned()).or_default();
            *known = count.parse().unwrap_or(0).max(*known);
        }
    }

    /// Where a partition was read to.
    pub(super) fn committed_at(&self, topic: &str, partition: i32) -> Committed {
        if let Some(at) = self.offsets.get(&(topic.to_owned(), partition)) {
            return Committed::At(*at);
        }
        let known = self.known.get(topic).copied().unwrap_or(0);
        let was_known = usize::try_from(partition).is_ok_and(|partition| partition < known);
        let all_gone = self.offsets.is_empty() && self.has_published;
        if was_known || all_gone { Committed::Lost } else { Committed::Never }
    }
}

/// The metadata of every offset: sources with how many partitions of each are committed.
pub(super) fn metadata<'a>(sources: impl Iterator<Item = (&'a str, usize)>) -> String {
    let mut text = String::new();
    for (topic, count) in sources {
        let word = format!("{topic}={count}");
        if text.len() + word.len() < METADATA_MAX {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(&word);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_partition_is_reported_from_one_whose_offset_is_gone() {
        let group = |offsets: &[(&str, i32, &str)], has_published| {
            let (offsets_of, known) = (BTreeMap::new(), BTreeMap::new());
            let mut group = Group { offsets: offsets_of, known, has_published };
            for (topic, partition, metadata) in offsets {
                group.note(topic, *partition, 7, metadata);
            }
            group
        };
        let text = metadata([("jobs", 3), ("transfers", 1)].into_iter());
        assert_eq!(text, "jobs=3 transfers=1");
        let one = group(&[("jobs", 1, &text)], true);
        assert_eq!(one.committed_at("jobs", 1), Committed::At(7));
        assert_eq!(one.committed_at("jobs", 2), Committed::Lost);
        assert_eq!(one.committed_at("jobs", 3), Committed::Never, "the topic has grown");
        assert_eq!(one.committed_at("transfers", 0), Committed::Lost);
        assert_eq!(one.committed_at("pilots", 0), Committed::Never, "a source that was added");
        // An earlier version committed without metadata, and only where something was read.
        assert_eq!(group(&[("jobs", 1, "")], true).committed_at("jobs", 0), Committed::Never);
        assert_eq!(group(&[], false).committed_at("jobs", 0), Committed::Never, "the first start");
        assert_eq!(group(&[], true).committed_at("jobs", 0), Committed::Lost, "all are gone");
    }

    #[test]
    fn metadata_is_no_longer_than_a_broker_takes() {
        let names: Vec<String> = (0..100).map(|it| format!("{it}{}", "x".repeat(200))).collect();
        let text = metadata(names.iter().map(|it| (it.as_str(), 10)));
        assert!((3_000..METADATA_MAX).contains(&text.len()), "{}", text.len());
    }
}
