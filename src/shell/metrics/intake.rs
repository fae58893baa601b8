//! Intake and imports as metrics. A process without them shows none of these.

use super::counters::{Pairs, PendingCounter};
use super::export::gauge;
use super::table::Metric;
use crate::intake::IntakeReport;
use metrics::Gauge;
use metrics_exporter_prometheus::PrometheusRecorder;
use std::collections::BTreeMap;
use yardmaster_core::unit::{Millis, SECOND};
use yardmaster_drive::intake::{Noted, Taken};
use yardmaster_wire::dialect::Dialect;

/// Metrics of intake and imports.
pub(super) struct IntakeMetrics {
    records: BTreeMap<(Dialect, Taken), PendingCounter>,
    changes: BTreeMap<Noted, PendingCounter>,
    dropped: Option<PendingCounter>,
    waiting: Option<[Gauge; 5]>,
    imports: [Pairs; 2],
    import_age: Option<Gauge>,
}

impl IntakeMetrics {
    pub(super) fn new() -> IntakeMetrics {
        IntakeMetrics {
            records: BTreeMap::new(),
            changes: BTreeMap::new(),
            dropped: None,
            waiting: None,
            imports: [Metric::ImportReads, Metric::ImportRecords].map(Pairs::new),
            import_age: None,
        }
    }

    pub(super) fn record_import(
        &mut self,
        recorder: &PrometheusRecorder,
        name: &str,
        done: Option<&[(&str, usize)]>,
    ) {
        let [rounds, records] = &mut self.imports;
        let outcome = if done.is_some() { "succeeded" } else { "failed" };
        rounds.count(recorder, name, outcome, 1);
        for (outcome, count) in done.unwrap_or_default() {
            records.count(recorder, name, outcome, *count as u64);
        }
    }

    pub(super) fn record_import_age(
        &mut self,
        recorder: &PrometheusRecorder,
        name: &str,
        age: Millis,
    ) {
        let new = || gauge(recorder, Metric::ImportAge, &[name]);
        self.import_age.get_or_insert_with(new).set(age as f64 / SECOND as f64);
    }

    pub(super) fn record_intake(&mut self, recorder: &PrometheusRecorder, report: &IntakeReport) {
        for dialect in Dialect::ALL {
            for taken in Taken::ALL {
                let labels = [dialect.name(), taken.name()];
                let new = || PendingCounter::new(recorder, Metric::IntakeRecords, &labels);
                let count = report.counts.of(dialect, *taken);
                self.records.entry((dialect, *taken)).or_insert_with(new).pending += count;
            }
        }
        for noted in Noted::ALL {
            let new = || PendingCounter::new(recorder, Metric::IntakeChanges, &[noted.name()]);
            let count = report.counts.noted(*noted);
            self.changes.entry(*noted).or_insert_with(new).pending += count;
        }
        let dropped = || PendingCounter::new(recorder, Metric::IntakeDropped, &[]);
        self.dropped.get_or_insert_with(dropped).pending += report.counts.dropped;
        let gauges = [
            Metric::IntakeWaiting,
            Metric::IntakeQueued,
            Metric::IntakeGone,
            Metric::IntakeHeld,
            Metric::IntakeAbsent,
        ];
        let new = || gauges.map(|metric| gauge(recorder, metric, &[]));
        let IntakeReport { waiting, queued, gone, held, absent, .. } = report;
        let counts = [*waiting, *queued, *gone, *held, *absent];
        let gauges = self.waiting.get_or_insert_with(new);
        gauges.iter().zip(counts).for_each(|(gauge, count)| gauge.set(count as f64));
    }

    pub(super) fn add(&mut self) {
        self.imports.iter_mut().for_each(Pairs::add);
        let counters = self.records.values_mut().chain(self.changes.values_mut());
        counters.chain(&mut self.dropped).for_each(PendingCounter::add);
    }
}
