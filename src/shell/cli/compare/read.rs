//! Comparisons in a log: of one domain, each once.

use crate::cli::outputs::read_to_end;
use crate::ports::AnyLog;
use std::collections::{BTreeMap, HashSet};
use yardmaster_core::comparison::Comparison;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::id::hash;
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::{LaneSpan, Log};
use yardmaster_wire::avro::Codec;

/// Counts of records that were passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct Passed {
    /// Records that cannot be read.
    pub unreadable: u64,
    /// Copies of records that were read.
    pub copies: u64,
}

impl Passed {
    /// Names on stderr what was passed over.
    pub fn report(&self) {
        if self.unreadable > 0 {
            eprintln!(
                "passed over {} records that are no comparisons, or of a schema that cannot be \
                 read; the client that writes them has to be mended",
                self.unreadable
            );
        }
        if self.copies > 0 {
            eprintln!("passed over {} records that are copies", self.copies);
        }
    }
}

/// When comparisons were asked: `None` is open.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli) struct AskedPeriod {
    /// No earlier than this.
    pub from: Option<Millis>,
    /// Before this.
    pub until: Option<Millis>,
}

impl AskedPeriod {
    fn has(&self, at: Millis) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }
}

/// Hands over the comparisons of a domain that were asked within a time, as they stand in the log.
/// A record that is there several times is handed over once.
pub(in crate::cli) fn comparisons(
    log: &mut AnyLog,
    domain: &str,
    asked: AskedPeriod,
    mut each: impl FnMut(Comparison),
) -> anyhow::Result<Passed> {
    // A record is appended after its request was asked, so none of these lies before.
    let since = asked.from.map(|from| log.offsets_since(from)).transpose()?.flatten();
    let since: BTreeMap<Lane, u64> = since.unwrap_or_default().into_iter().collect();
    let mut spans = log.lanes()?;
    spans.retain(|span| span.lane.topic == Topic::Comparison);
    let from = |span: &LaneSpan| {
        let since = since.get(&span.lane).copied().unwrap_or(span.first);
        since.clamp(span.first, span.stable_end.max(span.first))
    };
    let (mut passed, mut seen) = (Passed::default(), HashSet::new());
    read_to_end(log, &spans, from, &mut Codec::default(), &mut |codec, batch, raw| {
        match batch.value(raw).map(|value| codec.read_record::<Comparison>(value)) {
            Some(Ok(it)) if it.domain != domain || !asked.has(it.asked_at) => {}
            Some(Ok(it)) if !seen.insert(identity(&it)) => passed.copies += 1,
            Some(Ok(it)) => each(it),
            Some(Err(_)) | None => passed.unreadable += 1,
        }
        true
    })?;
    Ok(passed)
}

/// Identity of a comparison: equal in all of its records.
fn identity(it: &Comparison) -> u64 {
    hash(format!("{} {} {}", it.attempt, it.asked_at, it.subject).as_bytes())
}
