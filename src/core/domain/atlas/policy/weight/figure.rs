//! Figures that weights leave behind.

/// Value of a figure that is not known.
const UNKNOWN: f64 = -1.0;

/// A figure that can be written anywhere: known, finite, or -1.
#[inline]
pub(super) fn figure(value: Option<f64>) -> f64 {
    value.filter(|value| value.is_finite()).unwrap_or(UNKNOWN)
}
