//! The values of a rank key.

use super::look::{Bid, Look};
use std::cmp::Ordering;

/// A value of a rank key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// A number.
    Number(i64),
    /// A text, by its bytes.
    Text(&'a str),
    /// A ratio of which all values have one divisor: dividend, divisor.
    Share(i128, i128),
}

impl Key<'_> {
    /// The order of two values of one key.
    pub fn order(&self, other: &Key<'_>) -> Ordering {
        match (self, other) {
            (Key::Number(a), Key::Number(b)) => a.cmp(b),
            (Key::Text(a), Key::Text(b)) => a.cmp(b),
            (Key::Share(a, _), Key::Share(b, _)) => a.cmp(b),
            // One key has values of one kind.
            (Key::Number(_) | Key::Text(_) | Key::Share(..), _) => Ordering::Equal,
        }
    }
}

/// The function of a rank key.
pub type JobKey = for<'a> fn(&'a Look<'_>, &'a Bid<'_>) -> Option<Key<'a>>;
