//! Requests that were rejected for good lately, by reason: counted as decisions are published or
//! read back, since the state keeps no reason of a final answer.

use std::collections::{BTreeMap, VecDeque};
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::unit::{DAY, HOUR, Millis};

/// For so long they are counted.
pub(super) const REACH: Millis = DAY;
/// So many reasons are kept apart in an hour; the others are not counted.
const REASONS_MAX: usize = 64;
/// Reasons that are an ordinary end of a request.
const ORDINARY: [&str; 3] = ["superseded", "withdrawn", "task_ended"];

/// By reason how many there were, and when the first was.
type ByReason = BTreeMap<String, (u64, Millis)>;

/// Rejections by the hour and by reason.
#[derive(Debug, Default)]
pub(super) struct Rejections {
    hours: VecDeque<(Millis, ByReason)>,
}

impl Rejections {
    /// Counts a decision, if it is such.
    pub(super) fn note(&mut self, decision: &Decision) {
        let Outcome::Reject { reason } = &decision.outcome else { return };
        let name = reason.split(['(', ':']).next().unwrap_or(reason);
        if decision.dry_run || ORDINARY.contains(&name) {
            return;
        }
        let hour = decision.now.div_euclid(HOUR);
        if self.hours.back().is_none_or(|(last, _)| *last < hour) {
            self.hours.push_back((hour, BTreeMap::new()));
        }
        let first = hour.saturating_sub(REACH / HOUR);
        while self.hours.front().is_some_and(|(known, _)| *known < first) {
            self.hours.pop_front();
        }
        let Some((_, reasons)) = self.hours.back_mut() else { return };
        if reasons.len() < REASONS_MAX || reasons.contains_key(name) {
            let (count, _) = reasons.entry(name.to_owned()).or_insert((0, decision.now));
            *count += 1;
        }
    }

    /// How many there were within the reach, and when the first was, by reason.
    pub(super) fn by_reason(&self, now: Millis) -> BTreeMap<&str, (u64, Millis)> {
        let first = now.saturating_sub(REACH).div_euclid(HOUR);
        let mut sums: BTreeMap<&str, (u64, Millis)> = BTreeMap::new();
        let hours = self.hours.iter().filter(|(hour, _)| *hour >= first);
        for (reason, (count, at)) in hours.flat_map(|(_, reasons)| reasons) {
            let (sum, since) = sums.entry(reason).or_insert((0, *at));
            *sum += count;
            *since = (*since).min(*at);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_of_a_day_count_and_ordinary_ends_do_not() {
        let mut rejected = Rejections::default();
        for (now, reason) in [
            (0, "bad_description: xRSL, line 1"),
            (2 * HOUR, "bad_description: xRSL, line 9"),
            (2 * HOUR, "superseded(attempt 2)"),
            (3 * HOUR, "expired(3 d)"),
        ] {
            let outcome = Outcome::Reject { reason: reason.to_owned() };
            let decision = Decision { now, ..Decision::new("nordugrid", "1", 1, 1, outcome) };
            rejected.note(&decision);
        }
        let found = rejected.by_reason(3 * HOUR);
        assert_eq!(found["bad_description"], (2, 0));
        assert_eq!((found["expired"].0, found.len()), (1, 2));
        assert_eq!(rejected.by_reason(DAY + 2 * HOUR)["bad_description"], (1, 2 * HOUR));
        assert!(rejected.by_reason(3 * DAY).is_empty());
    }
}
