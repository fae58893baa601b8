//! All that waits as of a cycle, with the throttles in force.

use super::pool::rows as rows_of_pool;
use super::rows::{WaitingRow, row};
use super::{OPEN_MAX, ReasonSorter, each_open};
use yardmaster_core::engine::Engine;
use yardmaster_core::output::throttle::Throttle;
use yardmaster_core::unit::Millis;
use yardmaster_core::view::PoolGlance;

/// Kind of the rows of a pool.
pub const WORKFLOWS: &str = "workflows";

/// All requests that wait, as of a cycle.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    /// The cycle's `now`.
    pub now: Millis,
    /// The cycle.
    pub cycle: u64,
    /// The rows' kind in the plural: requests, or workflows of a pool.
    pub of: &'static str,
    /// How many are open.
    pub open: usize,
    /// Those that were looked at, the oldest first.
    pub rows: Vec<WaitingRow>,
    /// Throttles in force, those that are only published too; so many at most.
    pub throttles: Vec<Throttle>,
}

/// So many throttles are listed.
const THROTTLES_MAX: usize = 5_000;

impl Waiting {
    /// Those of an engine; of one with a pool of slots as a look at the pool has them.
    pub fn of(engine: &Engine, pool: Option<&PoolGlance>) -> Waiting {
        let mut sorter = ReasonSorter::new(engine);
        let mut rows = Vec::new();
        let open = each_open(engine, OPEN_MAX, |request| {
            rows.extend(row(&mut sorter, request));
        });
        let of = if pool.is_some() { WORKFLOWS } else { "requests" };
        let open = pool.map_or(open, |pool| {
            rows.extend(rows_of_pool(pool, engine));
            rows.len()
        });
        rows.sort_by(|a: &WaitingRow, b| (a.asked_at, &a.subject).cmp(&(b.asked_at, &b.subject)));
        let state = &engine.state;
        let throttles = state.throttles.iter().map(|(_, throttle)| throttle);
        let standing = throttles.filter(|throttle| throttle.stands(state.now));
        let throttles = standing.take(THROTTLES_MAX).cloned().collect();
        Waiting { now: state.now, cycle: state.number, of, open, rows, throttles }
    }
}
