//! The weights of each kind of policy.

use super::{analysis, basic, data, network, nucleus, running};
use crate::policy::declare::Weight;

/// Weights of ATLAS production jobs, in the order of the specification.
pub(in crate::policy) const PRODUCTION_JOB: &[&Weight] = &[
    &running::WEIGHT,
    &basic::WEIGHT,
    &data::WEIGHT,
    &nucleus::NUCLEUS,
    &network::WEIGHT,
    &nucleus::CPU_LEVEL,
];

/// Weights of ATLAS analysis jobs, in the order of the specification.
pub(in crate::policy) const ANALYSIS_JOB: &[&Weight] =
    &[&analysis::RUNNING, &analysis::ORIGINAL, &analysis::CLASSES, &analysis::DATA];
