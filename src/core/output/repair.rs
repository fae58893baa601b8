//! Cycles that were published with a `now` that had not come yet, and the time at which they are
//! counted since that was repaired.

use crate::limits::NOW_REPAIRS_MAX;
use crate::output::Output;
use crate::record::record;
use crate::unit::Millis;
use std::borrow::Cow;

/// One repair: these cycles, and the own times of their outputs, are counted as of `now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NowRepair {
    /// Number of the first cycle whose `now` was ahead of real time.
    pub from_cycle: u64,
    /// Number of the last one.
    pub until_cycle: u64,
    /// The latest time at which these cycles are counted.
    pub now: Millis,
}

record!(NowRepair { from_cycle, until_cycle, now });

impl NowRepair {
    /// Whether a cycle is one of those repaired.
    pub fn covers(&self, cycle: u64) -> bool {
        (self.from_cycle..=self.until_cycle).contains(&cycle)
    }
}

/// The repairs that are known, in order of their cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NowRepairs(Vec<NowRepair>);

impl NowRepairs {
    /// All of them.
    pub fn list(&self) -> &[NowRepair] {
        &self.0
    }

    /// Whether no further repair can be published.
    pub fn is_full(&self) -> bool {
        self.0.len() >= NOW_REPAIRS_MAX
    }

    /// Adds the repairs that a cycle's record names; returns those that were not known. A record
    /// can only repair cycles before its own.
    pub fn learn(&mut self, cycle: u64, named: &[NowRepair]) -> Vec<NowRepair> {
        let is_new = |it: &&NowRepair| it.until_cycle < cycle && !self.0.contains(it);
        let new: Vec<NowRepair> = named.iter().filter(is_new).copied().collect();
        self.0.extend(&new);
        self.0.sort_unstable();
        new
    }

    /// Whether a cycle's `now` was repaired.
    pub fn covers(&self, cycle: u64) -> bool {
        self.0.iter().any(|repair| repair.covers(cycle))
    }

    /// The time at which a cycle is counted that was published with `now`.
    pub fn now_of(&self, cycle: u64, now: Millis) -> Millis {
        let of_cycle = self.0.iter().filter(|repair| repair.covers(cycle));
        of_cycle.fold(now, |now, repair| now.min(repair.now))
    }

    /// An output with its times as they are counted since its cycle's `now` was repaired.
    pub fn output<'a>(&self, published: &'a Output) -> Cow<'a, Output> {
        let (_, cycle, then) = published.moment();
        let now = self.now_of(cycle, then);
        if now == then {
            return Cow::Borrowed(published);
        }
        let mut output = published.clone();
        output.count_at(now);
        Cow::Owned(output)
    }
}

#[cfg(test)]
mod tests {
    use super::super::common::moved;
    use super::*;

    const REPAIR: NowRepair = NowRepair { from_cycle: 5, until_cycle: 7, now: 1_000 };

    #[test]
    fn only_repaired_cycles_are_counted_earlier() {
        let mut repairs = NowRepairs::default();
        assert_eq!(repairs.learn(9, &[REPAIR]), vec![REPAIR]);
        assert_eq!(repairs.learn(10, &[REPAIR]), vec![]);
        let nows: Vec<Millis> = (4..9).map(|cycle| repairs.now_of(cycle, 9_000)).collect();
        assert_eq!(nows, [9_000, 1_000, 1_000, 1_000, 9_000]);
        assert_eq!(repairs.now_of(6, 900), 900, "what was right stays so");
    }

    #[test]
    fn a_record_repairs_no_cycle_but_those_before_it() {
        let mut repairs = NowRepairs::default();
        assert_eq!(repairs.learn(7, &[REPAIR]), vec![]);
        assert!(!repairs.covers(6));
    }

    #[test]
    fn times_that_count_from_now_move_with_it() {
        let cases = [(9_000, 1_000), (9_600, 1_600), (8_000, 1_000), (400, 400)];
        for (time, wanted) in cases {
            assert_eq!(moved(time, 9_000, 1_000), wanted, "{time}");
        }
    }
}
