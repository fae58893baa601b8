//! Counters that are counted in plain local integers and added to the exported ones once per batch.

use super::OTHER;
use super::export::{METADATA, key};
use super::table::Metric;
use metrics::{Counter, Recorder};
use metrics_exporter_prometheus::PrometheusRecorder;
use std::collections::BTreeMap;

/// How many pairs of policy and outcome, or policy and filter, get labels of their own. They come
/// from the topology file and are few; this bounds what a strange one could do.
pub(super) const PAIRS_MAX: usize = 1_000;

/// A counter and what was not yet added to it.
pub(super) struct PendingCounter {
    pub(super) pending: u64,
    counter: Counter,
}

impl PendingCounter {
    pub(super) fn new(
        recorder: &PrometheusRecorder,
        metric: Metric,
        labels: &[&str],
    ) -> PendingCounter {
        let counter = recorder.register_counter(&key(metric, labels), &METADATA);
        PendingCounter { pending: 0, counter }
    }

    pub(super) fn add(&mut self) {
        if self.pending > 0 {
            self.counter.increment(std::mem::take(&mut self.pending));
        }
    }
}

/// Counters of one metric with two labels, by the first and the second.
pub(super) struct Pairs {
    metric: Metric,
    count: usize,
    counters: BTreeMap<String, BTreeMap<String, PendingCounter>>,
}

impl Pairs {
    pub(super) fn new(metric: Metric) -> Pairs {
        Pairs { metric, count: 0, counters: BTreeMap::new() }
    }

    /// Allocates only when a pair is seen for the first time.
    pub(super) fn count(
        &mut self,
        recorder: &PrometheusRecorder,
        first: &str,
        second: &str,
        count: u64,
    ) {
        if let Some(pending) = self.counters.get_mut(first).and_then(|it| it.get_mut(second)) {
            pending.pending += count;
            return;
        }
        let (first, second) = if self.count < PAIRS_MAX { (first, second) } else { (OTHER, OTHER) };
        self.count += 1;
        let by_second = self.counters.entry(first.to_string()).or_default();
        let new = || PendingCounter::new(recorder, self.metric, &[first, second]);
        by_second.entry(second.to_string()).or_insert_with(new).pending += count;
    }

    pub(super) fn add(&mut self) {
        self.counters.values_mut().flat_map(BTreeMap::values_mut).for_each(PendingCounter::add);
    }
}

/// Counters of one metric with one label: the first `most` values that come, the others as one.
pub(super) struct ByLabel {
    metric: Metric,
    most: usize,
    counters: BTreeMap<String, PendingCounter>,
}

impl ByLabel {
    pub(super) fn new(metric: Metric, most: usize) -> ByLabel {
        ByLabel { metric, most, counters: BTreeMap::new() }
    }

    /// Allocates only when a value is seen for the first time.
    pub(super) fn count(&mut self, recorder: &PrometheusRecorder, label: &str, count: u64) {
        if let Some(pending) = self.counters.get_mut(label) {
            pending.pending += count;
            return;
        }
        let label = if self.counters.len() < self.most { label } else { OTHER };
        let new = || PendingCounter::new(recorder, self.metric, &[label]);
        self.counters.entry(label.to_string()).or_insert_with(new).pending += count;
    }

    pub(super) fn add(&mut self) {
        self.counters.values_mut().for_each(PendingCounter::add);
    }
}
