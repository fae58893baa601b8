//! A description as it is written, before anything is evaluated.

use super::Relation;
use super::cursor::is_blank;
use std::fmt;

/// Operator that joins items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `&`: all of them.
    All,
    /// `|`: one of them; alternatives in written order.
    Any,
    /// `+`: each is a job of its own.
    Jobs,
}

impl Operator {
    /// As it is written in xRSL.
    pub fn name(self) -> &'static str {
        match self {
            Operator::All => "&",
            Operator::Any => "|",
            Operator::Jobs => "+",
        }
    }

    pub(super) fn of(sign: char) -> Option<Operator> {
        match sign {
            '&' => Some(Operator::All),
            '|' => Some(Operator::Any),
            '+' => Some(Operator::Jobs),
            _ => None,
        }
    }
}

/// A value as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A string.
    Text(String),
    /// A list in parentheses.
    List(Vec<Expression>),
    /// A variable; case counts in its name.
    Variable(String),
    /// Values joined by `#`, or by touching a variable; two or more, none of them a join.
    Join(Vec<Expression>),
}

/// A relation between an attribute and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Name in lower case without underscores.
    pub attribute: String,
    /// Name as written.
    pub written: String,
    /// Relation.
    pub relation: Relation,
    /// Values; there may be none.
    pub values: Vec<Expression>,
    /// Where the name begins in the text; bytes.
    pub at: usize,
}

/// A part of a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Items joined by an operator.
    Joined {
        /// Operator.
        operator: Operator,
        /// Joined items, at least one.
        items: Vec<Item>,
        /// Where the operator stands in the text; bytes.
        at: usize,
    },
    /// A condition.
    Condition(Condition),
}

/// Written so that reading it gives the same again.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Text(text) => write!(f, "\"{}\"", text.replace('"', "\"\"")),
            Expression::Variable(name) => write!(f, "$({name})"),
            Expression::List(values) => {
                f.write_str("( ")?;
                values.iter().try_for_each(|value| write!(f, "{value} "))?;
                f.write_str(")")
            }
            Expression::Join(parts) => {
                let mut separator = "";
                parts.iter().try_for_each(|part| {
                    write!(f, "{separator}{part}")?;
                    separator = " # ";
                    Ok(())
                })
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written.contains(is_blank) {
            true => write!(f, "\"{}\" {}", self.written, self.relation.name())?,
            false => write!(f, "{} {}", self.written, self.relation.name())?,
        }
        self.values.iter().try_for_each(|value| write!(f, " {value}"))
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Condition(condition) => condition.fmt(f),
            Item::Joined { operator, items, .. } => {
                f.write_str(operator.name())?;
                items.iter().try_for_each(|item| write!(f, "( {item} )"))
            }
        }
    }
}
