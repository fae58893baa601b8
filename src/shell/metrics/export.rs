//! The exporter: what every metric is registered with.

use super::table::{Kind, Metric};
use metrics::{Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};

/// The label that every metric has: the domain that the process works for.
pub(super) const DOMAIN: &str = "domain";

pub(super) const METADATA: Metadata<'static> = Metadata::new("yardmaster", Level::INFO, None);

/// A recorder that knows the domain, and the buckets and the help of every metric.
pub(super) fn recorder(domain: &str) -> PrometheusRecorder {
    let mut builder = PrometheusBuilder::new().add_global_label(DOMAIN, domain);
    for metric in Metric::ALL {
        if let Kind::Histogram(bounds) = metric.kind() {
            let bounds: Vec<f64> =
                bounds.iter().map(|millionths| *millionths as f64 / 1e6).collect();
            let name = Matcher::Full(metric.name().to_string());
            builder = builder
                .set_buckets_for_metric(name, &bounds)
                // cannot fail: it objects to an empty list alone, and the table has none.
                .expect("the table's lists of bounds are not empty");
        }
    }
    let recorder = builder.build_recorder();
    for metric in Metric::ALL {
        let name = KeyName::from_const_str(metric.name());
        match metric.kind() {
            Kind::Counter => recorder.describe_counter(name, None, metric.help().into()),
            Kind::Gauge => recorder.describe_gauge(name, None, metric.help().into()),
            Kind::Histogram(_) => recorder.describe_histogram(name, None, metric.help().into()),
        }
    }
    recorder
}

pub(super) fn gauge(recorder: &PrometheusRecorder, metric: Metric, labels: &[&str]) -> Gauge {
    recorder.register_gauge(&key(metric, labels), &METADATA)
}

pub(super) fn histogram(recorder: &PrometheusRecorder, metric: Metric) -> Histogram {
    histogram_of(recorder, metric, &[])
}

pub(super) fn histogram_of(
    recorder: &PrometheusRecorder,
    metric: Metric,
    labels: &[&str],
) -> Histogram {
    recorder.register_histogram(&key(metric, labels), &METADATA)
}

/// The key of a metric with the values of its labels, in the order of the table.
pub(super) fn key(metric: Metric, values: &[&str]) -> Key {
    assert_eq!(metric.labels().len(), values.len(), "labels of {}", metric.name());
    let labels: Vec<Label> = metric
        .labels()
        .iter()
        .zip(values)
        .map(|(name, value)| Label::new(*name, value.to_string()))
        .collect();
    Key::from_parts(metric.name(), labels)
}
