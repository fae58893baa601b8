//! `comparison`.

use super::{amount, list, number, option, say_number, symbol, text, texts};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::comparison::{
    Answer, AnswerOutcome, Chosen, Comparison, Figures, InCharge, Rejected,
};
use yardmaster_core::cut::Topic;

pub(crate) fn read(datum: &[u8]) -> Result<Comparison, Fault> {
    let mut at = Cursor::new(datum);
    let comparison = comparison(&mut at)?;
    at.end()?;
    Ok(comparison)
}

fn comparison(at: &mut Cursor<'_>) -> Result<Comparison, Fault> {
    Ok(Comparison {
        domain: text(at)?,
        subject: text(at)?,
        attempt: amount(at)?,
        task: text(at)?,
        policy: text(at)?,
        gshare: text(at)?,
        queue_type: text(at)?,
        resource_type: text(at)?,
        label: text(at)?,
        asked_at: at.long()?,
        compared_at: at.long()?,
        in_charge: symbol(at, &InCharge::ALL)?,
        yardmaster: answer(at)?,
        other: answer(at)?,
    })
}

fn answer(at: &mut Cursor<'_>) -> Result<Answer, Fault> {
    Ok(Answer {
        outcome: symbol(at, &AnswerOutcome::ALL)?,
        reason: text(at)?,
        took_ms: amount(at)?,
        queues: list(at, |at| {
            Ok(Chosen { queue: text(at)?, weight: number(at)?, jobs: amount(at)? })
        })?,
        fates: list(at, |at| {
            Ok(Rejected { queue: text(at)?, filter: text(at)?, reason: text(at)? })
        })?,
        figures: list(at, |at| {
            Ok(Figures {
                queue: text(at)?,
                running: option(at, amount)?,
                queued: option(at, amount)?,
                pilots: option(at, amount)?,
            })
        })?,
        notes: list(at, text)?,
    })
}

/// Appends a request that was answered twice.
pub fn write_comparison(out: &mut Vec<u8>, comparison: &Comparison) {
    let mut sink = Sink::begin(out, Topic::Comparison);
    sink.string(&comparison.domain);
    sink.string(&comparison.subject);
    sink.amount(comparison.attempt);
    sink.string(&comparison.task);
    sink.string(&comparison.policy);
    sink.string(&comparison.gshare);
    sink.string(&comparison.queue_type);
    sink.string(&comparison.resource_type);
    sink.string(&comparison.label);
    sink.long(comparison.asked_at);
    sink.long(comparison.compared_at);
    sink.index(comparison.in_charge as usize);
    write_answer(&mut sink, &comparison.yardmaster);
    write_answer(&mut sink, &comparison.other);
}

fn write_answer(sink: &mut Sink<'_>, answer: &Answer) {
    sink.index(answer.outcome as usize);
    sink.string(&answer.reason);
    sink.amount(answer.took_ms);
    sink.array(&answer.queues, |sink, it| {
        sink.string(&it.queue);
        say_number(sink, it.weight);
        sink.amount(it.jobs);
    });
    sink.array(&answer.fates, |sink, it| {
        sink.string(&it.queue);
        sink.string(&it.filter);
        sink.string(&it.reason);
    });
    sink.array(&answer.figures, |sink, it| {
        sink.string(&it.queue);
        for figure in [it.running, it.queued, it.pilots] {
            sink.option(figure, Sink::amount);
        }
    });
    texts(sink, &answer.notes);
}
