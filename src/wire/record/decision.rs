//! `decision`. Its numbers are written bit for bit, so that a decision made again can be compared
//! byte for byte.

use super::{amount, count, list, number, option, placed, pool, say_number, symbol, text, texts};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::output::decision::{Decision, DecisionId, Fate, FilterCount, Outcome, Ranked};
use yardmaster_core::unit::Millis;

/// The symbols of `outcome`, in the schema's order.
#[derive(Clone, Copy)]
enum Answer {
    Assign,
    Defer,
    Reject,
}

const ANSWERS: [Answer; 3] = [Answer::Assign, Answer::Defer, Answer::Reject];

pub(super) fn read(at: &mut Cursor<'_>) -> Result<Decision, Fault> {
    read_with(at, |at, _| list(at, read_fate))
}

/// Reads what later judgements need of a decision: of a final one not what became of those that
/// were rejected, which is most of its bytes.
pub(crate) fn read_answer(datum: &[u8]) -> Result<Decision, Fault> {
    let mut at = Cursor::new(datum);
    let decision = read_with(&mut at, |at, outcome| match outcome.is_final() {
        true => list(at, skip_fate).map(|_| Vec::new()),
        false => list(at, read_fate),
    })?;
    at.end()?;
    Ok(decision)
}

fn skip_fate(at: &mut Cursor<'_>) -> Result<(), Fault> {
    (0..3).try_for_each(|_| at.bytes().map(|_| ()))?;
    (0..2).try_for_each(|_| number(at).map(|_| ()))
}

fn read_with(
    at: &mut Cursor<'_>,
    fates: impl FnOnce(&mut Cursor<'_>, &Outcome) -> Result<Vec<Fate>, Fault>,
) -> Result<Decision, Fault> {
    let decision = Decision {
        id: DecisionId(at.fixed16()?),
        domain: text(at)?,
        subject: text(at)?,
        attempt: amount(at)?,
        task: text(at)?,
        ordinal: count(at)?,
        epoch: amount(at)?,
        cycle: amount(at)?,
        number: count(at)?,
        now: at.long()?,
        first_answered_at: at.long()?,
        policy: text(at)?,
        policy_hash: text(at)?,
        gshare: text(at)?,
        user: text(at)?,
        working_group: text(at)?,
        merge: at.boolean()?,
        nucleus: text(at)?,
        outcome: read_outcome(at)?,
        factor_names: list(at, text)?,
        counts: list(at, |at| Ok(FilterCount { filter: text(at)?, rejected: count(at)? }))?,
        fates: Vec::new(),
        full: true,
        fates_cut: 0,
        notes: Vec::new(),
        dry_run: false,
        placed: None,
        matched: None,
        limits: Vec::new(),
    };
    let fates = fates(at, &decision.outcome)?;
    let (full, fates_cut) = (at.boolean()?, count(at)?);
    let (notes, dry_run) = (list(at, text)?, at.boolean()?);
    let (placed, limits) = (option(at, placed::read)?, list(at, placed::read_limit)?);
    let matched = option(at, pool::read_matched)?;
    Ok(Decision { fates, full, fates_cut, notes, dry_run, placed, matched, limits, ..decision })
}

/// The answer and the three fields that belong to one answer each.
fn read_outcome(at: &mut Cursor<'_>) -> Result<Outcome, Fault> {
    let answer = symbol(at, &ANSWERS)?;
    let ranked = list(at, read_ranked)?;
    let until: Option<Millis> = option(at, Cursor::long)?;
    let reason = text(at)?;
    Ok(match answer {
        Answer::Assign => Outcome::Assign(ranked),
        Answer::Defer => Outcome::Defer { until: until.ok_or(Fault::Malformed)? },
        Answer::Reject => Outcome::Reject { reason },
    })
}

fn read_ranked(at: &mut Cursor<'_>) -> Result<Ranked, Fault> {
    Ok(Ranked {
        queue: text(at)?,
        unified: text(at)?,
        weight: number(at)?,
        jobs: count(at)?,
        cores: count(at)?,
        factors: list(at, number)?,
        platform: text(at)?,
    })
}

fn read_fate(at: &mut Cursor<'_>) -> Result<Fate, Fault> {
    Ok(Fate {
        queue: text(at)?,
        filter: text(at)?.into(),
        reason: text(at)?.into(),
        measured: number(at)?,
        limit: number(at)?,
    })
}

/// Appends a decision.
pub fn write_decision(out: &mut Vec<u8>, decision: &Decision) {
    let mut sink = Sink::begin(out, Topic::Decision);
    sink.raw(&decision.id.0);
    sink.string(&decision.domain);
    sink.string(&decision.subject);
    sink.amount(decision.attempt);
    sink.string(&decision.task);
    sink.count(decision.ordinal);
    sink.amount(decision.epoch);
    sink.amount(decision.cycle);
    sink.count(decision.number);
    sink.long(decision.now);
    sink.long(decision.first_answered_at);
    sink.string(&decision.policy);
    sink.string(&decision.policy_hash);
    sink.string(&decision.gshare);
    sink.string(&decision.user);
    sink.string(&decision.working_group);
    sink.boolean(decision.merge);
    sink.string(&decision.nucleus);
    write_outcome(&mut sink, &decision.outcome);
    texts(&mut sink, &decision.factor_names);
    sink.array(&decision.counts, |sink, it| {
        sink.string(&it.filter);
        sink.count(it.rejected);
    });
    sink.array(&decision.fates, write_fate);
    sink.boolean(decision.full);
    sink.count(decision.fates_cut);
    texts(&mut sink, &decision.notes);
    sink.boolean(decision.dry_run);
    sink.option(decision.placed.as_ref(), placed::write);
    sink.array(&decision.limits, placed::write_limit);
    sink.option(decision.matched.as_ref(), pool::write_matched);
}

fn write_outcome(sink: &mut Sink<'_>, outcome: &Outcome) {
    let (answer, ranked, until, reason) = match outcome {
        Outcome::Assign(ranked) => (Answer::Assign, &ranked[..], None, ""),
        Outcome::Defer { until } => (Answer::Defer, &[][..], Some(*until), ""),
        Outcome::Reject { reason } => (Answer::Reject, &[][..], None, &reason[..]),
    };
    sink.index(answer as usize);
    sink.array(ranked, |sink, it| {
        sink.string(&it.queue);
        sink.string(&it.unified);
        say_number(sink, it.weight);
        sink.count(it.jobs);
        sink.count(it.cores);
        sink.array(&it.factors, |sink, factor| say_number(sink, *factor));
        sink.string(&it.platform);
    });
    sink.option(until, Sink::long);
    sink.string(reason);
}

fn write_fate(sink: &mut Sink<'_>, fate: &Fate) {
    sink.string(&fate.queue);
    sink.string(&fate.filter);
    sink.string(&fate.reason);
    say_number(sink, fate.measured);
    say_number(sink, fate.limit);
}
