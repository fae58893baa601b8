//! Whether a standby follows: it can take over, and is ready. Load alone does not end that, for a
//! standby that goes on behind a busy leader would take over as well; a rollout that waits for it
//! would stand still.

use std::time::{Duration, Instant};
use yardmaster_core::unit::{MINUTE, Millis, SECOND};

/// A standby that is no later than this is where the leader is.
const LATE: Millis = 10 * SECOND;
/// One that is later than this does not follow, however fast it goes on.
const LATE_MAX: Millis = 10 * MINUTE;
/// One that is late and has counted no cycle for so long does not follow.
const STILL_AFTER: Duration = Duration::from_secs(60);

/// Position of a standby.
#[derive(Clone, Copy, Debug)]
pub struct StandbyPosition {
    /// The last cycle that it counted.
    pub cycle: u64,
    /// How far that is behind the newest cycle that it read; ms.
    pub late: Millis,
    /// Whether it has counted all there is.
    pub is_at_end: bool,
    /// Whether something stands before the next cycle in the log: the lead cannot be taken.
    pub is_held: bool,
}

/// Whether a standby follows.
#[derive(Debug, Default)]
pub struct Following {
    /// It has counted all there was once. Before that it is not known how late it is.
    was_at_end: bool,
    follows: bool,
    /// The last cycle that it counted, and when that was first seen.
    moved: Option<(u64, Instant)>,
}

impl Following {
    /// Whether it follows, at a position and a moment.
    pub fn look(&mut self, at: StandbyPosition, now: Instant) -> bool {
        if self.moved.is_none_or(|(cycle, _)| cycle != at.cycle) {
            self.moved = Some((at.cycle, now));
        }
        if at.is_held {
            (self.was_at_end, self.follows) = (false, false);
            return false;
        }
        self.was_at_end |= at.is_at_end;
        let moved_at = self.moved.map_or(now, |(_, moved_at)| moved_at);
        let is_still = now.saturating_duration_since(moved_at) >= STILL_AFTER;
        let is_near = at.is_at_end || at.late <= LATE;
        let goes_on = self.follows && at.late <= LATE_MAX && !is_still;
        self.follows = self.was_at_end && (is_near || goes_on);
        self.follows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_END: StandbyPosition =
        StandbyPosition { cycle: 7, late: 0, is_at_end: true, is_held: false };

    fn late(cycle: u64, late: Millis) -> StandbyPosition {
        StandbyPosition { cycle, late, is_at_end: false, is_held: false }
    }

    fn after(seconds: u64) -> Instant {
        static BEGAN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        *BEGAN + Duration::from_secs(seconds)
    }

    #[test]
    fn a_standby_follows_once_it_was_at_the_end_and_load_does_not_end_that() {
        let mut following = Following::default();
        // While it replays it has read nothing newer, so it looks as if it were not late.
        assert!(!following.look(late(1, 0), after(0)));
        assert!(following.look(AT_END, after(1)));
        // A busy machine: minutes late and going on, then near, and never at the end again.
        for (seconds, behind) in [(2, 11_000), (50, 90_000), (100, 599_000), (150, 4_000)] {
            assert!(following.look(late(7 + seconds, behind), after(seconds)), "{behind} ms late");
        }
    }

    #[test]
    fn one_that_is_far_behind_or_stands_still_does_not_follow_until_it_is_near_again() {
        let mut following = Following::default();
        assert!(following.look(AT_END, after(0)));
        assert!(!following.look(late(8, LATE_MAX + 1), after(1)), "too far behind");
        assert!(!following.look(late(9, LATE_MAX - 1), after(2)), "not near yet");
        assert!(following.look(late(10, LATE), after(3)), "near, if not at the end");
        assert!(following.look(late(10, LATE + 1), after(62)), "late, and not still for long");
        assert!(!following.look(late(10, LATE + 1), after(63)), "late, and it stands still");
        assert!(following.look(AT_END, after(64)));
    }

    #[test]
    fn what_stands_before_the_next_cycle_ends_it_at_once() {
        let mut following = Following::default();
        assert!(following.look(AT_END, after(0)));
        assert!(!following.look(StandbyPosition { is_held: true, ..AT_END }, after(1)));
        assert!(!following.look(late(8, 0), after(2)), "how late it is is not known again");
        assert!(following.look(AT_END, after(3)));
    }
}
