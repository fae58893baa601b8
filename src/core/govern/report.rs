//! What the governor holds back, for people: published when it begins, from time to time while it
//! lasts, and when it ends.

use super::make;
use super::making::Held;
use crate::core::command::{CommandRule, CommandSetting};
use crate::core::id::Name;
use crate::core::output::command::Command;
use crate::core::state::State;
use crate::core::state::commands::held_name;
use std::collections::BTreeSet;

/// The reports of a cycle.
pub(super) fn reports(state: &State, setting: &CommandSetting, held: &Held) -> Vec<Command> {
    let interval = setting.governor.report_interval;
    let known = |rule: CommandRule, queue: Name| {
        state.commands.held.of(&held_name(rule.name(), state.names.text(queue)))
    };
    let is_due = |before: &Command| before.now.saturating_add(interval) <= state.now;
    let mut reports = Vec::new();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for ((rule, queue), (jobs, why)) in held {
        let queue_name = state.names.text(*queue);
        named.insert(held_name(rule.name(), queue_name));
        let before = known(*rule, *queue);
        if before.is_none_or(is_due) {
            let why = why.to_string();
            reports.push(make::report(state, *rule, queue_name, *jobs, &why, before));
        }
    }
    let over = state
        .commands
        .held
        .iter()
        .filter(|(name, before)| before.amount > 0 && is_due(before) && !named.contains(*name));
    for (_, before) in over {
        if let Some(rule) = CommandRule::from_name(&before.rule) {
            let why = "nothing any more";
            reports.push(make::report(state, rule, &before.queue, 0, why, Some(before)));
        }
    }
    reports.sort_by(|one, other| (&one.rule, &one.queue).cmp(&(&other.rule, &other.queue)));
    reports
}
