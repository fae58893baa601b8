//! The list of the kinds of policy: the only registry there is.

use super::analysis::ANALYSIS_JOB;
use super::atlas::PRODUCTION_JOB;
use super::declare::{Weigh, Weight};
use super::flavour::Flavour;
use super::param::{Rules, Step};
use super::spec::{PolicySpec, Wake};
use super::task::PRODUCTION_TASK;
use crate::core::unit::{HOUR, MINUTE};
use std::collections::BTreeSet;

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

/// The names of the factors that a weight may have, of every kind: figures behind factors have
/// other names.
pub fn factors() -> BTreeSet<&'static str> {
    let weights = kinds().iter().flat_map(|flavour| flavour.weights);
    let is_factor = |weight: &&&Weight| !matches!(weight.weigh, Weigh::Figure(_));
    weights.filter(is_factor).map(|weight| weight.name).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_has_the_name_of_a_factor() {
        let weights = || kinds().iter().flat_map(|flavour| flavour.weights);
        let factors = factors();
        assert!(factors.len() >= 8, "{factors:?}");
        for (figure, _) in weights().flat_map(|weight| weight.figures) {
            assert!(!factors.contains(figure), "{figure}");
        }
    }
}
