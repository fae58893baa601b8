//! Weights of what decisions chose, and what each factor had to do with it.

use super::OTHER;
use super::export::histogram_of;
use super::table::Metric;
use metrics::Histogram;
use metrics_exporter_prometheus::PrometheusRecorder;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::output::decision::{Decision, Ranked};
use yardmaster_core::policy::factors;

/// How many policies get labels of their own: the first that come.
pub(super) const POLICIES_MAX: usize = 20;
/// The largest ratio; a factor that is 0 for one queue and not for another has it.
const SPREAD_MAX: f64 = 1e6;

/// Metrics of a factor of a policy.
struct Factor {
    /// Its place among `Decision::factor_names`.
    at: usize,
    chosen: Histogram,
    spread: Histogram,
}

/// Metrics of a policy.
struct OfPolicy {
    /// Names that its decisions give: `factors` hold the places of some of them.
    names: Vec<String>,
    weight: Histogram,
    factors: Vec<Factor>,
}

/// Metrics of weights, by policy.
pub(super) struct Weights {
    factors: BTreeSet<&'static str>,
    policies: BTreeMap<String, OfPolicy>,
}

impl OfPolicy {
    fn new(
        recorder: &PrometheusRecorder,
        policy: &str,
        names: &[String],
        factors: &BTreeSet<&'static str>,
    ) -> OfPolicy {
        let named =
            names.iter().enumerate().filter_map(|(at, name)| Some((at, factors.get(&**name)?)));
        let factor = |(at, name): (usize, &&'static str)| Factor {
            at,
            chosen: histogram_of(recorder, Metric::ChosenFactor, &[policy, name]),
            spread: histogram_of(recorder, Metric::FactorSpread, &[policy, name]),
        };
        OfPolicy {
            names: names.to_vec(),
            weight: histogram_of(recorder, Metric::ChosenWeight, &[policy]),
            factors: named.map(factor).collect(),
        }
    }

    fn record(&self, ranked: &[Ranked], is_chosen: impl Fn(&Ranked) -> bool) {
        for chosen in ranked.iter().filter(|it| is_chosen(it)) {
            self.weight.record(chosen.weight);
            for factor in &self.factors {
                if let Some(value) = chosen.factors.get(factor.at) {
                    factor.chosen.record(*value);
                }
            }
        }
        if ranked.len() < 2 {
            return;
        }
        for factor in &self.factors {
            let values = || ranked.iter().filter_map(|it| it.factors.get(factor.at).copied());
            let least = values().fold(f64::INFINITY, f64::min);
            let most = values().fold(0.0, f64::max);
            if least.is_finite() {
                factor.spread.record(spread(least, most));
            }
        }
    }
}

/// The largest over the smallest; 1 if both are the same, be they 0.
fn spread(least: f64, most: f64) -> f64 {
    if least == most {
        return 1.0;
    }
    if least > 0.0 { (most / least).min(SPREAD_MAX) } else { SPREAD_MAX }
}

impl Weights {
    pub(super) fn new() -> Weights {
        Weights { factors: factors(), policies: BTreeMap::new() }
    }

    /// A decision to be carried out that assigns; `is_nucleus`: it gives a task its nucleus.
    pub(super) fn record(
        &mut self,
        recorder: &PrometheusRecorder,
        decision: &Decision,
        ranked: &[Ranked],
        is_nucleus: bool,
    ) {
        let is_known = self.policies.len() < POLICIES_MAX;
        let policy = match is_known || self.policies.contains_key(&decision.policy) {
            true => decision.policy.as_str(),
            false => OTHER,
        };
        let names = &decision.factor_names;
        let is_current = self.policies.get(policy).is_some_and(|it| it.names == *names);
        if !is_current {
            let of_policy = OfPolicy::new(recorder, policy, names, &self.factors);
            self.policies.insert(policy.to_owned(), of_policy);
        }
        if let Some(of_policy) = self.policies.get(policy) {
            of_policy.record(ranked, |it| is_nucleus || it.jobs > 0);
        }
    }
}
