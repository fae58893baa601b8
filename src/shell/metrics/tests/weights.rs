//! Weights of what was chosen, and their factors.

use super::samples::{Shown, assignment};
use crate::metrics::weights::POLICIES_MAX;
use crate::metrics::{Metrics, QUEUES_MAX};
use yardmaster_core::output::decision::{Decision, Outcome};

/// An assignment of a policy to queues: the jobs of each, and its factors `data`, `basic` and the
/// figure `queued`.
pub(super) fn weighed(policy: &str, queues: &[(u32, [f64; 3])]) -> Decision {
    let jobs: Vec<(&str, u32)> = queues.iter().map(|(jobs, _)| ("Q", *jobs)).collect();
    let mut decision = assignment("", &jobs);
    decision.policy = policy.to_owned();
    decision.factor_names = ["data", "basic", "queued"].map(str::to_owned).into();
    if let Outcome::Assign(ranked) = &mut decision.outcome {
        for (ranked, (_, factors)) in ranked.iter_mut().zip(queues) {
            ranked.weight = factors[0] * factors[1];
            ranked.factors = factors.to_vec();
        }
    }
    decision
}

fn shown(decisions: &[Decision]) -> Shown {
    let mut metrics = Metrics::new("atlas", QUEUES_MAX);
    decisions.iter().for_each(|decision| metrics.record_decision(decision));
    Shown::new(&metrics)
}

#[test]
fn weights_and_factors_of_queues_that_get_jobs_are_observed() {
    let queues = [(7, [2.0, 5.0, 99.0]), (3, [4.0, 5.0, 1.0]), (0, [1.0, 5.0, 2.0])];
    let dry = Decision { dry_run: true, ..weighed("analysis", &queues) };
    let shown = shown(&[weighed("analysis", &queues), dry]);
    let of = |what: &str| shown.of(&format!("yardmaster_chosen_{what}"));
    assert_eq!(of("weight_count{policy=\"analysis\"}"), Some(2.0));
    assert_eq!(of("weight_sum{policy=\"analysis\"}"), Some(30.0));
    assert_eq!(of("factor_sum{policy=\"analysis\",factor=\"data\"}"), Some(6.0));
    assert_eq!(of("factor_count{policy=\"analysis\",factor=\"basic\"}"), Some(2.0));
    assert_eq!(of("factor_count{policy=\"analysis\",factor=\"queued\"}"), None, "a figure");
}

#[test]
fn the_spread_of_a_factor_tells_whether_it_decides_anything() {
    let queues = [(7, [2.0, 5.0, 0.0]), (0, [8.0, 5.0, 0.0]), (0, [4.0, 5.0, 0.0])];
    let none = [(7, [0.0, 1.0, 0.0]), (0, [3.0, 0.0, 0.0])];
    // There is nothing to compare.
    let one = [(7, [2.0, 5.0, 0.0])];
    let shown = shown(&[&queues[..], &none[..], &one[..]].map(|it| weighed("analysis", it)));
    let of = |what: &str, factor: &str| {
        let labels = format!("policy=\"analysis\",factor=\"{factor}\"");
        let (series, le) = what.split_once(' ').unwrap_or((what, ""));
        let labels = if le.is_empty() { labels } else { format!("{labels},le=\"{le}\"") };
        shown.of(&format!("yardmaster_factor_spread_ratio_{series}{{{labels}}}"))
    };
    assert_eq!([of("count", "data"), of("count", "basic")], [Some(2.0), Some(2.0)]);
    assert_eq!([of("sum", "data"), of("sum", "basic")], [Some(1_000_004.0), Some(1_000_001.0)]);
    assert_eq!([of("bucket 1", "basic"), of("bucket 1", "data")], [Some(1.0), Some(0.0)]);
    assert_eq!(of("bucket 5", "data"), Some(1.0));
}

#[test]
fn a_nucleus_counts_and_policies_beyond_the_bound_are_one() {
    let mut nucleus = assignment("BNL", &[("BNL", 0)]);
    nucleus.factor_names = vec!["work".to_owned()];
    if let Outcome::Assign(ranked) = &mut nucleus.outcome {
        ranked[0].factors = vec![0.5];
    }
    let name = |number: usize| format!("policy {number:02}");
    let beyond = (0..POLICIES_MAX + 3).map(|it| weighed(&name(it), &[(1, [2.0, 1.0, 0.0])]));
    let shown = shown(&std::iter::once(nucleus).chain(beyond).collect::<Vec<_>>());
    let of = |labels: &str| shown.of(&format!("yardmaster_chosen_{labels}"));
    assert_eq!(of("factor_sum{policy=\"atlas\",factor=\"work\"}"), Some(0.5));
    assert_eq!(shown.all("yardmaster_chosen_weight_count").len(), POLICIES_MAX + 1);
    assert_eq!(of("weight_count{policy=\"other\"}"), Some(4.0));
}
