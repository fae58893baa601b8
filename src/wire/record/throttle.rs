//! `throttle`. Its numbers are written bit for bit, as a decision's are.

use super::{amount, count, list, number, option, say_number, symbol, text, texts};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::output::throttle::{Action, SubjectKind, Throttle, ThrottleId};

pub(super) fn read(at: &mut Cursor<'_>) -> Result<Throttle, Fault> {
    Ok(Throttle {
        id: ThrottleId(at.fixed16()?),
        domain: text(at)?,
        kind: symbol(at, &SubjectKind::ALL)?,
        subject: text(at)?,
        action: symbol(at, &Action::ALL)?,
        rule: text(at)?,
        ordinal: count(at)?,
        counter: text(at)?,
        measured: number(at)?,
        limit: number(at)?,
        unit: text(at)?,
        until: option(at, Cursor::long)?,
        epoch: amount(at)?,
        cycle: amount(at)?,
        number: count(at)?,
        now: at.long()?,
        policy: text(at)?,
        policy_hash: text(at)?,
        notes: list(at, text)?,
        since: option(at, Cursor::long)?,
        lift_limit: number(at)?,
        lift_from: option(at, Cursor::long)?,
        dry_run: at.boolean()?,
    })
}

/// Appends a throttle.
pub fn write_throttle(out: &mut Vec<u8>, throttle: &Throttle) {
    let mut sink = Sink::begin(out, Topic::Throttle);
    sink.raw(&throttle.id.0);
    sink.string(&throttle.domain);
    sink.index(throttle.kind as usize);
    sink.string(&throttle.subject);
    sink.index(throttle.action as usize);
    sink.string(&throttle.rule);
    sink.count(throttle.ordinal);
    sink.string(&throttle.counter);
    say_number(&mut sink, throttle.measured);
    say_number(&mut sink, throttle.limit);
    sink.string(&throttle.unit);
    sink.option(throttle.until, Sink::long);
    sink.amount(throttle.epoch);
    sink.amount(throttle.cycle);
    sink.count(throttle.number);
    sink.long(throttle.now);
    sink.string(&throttle.policy);
    sink.string(&throttle.policy_hash);
    texts(&mut sink, &throttle.notes);
    sink.option(throttle.since, Sink::long);
    say_number(&mut sink, throttle.lift_limit);
    sink.option(throttle.lift_from, Sink::long);
    sink.boolean(throttle.dry_run);
}
