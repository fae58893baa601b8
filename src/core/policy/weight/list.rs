//! The weights of each kind of policy.

use super::{analysis, basic, data, network, nucleus, running};
use crate::policy::QueueWeight;

/// Weights of ATLAS production jobs, in the order of the specification.
pub(in crate::policy) const PRODUCTION_JOB: &[&QueueWeight] = &[
    &running::WEIGHT,
    &basic::WEIGHT,
    &data::WEIGHT,
    &nucleus::NUCLEUS,
    &network::WEIGHT,
    &nucleus::CPU_LEVEL,
];

/// Weights of ATLAS analysis jobs, in the order of the specification.
pub(in crate::policy) const ANALYSIS_JOB: &[&QueueWeight] =
    &[&analysis::RUNNING, &analysis::ORIGINAL, &analysis::CLASSES, &analysis::DATA];
