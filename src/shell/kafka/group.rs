//! State of intake's sources as the offsets show that intake has committed.
//!
//! A broker forgets offsets that were not committed again for `offsets.retention.minutes`. So each
//! offset carries, as its metadata, how many partitions of each source are committed: a partition
//! without an offset is then either new, or its offset was forgotten. The offsets of a topic that
//! is deleted and created again are forgotten some time later, or kept where they are committed
//! meanwhile: so each carries the topic's id.

use rdkafka::{Offset, TopicPartitionList};
use std::collections::{BTreeMap, BTreeSet};

/// Longest metadata of an offset; bytes. Brokers take 4,096 by default.
const METADATA_MAX: usize = 4_000;

/// Where a partition was read to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommittedOffset {
    /// Up to here.
    At(u64),
    /// It was read when the topic had this id. That one is gone.
    Elsewhere(String),
    /// It was read before, and the offset is gone.
    Lost,
    /// It was never read.
    Never,
}

/// The offsets of a group.
#[derive(Default)]
pub(super) struct Group {
    offsets: BTreeMap<(String, i32), u64>,
    /// By topic, the ids that it had.
    ids: BTreeMap<String, BTreeSet<String>>,
    /// By topic, how many partitions were committed.
    known: BTreeMap<String, usize>,
    /// Intake has published before.
    has_published: bool,
}

impl Group {
    /// By the answer of the broker.
    pub(super) fn new(answer: &TopicPartitionList, has_published: bool) -> Group {
        let mut group = Group { has_published, ..Group::default() };
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
            if let Some((name, count)) = word.split_once('=') {
                let known = self.known.entry(name.to_owned()).or_default();
                *known = count.parse().unwrap_or(0).max(*known);
            } else if let Some(id) = word.strip_prefix('#') {
                self.ids.entry(topic.to_owned()).or_default().insert(id.to_owned());
            }
        }
    }

    /// Where a partition was read to of a topic that has this id now, if the broker gives one.
    pub(super) fn committed_at(
        &self,
        topic: &str,
        partition: i32,
        id: Option<&str>,
    ) -> CommittedOffset {
        // One partition is enough: those that did not move since have no other sign.
        let ids = self.ids.get(topic).into_iter().flatten();
        let mut others = ids.filter(|known| id.is_some_and(|id| id != *known));
        if let Some(other) = others.next() {
            return CommittedOffset::Elsewhere(other.clone());
        }
        if let Some(at) = self.offsets.get(&(topic.to_owned(), partition)) {
            return CommittedOffset::At(*at);
        }
        let known = self.known.get(topic).copied().unwrap_or(0);
        let was_known = usize::try_from(partition).is_ok_and(|partition| partition < known);
        let all_gone = self.offsets.is_empty() && self.has_published;
        if was_known || all_gone { CommittedOffset::Lost } else { CommittedOffset::Never }
    }
}

/// The metadata of the offsets of a source: its topic's id, if the broker gives one, and of all
/// sources whose partitions are all committed how many these are.
pub(super) fn metadata<'a>(
    id: Option<&str>,
    sources: impl Iterator<Item = (&'a str, usize)>,
) -> String {
    // Earlier versions pass over the first word.
    let mut text = id.map_or(String::new(), |id| format!("#{id}"));
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
            let mut group = Group { has_published, ..Group::default() };
            for (topic, partition, metadata) in offsets {
                group.note(topic, *partition, 7, metadata);
            }
            group
        };
        let sources = [("jobs", 3), ("transfers", 1)];
        let text = metadata(Some("it+/s"), sources.into_iter());
        assert_eq!(text, "#it+/s jobs=3 transfers=1");
        let one = group(&[("jobs", 1, &text)], true);
        let at = |group: &Group, topic, partition| group.committed_at(topic, partition, None);
        assert_eq!(at(&one, "jobs", 1), CommittedOffset::At(7));
        assert_eq!(at(&one, "jobs", 2), CommittedOffset::Lost);
        assert_eq!(at(&one, "jobs", 3), CommittedOffset::Never, "the topic has grown");
        assert_eq!(at(&one, "transfers", 0), CommittedOffset::Lost);
        assert_eq!(at(&one, "pilots", 0), CommittedOffset::Never, "a source that was added");
        // An earlier version committed without metadata, and only where something was read.
        let old = group(&[("jobs", 1, "")], true);
        assert_eq!(at(&old, "jobs", 0), CommittedOffset::Never);
        assert_eq!(at(&group(&[], false), "jobs", 0), CommittedOffset::Never, "the first start");
        assert_eq!(at(&group(&[], true), "jobs", 0), CommittedOffset::Lost, "all are gone");

        assert_eq!(one.committed_at("jobs", 1, Some("it+/s")), CommittedOffset::At(7));
        let other = CommittedOffset::Elsewhere("it+/s".to_owned());
        for partition in 0..4 {
            assert_eq!(one.committed_at("jobs", partition, Some("another")), other);
        }
        assert_eq!(one.committed_at("transfers", 0, Some("another")), CommittedOffset::Lost);
        // Not all partitions moved since.
        let both = group(&[("jobs", 0, ""), ("jobs", 1, "#one"), ("jobs", 2, "#other")], true);
        let one = CommittedOffset::Elsewhere("one".to_owned());
        assert_eq!(both.committed_at("jobs", 0, Some("other")), one);
        assert_eq!(
            old.committed_at("jobs", 1, Some("another")),
            CommittedOffset::At(7),
            "it was not kept"
        );
    }

    #[test]
    fn metadata_is_no_longer_than_a_broker_takes() {
        let names: Vec<String> = (0..100).map(|it| format!("{it}{}", "x".repeat(200))).collect();
        let text = metadata(Some("id"), names.iter().map(|it| (it.as_str(), 10)));
        assert!((3_000..METADATA_MAX).contains(&text.len()), "{}", text.len());
    }
}
