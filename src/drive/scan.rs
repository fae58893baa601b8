//! Scanning: records of one lane read from an offset on, without following it.

use crate::Halt;
use crate::port::{Batch, LaneSpan, Log, LogError};
use std::time::Duration;
use yardmaster_core::cut::Cut;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::Codec;

/// How long one look at `progress` may wait.
const LOOK: Duration = Duration::from_millis(50);
/// How many looks in a row may bring nothing before the start is given up.
const LOOKS_MAX: u32 = 1_200;
/// How many, if the record that comes next waits for the schema registry.
const LOOKS_HELD_BACK: u32 = 40;
/// Shows a domain's `progress` records from an offset on, with their append times, until
/// `is_enough` or the end.
pub(super) fn read_progress<L: Log>(
    log: &mut L,
    span: &LaneSpan,
    from: u64,
    domain: &str,
    is_enough: &mut dyn FnMut(Progress, Millis) -> bool,
) -> Result<(), Halt> {
    read_lane(log, span, from, &mut |codec, value, at| {
        let progress = codec.read_record::<Progress>(value).ok();
        progress.filter(|it| it.domain == domain).is_some_and(|it| is_enough(it, at))
    })
}

/// Shows the values of a lane from an offset on, with their append times, until `is_enough` or the
/// end.
pub(super) fn read_lane<L: Log>(
    log: &mut L,
    span: &LaneSpan,
    from: u64,
    is_enough: &mut dyn FnMut(&Codec, &[u8], Millis) -> bool,
) -> Result<(), Halt> {
    let mut cut = Cut::default();
    cut.advance(span.lane, from);
    log.assign(&cut)?;
    let mut codec = Codec::new(usize::MAX);
    let (mut position, mut idle) = (from, 0);
    while position < span.stable_end {
        let mut batch = Batch::default();
        log.take(&mut batch, 1_000, LOOK)?;
        for writer in &batch.writers {
            // A record that cannot be read is passed over, here as when cycles are counted.
            let _ = codec.learn_number(writer);
        }
        for raw in &batch.records {
            position = raw.offset + 1;
            let value = batch.value(raw);
            if value.is_some_and(|value| is_enough(&codec, value, raw.appended_at)) {
                return Ok(());
            }
        }
        let marks = batch.marks.iter().map(|mark| mark.position);
        position = marks.fold(position, u64::max);
        idle = if batch.records.is_empty() { idle + 1 } else { 0 };
        if let Some((_, why)) = log.waiting_for_registry().filter(|_| idle > LOOKS_HELD_BACK) {
            return Err(Halt::Log(LogError::Unanswered(why)));
        }
        if idle > LOOKS_MAX {
            return Err(Halt::Log(LogError::Unreachable(format!(
                "{} brings nothing at offset {position}, though it reaches to {}",
                span.lane, span.stable_end
            ))));
        }
    }
    Ok(())
}
