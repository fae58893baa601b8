//! `command`. Its numbers are written bit for bit, as a decision's are.

use super::{amount, count, list, number, option, say_number, symbol, text, texts};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::output::command::{Command, CommandId, CommandKind};

pub(super) fn read(at: &mut Cursor<'_>) -> Result<Command, Fault> {
    Ok(Command {
        id: CommandId(at.fixed16()?),
        repeat: count(at)?,
        domain: text(at)?,
        kind: symbol(at, &CommandKind::ALL)?,
        rule: text(at)?,
        subject: text(at)?,
        attempt: count(at)?,
        queue: text(at)?,
        gshare: text(at)?,
        jobs: list(at, text)?,
        amount: amount(at)?,
        clock: text(at)?,
        clock_at: option(at, Cursor::long)?,
        measured: number(at)?,
        limit: number(at)?,
        unit: text(at)?,
        expires_at: at.long()?,
        epoch: amount(at)?,
        cycle: amount(at)?,
        number: count(at)?,
        now: at.long()?,
        policy: text(at)?,
        policy_hash: text(at)?,
        dry_run: at.boolean()?,
        notes: list(at, text)?,
    })
}

/// Appends a command.
pub fn write_command(out: &mut Vec<u8>, command: &Command) {
    let mut sink = Sink::begin(out, Topic::Command);
    sink.raw(&command.id.0);
    sink.count(command.repeat);
    sink.string(&command.domain);
    sink.index(command.kind as usize);
    sink.string(&command.rule);
    sink.string(&command.subject);
    sink.count(command.attempt);
    sink.string(&command.queue);
    sink.string(&command.gshare);
    texts(&mut sink, &command.jobs);
    sink.amount(command.amount);
    sink.string(&command.clock);
    sink.option(command.clock_at, Sink::long);
    say_number(&mut sink, command.measured);
    say_number(&mut sink, command.limit);
    sink.string(&command.unit);
    sink.long(command.expires_at);
    sink.amount(command.epoch);
    sink.amount(command.cycle);
    sink.count(command.number);
    sink.long(command.now);
    sink.string(&command.policy);
    sink.string(&command.policy_hash);
    sink.boolean(command.dry_run);
    texts(&mut sink, &command.notes);
}
