//! The dashboards and alerts of `dashboards/`: that they name metrics and labels that there are, that
//! each panel explains itself, and that a real Prometheus answers every query of them.

mod annotations;
mod api;
mod boards;
mod live;
mod promql;
mod requests;
mod rules;
mod runbooks;

use boards::{Board, Panel, Variable};
use promql::{Selector, groupings, selectors, variables};
use rules::Rule;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use yardmaster::shell::metrics::{Kind, Metric};

/// The boards there are; each has a link to each other.
const BOARDS: [&str; 9] = [
    "cms",
    "commands",
    "comparison",
    "decisions",
    "engine",
    "nordugrid",
    "overview",
    "queues",
    "users-and-shares",
];

/// Labels that every series has: our own, and those that Prometheus gives to what it scrapes.
const EVERYWHERE: [&str; 3] = ["domain", "instance", "job"];

/// Labels of the series that Prometheus writes of alerts, as our rules make them.
const OF_ALERTS: [&str; 4] = ["alertname", "alertstate", "severity", "domain"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("dashboards")
}

fn text(name: &str) -> String {
    fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every board, by the name of its file.
fn boards() -> Vec<Board> {
    let files = fs::read_dir(folder()).expect("dashboards/").flatten().map(|file| file.path());
    let mut paths: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
    paths.sort();
    paths.iter().map(|path| Board::read(path)).collect()
}

/// The metric of a series, and what may stand in its selector. The series of a histogram are its
/// buckets, sum and count.
fn labels_of(series: &str) -> Option<Vec<&'static str>> {
    if series == "ALERTS" {
        return Some(OF_ALERTS.to_vec());
    }
    let of = |name: &str| Metric::ALL.iter().find(|metric| metric.name() == name);
    let parts = ["_bucket", "_sum", "_count"];
    let histogram = parts.iter().find_map(|part| Some((part, of(series.strip_suffix(part)?)?)));
    let (metric, extra) = match (of(series), histogram) {
        (Some(metric), _) if !matches!(metric.kind(), Kind::Histogram(_)) => (metric, None),
        (None, Some((part, metric))) if matches!(metric.kind(), Kind::Histogram(_)) => {
            (metric, (*part == "_bucket").then_some("le"))
        }
        _ => return None,
    };
    Some([metric.labels(), &EVERYWHERE].concat().into_iter().chain(extra).collect())
}

/// Mistakes in a query: metrics that there are not, labels that a metric does not have.
fn complaints(query: &str) -> Vec<String> {
    let mut found = Vec::new();
    let all = selectors(query);
    if all.is_empty() {
        found.push(format!("`{query}` names no metric"));
    }
    for Selector { series, labels } in &all {
        let Some(known) = labels_of(series) else {
            found.push(format!("`{query}`: there is no metric `{series}`"));
            continue;
        };
        let unknown = labels.iter().filter(|label| !known.contains(&label.as_str()));
        found.extend(unknown.map(|it| format!("`{query}`: `{series}` has no label `{it}`")));
    }
    for grouping in groupings(query) {
        let of = grouping.of.as_ref().unwrap_or(&all);
        let known: Vec<&str> = of.iter().filter_map(|it| labels_of(&it.series)).flatten().collect();
        let unknown = grouping.labels.iter().filter(|label| !known.contains(&label.as_str()));
        found.extend(unknown.map(|it| format!("`{query}`: nothing grouped has a label `{it}`")));
    }
    found
}

#[track_caller]
fn none(found: &[String]) {
    assert!(found.is_empty(), "{} complaints:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_board_is_there_and_links_to_the_others() {
    let boards = boards();
    let names: Vec<&str> = boards.iter().map(|board| board.name.as_str()).collect();
    assert_eq!(names, BOARDS);
    for board in &boards {
        assert_eq!(board.uid, format!("yardmaster-{}", board.name));
        let others = BOARDS.iter().filter(|name| **name != board.name);
        let urls: BTreeSet<String> = others.map(|it| format!("/d/yardmaster-{it}")).collect();
        let linked: BTreeSet<String> = board.links.iter().cloned().collect();
        assert_eq!(linked, urls, "{}", board.name);
        let pretty = serde_json::to_string_pretty(&board.json).unwrap();
        assert!(board.text == pretty + "\n", "{}: not indented by two", board.name);
    }
    let titles: BTreeSet<&str> = boards.iter().map(|board| board.title.as_str()).collect();
    assert_eq!(titles.len(), boards.len(), "{titles:?}");
}

#[test]
fn every_panel_has_what_grafana_and_a_reader_need() {
    none(&boards().iter().flat_map(Board::complaints).collect::<Vec<_>>());
}

#[test]
fn boards_name_metrics_and_labels_that_there_are() {
    let mut found = Vec::new();
    for board in boards() {
        let at = |why: String| format!("{}: {why}", board.name);
        for query in board.queries() {
            found.extend(complaints(&query.expr).into_iter().map(at));
            let known: Vec<&str> = selectors(&query.expr)
                .iter()
                .filter_map(|it| labels_of(&it.series))
                .flatten()
                .collect();
            let unknown = query.legend_labels().into_iter().filter(|it| !known.contains(it));
            found.extend(unknown.map(|it| at(format!("a legend shows `{it}`: {}", query.expr))));
        }
        for Variable { name, values_of } in &board.variables {
            let Some((selector, label)) = values_of else { continue };
            found.extend(complaints(selector).into_iter().map(at));
            let known = labels_of(&selectors(selector)[0].series).unwrap_or_default();
            if !known.contains(&label.as_str()) {
                found.push(at(format!("variable {name}: no label `{label}`")));
            }
        }
    }
    none(&found);
}

/// A variable that is shown has an effect, and what a query names can be chosen.
#[test]
fn boards_have_the_variables_that_they_use() {
    for board in boards() {
        let queries = board.queries();
        let of_variables = board.variables.iter().filter_map(|it| it.values_of.as_ref());
        let texts = queries.iter().map(|query| query.expr.as_str());
        let texts = texts.chain(of_variables.map(|(selector, _)| selector.as_str()));
        let other_texts = board.other_texts();
        let texts = texts.chain(other_texts.iter().map(String::as_str));
        let used: BTreeSet<String> =
            texts.flat_map(variables).filter(|name| !name.starts_with("__")).collect();
        let has: BTreeSet<String> =
            board.variables.iter().map(|variable| variable.name.clone()).collect();
        assert_eq!(used, has, "{}", board.name);
    }
}

#[test]
fn every_metric_is_on_a_board() {
    let boards = boards();
    let queries = boards.iter().flat_map(Board::queries);
    let shown: Vec<String> =
        queries.flat_map(|query| selectors(&query.expr)).map(|it| it.series).collect();
    let is_shown = |metric: &Metric| shown.iter().any(|series| series.starts_with(metric.name()));
    let missing: Vec<String> = Metric::ALL
        .iter()
        .filter(|metric| !is_shown(metric))
        .map(|metric| format!("no board of dashboards/ shows `{}`", metric.name()))
        .collect();
    none(&missing);
}

#[test]
fn alerts_name_metrics_and_labels_that_there_are_and_keep_the_domain() {
    let rules = Rule::all(&text("alerts.yml"));
    assert!(rules.len() > 15, "{} rules were found", rules.len());
    let mut found = Vec::new();
    for rule in &rules {
        let at = |why: String| format!("{}: {why}", rule.name);
        found.extend(complaints(&rule.expr).into_iter().map(at));
        let groupings = groupings(&rule.expr);
        let keeps = |labels: &[String]| labels.iter().any(|label| label == "domain");
        let lost = groupings.iter().filter(|grouping| !keeps(&grouping.labels));
        found.extend(lost.map(|it| at(format!("loses the domain: {:?}", it.labels))));
        let kept: BTreeSet<&str> =
            groupings.iter().flat_map(|it| &it.labels).map(String::as_str).collect();
        for label in rule.shown_labels() {
            if !kept.contains(label) {
                found.push(at(format!("its annotations show `{label}`, which it does not keep")));
            }
        }
    }
    none(&found);
}

#[test]
fn every_alert_explains_itself_and_has_its_cases() {
    let rules = Rule::all(&text("alerts.yml"));
    let names: BTreeSet<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names.len(), rules.len());
    let cases = rules::cases(&text("alerts_test.yml"));
    let mut found = Vec::new();
    for rule in &rules {
        found.extend(rule.complaints());
        for fires in [true, false] {
            if !cases.contains(&(rule.name.clone(), fires)) {
                let what = if fires { "fires" } else { "does not fire" };
                found
                    .push(format!("{}: alerts_test.yml has no case in which it {what}", rule.name));
            }
        }
    }
    let unknown = cases.iter().filter(|(name, _)| !names.contains(name.as_str()));
    found.extend(unknown.map(|(name, _)| format!("alerts_test.yml tests `{name}`, which is none")));
    none(&found);
}

// --- Each rule, seen red ----------------------------------------------------------------------------

#[test]
fn metrics_and_labels_that_there_are_not_are_seen() {
    let count = |query: &str| complaints(query).len();
    assert_eq!(count(r#"sum by (topic) (rate(yardmaster_lag_records{topic="a"}[1m]))"#), 0);
    assert_eq!(count("yardmaster_lag_recordz"), 1);
    assert_eq!(count(r#"yardmaster_lag_records{queue="a"}"#), 1);
    assert_eq!(count("sum by (topic, queue) (yardmaster_lag_records)"), 1);
    assert_eq!(count("yardmaster_ready == 1 and on (domain, topic) yardmaster_leading"), 1);
    assert_eq!(count("yardmaster_ready == 1 and on (domain) yardmaster_leading"), 0);
    assert_eq!(count("sum by (le) (rate(yardmaster_commit_seconds_bucket[1m]))"), 0);
    assert_eq!(count("yardmaster_commit_seconds"), 1, "a histogram has no series of its own name");
    assert_eq!(count("yardmaster_ready_bucket"), 1);
    assert_eq!(count(r#"label_replace(vector(1), "a", "yardmaster_x", "", "")"#), 1, "no metric");
    assert_eq!(variables(r#"a{b="$c",d=~"${e}"}[$__range]"#), ["c", "e", "__range"]);
}

#[test]
fn panels_that_explain_nothing_are_seen() {
    let board = boards().into_iter().next().expect("a board");
    let panel = |change: fn(&mut Panel)| {
        let mut panel = board.panels.iter().find(|it| it.kind == "timeseries").unwrap().clone();
        change(&mut panel);
        panel.complaints().len()
    };
    assert_eq!(panel(|_| ()), 0);
    assert_eq!(panel(|it| it.title.clear()), 1);
    assert_eq!(panel(|it| it.unit = None), 1);
    assert_eq!(panel(|it| it.unit = Some("bananas".to_owned())), 1);
    assert_eq!(panel(|it| it.description.clear()), 1);
    assert_eq!(panel(|it| it.description = "Empty while it likes".to_owned()), 1);
    assert_eq!(panel(|it| it.queries.clear()), 1);
    assert_eq!(panel(|it| it.place.0 = 20), 1);
}

#[test]
fn tables_of_the_api_that_show_nothing_are_seen() {
    let all = boards().into_iter().flat_map(|board| board.panels);
    let tables: Vec<Panel> = all.filter(|panel| !panel.requests.is_empty()).collect();
    assert_eq!(tables.len(), 6);
    let table = |change: fn(&mut requests::Request)| {
        let mut panel = tables.iter().find(|it| it.title == "Single decisions").unwrap().clone();
        change(&mut panel.requests[0]);
        panel.complaints().len()
    };
    assert_eq!(table(|_| ()), 0);
    assert_eq!(table(|it| it.path = "http://leader:9187/api/v1/decisions".to_owned()), 1);
    assert_eq!(table(|it| it.path += "?limit=5"), 1);
    assert_eq!(table(|it| it.root.clear()), 1);
    assert_eq!(table(|it| drop(it.columns.remove("subject"))), 1);
}
