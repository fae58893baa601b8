//! Records of the jobs that the governor holds back, for people: published when a hold begins, from
//! time to time while it lasts, and when it ends.

use super::make;
use super::making::HeldBackJobs;
use crate::command::{CommandRule, CommandSetting};
use crate::id::Name;
use crate::output::command::Command;
use crate::state::State;
use crate::state::commands::held_name;
use std::collections::BTreeSet;

/// The newest report on a rule at a queue.
fn known(state: &State, (rule, queue): (CommandRule, Name)) -> Option<&Command> {
    state.commands.held.of(&held_name(rule.name(), state.names.text(queue)))
}

/// Whether it is time to report again after a report.
fn is_over(state: &State, setting: &CommandSetting, before: &Command) -> bool {
    before.now.saturating_add(setting.governor.report_interval) <= state.now
}

/// Whether what a rule holds back at a queue is reported in this cycle.
pub(super) fn is_due(state: &State, setting: &CommandSetting, at: (CommandRule, Name)) -> bool {
    known(state, at).is_none_or(|before| is_over(state, setting, before))
}

/// The reports of a cycle.
pub(super) fn reports(
    state: &State,
    setting: &CommandSetting,
    held: &HeldBackJobs,
) -> Vec<Command> {
    let mut reports = Vec::new();
    let mut named: BTreeSet<String> = BTreeSet::new();
    for (at, (jobs, why)) in held {
        let queue = state.names.text(at.1);
        named.insert(held_name(at.0.name(), queue));
        if is_due(state, setting, *at) {
            let (before, why) = (known(state, *at), why.to_string());
            reports.push(make::report(state, at.0, queue, *jobs, &why, before));
        }
    }
    let over = state.commands.held.iter().filter(|(name, before)| {
        before.amount > 0 && is_over(state, setting, before) && !named.contains(*name)
    });
    for (_, before) in over {
        if let Some(rule) = CommandRule::from_name(&before.rule) {
            let why = "nothing any more";
            reports.push(make::report(state, rule, &before.queue, 0, why, Some(before)));
        }
    }
    reports.sort_by(|one, other| (&one.rule, &one.queue).cmp(&(&other.rule, &other.queue)));
    reports
}
