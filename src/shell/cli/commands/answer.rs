//! Outcome of a command: how a program's end is understood, and how that is published.

use super::program::{Exit, Finished};
use crate::cli::import::Entry;
use std::borrow::Cow;
use std::time::Duration;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{DecisionOutcome, OutcomeAbout, OutcomeKind};
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::DecisionId;
use yardmaster_core::plain::plain;
use yardmaster_core::state::commands::CommandAnswer;
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// The exit code by which a program refuses a command for good.
const REFUSES: i32 = 3;
/// Longest reason that is published; characters.
const REASON_CHARS: usize = 300;

/// Outcome of a command by how the program ended. `at`: when, by this host's clock.
pub(super) fn answer(
    command: &Command,
    finished: &Finished,
    timeout: Duration,
    at: Millis,
) -> CommandAnswer {
    let line = last_line(&finished.stderr).or_else(|| last_line(&finished.stdout));
    let line = line.unwrap_or_default();
    let (kind, why) = match &finished.exit {
        Exit::Code(0) => (OutcomeKind::Accepted, None),
        Exit::Code(REFUSES) => (OutcomeKind::Refused, None),
        Exit::Code(code) => (OutcomeKind::Failed, Some(format!("exit code {code}"))),
        Exit::Signal(signal) => (OutcomeKind::Failed, Some(format!("ended by signal {signal}"))),
        Exit::TimedOut => {
            let seconds = timeout.as_secs();
            (OutcomeKind::Failed, Some(format!("ended after {seconds} s (--timeout)")))
        }
        Exit::NotStarted(why) => (OutcomeKind::Failed, Some(format!("cannot be started: {why}"))),
    };
    let reason = match why {
        None => line,
        Some(why) if line.is_empty() => why,
        Some(why) => format!("{why}: {line}"),
    };
    // Never older than the record that it is about, whatever the clocks are.
    CommandAnswer { at: at.max(command.now), kind, reason: cut(&reason) }
}

/// That a command was not carried out in time.
pub(super) fn expired(command: &Command, at: Millis) -> CommandAnswer {
    let reason = "it expired before its turn came".to_owned();
    CommandAnswer { at: at.max(command.now), kind: OutcomeKind::Expired, reason }
}

/// The last line that is not empty, without control characters.
fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let lines = text.lines().rev().map(str::trim).map(plain);
    lines.map(Cow::into_owned).find(|line| !line.is_empty())
}

fn cut(reason: &str) -> String {
    match reason.char_indices().nth(REASON_CHARS) {
        None => reason.to_owned(),
        Some((end, _)) => format!("{}...", reason[..end].trim_end()),
    }
}

/// The record of a command's outcome.
pub(super) fn outcome_entry(command: &Command, answer: &CommandAnswer) -> Entry {
    let mut value = Vec::new();
    record::write(
        &mut value,
        &DecisionOutcome {
            subject: command.subject.clone(),
            decision: DecisionId(command.id.0),
            about: OutcomeAbout::Command,
            kind: answer.kind,
            at: answer.at,
            reason: answer.reason.clone(),
        },
    );
    let (topic, key) = (Topic::Outcome, command.subject.clone());
    Entry { topic, key, value: Some(value), headers: Vec::new() }
}

#[cfg(test)]
mod tests;
