//! When requests that wait as a whole are evaluated again.

use crate::state::State;
use crate::unit::{Millis, SECOND};

/// Requests that wait as a whole are evaluated again this often: all of them at the same cut, which
/// depends on the cycles' `now`s alone. Owners and shares are counted again for them.
const EVERY: Millis = 10 * SECOND;

/// Whether requests that wait as a whole are evaluated in this cycle: from time to time, and if a
/// throttle was lifted in the one before, or data that a
/// request names moved. It depends on what was published and folded alone.
pub(crate) fn evaluates_whole_waits(state: &State) -> bool {
    let State { before, now, touched, number, lifted_in, replicas, .. } = state;
    before.div_euclid(EVERY) != now.div_euclid(EVERY)
        || touched.settings
        || touched.queues
        || replicas.moved_in == *number
        || *lifted_in > 0 && *lifted_in + 1 == *number
}
