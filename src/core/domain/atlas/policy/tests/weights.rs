//! Weights of hostile figures.

use super::{BOTH, task};
use crate::domain::atlas::policy::sample::{candidate, case, counted, policy, queue};
use crate::domain::atlas::policy::{Candidate, LinkView, Weighed};
use crate::event::Task;
use crate::policy::{Policy, PolicySpec, Rules};
use proptest::prelude::*;

/// The weight of a candidate that passes, with its figures by name.
struct Figures {
    weighed: Weighed,
    names: Vec<String>,
}

impl Figures {
    fn of(rules: Rules, task: &Task, candidate: &Candidate<'_>) -> Figures {
        Figures::with(rules, &[], task, candidate)
    }

    fn with(rules: Rules, gdp: &[(&str, &str)], task: &Task, candidate: &Candidate<'_>) -> Figures {
        let (full, _) = policy(rules);
        // Weights alone: whatever the filters would object.
        let spec = PolicySpec { filters: Vec::new(), ..full.spec.clone() };
        let policy = Policy::compile(&spec).expect("allowed");
        let lookup =
            |_: &str, key: &str| gdp.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let resolved = policy.resolve(&lookup, &task.gshare);
        let judgement = policy.judge(&case(task), std::slice::from_ref(candidate), &resolved);
        let weighed = judgement.ranked[0].weighed.clone();
        Figures { weighed, names: policy.factor_names().to_vec() }
    }

    fn get(&self, name: &str) -> f64 {
        assert_eq!(self.names.len(), self.weighed.factors.len());
        let at = self.names.iter().position(|other| other == name).expect("a figure");
        self.weighed.factors[at]
    }
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-6 * expected.abs().max(1e-3)
}

fn link(files: Option<u64>, mbps: Option<f64>, closeness: Option<i32>) -> LinkView {
    LinkView {
        source_known: true,
        closeness,
        queued_files: files,
        mbps_1h: mbps,
        mbps_1d: mbps,
        mbps_1w: mbps,
        until: None,
    }
}

fn network(rules: Rules, link: LinkView, at_nucleus: bool) -> f64 {
    let (queue, task) = (queue("A"), task(|_| {}));
    let mut candidate = candidate(&queue);
    (candidate.link, candidate.at_nucleus) = (link, at_nucleus);
    let figures = Figures::with(rules, &[("NW_ACTIVE", "True")], &task, &candidate);
    assert_eq!(figures.weighed.network, figures.get("network"));
    figures.get("network")
}

#[test]
fn a_throughput_that_is_no_number_is_not_known() {
    for hostile in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut link = link(Some(0), Some(30.0), None);
        link.mbps_1h = Some(hostile);
        assert!(near(network(Rules::Documented, link, false), 1.75), "{hostile}");
    }
}

#[test]
fn more_than_all_of_the_input_counts_as_all() {
    let (queue, task) = (queue("A"), task(|task| (task.total_bytes, task.total_files) = (10, 1)));
    let mut candidate = candidate(&queue);
    (candidate.available_bytes, candidate.available_files) = (1_000, 9);
    assert_eq!(Figures::of(Rules::Documented, &task, &candidate).get("data"), 2.0);
}

fn any_number() -> impl Strategy<Value = Option<f64>> {
    let hostile = prop::sample::select(vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        -f64::MAX,
        f64::MIN_POSITIVE,
        -0.0,
        0.0,
    ]);
    prop_oneof![Just(None), hostile.prop_map(Some), any::<f64>().prop_map(Some)]
}

fn any_count() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1), Just(u32::MAX), any::<u32>()]
}

proptest! {
    /// Whatever the figures are, weights and all numbers beside them are finite, and no weight is
    /// negative.
    #[test]
    fn weights_are_finite(
        load in prop::array::uniform16(any_count()),
        counts in prop::array::uniform6(any_count()),
        bytes in prop::array::uniform2(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()]),
        mbps in prop::array::uniform3(any_number()),
        usage in any_number(),
        files in prop::option::of(any::<u64>()),
        closeness in prop::option::of(any::<i32>()),
        slots in prop::option::of(any_count()),
        at_nucleus in any::<bool>(),
    ) {
        let task = task(|task| {
            (task.total_bytes, task.total_files) = (bytes[0], counts[0]);
            task.disk_io_kbps = Some(counts[5]);
        });
        let mut queue = queue("A");
        queue.cores = counts[4];
        let mut candidate = candidate(&queue);
        candidate.load = &load;
        (candidate.load_all, candidate.load_type) = (counted(&load), counted(&load));
        (candidate.reserved, candidate.workers, candidate.slots) = (counts[1], counts[2], slots);
        (candidate.available_bytes, candidate.available_files) = (bytes[1], counts[3]);
        (candidate.at_nucleus, candidate.disk_io_kbps) = (at_nucleus, usage);
        candidate.link = LinkView {
            mbps_1h: mbps[0],
            mbps_1d: mbps[1],
            mbps_1w: mbps[2],
            ..link(files, None, closeness)
        };
        for rules in BOTH {
            let figures = Figures::with(rules, &[("NW_ACTIVE", "1")], &task, &candidate);
            prop_assert!(figures.weighed.total.is_finite() && figures.weighed.total >= 0.0);
            prop_assert!(figures.weighed.factors.iter().all(|figure| figure.is_finite()));
            prop_assert_eq!(figures.weighed.factors.len(), figures.names.len());
            let (policy, resolved) = policy(rules);
            if let Some((_, objection)) = policy.object_one(&case(&task), &candidate, &resolved) {
                prop_assert!(objection.measured.is_finite() && objection.limit.is_finite());
            }
        }
    }
}
