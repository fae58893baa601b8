//! Records that intake is about to publish, their bytes one after the other. Reused: `clear` leaves
//! the memory.

use std::ops::Range;
use yardmaster_core::cut::Topic;

/// Headers of a record: name and value.
pub type Headers = Vec<(&'static str, String)>;

/// Records for one transaction, in their order.
#[derive(Clone, Debug, Default)]
pub struct Records {
    bytes: Vec<u8>,
    records: Vec<Record>,
}

#[derive(Clone, Debug)]
struct Record {
    topic: Topic,
    key: Range<usize>,
    value: Range<usize>,
    headers: Headers,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry<'a> {
    /// Topic of ours.
    pub topic: Topic,
    /// Key; it decides the partition.
    pub key: &'a [u8],
    /// Value; empty where what the key names is removed, which is published as null.
    pub value: &'a [u8],
    /// Headers; dead letters alone have any.
    pub headers: &'a [(&'static str, String)],
}

impl Records {
    /// Forgets the content, leaves the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.records.clear();
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The records in their order.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.records.iter().map(|record| Entry {
            topic: record.topic,
            key: &self.bytes[record.key.clone()],
            value: &self.bytes[record.value.clone()],
            headers: &record.headers,
        })
    }

    /// Appends a record whose value `write` appends.
    pub(super) fn push(&mut self, topic: Topic, key: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
        self.push_with(topic, key, Vec::new(), write);
    }

    /// The same with headers.
    pub(super) fn push_with(
        &mut self,
        topic: Topic,
        key: &[u8],
        headers: Headers,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        write(&mut self.bytes);
        let (key, value) = (start..middle, middle..self.bytes.len());
        self.records.push(Record { topic, key, value, headers });
    }
    /// Appends the removal of what a key names.
    pub(super) fn push_removal(&mut self, topic: Topic, key: &[u8]) {
        self.push(topic, key, |_| {});
    }
}
