//! The clock: the only place that reads it.

use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use yardmaster_core::unit::Millis;

/// Milliseconds since 1970 by this host's clock.
pub fn now() -> Millis {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Milliseconds since the first look; never steps when the clock is set. Stands still while the
/// machine is suspended, but not while the process is stopped.
pub fn uptime() -> Millis {
    i64::try_from(stopwatch() / 1_000_000).unwrap_or(i64::MAX)
}

/// Nanoseconds since the first look; never goes back. For reports.
pub fn stopwatch() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    u64::try_from(FIRST.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}
