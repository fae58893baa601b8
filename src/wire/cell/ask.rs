//! Requests, answers, promises.

use super::{count, text, word};
use crate::core::answered::Answered;
use crate::core::cut::Topic;
use crate::core::decision::DecisionId;
use crate::core::event::{Event, OutcomeKind};
use crate::core::id::Key;
use crate::core::record::{Answer, Ask, Promise, Stand};
use crate::wire::avro::{Cursor, Fault, HEADER_BYTES, Sink};
use crate::wire::record;

const OUTCOMES: [OutcomeKind; 4] =
    [OutcomeKind::Accepted, OutcomeKind::Refused, OutcomeKind::Failed, OutcomeKind::Expired];

pub(super) fn write(sink: &mut Sink<'_>, ask: &Ask) {
    sink.string(&ask.subject);
    sink.long(ask.heard_at);
    sink.option(ask.task.as_ref(), |sink, task| {
        let mut bytes = Vec::new();
        record::write_task(&mut bytes, task);
        sink.bytes(&bytes);
        sink.index(task.impossible.len());
        task.impossible.iter().for_each(|figure| sink.string(figure));
    });
    sink.option(ask.answer.as_ref(), write_answer);
    sink.index(ask.promises.len());
    ask.promises.iter().for_each(|promise| write_promise(sink, promise));
    sink.index(ask.outcomes.len());
    for (id, kind) in &ask.outcomes {
        sink.raw(&id.0);
        sink.index(*kind as usize);
    }
}

fn write_answer(sink: &mut Sink<'_>, answer: &Answer) {
    sink.count(answer.attempt);
    sink.count(answer.ordinal);
    sink.boolean(answer.is_final);
    sink.long(answer.until);
    sink.long(answer.now);
    sink.string(&answer.policy_hash);
    sink.string(&answer.nucleus);
    sink.index(answer.objections.len());
    for (queue, stand) in &answer.objections {
        sink.string(queue);
        sink.string(&stand.filter);
        sink.string(&stand.reason);
        sink.double(stand.measured);
        sink.double(stand.limit);
    }
}

fn write_promise(sink: &mut Sink<'_>, promise: &Promise) {
    sink.raw(&promise.decision.0);
    sink.long(promise.request.0 as i64);
    sink.long(promise.task.0 as i64);
    sink.string(&promise.gshare);
    sink.long(promise.now);
    sink.long(promise.clock);
    sink.index(promise.queues.len());
    for (queue, jobs) in &promise.queues {
        sink.string(queue);
        sink.count(*jobs);
    }
}

pub(super) fn write_answered(sink: &mut Sink<'_>, answered: &Answered) {
    sink.string(&answered.subject);
    sink.count(answered.attempt);
    sink.count(answered.ordinal);
    sink.boolean(answered.is_final);
    sink.long(answered.now);
}

pub(super) fn read_answered(at: &mut Cursor<'_>) -> Result<Answered, Fault> {
    Ok(Answered {
        subject: text(at)?,
        attempt: count(at)?,
        ordinal: count(at)?,
        is_final: at.boolean()?,
        now: at.long()?,
    })
}

pub(super) fn read(at: &mut Cursor<'_>) -> Result<Ask, Fault> {
    let mut ask = Ask { subject: text(at)?, heard_at: at.long()?, ..Ask::default() };
    if at.index()? == 1 {
        let bytes = at.bytes()?.get(HEADER_BYTES..).ok_or(Fault::Malformed)?;
        match record::read(Topic::Task, bytes) {
            Ok(Event::Task(mut task)) => {
                for _ in 0..at.index()? {
                    task.impossible.push(text(at)?);
                }
                ask.task = Some(*task);
            }
            _ => return Err(Fault::Malformed),
        }
    }
    if at.index()? == 1 {
        ask.answer = Some(read_answer(at)?);
    }
    for _ in 0..at.index()? {
        ask.promises.push(read_promise(at)?);
    }
    for _ in 0..at.index()? {
        let id = DecisionId(at.fixed16()?);
        ask.outcomes.insert(id, *OUTCOMES.get(at.index()?).ok_or(Fault::Malformed)?);
    }
    Ok(ask)
}

fn read_answer(at: &mut Cursor<'_>) -> Result<Answer, Fault> {
    let mut answer = Answer {
        attempt: count(at)?,
        ordinal: count(at)?,
        is_final: at.boolean()?,
        until: at.long()?,
        now: at.long()?,
        policy_hash: text(at)?,
        nucleus: text(at)?,
        objections: Default::default(),
    };
    for _ in 0..at.index()? {
        let queue = text(at)?;
        let stand = Stand {
            filter: text(at)?,
            reason: text(at)?,
            measured: at.double()?,
            limit: at.double()?,
        };
        answer.objections.insert(queue, stand);
    }
    Ok(answer)
}

fn read_promise(at: &mut Cursor<'_>) -> Result<Promise, Fault> {
    let mut promise = Promise {
        decision: DecisionId(at.fixed16()?),
        request: Key(word(at)?),
        task: Key(word(at)?),
        gshare: text(at)?,
        now: at.long()?,
        clock: at.long()?,
        queues: Vec::new(),
    };
    for _ in 0..at.index()? {
        promise.queues.push((text(at)?, count(at)?));
    }
    Ok(promise)
}
