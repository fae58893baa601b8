//! The newest cycles of a log, read from its end.

use crate::Halt;
use crate::own::Newest;
use crate::port::{LaneSpan, Log};
use crate::scan::read_progress;
use yardmaster_core::cut::Topic;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::output::repair::NowRepairs;
use yardmaster_core::unit::Millis;

/// How far before its end `progress` is read first to find its newest records: markers and aborted
/// records lie between.
pub(super) const TAIL: u64 = 256;
/// How many times as far it is read each further time.
const FURTHER: u64 = 8;
/// Most sequences of cycles that are distinguished; of more, the shortest are strays.
const SEQUENCES_MAX: usize = 64;
/// Versions with this engine revision carry on what the newest record names as repaired.
const REPAIRS_SINCE: u32 = 3;

/// A cycle as it stands in the log.
pub(super) struct Seen {
    /// Its record, without what only counting needs.
    pub progress: Progress,
    /// When it was appended.
    pub appended_at: Millis,
}

/// The repairs that a log names, and the newest `now` as it is counted.
pub(crate) fn known_repairs<L: Log>(
    log: &mut L,
    spans: &[LaneSpan],
    domain: &str,
) -> Result<(NowRepairs, Millis), Halt> {
    let mut repairs = NowRepairs::default();
    let Some(span) = spans.iter().find(|span| span.lane.topic == Topic::Progress) else {
        return Ok((repairs, 0));
    };
    let newest = newest_cycles(log, span, domain, &|cycles| !cycles.is_empty())?;
    for Seen { progress, .. } in &newest {
        repairs.learn(progress.number, &progress.now_repairs);
    }
    // An older version that led meanwhile has not carried them on.
    if newest.last().is_some_and(|last| last.progress.engine < REPAIRS_SINCE) {
        read_progress(log, span, span.first, domain, &mut |progress, _| {
            repairs.learn(progress.number, &progress.now_repairs);
            false
        })?;
    }
    let nows = newest.iter().map(|it| repairs.now_of(it.progress.number, it.progress.now));
    let newest_now = nows.max().unwrap_or(0);
    Ok((repairs, newest_now))
}

/// The newest cycles that follow each other, from the end of `progress` so far back that it
/// `is_enough`, or from its beginning. Strays are left out.
pub(super) fn newest_cycles<L: Log>(
    log: &mut L,
    span: &LaneSpan,
    domain: &str,
    is_enough: &dyn Fn(&[Seen]) -> bool,
) -> Result<Vec<Seen>, Halt> {
    let mut window = TAIL;
    loop {
        let from = span.stable_end.saturating_sub(window).max(span.first);
        let mut sequences: Vec<Vec<Seen>> = Vec::new();
        read_progress(log, span, from, domain, &mut |mut progress, appended_at| {
            progress.output_hashes.clear();
            progress.garbled.clear();
            place(&mut sequences, Seen { progress, appended_at });
            false
        })?;
        let cycles = sequences.into_iter().max_by_key(Vec::len).unwrap_or_default();
        if is_enough(&cycles) || from == span.first {
            return Ok(cycles);
        }
        window = window.saturating_mul(FURTHER);
    }
}

/// Appends a cycle to the sequence that it goes on, or begins another. Of two, to the first: copies
/// come after what they are copies of.
fn place(sequences: &mut Vec<Vec<Seen>>, seen: Seen) {
    let is_before = |cycles: &Vec<Seen>| {
        cycles.last().is_some_and(|last| Newest::of(&last.progress).is_followed_by(&seen.progress))
    };
    if let Some(at) = sequences.iter().position(is_before) {
        return sequences[at].push(seen);
    }
    if sequences.len() >= SEQUENCES_MAX {
        let shortest = sequences.iter().enumerate().min_by_key(|(_, cycles)| cycles.len());
        if let Some(at) = shortest.map(|(at, _)| at) {
            sequences.remove(at);
        }
    }
    sequences.push(vec![seen]);
}
