//! Variables and what values come to once they are put in (B.9, `rsl_substitution`).

use super::error::ErrorCode;
use super::tree::Expression;
use super::{EXPANDED_BYTES_MAX, Value};
use std::collections::BTreeMap;

/// Bytes that a value takes beside its text, as counted against the bound.
const VALUE_BYTES: usize = 32;

/// The variables that are defined where reading stands, and how much memory all values take.
#[derive(Default)]
pub(super) struct Variables {
    values: BTreeMap<String, Vec<String>>,
    defined: Vec<String>,
    /// Memory of all that was evaluated; bytes.
    pub(super) bytes: usize,
}

impl Variables {
    /// Marks the beginning of a branch.
    pub(super) fn enter(&self) -> usize {
        self.defined.len()
    }

    /// Forgets what was defined since the beginning of a branch.
    pub(super) fn leave(&mut self, mark: usize) {
        for name in self.defined.drain(mark..) {
            if let Some(values) = self.values.get_mut(&name) {
                values.pop();
            }
        }
    }

    /// Defines variables by pairs (NAME value), for what follows in the same branch.
    pub(super) fn define(&mut self, pairs: &[Expression]) -> Result<(), ErrorCode> {
        for pair in pairs {
            let Value::List(pair) = self.evaluate(pair)? else {
                return Err(ErrorCode::BadSubstitution);
            };
            let Ok([Value::Text(name), Value::Text(value)]) = <[Value; 2]>::try_from(pair) else {
                return Err(ErrorCode::BadSubstitution);
            };
            self.values.entry(name.clone()).or_default().push(value);
            self.defined.push(name);
        }
        Ok(())
    }

    /// A value with variables put in and joins made. A variable that is not defined is empty.
    pub(super) fn evaluate(&mut self, expression: &Expression) -> Result<Value, ErrorCode> {
        self.take(VALUE_BYTES)?;
        match expression {
            Expression::List(values) => {
                values.iter().map(|it| self.evaluate(it)).collect::<Result<_, _>>().map(Value::List)
            }
            text => {
                let mut joined = String::new();
                self.append(text, &mut joined)?;
                Ok(Value::Text(joined))
            }
        }
    }

    /// Adds a value that must be text to a text.
    fn append(&mut self, part: &Expression, text: &mut String) -> Result<(), ErrorCode> {
        let added = match part {
            Expression::Text(text) => text.as_str(),
            Expression::Variable(name) => {
                self.values.get(name).and_then(|values| values.last()).map_or("", String::as_str)
            }
            Expression::Join(parts) => {
                return parts.iter().try_for_each(|part| self.append(part, text));
            }
            Expression::List(_) => return Err(ErrorCode::BadJoin),
        };
        let bytes = added.len();
        if self.bytes.saturating_add(bytes) > EXPANDED_BYTES_MAX {
            return Err(ErrorCode::TooLarge);
        }
        text.push_str(added);
        self.take(bytes)
    }

    fn take(&mut self, bytes: usize) -> Result<(), ErrorCode> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > EXPANDED_BYTES_MAX { Err(ErrorCode::TooLarge) } else { Ok(()) }
    }
}
