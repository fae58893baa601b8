//! The values of a rank key.

use super::look::{Bid, Look};
use std::cmp::Ordering;

/// A value of a rank key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankKeyValue<'a> {
    /// A number.
    Number(i64),
    /// A text, by its bytes.
    Text(&'a str),
    /// A ratio of which all values have one divisor: dividend, divisor.
    Share(i128, i128),
}

impl RankKeyValue<'_> {
    /// The order of two values of one key.
    pub fn order(&self, other: &RankKeyValue<'_>) -> Ordering {
        match (self, other) {
            (RankKeyValue::Number(a), RankKeyValue::Number(b)) => a.cmp(b),
            (RankKeyValue::Text(a), RankKeyValue::Text(b)) => a.cmp(b),
            (RankKeyValue::Share(a, _), RankKeyValue::Share(b, _)) => a.cmp(b),
            // One key has values of one kind.
            (RankKeyValue::Number(_) | RankKeyValue::Text(_) | RankKeyValue::Share(..), _) => {
                Ordering::Equal
            }
        }
    }
}

/// The function of a rank key.
pub type JobKey = for<'a> fn(&'a Look<'_>, &'a Bid<'_>) -> Option<RankKeyValue<'a>>;
