//! The open requests of an engine, whether it judges or only follows.

use crate::engine::Engine;
use crate::state::admit::is_open;
use crate::state::record::RequestState;

/// So many requests are looked at, those to be judged now first; the others are counted and no
/// more. A look takes about a microsecond, and the loop waits for all of them.
pub const OPEN_MAX: usize = 20_000;
/// An engine that follows keeps no list of its open requests: so many records are looked through.
const RECORDS_MAX: usize = 200_000;

/// Shows `most` open requests at most; gives how many there are. One that follows looks for them
/// among its records, and counts none beyond the first 200,000 of these.
pub fn each_open<'a>(
    engine: &'a Engine,
    most: usize,
    mut show: impl FnMut(&'a RequestState),
) -> usize {
    if let Some(open) = engine.open_requests() {
        open.take(most).for_each(show);
        return engine.waiting();
    }
    let records = engine.state.requests.slab.iter().take(RECORDS_MAX);
    let mut count = 0;
    for (_, request) in records.filter(|(_, request)| is_open(request)) {
        count += 1;
        if count <= most {
            show(request);
        }
    }
    count
}
