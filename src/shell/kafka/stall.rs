//! Whether a client has stopped fetching a lane: nothing of it comes though it goes on.

use super::queue::Taken;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A client that brings nothing of a lane that goes on for so long is made again, as one that gets
/// no answer is.
pub(super) const STUCK_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether a client is stuck.
const CHECK: Duration = Duration::from_secs(1);
/// No more than this counts between two looks: one that comes late finds a process that lags.
const COUNTED_MAX: Duration = Duration::from_secs(2);

/// Where a lane stands that is read now.
pub(super) struct Stand<K> {
    pub lane: K,
    /// The next offset.
    pub next: u64,
    /// How far it reaches, as far as it is committed; `None`: it does not answer.
    pub end: Option<u64>,
}

/// For how long lanes are behind.
pub(super) struct Stall<K> {
    looked: Instant,
    /// By lane, the offset that does not come, and for how long.
    behind: BTreeMap<K, (u64, Duration)>,
}

impl<K: Ord> Stall<K> {
    pub fn new(now: Instant) -> Stall<K> {
        Stall { looked: now, behind: BTreeMap::new() }
    }

    /// Whether to look: now and then, when all that was fetched has been taken. What this process
    /// did not get round to is no fault of the client.
    pub fn is_due(&self, taken: Taken, now: Instant) -> bool {
        taken.is_all && now.duration_since(self.looked) >= CHECK
    }

    /// A lane of which nothing comes though it goes on, if so for too long.
    pub fn look(&mut self, stands: impl Iterator<Item = Stand<K>>, now: Instant) -> Option<&K> {
        let step = now.duration_since(self.looked).min(COUNTED_MAX);
        self.looked = now;
        let mut before = std::mem::take(&mut self.behind);
        for Stand { lane, next, .. } in stands.filter(|it| it.end > Some(it.next)) {
            let same = before.remove(&lane).filter(|(at, _)| *at == next);
            self.behind.insert(lane, (next, same.map_or(Duration::ZERO, |(_, span)| span + step)));
        }
        let stuck = self.behind.iter().find(|(_, (_, span))| *span >= STUCK_MAX);
        stuck.map(|(lane, _)| lane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(count: usize) -> Taken {
        Taken { count, is_all: true }
    }

    /// Looks every second for so many; the second at which a lane is found stuck.
    fn stuck_at(stands: impl Fn(u64) -> Vec<(u8, u64, Option<u64>)>, seconds: u64) -> Option<u64> {
        let start = Instant::now();
        let mut stall = Stall::new(start);
        (1..=seconds).find(|second| {
            let stands = stands(*second).into_iter();
            let stands = stands.map(|(lane, next, end)| Stand { lane, next, end });
            stall.look(stands, start + Duration::from_secs(*second)).is_some()
        })
    }

    #[test]
    fn a_lane_that_goes_on_and_of_which_nothing_comes_is_stuck_whatever_else_comes() {
        // Lane 1 comes all the time; lane 2 ends at 9 and stays at 7, first seen so in second 1.
        assert_eq!(stuck_at(|at| vec![(1, at, Some(at + 5)), (2, 7, Some(9))], 100), Some(61));
        assert_eq!(stuck_at(|at| vec![(2, 7, Some(7 + at))], 100), Some(61));
        let none = [
            ("it comes, though slowly", stuck_at(|at| vec![(2, at / 50, Some(99))], 500)),
            ("it is at its end", stuck_at(|_| vec![(2, 7, Some(7))], 500)),
            ("it does not answer", stuck_at(|_| vec![(2, 7, None)], 500)),
            (
                "it pauses",
                stuck_at(|at| if at % 50 == 0 { vec![] } else { vec![(2, 7, Some(9))] }, 500),
            ),
        ];
        for (why, found) in none {
            assert_eq!(found, None, "{why}");
        }
    }

    #[test]
    fn a_process_that_lags_finds_no_lane_stuck() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut stall = Stall::new(start);
        let stand = || [Stand { lane: 2, next: 7, end: Some(9) }].into_iter();
        assert!(!stall.is_due(all(0), start) && stall.is_due(all(0), at(1)));
        assert!(stall.is_due(all(5), at(1)), "records of other lanes come");
        assert!(!stall.is_due(Taken { count: 5, is_all: false }, at(600)), "more were fetched");
        // It gets round to look but twice.
        assert_eq!(stall.look(stand(), at(1)), None);
        assert_eq!(stall.look(stand(), at(600)), None);
    }
}
