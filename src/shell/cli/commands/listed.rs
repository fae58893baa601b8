//! A command as it is shown: its state, a row, a JSON object.

use crate::cli::table::Column;
use crate::cli::units;
use clap::ValueEnum;
use serde_json::{Value, json};
use yardmaster_core::event::OutcomeKind;
use yardmaster_core::explain::{command_why, iso};
use yardmaster_core::output::command::Command;
use yardmaster_core::state::commands::CommandAnswer;
use yardmaster_core::unit::Millis;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum CommandState {
    /// Every one.
    All,
    /// To be carried out, and not answered yet, or tried in vain.
    Open,
    /// Reports of what a rule is due for and does not command.
    HeldBack,
    /// Carried out.
    Done,
    /// Refused on purpose.
    Refused,
    /// Not answered in time.
    Expired,
    /// For people to see, not to be carried out.
    DryRun,
}

impl CommandState {
    /// Its name, as the command line has it.
    pub const fn name(self) -> &'static str {
        match self {
            CommandState::All => "all",
            CommandState::Open => "open",
            CommandState::HeldBack => "held-back",
            CommandState::Done => "done",
            CommandState::Refused => "refused",
            CommandState::Expired => "expired",
            CommandState::DryRun => "dry-run",
        }
    }

    /// Whether no command has it when it is published.
    pub const fn comes_later(self) -> bool {
        matches!(self, CommandState::Done | CommandState::Refused | CommandState::Expired)
    }

    /// The state of a command; `None` for a report that nothing is held back any more.
    pub fn of(
        command: &Command,
        answer: Option<&CommandAnswer>,
        now: Millis,
    ) -> Option<CommandState> {
        Some(match (command.held_back(), command.dry_run, answer.map(|it| it.kind)) {
            (Some(_), ..) if command.amount == 0 => return None,
            (Some(_), ..) => CommandState::HeldBack,
            (None, true, _) => CommandState::DryRun,
            (None, false, Some(OutcomeKind::Accepted)) => CommandState::Done,
            (None, false, Some(OutcomeKind::Refused)) => CommandState::Refused,
            (None, false, _) if command.is_expired(now) => CommandState::Expired,
            (None, false, _) => CommandState::Open,
        })
    }
}

/// A command as it is listed.
pub(super) struct Listed<'a> {
    /// Its state.
    pub state: CommandState,
    /// Its newest record.
    pub command: &'a Command,
    /// The newest outcome about it.
    pub answer: Option<&'a CommandAnswer>,
}

/// How wide the columns are at least where commands are shown as they are published.
pub(super) const USUAL: [usize; 9] = [24, 0, 9, 8, 6, 12, 12, 4, 0];

/// The columns of a table of commands.
pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::whole("published", 6),
        Column::text("age", 6).unusual(),
        Column::text("state", 1),
        Column::text("kind", 7),
        Column::text("rule", 2),
        Column::text("subject", 0),
        Column::text("queue", 4),
        Column::figure("jobs", 5),
        Column::text("why", 3),
        Column::text("id", 8).unusual(),
        Column::text("attempt", 8).unusual(),
        Column::text("gshare", 8).unusual(),
        Column::text("measured", 8).unusual(),
        Column::text("limit", 8).unusual(),
        Column::whole("expires", 8).unusual(),
        Column::text("epoch", 8).unusual(),
        Column::text("cycle", 8).unusual(),
        Column::text("policy", 8).unusual(),
        Column::text("outcome", 8).unusual(),
    ]
}

impl Listed<'_> {
    /// It as a row, with the cells of [`columns`]; `now` is that of the newest cycle.
    pub fn row(&self, now: Millis) -> Vec<String> {
        let Listed { state, command, answer } = self;
        let why = match (command.held_back(), answer) {
            (None, Some(answer)) if !answer.reason.is_empty() => answer.reason.clone(),
            _ => command_why(command),
        };
        let repeats = match command.repeat {
            repeat if repeat > 0 && *state == CommandState::Open => format!(", repeated {repeat}"),
            _ => String::new(),
        };
        let figure = |value: f64, unit: &str| format!("{value} {unit}").trim_end().to_owned();
        vec![
            iso(command.now),
            units::span((now - command.now).max(0)),
            format!("{}{repeats}", state.name()),
            command.kind.name().to_owned(),
            command.rule.clone(),
            command.subject.clone(),
            command.queue.clone(),
            command.amount.to_string(),
            why.trim_end().to_owned(),
            command.id.to_string(),
            command.attempt.to_string(),
            command.gshare.clone(),
            figure(command.measured, &command.unit),
            figure(command.limit, command.limit_unit()),
            iso(command.expires_at),
            command.epoch.to_string(),
            command.cycle.to_string(),
            command.policy.clone(),
            answer.map_or_else(String::new, |it| outcome_name(it.kind).to_owned()),
        ]
    }

    /// All there is of it. Programs of operators read this: a field is never taken away.
    pub fn json(&self) -> Value {
        let Listed { state, command, answer } = self;
        let outcome = answer
            .map(|it| json!({ "kind": outcome_name(it.kind), "at": it.at, "reason": it.reason }));
        json!({
            "id": command.id.to_string(),
            "state": state.name(),
            "repeat": command.repeat,
            "domain": command.domain,
            "kind": command.kind.name(),
            "rule": command.rule,
            "subject": command.subject,
            "attempt": command.attempt,
            "queue": command.queue,
            "gshare": command.gshare,
            "task": command.task,
            "jobs": command.about(),
            "amount": command.amount,
            "clock": command.clock,
            "clock_at": command.clock_at,
            "measured": command.measured,
            "limit": command.limit,
            "unit": command.unit,
            "expires_at": command.expires_at,
            "epoch": command.epoch,
            "cycle": command.cycle,
            "number": command.number,
            "now": command.now,
            "policy": command.policy,
            "policy_hash": command.policy_hash,
            "dry_run": command.dry_run,
            "held_back": command.held_back(),
            "notes": command.notes,
            "outcome": outcome,
        })
    }
}

/// The name of what became of a command, as the schema has it.
pub(super) const fn outcome_name(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Accepted => "accepted",
        OutcomeKind::Refused => "refused",
        OutcomeKind::Failed => "failed",
        OutcomeKind::Expired => "expired",
    }
}
