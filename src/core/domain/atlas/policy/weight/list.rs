//! The weights of each kind of policy.

use super::{analysis, basic, data, generic, network, nucleus, running};
use crate::domain::atlas::policy::QueueWeight;
use crate::domain::atlas::policy::retired::CPU_LEVEL;

/// Weights of ATLAS production jobs, in the order of the specification.
pub(crate) const PRODUCTION_JOB: &[&QueueWeight] = &[
    &running::WEIGHT,
    &basic::WEIGHT,
    &data::WEIGHT,
    &nucleus::NUCLEUS,
    &network::WEIGHT,
    &CPU_LEVEL,
];

/// Weights of ATLAS analysis jobs, in the order of the specification.
pub(crate) const ANALYSIS_JOB: &[&QueueWeight] =
    &[&analysis::RUNNING, &analysis::ORIGINAL, &analysis::CLASSES, &analysis::DATA];

/// Weights of PanDA's generic jobs, in the order of the specification.
pub(crate) const GENERIC_JOB: &[&QueueWeight] = &[&generic::RATIO, &generic::DATA];
