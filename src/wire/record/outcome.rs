//! `outcome`.

use super::{symbol, text};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Outcome, OutcomeAbout, OutcomeKind};
use yardmaster_core::output::decision::DecisionId;

/// The symbols of `kind`, in the schema's order.
const KINDS: [OutcomeKind; 4] =
    [OutcomeKind::Accepted, OutcomeKind::Refused, OutcomeKind::Failed, OutcomeKind::Expired];

pub(super) fn read(at: &mut Cursor<'_>) -> Result<Outcome, Fault> {
    Ok(Outcome {
        subject: text(at)?,
        decision: DecisionId(at.fixed16()?),
        kind: symbol(at, &KINDS)?,
        at: at.long()?,
        reason: text(at)?,
        about: symbol(at, &OutcomeAbout::ALL)?,
    })
}

/// Appends what became of a decision.
pub fn write_outcome(out: &mut Vec<u8>, outcome: &Outcome) {
    let mut sink = Sink::begin(out, Topic::Outcome);
    sink.string(&outcome.subject);
    sink.raw(&outcome.decision.0);
    sink.index(outcome.kind as usize);
    sink.long(outcome.at);
    sink.string(&outcome.reason);
    sink.index(outcome.about as usize);
}
