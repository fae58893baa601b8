//! The weights, one file each: figures first, then factors. Only + - * / and sqrt, so that the
//! bytes agree on every machine; never NaN, never infinite.

mod analysis;
mod basic;
mod data;
mod network;
mod nucleus;
mod running;

use super::Weight;

/// Weights of ATLAS production jobs, in the order of the specification.
pub(super) const PRODUCTION_JOB: &[&Weight] = &[
    &running::WEIGHT,
    &basic::WEIGHT,
    &data::WEIGHT,
    &nucleus::NUCLEUS,
    &network::WEIGHT,
    &nucleus::CPU_LEVEL,
];

/// Weights of ATLAS analysis jobs, in the order of the specification.
pub(super) const ANALYSIS_JOB: &[&Weight] =
    &[&analysis::RUNNING, &analysis::ORIGINAL, &analysis::CLASSES, &analysis::DATA];

/// What stands for a figure that is not known.
const UNKNOWN: f64 = -1.0;

/// A figure that can be written anywhere: known, finite, or [`UNKNOWN`].
#[inline]
fn figure(value: Option<f64>) -> f64 {
    value.filter(|value| value.is_finite()).unwrap_or(UNKNOWN)
}
