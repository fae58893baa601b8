//! The six relations between an attribute and its values.

use std::cmp::Ordering;

/// A relation (B.9, `op`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Relation {
    /// As it is written in xRSL.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Equal => "=",
            Relation::NotEqual => "!=",
            Relation::Less => "<",
            Relation::LessOrEqual => "<=",
            Relation::Greater => ">",
            Relation::GreaterOrEqual => ">=",
        }
    }

    /// Whether it holds if what is published compares so with what is asked for; `None`: the two
    /// differ and have no order.
    pub fn holds(self, published_to_asked: Option<Ordering>) -> bool {
        match self {
            Relation::Equal => published_to_asked == Some(Ordering::Equal),
            Relation::NotEqual => published_to_asked != Some(Ordering::Equal),
            Relation::Less => published_to_asked == Some(Ordering::Less),
            Relation::LessOrEqual => published_to_asked.is_some_and(Ordering::is_le),
            Relation::Greater => published_to_asked == Some(Ordering::Greater),
            Relation::GreaterOrEqual => published_to_asked.is_some_and(Ordering::is_ge),
        }
    }
}
