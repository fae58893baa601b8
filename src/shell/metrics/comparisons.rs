//! Requests that another broker answered as well, as metrics. A process that met none shows none of
//! these.

use super::OTHER;
use super::counters::PendingCounter;
use super::export::histogram_of;
use super::table::Metric;
use metrics::Histogram;
use metrics_exporter_prometheus::PrometheusRecorder;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use yardmaster_core::comparison::{Agreement, Counted};

/// How many shares, and how many filters of each side, get a label of their own: the first that
/// come. They are names that clients write.
pub(super) const NAMES_MAX: usize = 200;
/// Kinds of queues that get a label of their own.
pub(super) const QUEUE_TYPES: [&str; 2] = ["production", "analysis"];
/// Stands for a name that the client did not give.
pub(super) const UNKNOWN: &str = "unknown";
/// Stands for the filter of a queue of whose rejection the side lists nothing.
pub(super) const NOT_REJECTED: &str = "not_rejected";
/// By whether the first queue and the set of queues are the same.
pub(super) const CHOICES: [&str; 2] = ["same", "another"];

/// Counters of one metric by all its labels.
struct Counters {
    metric: Metric,
    counters: BTreeMap<Vec<String>, PendingCounter>,
}

impl Counters {
    fn new(metric: Metric) -> Counters {
        Counters { metric, counters: BTreeMap::new() }
    }

    fn count(&mut self, recorder: &PrometheusRecorder, labels: &[&str], count: u64) {
        let key = labels.iter().map(|it| (*it).to_owned()).collect();
        let new = || PendingCounter::new(recorder, self.metric, labels);
        self.counters.entry(key).or_insert_with(new).pending += count;
    }
}

/// Names that get a label of their own.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn label<'a>(&mut self, name: &'a str) -> &'a str {
        if name.is_empty() {
            return UNKNOWN;
        }
        if !self.0.contains(name) {
            if self.0.len() >= NAMES_MAX {
                return OTHER;
            }
            self.0.insert(name.to_owned());
        }
        name
    }
}

/// Metrics of comparisons with another broker.
pub(super) struct ComparisonMetrics {
    shares: Names,
    filters: BTreeMap<&'static str, Names>,
    results: Counters,
    answers: Counters,
    rejections: Counters,
    assigned: Counters,
    unreadable: Counters,
    took: BTreeMap<&'static str, Histogram>,
    overlap: Option<Histogram>,
}

impl ComparisonMetrics {
    pub(super) fn new() -> ComparisonMetrics {
        ComparisonMetrics {
            shares: Names::default(),
            filters: BTreeMap::new(),
            results: Counters::new(Metric::Comparisons),
            answers: Counters::new(Metric::ComparedAnswers),
            rejections: Counters::new(Metric::ComparedRejections),
            assigned: Counters::new(Metric::AssignedComparisons),
            unreadable: Counters::new(Metric::UnreadableComparisons),
            took: BTreeMap::new(),
            overlap: None,
        }
    }

    /// A comparison.
    pub(super) fn record(&mut self, recorder: &PrometheusRecorder, it: &Counted) {
        let queue_type = match it.queue_type.as_str() {
            "" => UNKNOWN,
            name => QUEUE_TYPES.into_iter().find(|known| *known == name).unwrap_or(OTHER),
        };
        let gshare = self.shares.label(&it.gshare);
        self.results.count(recorder, &[queue_type, gshare, it.agreement.name()], 1);
        // All that a board divides by is there from the first comparison on.
        self.unreadable.count(recorder, &[], 0);
        for (side, outcome, took_ms) in &it.answers {
            let side = side.name();
            self.answers.count(recorder, &[side, outcome.name()], 1);
            if outcome.is_answer() {
                let new = || histogram_of(recorder, Metric::ComparedAnswer, &[side]);
                let took = Duration::from_millis(*took_ms);
                self.took.entry(side).or_insert_with(new).record(took.as_secs_f64());
            }
        }
        for (side, filter) in &it.filters {
            let side = side.name();
            let filter = match filter {
                Some(name) => self.filters.entry(side).or_default().label(name),
                None => NOT_REJECTED,
            };
            self.rejections.count(recorder, &[side, filter], 1);
        }
        if let Some(overlap) = it.overlap {
            let new = || histogram_of(recorder, Metric::Overlap, &[]);
            self.overlap.get_or_insert_with(new).record(overlap);
        }
        if let Some(figures) = it.figures {
            let [same, another] = CHOICES;
            let choice = if it.agreement == Agreement::Same { same } else { another };
            self.assigned.count(recorder, &[choice, figures.name()], 1);
        }
    }

    /// Records that cannot be read.
    pub(super) fn record_unreadable(&mut self, recorder: &PrometheusRecorder, count: u64) {
        self.unreadable.count(recorder, &[], count);
    }

    pub(super) fn add(&mut self) {
        let (results, answers) = (&mut self.results, &mut self.answers);
        let rest = [&mut self.rejections, &mut self.assigned, &mut self.unreadable];
        for counters in [results, answers].into_iter().chain(rest) {
            counters.counters.values_mut().for_each(PendingCounter::add);
        }
    }
}
