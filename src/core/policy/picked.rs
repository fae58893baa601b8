//! The filters and weights of a policy with their functions, by the kind of its candidates.

use super::declare::{Filter, Judged, RulesOf, Weigh, Weight};
use super::flavour::Style;
use crate::domain::atlas::policy::queues::Queues;
use crate::domain::atlas::policy::task::Nuclei;
use crate::domain::cms::policy::Jobs;
use crate::domain::nordugrid::policy::Targets;
use crate::domain::own::policy::PickedRules;

/// Filters and weights with their functions, by the kind of the candidates.
#[derive(Clone)]
pub(super) enum PolicyRules {
    Queues(RulesOf<Queues>),
    Nuclei(RulesOf<Nuclei>),
    Targets(RulesOf<Targets>),
    Jobs(RulesOf<Jobs>),
    Domain(PickedRules),
}

impl PolicyRules {
    /// Those of some names.
    pub(super) fn of(style: &Style, filters: &[&Filter], weights: &[&Weight]) -> PolicyRules {
        match style {
            Style::Queues(style) => PolicyRules::Queues(style.rules.of(filters, weights)),
            Style::Nuclei(style) => PolicyRules::Nuclei(style.rules.of(filters, weights)),
            Style::Targets(rules) => PolicyRules::Targets(rules.of(filters, weights)),
            Style::Jobs(rules) => PolicyRules::Jobs(rules.of(filters, weights)),
            Style::Domain(domain) => PolicyRules::Domain(domain.rules.pick(filters, weights)),
        }
    }

    /// Whether any weight sees all candidates at once.
    pub(super) fn weighs_all(&self) -> bool {
        let PolicyRules::Queues(rules) = self else { return false };
        rules.weights.iter().any(|it| matches!(it.weigh, Weigh::Whole(_)))
    }

    /// Whether the filter at an index sees all candidates: its verdict on one depends on the
    /// others.
    pub(super) fn is_joint(&self, at: usize) -> bool {
        match self {
            PolicyRules::Queues(rules) => is_joint(rules, at),
            PolicyRules::Nuclei(rules) => is_joint(rules, at),
            PolicyRules::Targets(rules) => is_joint(rules, at),
            PolicyRules::Jobs(rules) => is_joint(rules, at),
            // Each candidate of a domain is judged by itself.
            PolicyRules::Domain(_) => false,
        }
    }
}

fn is_joint<K: Judged>(rules: &RulesOf<K>, at: usize) -> bool {
    rules.filters.get(at).is_some_and(|it| it.judge.is_joint())
}
