//! Amounts that forgotten records left behind in windows: the part of a counter that no live record
//! gives.

use super::count;
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::id::Name;
use yardmaster_core::state::State;
use yardmaster_core::state::rows::RowKey;
use yardmaster_core::state::window::Window;

pub(super) fn write(sink: &mut Sink<'_>, state: &State) {
    let left = |window: &Window| {
        let left = window.buckets().iter().filter(|bucket| bucket.left > 0);
        left.map(|bucket| (bucket.number, bucket.left)).collect::<Vec<_>>()
    };
    for (key, jobs) in state.ledger.ended.iter() {
        for (which, window) in jobs.ended.iter().enumerate() {
            for (number, amount) in left(window) {
                line(sink, state, TALLIES, key, which, number, amount);
            }
        }
    }
    for (key, rate) in state.ledger.rate.iter() {
        for (which, window) in [&rate.hour, &rate.day, &rate.week].into_iter().enumerate() {
            for (number, amount) in left(window) {
                line(sink, state, RATES, key, which, number, amount);
            }
        }
    }
    for (key, work) in state.ledger.work.iter() {
        for (number, amount) in left(work) {
            line(sink, state, WORK, key, 0, number, amount);
        }
    }
    for (key, starts) in state.ledger.starts.iter() {
        for (number, amount) in left(starts) {
            line(sink, state, STARTS, key, 0, number, amount);
        }
    }
    for (key, waits) in state.ledger.waits.iter() {
        for (which, window) in waits.over.iter().enumerate() {
            for (number, amount) in left(window) {
                line(sink, state, WAITS, key, which, number, amount);
            }
        }
    }
    sink.index(END);
}

const TALLIES: usize = 0;
const RATES: usize = 1;
const STARTS: usize = 2;
const WAITS: usize = 3;
const WORK: usize = 4;
const END: usize = 5;

/// Tallies are by (task number, queue), work by task number, rates by (source, destination), starts
/// and waits by queue.
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
    let names = match table {
        TALLIES => {
            sink.count(key[0]);
            sink.count(key[1]);
            2..3
        }
        WORK => {
            sink.count(key[0]);
            sink.count(key[1]);
            0..0
        }
        RATES => 0..2,
        _ => 0..1,
    };
    for name in &key[names] {
        sink.string(state.names.text(Name(*name)));
    }
    sink.index(which);
    sink.long(number);
    sink.long(amount as i64);
}

pub(super) fn read(at: &mut Cursor<'_>, state: &mut State) -> Result<(), Fault> {
    loop {
        let table = at.index()?;
        if table == END {
            return Ok(());
        }
        let key = match table {
            TALLIES => {
                let (low, high) = (count(at)?, count(at)?);
                [low, high, state.names.intern(at.string()?).0, 0]
            }
            WORK => [count(at)?, count(at)?, 0, 0],
            RATES => {
                let source = state.names.intern(at.string()?);
                [source.0, state.names.intern(at.string()?).0, 0, 0]
            }
            _ => [state.names.intern(at.string()?).0, 0, 0, 0],
        };
        let which = at.index()?;
        let (number, left) = (at.long()?, super::word(at)?);
        match (table, which) {
            (TALLIES, 0..=2) => state.ledger.restore_tally(key, which, number, left),
            (RATES, 0..=2) => state.ledger.restore_rate(key, which, number, left),
            (WAITS, 0..=2) => state.ledger.restore_wait(key, which, number, left),
            (WORK, 0) => state.ledger.restore_work(key, number, left),
            (STARTS, 0) => state.ledger.restore_starts(key, number, left),
            _ => return Err(Fault::Malformed),
        }
    }
}
