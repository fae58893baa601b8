//! What the offsets that intake has committed show of its sources.
//!
//! A broker forgets offsets that were not committed again for `offsets.retention.minutes`. So each
//! offset carries, as its metadata, how many partitions of each source are committed: a partition
//! without an offset is then either new, or its offset was forgotten. And it keeps the offsets of a
//! topic that is deleted and created again: they carry its id.

use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;

/// Longest metadata of an offset; bytes. Brokers take 4,096 by default.
const METADATA_MAX: usize = 4_000;

/// Where a partition was read to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Committed {
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
pub(super) struct Group {
    /// By topic and partition, with the id that the topic had.
    offsets: BTreeMap<(String, i32), (u64, Option<String>)>,
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
        let mut id = None;
        for word in metadata.split(' ') {
            if let Some((name, count)) = word.split_once('=') {
                let known = self.known.entry(name.to_owned()).or_default();
                *known = count.parse().unwrap_or(0).max(*known);
            } else if let Some((name, text)) = word.split_once('#') {
                id = (name == topic).then(|| text.to_owned()).or(id);
            }
        }
        self.offsets.insert((topic.to_owned(), partition), (at, id));
    }

    /// Where a partition was read to of a topic that has this id now, if the broker gives one.
    pub(super) fn committed_at(&self, topic: &str, partition: i32, id: Option<&str>) -> Committed {
        if let Some((at, known)) = self.offsets.get(&(topic.to_owned(), partition)) {
            let other = known.as_ref().filter(|known| id.is_some_and(|id| id != *known));
            return other.map_or(Committed::At(*at), |known| Committed::Elsewhere(known.clone()));
        }
        let known = self.known.get(topic).copied().unwrap_or(0);
        let was_known = usize::try_from(partition).is_ok_and(|partition| partition < known);
        let all_gone = self.offsets.is_empty() && self.has_published;
        if was_known || all_gone { Committed::Lost } else { Committed::Never }
    }
}

/// What is known of a source whose partitions are all committed.
pub(super) struct Known<'a> {
    pub topic: &'a str,
    pub partitions: usize,
    pub id: Option<&'a str>,
}

/// The metadata of every offset: sources with how many partitions of each are committed, and ids.
pub(super) fn metadata<'a>(sources: impl Iterator<Item = Known<'a>>) -> String {
    let mut text = String::new();
    for Known { topic, partitions, id } in sources {
        // Earlier versions read the first word, and pass over the second.
        let id = id.map_or(String::new(), |id| format!(" {topic}#{id}"));
        let words = format!("{topic}={partitions}{id}");
        if text.len() + words.len() < METADATA_MAX {
            text.push_str(if text.is_empty() { "" } else { " " });
            text.push_str(&words);
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
        let source = |(topic, partitions, id)| Known { topic, partitions, id };
        let sources = [("jobs", 3, Some("it+/s")), ("transfers", 1, None)];
        let text = metadata(sources.into_iter().map(source));
        assert_eq!(text, "jobs=3 jobs#it+/s transfers=1");
        let one = group(&[("jobs", 1, &text)], true);
        let at = |group: &Group, topic, partition| group.committed_at(topic, partition, None);
        assert_eq!(at(&one, "jobs", 1), Committed::At(7));
        assert_eq!(at(&one, "jobs", 2), Committed::Lost);
        assert_eq!(at(&one, "jobs", 3), Committed::Never, "the topic has grown");
        assert_eq!(at(&one, "transfers", 0), Committed::Lost);
        assert_eq!(at(&one, "pilots", 0), Committed::Never, "a source that was added");
        // An earlier version committed without metadata, and only where something was read.
        let old = group(&[("jobs", 1, "")], true);
        assert_eq!(at(&old, "jobs", 0), Committed::Never);
        assert_eq!(at(&group(&[], false), "jobs", 0), Committed::Never, "the first start");
        assert_eq!(at(&group(&[], true), "jobs", 0), Committed::Lost, "all are gone");

        assert_eq!(one.committed_at("jobs", 1, Some("it+/s")), Committed::At(7));
        let other = Committed::Elsewhere("it+/s".to_owned());
        assert_eq!(one.committed_at("jobs", 1, Some("another")), other, "created again");
        assert_eq!(one.committed_at("jobs", 2, Some("another")), Committed::Lost);
        assert_eq!(
            old.committed_at("jobs", 1, Some("another")),
            Committed::At(7),
            "it was not kept"
        );
    }

    #[test]
    fn metadata_is_no_longer_than_a_broker_takes() {
        let names: Vec<String> = (0..100).map(|it| format!("{it}{}", "x".repeat(200))).collect();
        let source = |it| Known { topic: it, partitions: 10, id: Some("abcdefghijklmnopqrstuv") };
        let text = metadata(names.iter().map(|it| source(it.as_str())));
        assert!((3_000..METADATA_MAX).contains(&text.len()), "{}", text.len());
    }
}
