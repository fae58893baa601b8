//! What forgotten records left behind in windows: the part of a counter no live record gives.

use super::count;
use crate::core::id::Name;
use crate::core::rows::RowKey;
use crate::core::state::State;
use crate::core::window::Window;
use crate::wire::avro::{Cursor, Fault, Sink};

pub(super) fn write(sink: &mut Sink<'_>, state: &State) {
    let left = |window: &Window| {
        let left = window.buckets().iter().filter(|bucket| bucket.left > 0);
        left.map(|bucket| (bucket.number, bucket.left)).collect::<Vec<_>>()
    };
    for (key, tally) in state.ledger.tally.iter() {
        for (which, window) in tally.ended.iter().enumerate() {
            for (number, amount) in left(window) {
                line(sink, state, 0, key, which, number, amount);
            }
        }
    }
    for (key, rate) in state.ledger.rate.iter() {
        for (which, window) in [&rate.hour, &rate.day, &rate.week].into_iter().enumerate() {
            for (number, amount) in left(window) {
                line(sink, state, 1, key, which, number, amount);
            }
        }
    }
    sink.index(2);
}

/// Tallies are by (task number, queue), rates by (source, destination).
fn line(
    sink: &mut Sink<'_>,
    state: &State,
    table: usize,
    key: RowKey,
    which: usize,
    number: i64,
    amount: u64,
) {
    sink.index(table);
    if table == 0 {
        sink.count(key[0]);
        sink.count(key[1]);
        sink.string(state.names.text(Name(key[2])));
    } else {
        sink.string(state.names.text(Name(key[0])));
        sink.string(state.names.text(Name(key[1])));
    }
    sink.index(which);
    sink.long(number);
    sink.long(amount as i64);
}

pub(super) fn read(at: &mut Cursor<'_>, state: &mut State) -> Result<(), Fault> {
    loop {
        let table = at.index()?;
        if table == 2 {
            return Ok(());
        }
        let key = if table == 0 {
            let (low, high) = (count(at)?, count(at)?);
            [low, high, state.names.intern(at.string()?).0, 0]
        } else {
            let source = state.names.intern(at.string()?);
            [source.0, state.names.intern(at.string()?).0, 0, 0]
        };
        let which = at.index()?;
        let (number, left) = (at.long()?, super::word(at)?);
        match (table, which) {
            (0, 0..=2) => state.ledger.restore_tally(key, which, number, left),
            (1, 0..=2) => state.ledger.restore_rate(key, which, number, left),
            _ => return Err(Fault::Malformed),
        }
    }
}
