//! Commands that need a person: held back, given again and again, alerts, workflows that were
//! killed.

use super::facts::Facts;
use super::words::{count, jobs, things};
use super::{Item, NAMES_MAX, Severity};
use std::collections::BTreeMap;
use yardmaster_core::explain::{held_back_text, note_text};
use yardmaster_core::output::command::{Command, CommandKind};
use yardmaster_core::unit::{DAY, Millis};
use yardmaster_wire::topology::AttentionSettings;

/// So many commands are looked through.
const COMMANDS_MAX: usize = 100_000;
/// Alerts and killed workflows of this span are listed.
const LATELY: Millis = DAY;

pub(super) fn items(facts: &Facts<'_>, settings: &AttentionSettings) -> Vec<Item> {
    let mut items = held_back(facts);
    let mut circles: BTreeMap<(&str, bool), Circle<'_>> = BTreeMap::new();
    let since = facts.now().saturating_sub(LATELY);
    for (_, known) in facts.state.commands.table.iter().take(COMMANDS_MAX) {
        let command = &known.command;
        if command.kind == CommandKind::Rebroker && !command.task.is_empty() {
            let circle = circles.entry((&command.task, command.dry_run)).or_default();
            circle.take(command, known.counts_since);
        }
        let is_notice = matches!(command.kind, CommandKind::Alert | CommandKind::KillWorkflow);
        if is_notice && command.now >= since && !known.is_settled() {
            items.push(notice(command));
        }
    }
    let often = |circle: &Circle<'_>| circle.times >= settings.circle_times.unsigned_abs();
    items.extend(circles.iter().filter(|(_, it)| often(it)).map(|(of, it)| it.item(*of)));
    items
}

/// Jobs of a task that were taken back from queues.
#[derive(Default)]
struct Circle<'a> {
    times: u64,
    jobs: u64,
    since: Option<Millis>,
    queues: BTreeMap<&'a str, u64>,
}

impl<'a> Circle<'a> {
    fn take(&mut self, command: &'a Command, at: Millis) {
        self.times += 1;
        self.jobs += command.amount;
        self.since = Some(self.since.map_or(at, |since| since.min(at)));
        *self.queues.entry(&command.queue).or_default() += 1;
    }

    fn item(&self, (task, dry_run): (&str, bool)) -> Item {
        let would = if dry_run { "would have been" } else { "were" };
        let most = self.queues.iter().max_by_key(|(_, times)| **times);
        let most = most.map_or("", |(queue, _)| queue);
        let queues = things(self.queues.len() as u64, "queue", "queues");
        Item {
            severity: if dry_run { Severity::Note } else { Severity::Watch },
            rule: "circles",
            kind: "task",
            name: task.to_owned(),
            names: self.queues.keys().take(NAMES_MAX).map(|it| (*it).to_owned()).collect(),
            title: format!("Task {task} goes in circles"),
            text: format!(
                "{} of it {would} taken back {} times from {queues}, most often from {most}, and \
                 brokered again.",
                jobs(self.jobs),
                count(self.times)
            ),
            since: self.since,
            count: self.times,
        }
    }
}

/// An alert to operations, or a workflow that was killed.
fn notice(command: &Command) -> Item {
    let is_alert = command.kind == CommandKind::Alert;
    let subject = &command.subject;
    let verdict = if is_alert { "needs a decision of operations" } else { "was killed" };
    let why = command.notes.first().map_or(command.rule.clone(), |note| note_text(note));
    Item {
        severity: if command.dry_run { Severity::Note } else { Severity::Watch },
        rule: if is_alert { "alert" } else { "killed" },
        kind: if command.task.is_empty() { "workflow" } else { "task" },
        name: if command.task.is_empty() { subject.clone() } else { command.task.clone() },
        names: vec![command.queue.clone()],
        title: format!("{subject} {verdict}"),
        text: format!("By rule {}: {why}.", command.rule),
        since: Some(command.now),
        count: command.amount,
    }
}

/// One item for each rule that is due somewhere and gives no commands.
fn held_back(facts: &Facts<'_>) -> Vec<Item> {
    let mut by_rule: BTreeMap<&str, Vec<&Command>> = BTreeMap::new();
    for (_, report) in facts.state.commands.held.iter().filter(|(_, it)| it.amount > 0) {
        by_rule.entry(&report.rule).or_default().push(report);
    }
    let item = |(rule, mut all): (&str, Vec<&Command>)| {
        all.sort_by(|a, b| b.amount.cmp(&a.amount).then_with(|| a.queue.cmp(&b.queue)));
        let first = all.first()?;
        let amount: u64 = all.iter().map(|it| it.amount).sum();
        let why = held_back_text(first.held_back().unwrap_or("no reason is stated"));
        let queues = things(all.len() as u64, "queue", "queues");
        Some(Item {
            severity: if first.dry_run { Severity::Note } else { Severity::Watch },
            rule: "held_back",
            kind: "command",
            name: rule.to_owned(),
            names: all.iter().take(NAMES_MAX).map(|it| it.queue.clone()).collect(),
            title: format!("{rule} is held back at {queues}"),
            text: format!("{} are due for it; most at {}: {why}.", jobs(amount), first.queue),
            since: all.iter().filter_map(|it| it.clock_at).min(),
            count: amount,
        })
    };
    by_rule.into_iter().filter_map(item).collect()
}
