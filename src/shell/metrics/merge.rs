//! The metrics of several domains as one text: Prometheus wants the samples of a metric together,
//! below one line of help and one of its type.

use std::collections::BTreeMap;

/// A metric's lines: its help and type, and the samples of all texts.
#[derive(Default)]
struct Family<'a> {
    head: Vec<&'a str>,
    samples: Vec<&'a str>,
}

/// One text of several that Prometheus reads; metrics in the order of their names. Samples of
/// different texts must differ in a label.
pub fn merge(texts: &[String]) -> String {
    let mut families: BTreeMap<&str, Family<'_>> = BTreeMap::new();
    for text in texts {
        let mut name = "";
        for line in text.lines().filter(|line| !line.is_empty()) {
            let Some(comment) = line.strip_prefix("# ") else {
                families.entry(name).or_default().samples.push(line);
                continue;
            };
            name = comment.split(' ').nth(1).unwrap_or_default();
            let head = &mut families.entry(name).or_default().head;
            if !head.contains(&line) {
                head.push(line);
            }
        }
    }
    let mut merged = String::with_capacity(texts.iter().map(String::len).sum());
    for line in families.values().flat_map(|it| it.head.iter().chain(&it.samples)) {
        merged.push_str(line);
        merged.push('\n');
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use std::sync::Arc;
    use std::time::Duration;

    /// Names of the metrics of a text, in its order.
    fn types(text: &str) -> Vec<&str> {
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
        types.filter_map(|line| line.split(' ').next()).collect()
    }

    #[test]
    fn each_metric_is_described_once_and_has_the_samples_of_every_domain() {
        let texts = ["atlas", "cms"].map(|domain| {
            let mut metrics = Metrics::new(domain, 10);
            metrics.record_cycle(Duration::from_millis(3));
            metrics.record_audit(0, Duration::from_secs(1));
            metrics.add();
            metrics.scrape(Arc::default()).text()
        });
        let merged = merge(&texts);
        let names = types(&merged);
        assert!(names.is_sorted_by(|one, next| one < next), "{names:?}");
        let mut wanted = types(&texts[0]);
        wanted.sort_unstable();
        assert_eq!(names, wanted);
        let samples = |text: &str| text.lines().filter(|it| it.contains("{domain=")).count();
        assert_eq!(samples(&merged), 2 * samples(&texts[0]));
        // A histogram's buckets stand below the histogram's own lines.
        let at = |part: &str| merged.find(part).unwrap();
        let histogram = at("# TYPE yardmaster_cycle_seconds ");
        let buckets = at("yardmaster_cycle_seconds_bucket{domain=\"cms\"");
        let next = merged[histogram..].find("# HELP").map_or(merged.len(), |it| histogram + it);
        assert!((histogram..next).contains(&buckets), "{merged}");
    }
}
