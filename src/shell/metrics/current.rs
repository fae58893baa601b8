//! Gauges whose labels come and go, as they were last set. Written here rather than by the
//! exporter, which never forgets a label: only what is so now is to be seen.

use super::export::DOMAIN;
use super::table::Metric;
use metrics_exporter_prometheus::formatting::{sanitize_label_value, write_help_line};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::{Mutex, PoisonError};

/// Writes samples as Prometheus reads them.
pub(super) struct SampleWriter<'a> {
    text: &'a mut String,
    domain: &'a str,
}

impl<'a> SampleWriter<'a> {
    /// Appends to a text; the domain is given as [`clean`] gives it.
    pub(super) fn new(text: &'a mut String, domain: &'a str) -> SampleWriter<'a> {
        SampleWriter { text, domain }
    }

    /// Begins a metric.
    pub(super) fn begin(&mut self, metric: Metric) {
        write_help_line(self.text, metric.name(), None, None, metric.help());
        // Writing to a `String` does not fail.
        let _ = writeln!(self.text, "# TYPE {} gauge", metric.name());
    }

    /// A sample, its labels in the order of the table and as [`clean`] gives them.
    pub(super) fn sample(&mut self, metric: Metric, labels: &[&str], value: impl Display) {
        let text = &mut *self.text;
        text.push_str(metric.name());
        for part in ["{", DOMAIN, "=\"", self.domain, "\""] {
            text.push_str(part);
        }
        for (name, value) in metric.labels().iter().zip(labels) {
            for part in [",", name, "=\"", value, "\""] {
                text.push_str(part);
            }
        }
        let _ = writeln!(text, "}} {value}");
    }
}

/// The value of a label as it stands in the text.
pub(super) fn clean(label: &str) -> String {
    sanitize_label_value(label)
}

/// Samples of one metric: the values of its labels, and what is measured.
type Samples = Vec<(Vec<String>, f64)>;

/// Gauges of a domain by metric and labels.
pub(super) struct Current {
    domain: String,
    metrics: Mutex<BTreeMap<Metric, Samples>>,
}

impl Current {
    pub(super) fn new(domain: &str) -> Current {
        Current { domain: clean(domain), metrics: Mutex::default() }
    }

    /// Sets all samples of a metric, in place of those before.
    pub(super) fn set<'a, const LABELS: usize>(
        &self,
        metric: Metric,
        samples: impl Iterator<Item = ([&'a str; LABELS], f64)>,
    ) {
        assert_eq!(metric.labels().len(), LABELS, "labels of {}", metric.name());
        let clean = |labels: [&str; LABELS]| labels.iter().map(|it| clean(it)).collect();
        let samples = samples.map(|(labels, value)| (clean(labels), value)).collect();
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).insert(metric, samples);
    }

    /// Appends everything to a text.
    pub(super) fn render(&self, text: &mut String) {
        let mut writer = SampleWriter::new(text, &self.domain);
        let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        for (metric, samples) in metrics.iter().filter(|(_, samples)| !samples.is_empty()) {
            writer.begin(*metric);
            for (labels, value) in samples {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                writer.sample(*metric, &labels, value);
            }
        }
    }
}
