//! The values of parameters that are in force.

use super::param::{Param, Rules};

/// The values in force of the parameters of one filter, weight or kind, in the order of its
/// declaration. Within this room only the struct that declares them reads them, see
/// `typed.rs`; a kind of policy from elsewhere reads them by their places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(pub(super) Vec<f64>);

impl Values {
    /// The defaults of some parameters.
    pub fn defaults(params: &[Param], rules: Rules) -> Values {
        Values(params.iter().map(|param| param.default_under(rules)).collect())
    }

    /// The value of a parameter by its place in the declaration: a number as it is, true as 1, a
    /// word as its place among those allowed. 0 where there is no such place.
    pub fn at(&self, place: usize) -> f64 {
        self.0.get(place).copied().unwrap_or(0.0)
    }

    /// Reads all of them, which are so many.
    #[inline(always)]
    pub(crate) fn reader(&self, count: usize) -> Reader<'_> {
        // cannot fail: a filter, a weight and a kind declare what they read by one struct.
        Reader { values: &self.0[..count], at: 0 }
    }
}

/// Reads values one after the other.
pub(crate) struct Reader<'a> {
    values: &'a [f64],
    at: usize,
}

impl Reader<'_> {
    /// The next value.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> f64 {
        // cannot fail: a struct reads as many values as it declares.
        let value = self.values[self.at];
        self.at += 1;
        value
    }
}
