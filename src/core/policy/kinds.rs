//! The list of the kinds of policy: the only registry there is.

use super::analysis::ANALYSIS_JOB;
use super::atlas::PRODUCTION_JOB;
use super::flavour::Flavour;
use super::param::{Rules, Step};
use super::spec::{PolicySpec, Wake};
use super::task::PRODUCTION_TASK;
use crate::core::unit::{HOUR, MINUTE};

/// The registry.
static KINDS: [&Flavour; 3] = [&ANALYSIS_JOB, &PRODUCTION_JOB, &PRODUCTION_TASK];

/// Every kind there is, in order of their names.
pub fn kinds() -> &'static [&'static Flavour] {
    &KINDS
}

/// The kind of a name.
pub fn kind(name: &str) -> Option<&'static Flavour> {
    kinds().iter().copied().find(|flavour| flavour.name == name)
}

impl PolicySpec {
    /// A policy of a kind with no filters and no weights, and the specification's figures for the
    /// rest: where a reader of topology files starts from.
    pub fn empty(name: &str, kind_name: &str) -> PolicySpec {
        PolicySpec {
            name: name.to_string(),
            kind: kind_name.to_string(),
            dry_run: false,
            rules: Rules::Documented,
            wake: Wake::Event,
            defer: kind(kind_name).map_or(HOUR, |flavour| flavour.defer),
            dwell: MINUTE,
            candidates_max: 10,
            bunch: 25,
            bunch_scout: 2,
            args: Vec::new(),
            filters: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// A policy of a kind with every filter and weight the kind has, in the kind's order, and all
    /// parameters at their defaults.
    pub fn full(name: &str, flavour: &Flavour, rules: Rules) -> PolicySpec {
        let step = |name: &str| Step { name: name.to_string(), args: Vec::new() };
        PolicySpec {
            rules,
            filters: flavour.filters.iter().map(|filter| step(filter.name)).collect(),
            weights: flavour.weights.iter().map(|weight| step(weight.name)).collect(),
            ..PolicySpec::empty(name, flavour.name)
        }
    }
}
