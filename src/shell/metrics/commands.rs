//! Commands as metrics: published, open, and what the governor holds back.

use super::OTHER;
use super::counters::Pairs;
use super::export::gauge;
use super::table::Metric;
use metrics::Gauge;
use metrics_exporter_prometheus::PrometheusRecorder;
use std::collections::BTreeMap;
use yardmaster_core::command::CommandRule;
use yardmaster_core::output::command::Command;
use yardmaster_core::state::State;

/// Metrics of commands: published, open and held back.
pub(super) struct CommandMetrics {
    pub(super) published: Pairs,
    open: BTreeMap<String, Gauge>,
    held: BTreeMap<[String; 2], Gauge>,
}

/// The rule of a record as a label.
fn rule_of(command: &Command) -> &'static str {
    CommandRule::from_name(&command.rule).map_or(OTHER, CommandRule::name)
}

/// Kind of a command record, as a label.
fn what_of(command: &Command) -> &'static str {
    match (command.held_back(), command.dry_run, command.repeat) {
        (Some(_), ..) => "held_back",
        (None, true, _) => "dry_run",
        (None, false, 0) => "first",
        (None, false, _) => "repeat",
    }
}

/// The name of the reason why commands were held back: its first word.
fn reason_of(why: &str) -> &str {
    why.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').next().unwrap_or(OTHER)
}

impl CommandMetrics {
    pub(super) fn new() -> CommandMetrics {
        CommandMetrics {
            published: Pairs::new(Metric::Commands),
            open: BTreeMap::new(),
            held: BTreeMap::new(),
        }
    }

    /// A record that was published.
    pub(super) fn record(&mut self, recorder: &PrometheusRecorder, command: &Command) {
        self.published.count(recorder, rule_of(command), what_of(command), 1);
    }

    /// Commands that nobody answered, and what is held back, as they stand.
    pub(super) fn record_standing(&mut self, recorder: &PrometheusRecorder, state: &State) {
        let mut open: BTreeMap<String, u64> = BTreeMap::new();
        for rule in state.setting.commands.active() {
            open.insert(rule.rule.name().to_owned(), 0);
        }
        for rule in self.open.keys() {
            open.entry(rule.clone()).or_default();
        }
        let all = state.commands.table.iter().map(|(_, known)| known);
        for known in all.filter(|it| it.command.is_order() && !it.is_settled()) {
            if known.command.expires_at > state.now {
                *open.entry(rule_of(&known.command).to_owned()).or_default() += 1;
            }
        }
        for (rule, count) in open {
            let new = |rule: &String| gauge(recorder, Metric::OpenCommands, &[rule]);
            self.open.entry(rule).or_insert_with_key(new).set(count as f64);
        }
        let mut held: BTreeMap<[String; 2], u64> = BTreeMap::new();
        for labels in self.held.keys() {
            held.entry(labels.clone()).or_default();
        }
        for (_, report) in state.commands.held.iter().filter(|(_, it)| it.amount > 0) {
            let reason = reason_of(report.held_back().unwrap_or(OTHER)).to_owned();
            *held.entry([rule_of(report).to_owned(), reason]).or_default() += report.amount;
        }
        for (labels, jobs) in held {
            let new = |[rule, reason]: &[String; 2]| {
                gauge(recorder, Metric::HeldBackJobs, &[rule, reason])
            };
            self.held.entry(labels).or_insert_with_key(new).set(jobs as f64);
        }
    }
}
