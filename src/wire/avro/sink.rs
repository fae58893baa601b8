//! Writing Avro's primitives. The bytes are a function of the values: arrays are one block.

use super::{MARKER, fingerprint};
use yardmaster_core::cut::Topic;

/// Bytes that a record is appended to.
#[derive(Debug)]
pub struct Sink<'a> {
    /// Where it goes.
    pub out: &'a mut Vec<u8>,
}

impl Sink<'_> {
    /// Begins a record of a topic: marker and fingerprint of our schema.
    pub fn begin(out: &mut Vec<u8>, topic: Topic) -> Sink<'_> {
        out.extend_from_slice(&MARKER);
        out.extend_from_slice(&fingerprint(topic).to_le_bytes());
        Sink { out }
    }

    /// A `long`.
    #[inline]
    pub fn long(&mut self, value: i64) {
        let mut folded = (value << 1 ^ value >> 63) as u64;
        while folded >= 0x80 {
            self.out.push(folded as u8 | 0x80);
            folded >>= 7;
        }
        self.out.push(folded as u8);
    }

    /// An `int`.
    pub fn int(&mut self, value: i32) {
        self.long(i64::from(value));
    }

    /// An amount as a `long`; what does not fit (8 EiB and more) is written as the largest that
    /// does.
    pub fn amount(&mut self, value: u64) {
        self.long(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// A count as a `long`.
    pub fn count(&mut self, value: u32) {
        self.long(i64::from(value));
    }

    /// A place in a list: an enum's symbol, a union's branch.
    pub fn index(&mut self, value: usize) {
        self.amount(value as u64);
    }

    /// A `boolean`.
    pub fn boolean(&mut self, value: bool) {
        self.out.push(u8::from(value));
    }

    /// A `float`, bit for bit.
    pub fn float(&mut self, value: f32) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    /// A `double`, bit for bit.
    pub fn double(&mut self, value: f64) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    /// A `bytes`.
    pub fn bytes(&mut self, value: &[u8]) {
        self.index(value.len());
        self.raw(value);
    }

    /// A `string`.
    pub fn string(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    /// Bytes as they are: a `fixed`.
    pub fn raw(&mut self, value: &[u8]) {
        self.out.extend_from_slice(value);
    }

    /// A union of null and something, null first.
    pub fn option<T>(&mut self, value: Option<T>, each: impl FnOnce(&mut Self, T)) {
        self.index(usize::from(value.is_some()));
        if let Some(value) = value {
            each(self, value);
        }
    }

    /// An array in one block.
    pub fn array<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        if !items.is_empty() {
            self.index(items.len());
            items.iter().for_each(|item| each(self, item));
        }
        self.index(0);
    }
}
