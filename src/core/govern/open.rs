//! Commands that are on their way: which jobs they are about, and whether what they ask for is
//! still to be done.

use super::facts::{Surroundings, gaps, known_until};
use super::timeout::{TimeoutFinding, standing};
use crate::command::{CommandRule, Mode, RuleSetting};
use crate::domain::cms::govern as pool;
use crate::event::Status;
use crate::id::Key;
use crate::output::command::{Command, CommandId};
use crate::state::State;
use crate::state::job::Job;

/// Commands that were not answered.
pub(super) fn unanswered(state: &State) -> impl Iterator<Item = CommandId> {
    let all = state.commands.table.iter().map(|(_, known)| known);
    let open = all.filter(|known| known.command.is_order() && !known.is_settled());
    open.map(|known| known.command.id)
}

/// Whether a command about a job has not expired: nothing more is asked for until then.
pub(super) fn is_ordered(state: &State, key: Key) -> bool {
    let job = state.jobs.of(key);
    job.is_some_and(|job| state.commands.about(key).any(|known| known.takes(job, state.now)))
}

/// The same, or one that expired will be repeated, since there is still reason to.
pub(crate) fn is_taken(state: &State, around: &Surroundings, key: Key) -> bool {
    let repeats = state.setting.commands.governor.repeats;
    let open = || {
        let open = state.commands.about(key).filter(|known| known.is_open(state.now, repeats));
        open.map(|known| &known.command)
    };
    is_ordered(state, key)
        || open().any(|command| {
            let rule = CommandRule::from_name(&command.rule);
            let rule = rule.and_then(|rule| state.setting.commands.rule(rule));
            rule.is_some_and(|rule| is_due(state, around, (rule, command), key))
        })
}

/// Whether a rule is still due for a job that a command of it names.
pub(super) fn is_due(
    state: &State,
    around: &Surroundings,
    (setting, command): (&RuleSetting, &Command),
    key: Key,
) -> bool {
    let Some(job) = state.jobs.of(key).filter(|_| setting.mode == Mode::On) else { return false };
    match setting.rule {
        CommandRule::FastRebrokerage => waits_as(state, command, job),
        CommandRule::KillWorkflow => pool::stands(state, command),
        rule if rule.is_of_pool() => false,
        _ => job.attempt == command.attempt && is_overdue(state, around, (setting, command), job),
    }
}

/// Whether a job still waits where a command found it.
fn waits_as(state: &State, command: &Command, job: &Job) -> bool {
    let at = (state.known_name(&command.queue), state.known_name(&command.gshare));
    job.status.is_some_and(Status::is_queued) && (Some(job.names[0]), Some(job.names[1])) == at
}

fn is_overdue(
    state: &State,
    around: &Surroundings,
    (setting, command): (&RuleSetting, &Command),
    job: &Job,
) -> bool {
    let Some(case) = around.case(state, job) else { return false };
    let found = standing(setting, &case, &gaps(state, setting.rule, job.names[0]));
    matches!(found, TimeoutFinding::Deadline(it)
        if it.due_at <= known_until(state, setting.rule)
            && Some(it.clock_at) == command.clock_at)
}
