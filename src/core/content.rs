//! The content of a record as bytes: what breaks ties between two versions of a record, and what
//! the digest is taken of.
//!
//! The order of two records is that of their bytes: field by field in the order that `content!`
//! lists for the type, numbers by value, texts by their bytes, `None` before all else, a list
//! before a longer one that begins with it. The names of types and fields are no part of it.

use crate::cut::Lane;
use crate::id::Key;

/// The bytes of a record's content.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Content(pub Vec<u8>);

/// Ends a text; a zero byte within one is followed by [`ESCAPE`].
const END: [u8; 2] = [0, 0];
/// Stands behind a zero byte within a text.
const ESCAPE: u8 = 0xff;

/// What has content.
pub trait Contained {
    /// Appends the content.
    fn put(&self, to: &mut Content);
}

/// The content of a record.
pub fn content_of<T: Contained + ?Sized>(of: &T) -> Content {
    let mut content = Content::default();
    of.put(&mut content);
    content
}

/// Lists the fields that are a type's content, in order. All fields must be listed: one that is
/// new and not listed does not compile.
///
/// `content!(Pair { a, b });` stands for
///
/// ```text
/// impl Contained for Pair {
///     fn put(&self, to: &mut Content) {
///         let Pair { a, b } = self;
///         a.put(to);
///         b.put(to);
///     }
/// }
/// ```
macro_rules! content {
    ($kind:ident { $($field:ident),* $(,)? }) => {
        impl $crate::content::Contained for $kind {
            fn put(&self, to: &mut $crate::content::Content) {
                let $kind { $($field),* } = self;
                $($crate::content::Contained::put($field, to);)*
            }
        }
    };
    ($kind:ident($field:ident)) => {
        impl $crate::content::Contained for $kind {
            fn put(&self, to: &mut $crate::content::Content) {
                let $kind($field) = self;
                $crate::content::Contained::put($field, to);
            }
        }
    };
}

/// Enums whose content is their number.
macro_rules! content_by_number {
    ($($kind:ty),* $(,)?) => {
        $(impl $crate::content::Contained for $kind {
            fn put(&self, to: &mut $crate::content::Content) {
                to.number(*self as i64);
            }
        })*
    };
}

pub(crate) use {content, content_by_number};

impl Content {
    /// Appends a number: the larger it is, the larger its bytes.
    pub fn number(&mut self, number: i64) {
        self.0.extend((number as u64 ^ 1 << 63).to_be_bytes());
    }

    /// Appends a number without a sign.
    pub fn amount(&mut self, amount: u64) {
        self.0.extend(amount.to_be_bytes());
    }

    /// Appends a number by IEEE's total order, in which 0 comes after -0.
    pub fn float(&mut self, number: f64) {
        let bits = number.to_bits();
        let ordered = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
        self.0.extend(ordered.to_be_bytes());
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0.push(byte);
            if byte == 0 {
                self.0.push(ESCAPE);
            }
        }
        self.0.extend(END);
    }
}

macro_rules! numbers {
    ($($kind:ty => $append:ident as $as:ty),*) => {
        $(impl Contained for $kind {
            fn put(&self, to: &mut Content) {
                to.$append(<$as>::from(*self));
            }
        })*
    };
}
numbers!(
    bool => number as i64, i32 => number as i64, u32 => number as i64, i64 => number as i64,
    u16 => number as i64, u64 => amount as u64, f64 => float as f64
);

impl Contained for Key {
    fn put(&self, to: &mut Content) {
        to.amount(self.0);
    }
}

impl Contained for Lane {
    fn put(&self, to: &mut Content) {
        to.number(self.topic as i64);
        to.number(i64::from(self.partition));
    }
}

impl Contained for str {
    fn put(&self, to: &mut Content) {
        to.text(self);
    }
}

impl Contained for String {
    fn put(&self, to: &mut Content) {
        to.text(self);
    }
}

impl<T: Contained + ?Sized> Contained for &T {
    fn put(&self, to: &mut Content) {
        (*self).put(to);
    }
}

impl<T: Contained> Contained for Option<T> {
    fn put(&self, to: &mut Content) {
        to.0.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.put(to);
        }
    }
}

impl<T: Contained> Contained for [T] {
    fn put(&self, to: &mut Content) {
        for item in self {
            to.0.push(1);
            item.put(to);
        }
        to.0.push(0);
    }
}

impl<T: Contained> Contained for Vec<T> {
    fn put(&self, to: &mut Content) {
        self.as_slice().put(to);
    }
}

impl<const N: usize> Contained for [u8; N] {
    fn put(&self, to: &mut Content) {
        to.0.extend(self);
    }
}

impl<A: Contained, B: Contained> Contained for (A, B) {
    fn put(&self, to: &mut Content) {
        self.0.put(to);
        self.1.put(to);
    }
}

impl<A: Contained, B: Contained, C: Contained> Contained for (A, B, C) {
    fn put(&self, to: &mut Content) {
        self.0.put(to);
        self.1.put(to);
        self.2.put(to);
    }
}

impl<A: Contained, B: Contained, C: Contained, D: Contained> Contained for (A, B, C, D) {
    fn put(&self, to: &mut Content) {
        self.0.put(to);
        self.1.put(to);
        self.2.put(to);
        self.3.put(to);
    }
}

impl Contained for i128 {
    fn put(&self, to: &mut Content) {
        to.number((self >> 64) as i64);
        to.amount(*self as u64);
    }
}

impl<K: Contained, V: Contained> Contained for std::collections::BTreeMap<K, V> {
    fn put(&self, to: &mut Content) {
        for entry in self {
            to.0.push(1);
            entry.put(to);
        }
        to.0.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_ordered_as_values_are() {
        fn ascending<T: Contained>(values: &[T]) {
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
