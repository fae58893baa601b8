//! Worked examples 13.1 and 13.2, both sides of each difference, and hostile figures.

use super::{BOTH, task};
use crate::core::event::{Queue, Status, Task};
use crate::core::policy::sample::{candidate, case, counted, load, policy, queue};
use crate::core::policy::{Candidate, LinkView, Policy, PolicySpec, Rules, Weighed};
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

/// Jobs of a queue: running, activated, assigned, starting, defined.
fn jobs(
    [running, activated, assigned, starting, defined]: [u32; 5],
) -> &'static [u32; Status::COUNT] {
    load(&[
        (Status::Running, running),
        (Status::Activated, activated),
        (Status::Assigned, assigned),
        (Status::Starting, starting),
        (Status::Defined, defined),
    ])
}

#[test]
fn production_weights_13_1() {
    // Jobs; total and available bytes, missing files; w0 and d in the seed.
    let table = [
        ([200, 100, 150, 10, 20], [100_u64, 25], 75_u32, 201.0 / 435.0, 125.0 / 175.0),
        ([200, 100, 150, 10, 20], [100, 100], 0, 201.0 / 140.0, 2.0),
        ([0, 0, 50, 0, 0], [1_000, 0], 10, 1.0 / 120.0, 1_000.0 / 1_100.0),
        ([0, 0, 0, 0, 0], [0, 0], 0, 0.1, 1.0),
        ([1_000, 0, 0, 0, 0], [1_000, 0], 200, 100.1, 1.0 / 3.0),
        ([200, 400, 100, 0, 0], [1_000, 500], 100, 201.0 / 510.0, 0.75),
        ([500, 100, 300, 20, 30], [1_000, 400], 60, 501.0 / 920.0, 0.875),
    ];
    let queue = queue("A");
    for (load, [total, available], missing, w0, d) in table {
        let task = task(|task| {
            (task.total_bytes, task.total_files) = (total, 1_000);
        });
        let mut candidate = candidate(&queue);
        candidate.load = jobs(load);
        candidate.available_bytes = available;
        candidate.available_files = 1_000 - missing;
        let figures = Figures::of(Rules::Documented, &task, &candidate);
        assert!(near(figures.get("basic"), w0), "{load:?}: {}", figures.get("basic"));
        assert!(near(figures.get("data"), d), "{load:?}: {}", figures.get("data"));
        let network = figures.get("network");
        assert!(near(figures.weighed.total, w0 * d * network), "{load:?}");
    }
}

/// P1 in both readings, network included.
#[test]
fn one_weight_in_both_readings_13_1() {
    let queue = queue("A");
    let task = task(|task| (task.total_bytes, task.total_files) = (100, 100));
    let mut candidate = candidate(&queue);
    candidate.load = jobs([200, 100, 150, 10, 20]);
    (candidate.available_bytes, candidate.available_files) = (25, 25);
    candidate.link = link(Some(75), Some(60.0), None);
    let active = [("NW_ACTIVE", "true")];
    let seed = Figures::with(Rules::Documented, &active, &task, &candidate);
    assert!(near(seed.weighed.total, 0.569335), "{:?}", seed.weighed);
    assert!(near(seed.get("manyAssigned"), 1.5));
    let code = Figures::with(Rules::Panda, &active, &task, &candidate);
    assert!(near(code.weighed.total, 0.513270), "{:?}", code.weighed);
    assert!(near(code.get("manyAssigned"), 151.0 / 101.0));
    // Without NW_ACTIVE PanDA leaves the network out (DIFF-18).
    let passive = Figures::of(Rules::Panda, &task, &candidate);
    assert!(near(passive.weighed.total, 0.513270 / 1.55), "{:?}", passive.weighed);
}

#[test]
fn many_assigned_without_activated_jobs_diff_21() {
    let queue = queue("A");
    let task = task(|task| task.total_bytes = 1);
    for (activated, assigned, seed, code) in [
        (0, 0, 1.0, 1.0),
        (0, 1, 2.0, 2.0),
        (10, 15, 1.5, 16.0 / 11.0),
        (10, 20, 2.0, 21.0 / 11.0),
        (10, 30, 2.0, 2.0),
        (10, 5, 1.0, 1.0),
    ] {
        let mut candidate = candidate(&queue);
        candidate.load = jobs([0, activated, assigned, 0, 0]);
        for (rules, expected) in BOTH.into_iter().zip([seed, code]) {
            let many = Figures::of(rules, &task, &candidate).get("manyAssigned");
            assert!(near(many, expected), "{activated} {assigned} {rules:?}: {many}");
        }
    }
}

/// The choice of R, 13.1.
#[test]
fn running_figure_diff_20() {
    let mut pull = queue("A");
    (pull.ucore, pull.workflow) = (true, "pull_ups".into());
    let plain = queue("B");
    let low = task(|task| task.priority = 150);
    let high = task(|task| task.priority = 151);
    let figure = |rules, task: &Task, queue: &Queue, running, starting, workers, slots| {
        let mut candidate = candidate(queue);
        candidate.load = jobs([running, 0, 0, starting, 0]);
        (candidate.workers, candidate.slots) = (workers, slots);
        Figures::of(rules, task, &candidate).get("R")
    };
    // Running, starting, workers, slots; the seed; PanDA at low priority on a pull queue.
    for (running, starting, workers, slots, seed, code) in [
        (5, 0, 50, None, 20.0, 20.0),
        (30, 0, 100, None, 30.0, 30.0),
        (5, 0, 3, None, 5.0, 5.0),
        (40, 0, 0, Some(800), 100.0, 100.0),
        (148, 0, 0, Some(100), 148.0, 148.0),
        (10, 70, 0, Some(0), 70.0, 80.0),
        (10, 70, 0, None, 10.0, 10.0),
        (50, 30, 0, Some(408), 51.0, 51.0),
    ] {
        let seen = figure(Rules::Documented, &high, &plain, running, starting, workers, slots);
        assert_eq!(seen, seed, "{running} {starting} {workers} {slots:?}");
        let seen = figure(Rules::Panda, &low, &pull, running, starting, workers, slots);
        assert_eq!(seen, code, "{running} {starting} {workers} {slots:?}");
        // PanDA looks at none of it above the priority limit, at no workers of other queues.
        let real = f64::from(running);
        assert_eq!(figure(Rules::Panda, &high, &pull, running, starting, workers, slots), real);
        let pushed = figure(Rules::Panda, &low, &plain, running, starting, workers, None);
        assert_eq!(pushed, real);
    }
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
fn network_weights_13_2() {
    for (link, seed, code) in [
        (link(Some(0), Some(250.0), None), 2.0, 2.0),
        (link(Some(75), Some(60.0), None), 1.725, 1.55),
        (link(Some(30), Some(5.0), None), 1.55, 1.5),
        (link(Some(10), Some(200.0), None), 1.93333333, 1.91666666),
        (link(Some(149), Some(0.5), None), 1.25166666, 1.00333333),
        (link(Some(0), None, Some(0)), 2.0, 2.0),
        (link(Some(0), None, Some(5)), 1.77272727, 1.77272727),
        (link(Some(0), None, Some(11)), 1.5, 1.5),
        (link(None, None, None), 1.65, 1.65),
    ] {
        assert!(near(network(Rules::Documented, link, false), seed), "{link:?}");
        assert!(near(network(Rules::Panda, link, false), code), "{link:?}");
    }
    for rules in BOTH {
        assert_eq!(network(rules, link(Some(9_999), Some(1.0), Some(11)), true), 2.5);
    }
}

#[test]
fn throughput_steps_are_strict_diff_29() {
    for (mbps, seed, code) in [
        (0.0, 1.0, 1.0),
        (1.0, 1.0, 1.0),
        (1.5, 1.1, 1.1),
        (2.0, 1.1, 1.1),
        (10.0, 1.2, 1.2),
        (11.0, 1.3, 1.3),
        (20.0, 1.3, 1.3),
        (21.0, 1.5, 1.5),
        (50.0, 1.5, 1.5),
        (51.0, 1.7, 1.6),
        (75.0, 1.7, 1.6),
        (76.0, 1.8, 1.8),
        (100.0, 1.8, 1.8),
        (200.0, 1.9, 1.9),
        (200.1, 2.0, 2.0),
    ] {
        let link = link(Some(0), Some(mbps), None);
        assert!(near(network(Rules::Documented, link, false), 1.0 + seed / 2.0), "{mbps}");
        assert!(near(network(Rules::Panda, link, false), 1.0 + code / 2.0), "{mbps}");
    }
}

#[test]
fn which_throughput_is_used_q_8() {
    let three = |hour: Option<f64>, day: Option<f64>, week: Option<f64>| LinkView {
        mbps_1h: hour,
        mbps_1d: day,
        mbps_1w: week,
        ..link(Some(0), None, Some(11))
    };
    for (link, seed, code) in [
        (three(None, Some(30.0), Some(80.0)), 1.75, 1.75),
        (three(Some(90.0), None, None), 1.9, 1.5),
        (three(Some(90.0), Some(30.0), None), 1.9, 1.5),
        (three(Some(150.0), None, Some(60.0)), 1.95, 1.8),
        (three(Some(90.0), Some(30.0), Some(60.0)), 1.9, 1.9),
        (three(None, None, Some(60.0)), 1.85, 1.8),
        (three(None, None, None), 1.5, 1.5),
    ] {
        assert!(near(network(Rules::Documented, link, false), seed), "{link:?}");
        assert!(near(network(Rules::Panda, link, false), code), "{link:?}");
    }
}

#[test]
fn the_queue_part_and_its_span_diff_28() {
    let (queue, task) = (queue("A"), task(|_| {}));
    let mut candidate = candidate(&queue);
    candidate.link = link(Some(300), Some(60.0), None);
    let weight = |rules, gdp: &[(&str, &str)]| {
        Figures::with(rules, gdp, &task, &candidate).get("queuedWeight")
    };
    let active = ("NW_ACTIVE", "1");
    assert!(near(weight(Rules::Documented, &[]), 1.0));
    assert!(near(weight(Rules::Documented, &[("NW_QUEUED_SPAN", "600")]), 1.5));
    assert_eq!(weight(Rules::Documented, &[("NW_QUEUED_SPAN", "100")]), 1.0, "clamped");
    assert_eq!(weight(Rules::Documented, &[("NQUEUED_SAT_CAP", "400")]), 1.0, "not its span");
    assert!(near(weight(Rules::Panda, &[active, ("NQUEUED_SAT_CAP", "400")]), 1.25));
    assert_eq!(weight(Rules::Panda, &[active]), 0.0, "falls on, not below 0");
    let part = [active, ("NW_QUEUE_IMPORTANCE", "0.8"), ("NW_QUEUED_SPAN", "600")];
    let mixed = Figures::with(Rules::Documented, &part, &task, &candidate).get("network");
    assert!(near(mixed, 0.8 * 1.5 + 0.2 * 1.7));
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

#[test]
fn promised_jobs_weigh_as_defined_ones() {
    let (queue, task) = (queue("A"), task(|_| {}));
    let mut candidate = candidate(&queue);
    candidate.promised = 30;
    let figures = Figures::of(Rules::Documented, &task, &candidate);
    assert!(near(figures.get("basic"), 1.0 / 40.0));
    assert_eq!([figures.get("promised"), figures.get("defined")], [30.0, 0.0]);
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
        load in prop::array::uniform15(any_count()),
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
        (candidate.promised, candidate.workers, candidate.slots) = (counts[1], counts[2], slots);
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
