//! What intake is about to say, its bytes one after the other. Reused: `clear` keeps the memory.

use crate::core::cut::Topic;
use std::ops::Range;

/// Headers of a record: name and value.
pub type Headers = Vec<(&'static str, String)>;

/// Records for one transaction, in their order.
#[derive(Clone, Debug, Default)]
pub struct Words {
    bytes: Vec<u8>,
    words: Vec<Word>,
}

#[derive(Clone, Debug)]
struct Word {
    topic: Topic,
    key: Range<usize>,
    value: Range<usize>,
    headers: Headers,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spoken<'a> {
    /// Topic of ours.
    pub topic: Topic,
    /// Key; it decides the partition.
    pub key: &'a [u8],
    /// Value.
    pub value: &'a [u8],
    /// Headers; dead letters alone have any.
    pub headers: &'a [(&'static str, String)],
}

impl Words {
    /// Forgets the content, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.words.clear();
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The records in their order.
    pub fn iter(&self) -> impl Iterator<Item = Spoken<'_>> {
        self.words.iter().map(|word| Spoken {
            topic: word.topic,
            key: &self.bytes[word.key.clone()],
            value: &self.bytes[word.value.clone()],
            headers: &word.headers,
        })
    }

    /// Appends a record whose value `write` appends.
    pub(super) fn say(&mut self, topic: Topic, key: &[u8], write: impl FnOnce(&mut Vec<u8>)) {
        self.say_with(topic, key, Vec::new(), write);
    }

    /// The same with headers.
    pub(super) fn say_with(
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
        self.words.push(Word { topic, key, value, headers });
    }
}
