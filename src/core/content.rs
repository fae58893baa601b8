//! The content of a record as bytes: what breaks ties between two versions of a record, and what
//! the digest is taken of.
//!
//! The order of two records is that of their bytes: field by field in the order that `record!`
//! lists for the type, numbers by value, texts by their bytes, `None` before all else, a list
//! before a longer one that begins with it. The names of types and fields are no part of it.

use crate::record::{Encode, Encoder};

/// The bytes of a record's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Content(pub Vec<u8>);

/// Ends a text; a zero byte within one is followed by `ESCAPE`.
const END: [u8; 2] = [0, 0];
/// Stands behind a zero byte within a text.
const ESCAPE: u8 = 0xff;

/// The content of a record.
pub fn content_of<T: Encode + ?Sized>(of: &T) -> Content {
    let mut content = Content::default();
    of.encode(&mut content);
    content
}

impl Encoder for Content {
    const IS_CONTENT: bool = true;

    /// A zero byte within it is followed by `ESCAPE`.
    fn text(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0.push(byte);
            if byte == 0 {
                self.0.push(ESCAPE);
            }
        }
        self.0.extend(END);
    }

    /// The larger it is, the larger its bytes.
    fn long(&mut self, number: i64) {
        self.0.extend((number as u64 ^ 1 << 63).to_be_bytes());
    }

    fn amount(&mut self, amount: u64) {
        self.0.extend(amount.to_be_bytes());
    }

    fn word(&mut self, word: u64) {
        self.amount(word);
    }

    /// By IEEE's total order, in which 0 comes after -0.
    fn number(&mut self, number: f64) {
        let bits = number.to_bits();
        let ordered = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
        self.0.extend(ordered.to_be_bytes());
    }

    fn boolean(&mut self, value: bool) {
        self.long(i64::from(value));
    }

    fn symbol(&mut self, place: usize) {
        self.long(place as i64);
    }

    fn present(&mut self, is_present: bool) {
        self.0.push(u8::from(is_present));
    }

    fn items(&mut self, _: usize) {}

    fn item(&mut self) {
        self.0.push(1);
    }

    fn end(&mut self) {
        self.0.push(0);
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_ordered_as_values_are() {
        fn ascending<T: Encode>(values: &[T]) {
            let all: Vec<Content> = values.iter().map(content_of).collect();
            assert!(all.windows(2).all(|two| two[0] < two[1]), "{all:?}");
        }
        ascending(&[i64::MIN, -1, 0, 1, i64::MAX]);
        ascending(&[0, 1, u64::MAX]);
        ascending(&[i128::MIN, -1 << 64, -1, 0, 1, 1 << 63, 1 << 64, i128::MAX]);
        ascending(&[f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.5, f64::INFINITY, f64::NAN]);
        ascending(&["", "\0", "\0a", "a", "a\0", "a\0b", "aa", "b"]);
        ascending(&[None, Some(-1), Some(0)]);
        ascending(&[vec![], vec![1], vec![1, 1], vec![2]]);
        ascending(&[("a", 2), ("a", 3), ("ab", 1)]);
    }
}
