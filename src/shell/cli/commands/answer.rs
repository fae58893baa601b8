//! Outcome of a command: how a program's end is understood, and how that is published.

use super::program::{Exit, Finished};
use crate::kafka::{KafkaConf, KafkaWriter};
use crate::registry::{Ours, RegistryError};
use std::borrow::Cow;
use std::time::Duration;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{DecisionOutcome, OutcomeAbout, OutcomeKind};
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::DecisionId;
use yardmaster_core::plain::plain;
use yardmaster_core::state::commands::CommandAnswer;
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::LogError;
use yardmaster_wire::record;
use yardmaster_wire::topology::Topology;

/// The exit code by which a program refuses a command for good.
const REFUSES: i32 = 3;
/// Longest reason that is published; characters.
const REASON_CHARS: usize = 300;
/// How long the client tries to publish an outcome before it reports that it cannot; ms.
const PUBLISH_MS: &str = "30000";

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

/// Publishes outcomes.
pub(super) struct OutcomePublisher {
    conf: KafkaConf,
    topic: String,
    ours: Ours,
    writer: KafkaWriter,
}

impl OutcomePublisher {
    /// By a topology.
    pub fn open(mut conf: KafkaConf, topology: &Topology) -> Result<OutcomePublisher, LogError> {
        conf.properties.entry("message.timeout.ms".into()).or_insert_with(|| PUBLISH_MS.into());
        let ours = Ours::find(topology, &[Topic::Outcome]).map_err(|error| match error {
            RegistryError::Unanswered(why) | RegistryError::Lacking(why) => {
                LogError::Unanswered(why)
            }
            RegistryError::Refused(_) | RegistryError::Setting(_) => {
                LogError::Stop(error.to_string())
            }
        })?;
        let writer = KafkaWriter::open(&conf)?;
        let topic = topology.topic(Topic::Outcome).name.clone();
        Ok(OutcomePublisher { conf, topic, ours, writer })
    }

    /// Publishes what became of commands; all of it is acknowledged when it returns. After an
    /// error some of it may be, and all can be published again.
    pub fn publish(&mut self, answers: &[(Command, CommandAnswer)]) -> Result<(), LogError> {
        let appended = answers.iter().try_for_each(|(command, it)| self.append(command, it));
        let published = appended.and_then(|()| self.writer.flush());
        if published.is_err() {
            // A client that failed may refuse all that comes after.
            self.writer = KafkaWriter::open(&self.conf)?;
        }
        published
    }

    fn append(&self, command: &Command, answer: &CommandAnswer) -> Result<(), LogError> {
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
        let value = self.ours.frame(Topic::Outcome, value);
        let key = command.subject.as_bytes();
        self.writer.append(&self.topic, None, Some(key), Some(&value), &[], None)
    }
}

#[cfg(test)]
mod tests;
