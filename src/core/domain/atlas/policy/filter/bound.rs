//! Constants and arithmetic that several filters share.

use crate::policy::typed::words;

words! {
    /// How a figure that equals its limit is read.
    Boundary {
        Above = "above",
        AtLeast = "at_least",
    }
}

impl Boundary {
    /// Whether a figure is beyond its limit: above it, or with `at_least` also equal to it.
    #[inline]
    pub(crate) fn is_beyond(self, measured: f64, limit: f64) -> bool {
        measured > limit || (self == Boundary::AtLeast && measured == limit)
    }
}

/// `maxinputsize` of a queue that reads all input directly.
pub(super) const ALWAYS_DIRECT: i32 = -1;

/// A number cut to a whole one, as an integer division cuts: 0 for what is not a number, and never
/// beyond what an `i64` holds.
#[inline]
pub(super) fn whole(value: f64) -> f64 {
    value as i64 as f64
}
