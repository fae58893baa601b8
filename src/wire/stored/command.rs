//! Commands, what became of them, and what is held back.

use super::text;
use crate::avro::{Cursor, Fault, HEADER_BYTES, Sink};
use crate::record;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, OutcomeKind};
use yardmaster_core::output::Output;
use yardmaster_core::output::command::Command;
use yardmaster_core::state::commands::{CommandAnswer, CommandState};

/// What became of a command, in the order of the stored numbers.
const OUTCOMES: [OutcomeKind; 4] =
    [OutcomeKind::Accepted, OutcomeKind::Refused, OutcomeKind::Failed, OutcomeKind::Expired];

pub(super) fn write(sink: &mut Sink<'_>, state: &CommandState) {
    sink.long(state.counts_since);
    sink.boolean(state.answer.is_some());
    if let Some(answer) = &state.answer {
        sink.long(answer.at);
        sink.index(OUTCOMES.iter().position(|kind| *kind == answer.kind).unwrap_or(0));
        sink.string(&answer.reason);
    }
    record::write_command(sink.out, &state.command);
}

pub(super) fn read(at: &mut Cursor<'_>) -> Result<CommandState, Fault> {
    let counts_since = at.long()?;
    let answer = match at.boolean()? {
        false => None,
        true => Some(CommandAnswer {
            at: at.long()?,
            kind: *OUTCOMES.get(at.index()?).ok_or(Fault::Malformed)?,
            reason: text(at)?,
        }),
    };
    Ok(CommandState { command: read_held(at)?, counts_since, answer })
}

pub(super) fn write_held(sink: &mut Sink<'_>, report: &Command) {
    record::write_command(sink.out, report);
}

pub(super) fn read_held(at: &mut Cursor<'_>) -> Result<Command, Fault> {
    let bytes = at.take(at.rest().len())?;
    let bytes = bytes.get(HEADER_BYTES..).ok_or(Fault::Malformed)?;
    match record::read(Topic::Command, bytes) {
        Ok(Event::Output(Output::Command(command))) => Ok(*command),
        _ => Err(Fault::Malformed),
    }
}
