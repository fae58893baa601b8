//! Index of the records in the tree, held in memory, so that a checkpoint becomes changes of the
//! tree without a look at it.

use super::frame::{self, FORMAT, Key, Seal};
use std::collections::BTreeMap;
use yardmaster_drive::port::Checkpoint;

/// The records in the tree with their checksums. Some ten bytes for each chunk of 32 KiB.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Sequence number of the last checkpoint; 0 before the first.
    pub(super) sequence: u64,
    /// Checksums of the delta chunks of each checkpoint that still has some.
    pub(super) deltas: BTreeMap<u64, Vec<u32>>,
    /// Checksums of the base pages.
    pub(super) bases: BTreeMap<u64, u32>,
    /// Counters by their readable key. The value is kept to write only what changed.
    pub(super) counters: BTreeMap<Vec<u8>, Counter>,
    /// Over all of them.
    pub(super) seal: Seal,
    /// Whether the format record is there.
    pub(super) formatted: bool,
}

/// A counter as last written.
#[derive(Debug)]
pub(super) struct Counter {
    pub(super) value: Vec<u8>,
    pub(super) checksum: u32,
}

/// The records that a checkpoint writes, by key, and those that it removes.
#[derive(Debug, Default)]
pub(super) struct RecordChanges(pub(super) BTreeMap<Vec<u8>, Option<Vec<u8>>>);

impl RecordChanges {
    fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.0.insert(key, Some(value));
    }

    fn remove(&mut self, key: Vec<u8>) {
        self.0.insert(key, None);
    }

    /// Bytes of the records that are written.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().flatten().map(Vec::len).sum()
    }

    /// How many records are written.
    pub(super) fn written(&self) -> u64 {
        self.0.values().flatten().count() as u64
    }
}

impl Index {
    /// Turns a checkpoint into the changes that write it, and remembers it as written.
    pub(super) fn changes(&mut self, checkpoint: Checkpoint) -> RecordChanges {
        let mut batch = RecordChanges::default();
        self.sequence += 1;
        if checkpoint.fresh {
            self.forget_all(&mut batch);
        } else {
            self.forget_deltas(&mut batch, self.sequence.saturating_sub(checkpoint.useful));
        }
        // Each goes as soon as it is copied: there may be a great deal.
        for (index, chunk) in (0u32..).zip(checkpoint.deltas) {
            let checksum = self.put(&mut batch, Key::Delta(self.sequence, index), &chunk);
            self.deltas.entry(self.sequence).or_default().push(checksum);
        }
        for (page, records) in checkpoint.bases {
            let checksum = self.put(&mut batch, Key::Base(page), &records);
            if let Some(old) = self.bases.insert(page, checksum) {
                self.seal.take(old);
            }
        }
        if let Some(counters) = checkpoint.counters {
            self.replace_counters(&mut batch, counters);
        }
        if !self.formatted {
            batch.insert(Key::Format.bytes(), frame::format_record(FORMAT));
            self.formatted = true;
        }
        let key = Key::Head.bytes();
        let parts = [&self.seal.bytes()[..], &checkpoint.head];
        let value = frame::frame(&key, self.sequence, &parts).0;
        batch.insert(key, value);
        batch
    }

    /// Writes a record and counts it into the seal.
    fn put(&mut self, batch: &mut RecordChanges, key: Key<'_>, payload: &[u8]) -> u32 {
        let key = key.bytes();
        let (value, checksum) = frame::frame(&key, self.sequence, &[payload]);
        batch.insert(key, value);
        self.seal.add(checksum);
        checksum
    }

    /// Removes the deltas of all checkpoints before `first`.
    fn forget_deltas(&mut self, batch: &mut RecordChanges, first: u64) {
        let useful = self.deltas.split_off(&first);
        for (sequence, checksums) in std::mem::replace(&mut self.deltas, useful) {
            for (index, checksum) in (0u32..).zip(checksums) {
                batch.remove(Key::Delta(sequence, index).bytes());
                self.seal.take(checksum);
            }
        }
    }

    /// Removes every record. What is written again after it under the same key stays.
    fn forget_all(&mut self, batch: &mut RecordChanges) {
        self.forget_deltas(batch, u64::MAX);
        for page in std::mem::take(&mut self.bases).into_keys() {
            batch.remove(Key::Base(page).bytes());
        }
        for text in std::mem::take(&mut self.counters).into_keys() {
            batch.remove(Key::Counter(&text).bytes());
        }
        self.seal = Seal::default();
    }

    /// Writes the counters that changed and removes those that are no more.
    fn replace_counters(&mut self, batch: &mut RecordChanges, list: Vec<(Vec<u8>, Vec<u8>)>) {
        let mut before = std::mem::take(&mut self.counters);
        let mut now = BTreeMap::new();
        for (text, value) in list {
            let counter = match before.remove(&text) {
                Some(old) if old.value == value => old,
                old => {
                    if let Some(old) = old {
                        self.seal.take(old.checksum);
                    }
                    let checksum = self.put(batch, Key::Counter(&text), &value);
                    Counter { value, checksum }
                }
            };
            if let Some(twice) = now.insert(text, counter) {
                self.seal.take(twice.checksum);
            }
        }
        for (text, old) in before {
            batch.remove(Key::Counter(&text).bytes());
            self.seal.take(old.checksum);
        }
        self.counters = now;
    }
}
