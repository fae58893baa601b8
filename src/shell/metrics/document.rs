//! All metrics as a page for people: `dashboards/METRICS.md`.

use super::OTHER;
use super::comparisons::{CHOICES, NAMES_MAX, NOT_REJECTED, QUEUE_TYPES, UNKNOWN};
use super::counters::PAIRS_MAX;
use super::export::DOMAIN;
use super::figures::{SHARES_MAX, USERS_MAX};
use super::glance::{CLUSTER_JOBS, CPUS, FREE, POOL_CORES, SITES, WORKFLOWS};
use super::queues::WORKERS;
use super::rules::COMPONENTS_MAX;
use super::table::{EventOutcome, Kind, Metric};
use super::weights::POLICIES_MAX;
use crate::attention::{RULES, Severity};
use crate::estimates::RESULTS;
use crate::waiting::FIXED;
use std::fmt::Write;
use yardmaster_core::budget::CycleLoop;
use yardmaster_core::command::CommandRule;
use yardmaster_core::comparison::{Agreement, AnswerOutcome, FiguresSeen, Side};
use yardmaster_core::cut::Topic;
use yardmaster_core::domain::atlas::policy::TASK_CLASSES;
use yardmaster_core::event::{Class, Status};
use yardmaster_core::oddity::Oddity;
use yardmaster_core::output::throttle::Action;
use yardmaster_core::policy::factors;
use yardmaster_core::policy::rule::Rule;
use yardmaster_core::view::STATUSES;
use yardmaster_drive::intake::{Noted, Taken};
use yardmaster_drive::stray::Stray;
use yardmaster_wire::dialect::Dialect;

/// The page.
pub fn document() -> String {
    let mut page = String::from(
        "<!-- Made from src/shell/metrics by a test: \
         UPDATE=1 cargo test --features tls -p yardmaster-shell metrics::document -->\n\n\
         # Metrics\n\n",
    );
    // Writing to a `String` does not fail.
    let _ = writeln!(
        page,
        "`/metrics` of `run`, `demo`, `intake` and `import --every`. Every metric has the label \
         `{DOMAIN}` too: the domain that the process works for; a `run` of several shows all of \
         them, each with its own figures. A process shows what it has: \
         one that does not lead shows no requests that wait, one that imports nothing no imports."
    );
    let _ = writeln!(
        page,
        "\nWhere a bound says \"the rest as `{OTHER}`\", nothing is lost: the samples add up to \
         all there is.\n\n\
         | name | kind | labels and their bounds | meaning |\n|---|---|---|---|"
    );
    for metric in Metric::ALL {
        let kind = match metric.kind() {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        let label = |name: &&str| format!("`{name}`: {}", bound(*metric, name).unwrap_or_default());
        let labels: Vec<String> = metric.labels().iter().map(label).collect();
        let (name, labels, meaning) = (metric.name(), labels.join("; "), metric.help());
        let _ = writeln!(page, "| `{name}` | {kind} | {labels} | {meaning} |");
    }
    page
}

/// Which values a label of a metric can have, and how many; `None` for one that is not known here.
fn bound(metric: Metric, label: &str) -> Option<String> {
    words(metric, label).or_else(|| names(metric, label))
}

/// Values of a label that has a few words; `None` for any other.
fn words(metric: Metric, label: &str) -> Option<String> {
    Some(match (label, metric) {
        ("outcome", Metric::Events) => list(EventOutcome::ALL.iter().map(|it| it.name())),
        ("outcome", Metric::Decisions) => list(["assign", "defer", "reject"]),
        ("outcome", Metric::ImportReads) => list(["succeeded", "failed"]),
        ("outcome", Metric::ImportRecords) => {
            list(["written", "removed", "kept", "unchanged", "unreadable"])
        }
        ("outcome", Metric::IntakeRecords) => list(Taken::ALL.iter().map(|it| it.name())),
        ("outcome", Metric::ComparedAnswers) => list(AnswerOutcome::ALL.map(AnswerOutcome::name)),
        ("outcome", Metric::IntakeChanges) => list(Noted::ALL.iter().map(|it| it.name())),
        ("outcome", Metric::ClassedDecisions) => list(["assign", "defer"]),
        ("loop", _) => list(CycleLoop::ALL.iter().map(|it| it.name())),
        ("result", Metric::EstimatedStarts) => list(RESULTS),
        ("result", _) => list(Agreement::ALL.map(Agreement::name)),
        ("side", _) => list(Side::ALL.map(Side::name)),
        ("choice", _) => list(CHOICES),
        ("figures", _) => list(FiguresSeen::ALL.map(FiguresSeen::name)),
        ("queue_type", _) => {
            format!("{}, `{UNKNOWN}`, the rest as `{OTHER}`", list(QUEUE_TYPES))
        }
        ("dialect", _) => list(Dialect::ALL.map(Dialect::name)),
        ("reason", Metric::Strays) => list(Stray::ALL.map(Stray::name)),
        ("factor", _) => list(factors()),
        ("class", Metric::ClassUse | Metric::ClassQuota) => list(Class::ALL.map(Class::name)),
        ("class", _) => list(TASK_CLASSES),
        ("severity", _) => list(Severity::ALL.map(Severity::name)),
        ("rule", Metric::AttentionItems) => list(RULES),
        ("rule", Metric::UserCaps) => list(Rule::OF_OWNERS.map(Rule::name)),
        ("rule", Metric::Throttles | Metric::Standing) => {
            format!("{}; of another version `{OTHER}`", list(Rule::ALL.map(Rule::name)))
        }
        ("action", _) => list(Action::ALL.map(Action::name)),
        ("record", _) => list(["first", "repeat", "dry_run", "held_back"]),
        ("state", Metric::QueueWorkers) => list(WORKERS),
        ("state", Metric::UserJobs) => list(["running", "queued"]),
        ("state", Metric::Links) => list(["open", "blocked"]),
        ("state", Metric::PoolCores) => list(POOL_CORES),
        ("state", Metric::Workflows) => list(WORKFLOWS),
        ("state", Metric::Cpus) => list(CPUS),
        ("state", Metric::ClusterJobs) => list(CLUSTER_JOBS),
        ("storage", _) => list(FREE),
        ("status", Metric::PoolSites) => list(SITES),
        ("status", Metric::Clusters | Metric::ClusterQueues) => list(STATUSES),
        ("status", _) => list(Status::ALL.map(Status::name)),
        (_, _) => return None,
    })
}

/// Values of a label that has names, and how many there are; `None` for any other.
fn names(metric: Metric, label: &str) -> Option<String> {
    let pairs = |of: &str| format!("{of}; at most {PAIRS_MAX} pairs, the rest as `{OTHER}`");
    let named =
        |which: &str| format!("at most `metric_labels_max`, {which}, the rest as `{OTHER}`");
    Some(match (label, metric) {
        ("topic", Metric::StuckLanes) => {
            format!("the {} topics, and sources of intake", Topic::ALL.len())
        }
        ("topic", _) => format!("the {} topics", Topic::ALL.len()),
        ("gshare", Metric::Comparisons) => {
            format!("the first {NAMES_MAX} that come, `{UNKNOWN}`, the rest as `{OTHER}`")
        }
        ("filter", Metric::ComparedRejections) => {
            format!(
                "of each side the first {NAMES_MAX} that come, `{NOT_REJECTED}`, the rest as \
                 `{OTHER}`"
            )
        }
        ("import", _) => "the one of the process".to_owned(),
        ("kind", Metric::Oddities) => format!("the {} kinds of oddity", Oddity::ALL.len()),
        ("reason", Metric::HeldBackJobs) => "the reasons of the governor, fewer than 20".to_owned(),
        ("reason", Metric::IdleJobs) => {
            "filters of the policy, codes of rejections, and a few words: about 40".to_owned()
        }
        ("reason", Metric::WaitingRequests) => {
            pairs(&format!("filters of the policies, and {} for each policy", list(FIXED)))
        }
        ("policy", Metric::ChosenWeight | Metric::ChosenFactor | Metric::FactorSpread) => {
            format!(
                "policies of the topology file, the first {POLICIES_MAX}, the rest as `{OTHER}`"
            )
        }
        ("policy", Metric::PolicyInfo) => "policies of the topology file".to_owned(),
        ("hash", _) => "one for each policy".to_owned(),
        ("cluster", _) => "at most `metric_labels_max`, those with the least".to_owned(),
        ("component", _) => {
            format!("the first {COMPONENTS_MAX} by name, the rest as `{OTHER}`")
        }
        ("policy", _) => format!("policies of the topology file, and `{OTHER}`"),
        ("filter", _) => pairs("filters of the policies"),
        ("rule", _) => {
            format!("the {} rules that give commands, and `{OTHER}`", CommandRule::ALL.len())
        }
        ("queue", Metric::AssignedJobs) => named("the first that come"),
        ("queue", Metric::FreeCores) => named("those with the most free cores"),
        ("queue", _) => named("those with the most jobs"),
        ("nucleus", _) => named("the first that come"),
        ("user", _) => format!("the {USERS_MAX} with the most running jobs"),
        ("gshare", _) => {
            format!("the {SHARES_MAX} leaves with the largest targets, the rest as `{OTHER}`")
        }
        (_, _) => return None,
    })
}

fn list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words = words.into_iter().map(|word| format!("`{word}`"));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_has_a_bound() {
        for metric in Metric::ALL {
            for label in metric.labels() {
                assert!(bound(*metric, label).is_some(), "{label} of {}", metric.name());
            }
            assert!(!metric.help().contains('|'), "{}", metric.name());
        }
    }

    #[test]
    fn the_page_is_that_of_this_version() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dashboards/METRICS.md");
        if std::env::var("UPDATE").is_ok_and(|it| it == "1") {
            std::fs::write(path, document()).unwrap();
        }
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            page == document(),
            "dashboards/METRICS.md differs from the code. If that is meant: \
             UPDATE=1 cargo test --features tls -p yardmaster-shell metrics::document"
        );
    }
}
