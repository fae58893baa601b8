//! The list of the kinds of policy: those built in, and those that a program built on this library
//! registers. The only registry there is.

use super::declare::{Filter, Weight};
use super::flavour::Flavour;
use super::param::{ListedStep, Rules};
use super::spec::{PolicySpec, Wake};
use crate::domain::atlas::policy::analysis::ANALYSIS_JOB;
use crate::domain::atlas::policy::generic::GENERIC_JOB;
use crate::domain::atlas::policy::production::PRODUCTION_JOB;
use crate::domain::atlas::policy::task::PRODUCTION_TASK;
use crate::domain::cms::policy::CMS;
use crate::domain::nordugrid::policy::NORDUGRID;
use crate::unit::{HOUR, MINUTE};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Those built in, in order of their names.
static BUILT_IN: [&Flavour; 6] =
    [&ANALYSIS_JOB, &PRODUCTION_JOB, &PRODUCTION_TASK, &CMS, &GENERIC_JOB, &NORDUGRID];

/// All there are, from the first time they are asked for.
static KINDS: OnceLock<Vec<&'static Flavour>> = OnceLock::new();

/// Every kind there is, in order of their names.
pub fn kinds() -> &'static [&'static Flavour] {
    KINDS.get_or_init(|| BUILT_IN.to_vec())
}

/// Adds kinds of policy to those built in, for topology files to name. To be called once, before
/// anything else of the library is.
///
/// # Errors
/// A kind is not valid (the text names the part and the remedy), a name is taken, or the call came
/// too late: the kinds were asked for before.
pub fn register(own: &[&'static Flavour]) -> Result<(), String> {
    let mut all = BUILT_IN.to_vec();
    for flavour in own {
        let name = flavour.name;
        if all.iter().any(|other| other.name == name) {
            return Err(format!("kind {name:?}: the name is taken; give it another"));
        }
        check(flavour).map_err(|mistake| format!("kind {name:?}: {mistake}"))?;
        all.push(flavour);
    }
    all.sort_by_key(|flavour| flavour.name);
    KINDS.set(all).map_err(|_| {
        "kinds of policy must be registered once, before anything else is done".to_owned()
    })
}

/// Checks a kind: its names become names in files, records and metrics.
fn check(flavour: &Flavour) -> Result<(), String> {
    let is_name = |name: &str, joints: &[char]| {
        let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || joints.contains(&c);
        !name.is_empty() && name.len() <= 64 && name.chars().all(is_fit)
    };
    if !is_name(flavour.name, &['-']) {
        return Err("its name must be of a-z, 0-9 and -, at most 64 of them".to_owned());
    }
    let mut seen = BTreeSet::new();
    for Filter { name, reasons, .. } in flavour.filters() {
        if !is_name(name, &['_']) || !seen.insert(*name) {
            return Err(format!("filter {name:?}: wants a name of its own, of a-z, 0-9 and _"));
        }
        if reasons.is_empty() || reasons.iter().any(|reason| !is_name(reason.name, &['_', ':'])) {
            return Err(format!("filter {name:?}: wants reasons with names of a-z, 0-9 and _"));
        }
    }
    for Weight { name, .. } in flavour.weights() {
        if !is_name(name, &['_']) || !seen.insert(*name) {
            return Err(format!("weight {name:?}: wants a name of its own, of a-z, 0-9 and _"));
        }
    }
    Ok(())
}

/// The kind of a name.
pub fn kind(name: &str) -> Option<&'static Flavour> {
    kinds().iter().copied().find(|flavour| flavour.name == name)
}

/// The names of the factors that a weight may have, of every kind: figures behind factors have
/// other names.
pub fn factors() -> BTreeSet<&'static str> {
    let names = kinds().iter().flat_map(|flavour| {
        let factors = flavour.weights().into_iter().filter(|it| !flavour.is_figure(it.name));
        factors.map(|weight| weight.name)
    });
    names.collect()
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
        let step = |name: &str| ListedStep { name: name.to_string(), args: Vec::new() };
        PolicySpec {
            rules,
            filters: flavour.filters().iter().map(|filter| step(filter.name)).collect(),
            weights: flavour.weights().iter().map(|weight| step(weight.name)).collect(),
            ..PolicySpec::empty(name, flavour.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::atlas::policy::task::Nuclei;
    use crate::policy::declare::{Applies, FilterFunction, FilterOf, RuleBook};
    use crate::policy::flavour::NucleusStyle;
    use crate::policy::{Reason, Style};

    /// A kind of a name, with one filter of a name and a reason.
    fn kind_of(name: &'static str, filter: &'static str, reason: &'static str) -> &'static Flavour {
        let reason: &'static Reason = Box::leak(Box::new(Reason::new(reason, "it is so")));
        let reasons = Box::leak(Box::new([reason]));
        let (params, reads) = (&[], &[]);
        let filter =
            Filter { name: filter, spec: "", help: "", reasons, params, reads, temporary: false };
        let judge = FilterFunction::<Nuclei>::Whole(|_, _, _| ());
        let filter = FilterOf { filter, applies: Applies::Always, judge };
        let filter: &'static FilterOf<Nuclei> = Box::leak(Box::new(filter));
        let rules = RuleBook { filters: Box::leak(Box::new([filter])), weights: &[] };
        let style = Style::Nuclei(NucleusStyle { rules, dry_run: &[] });
        Box::leak(Box::new(Flavour { name, style, ..PRODUCTION_TASK }))
    }

    #[test]
    fn a_kind_that_cannot_be_registered_is_refused_with_the_reason() {
        let refused = |own: &'static Flavour| register(&[own]).unwrap_err();
        let taken = refused(kind_of("atlas-production-job", "online", "not_online"));
        assert!(taken.contains("atlas-production-job") && taken.contains("taken"), "{taken}");
        for name in ["", "Own Kind", "own_kind"] {
            assert!(refused(kind_of(name, "online", "not_online")).contains("a-z"), "{name}");
        }
        let filter = refused(kind_of("own", "on line", "not_online"));
        assert!(filter.contains("filter \"on line\""), "{filter}");
        assert!(refused(kind_of("own", "online", "Not Online")).contains("reasons"));
    }

    #[test]
    fn no_figure_has_the_name_of_a_factor() {
        let weights = || kinds().iter().flat_map(|flavour| flavour.weights());
        let factors = factors();
        assert!(factors.len() >= 8, "{factors:?}");
        for (figure, _) in weights().flat_map(|weight| weight.figures) {
            assert!(!factors.contains(figure), "{figure}");
        }
    }
}
