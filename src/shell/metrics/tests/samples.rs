//! Records to be counted, and the text that comes of it.

use crate::metrics::Metrics;
use std::collections::BTreeMap;
use std::sync::Arc;
use yardmaster_core::command::{CommandRule, CommandSetting, Mode, RuleSetting};
use yardmaster_core::output::command::{Command, CommandKind};
use yardmaster_core::output::decision::{Decision, FilterCount, Outcome, Ranked};
use yardmaster_core::output::throttle::{Action, SubjectKind, Throttle};

/// The samples of a text, their domain left away.
pub(super) struct Shown(BTreeMap<String, f64>);

impl Shown {
    pub(super) fn new(metrics: &Metrics) -> Shown {
        let text = metrics.scrape(Arc::default()).text();
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let samples = lines.map(|line| {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            assert!(sample.contains("{domain=\"atlas\""), "{line}");
            let plain = sample.replace("{domain=\"atlas\"}", "").replace("domain=\"atlas\",", "");
            (plain, value.parse().unwrap())
        });
        Shown(samples.collect())
    }

    pub(super) fn of(&self, sample: &str) -> Option<f64> {
        self.0.get(sample).copied()
    }

    /// All samples of a metric: their labels and values.
    pub(super) fn all(&self, name: &str) -> Vec<(String, f64)> {
        let samples = self.0.iter().filter_map(|(sample, value)| {
            let labels =
                sample.strip_prefix(name).filter(|it| it.is_empty() || it.starts_with('{'));
            Some((labels?.to_owned(), *value))
        });
        samples.collect()
    }
}

/// A line of the text, as it is written without a domain, with the domain of the tests.
pub(super) fn with_domain(line: &str) -> String {
    match line.split_once('{') {
        Some((name, labels)) => format!("{name}{{domain=\"atlas\",{labels}"),
        None => line.replacen(' ', "{domain=\"atlas\"} ", 1),
    }
}

/// The text that Prometheus reads.
pub(super) fn text_of(metrics: &Metrics) -> String {
    metrics.scrape(Arc::default()).text()
}

pub(super) fn decision(policy: &str, filters: &[(&str, u32)]) -> Decision {
    let count = |(filter, rejected): &(&str, u32)| FilterCount {
        filter: (*filter).to_owned(),
        rejected: *rejected,
    };
    Decision {
        policy: policy.to_owned(),
        counts: filters.iter().map(count).collect(),
        ..Decision::new("atlas", "1/1", 0, 1, Outcome::Defer { until: 0 })
    }
}

pub(super) fn throttle(rule: &str) -> Throttle {
    Throttle::new("atlas", rule, (SubjectKind::User, "ann"), 1, Action::Set)
}

pub(super) fn command(rule: &str, repeat: u32) -> Command {
    Command {
        repeat,
        kind: CommandKind::Fail,
        queue: "Q".into(),
        expires_at: 1,
        ..Command::new("atlas", rule, "1", 0, None)
    }
}

pub(super) fn setting_with_rule() -> CommandSetting {
    let rules = vec![RuleSetting::new(CommandRule::T9, Mode::On)];
    CommandSetting { rules, ..CommandSetting::default() }
}

/// A decision that gives queues so many jobs each, or a task its nucleus.
pub(super) fn assignment(nucleus: &str, chosen: &[(&str, u32)]) -> Decision {
    let ranked = |(queue, jobs): &(&str, u32)| Ranked {
        queue: format!("{queue}/of a resource type"),
        unified: (*queue).to_owned(),
        weight: 1.0,
        jobs: *jobs,
        cores: 1,
        factors: vec![],
        platform: String::new(),
    };
    let mut all: Vec<Ranked> = chosen.iter().map(ranked).collect();
    if !nucleus.is_empty() {
        all.iter_mut().for_each(|it| it.queue = it.unified.clone());
    }
    let nucleus = nucleus.to_owned();
    Decision { nucleus, outcome: Outcome::Assign(all), ..decision("atlas", &[]) }
}
