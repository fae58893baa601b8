//! Names of software with versions, and how versions compare (B.9, Versions).

use super::{Relation, SoftwareCondition};
use std::cmp::Ordering;

/// A name of software with its version: `nordugrid-arc-6.14` is version `6.14` of `nordugrid-arc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Software {
    /// Name: what stands before the first dash that a digit follows.
    pub name: String,
    /// Version: what stands after that dash; empty: none.
    pub version: String,
}

impl Software {
    /// Splits `name[-version]` at the first dash that a digit follows.
    pub fn parse(text: &str) -> Software {
        let is_split = |at: &usize| text[at + 1..].starts_with(|next: char| next.is_ascii_digit());
        let split = text.match_indices('-').map(|(at, _)| at).find(is_split);
        let (name, version) = split.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
        Software { name: name.to_owned(), version: version.to_owned() }
    }

    /// How it compares with another; `None`: they differ and have no order, as different names do.
    pub fn compare(&self, other: &Software) -> Option<Ordering> {
        if self.name == other.name { compare_versions(&self.version, &other.version) } else { None }
    }
}

impl SoftwareCondition {
    /// Whether what a cluster publishes satisfies it. `!=` is the contrary of `=`: no published
    /// item may be the one refused. Any other relation needs one item for which it holds. If
    /// nothing is published no relation holds, not even `!=`.
    pub fn holds(&self, published: &[Software]) -> bool {
        let asked = Software { name: self.name.clone(), version: self.version.clone() };
        let is_met = |it: &Software| self.relation.holds(it.compare(&asked));
        match self.relation {
            Relation::NotEqual => !published.is_empty() && published.iter().all(is_met),
            _ => published.iter().any(is_met),
        }
    }
}

/// Compares two versions token by token, split at `-` and `.`. Figures compare as numbers, so that
/// 6.20 is above 6.3 and 6.02 equals 6.2. Two different tokens of which one is no number have no
/// order (`None`). Further tokens of the longer version count unless they are zero; a word counts.
pub fn compare_versions(left: &str, right: &str) -> Option<Ordering> {
    let (mut left, mut right) = (tokens(left), tokens(right));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Some(Ordering::Equal),
            (Some(more), None) if !is_zero(more) => return Some(Ordering::Greater),
            (None, Some(more)) if !is_zero(more) => return Some(Ordering::Less),
            (Some(_), None) | (None, Some(_)) => {}
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) if !is_number(a) || !is_number(b) => return None,
            (Some(a), Some(b)) => {
                let order = significant(a).cmp(&significant(b));
                if order.is_ne() {
                    return Some(order);
                }
            }
        }
    }
}

fn tokens(version: &str) -> impl Iterator<Item = &str> {
    version.split(['-', '.']).filter(|token| !token.is_empty())
}

fn is_number(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_zero(token: &str) -> bool {
    token.bytes().all(|byte| byte == b'0')
}

/// A number of any length in a form that compares as the number does.
fn significant(number: &str) -> (usize, &str) {
    let digits = number.trim_start_matches('0');
    (digits.len(), digits)
}
