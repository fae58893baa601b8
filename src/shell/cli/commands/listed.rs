//! A command as it is shown: its state, a row, a JSON object.

use crate::core::event::OutcomeKind;
use crate::core::explain::iso;
use crate::core::output::command::Command;
use crate::core::state::commands::CommandAnswer;
use crate::core::unit::Millis;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::io::{self, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum State {
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

impl State {
    /// Its name, as the command line has it.
    pub const fn name(self) -> &'static str {
        match self {
            State::All => "all",
            State::Open => "open",
            State::HeldBack => "held-back",
            State::Done => "done",
            State::Refused => "refused",
            State::Expired => "expired",
            State::DryRun => "dry-run",
        }
    }

    /// Whether no command has it when it is published.
    pub const fn comes_later(self) -> bool {
        matches!(self, State::Done | State::Refused | State::Expired)
    }

    /// The state of a command; `None` for a report that nothing is held back any more.
    pub fn of(command: &Command, answer: Option<&CommandAnswer>, now: Millis) -> Option<State> {
        Some(match (command.held_back(), command.dry_run, answer.map(|it| it.kind)) {
            (Some(_), ..) if command.amount == 0 => return None,
            (Some(_), ..) => State::HeldBack,
            (None, true, _) => State::DryRun,
            (None, false, Some(OutcomeKind::Accepted)) => State::Done,
            (None, false, Some(OutcomeKind::Refused)) => State::Refused,
            (None, false, _) if command.is_expired(now) => State::Expired,
            (None, false, _) => State::Open,
        })
    }
}

/// How commands are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A row each, in columns.
    Table,
    /// A JSON object a line.
    Json,
}

/// A command as it is listed.
pub(super) struct Listed<'a> {
    /// Its state.
    pub state: State,
    /// Its newest record.
    pub command: &'a Command,
    /// The newest outcome about it.
    pub answer: Option<&'a CommandAnswer>,
}

const HEAD: [&str; 8] = ["published", "state", "kind", "rule", "subject", "queue", "jobs", "why"];

/// How wide each column is.
#[derive(Clone, Copy)]
pub(super) struct Widths([usize; 8]);

impl Widths {
    /// Wide enough for what usually comes.
    pub const USUAL: Widths = Widths([24, 9, 8, 6, 12, 12, 4, 0]);

    /// Wide enough for these rows, and for the head.
    pub fn of(rows: &[[String; 8]]) -> Widths {
        let mut widths = HEAD.map(str::len);
        for (width, cell) in rows.iter().flat_map(|row| widths_of(row).into_iter().enumerate()) {
            widths[width] = widths[width].max(cell);
        }
        Widths(widths)
    }

    /// The wider of both, column by column.
    pub fn or(self, other: Widths) -> Widths {
        Widths(std::array::from_fn(|at| self.0[at].max(other.0[at])))
    }

    /// Prints a row.
    pub fn print(&self, out: &mut impl Write, row: &[String; 8]) -> io::Result<()> {
        let cells = row.iter().zip(self.0).map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())
    }
}

fn widths_of(row: &[String; 8]) -> [usize; 8] {
    std::array::from_fn(|at| row[at].chars().count())
}

/// The names of the columns.
pub(super) fn head() -> [String; 8] {
    HEAD.map(str::to_owned)
}

impl Listed<'_> {
    /// It as a row.
    pub fn row(&self) -> [String; 8] {
        let Listed { state, command, answer } = self;
        let why = match (command.held_back(), answer) {
            (Some(why), _) => why.to_owned(),
            (None, Some(answer)) if !answer.reason.is_empty() => answer.reason.clone(),
            (None, _) => format!("{} {}", command.clock, command.clock_at.map_or("".into(), iso)),
        };
        let repeats = match command.repeat {
            repeat if repeat > 0 && *state == State::Open => format!(", repeated {repeat}"),
            _ => String::new(),
        };
        [
            iso(command.now),
            format!("{}{repeats}", state.name()),
            command.kind.name().to_owned(),
            command.rule.clone(),
            command.subject.clone(),
            command.queue.clone(),
            command.amount.to_string(),
            why,
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
