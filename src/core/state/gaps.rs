//! Spans of time in which nothing was read of a topic, or of a queue: time that does not count
//! against a deadline.

use crate::record::record;
use crate::unit::Millis;

/// Most gaps that are remembered of one thing; of more, the oldest two count as one that covers
/// both.
const GAPS_MAX: usize = 64;

/// Gaps in order of time, none touching another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// From when until when.
    spans: Vec<(Millis, Millis)>,
}

impl Gaps {
    /// Gaps as they were stored.
    pub fn of(spans: Vec<(Millis, Millis)>) -> Gaps {
        Gaps { spans }
    }

    /// All of them.
    pub fn spans(&self) -> &[(Millis, Millis)] {
        &self.spans
    }

    /// Adds a gap that ends after all others.
    pub fn add(&mut self, from: Millis, until: Millis) {
        let mut gap = (from, until.max(from));
        while let Some(last) = self.spans.last().copied().filter(|last| last.1 >= gap.0) {
            self.spans.pop();
            gap = (gap.0.min(last.0), gap.1.max(last.1));
        }
        self.spans.push(gap);
        if self.spans.len() > GAPS_MAX {
            let oldest = self.spans.remove(0);
            self.spans[0].0 = oldest.0;
        }
    }

    /// The gap that at a moment still lasts: it is read again, and what was late is waited for.
    pub fn open(&self, now: Millis) -> Option<(Millis, Millis)> {
        self.spans.last().copied().filter(|(_, until)| *until > now)
    }

    /// Drops gaps that ended before a moment.
    pub fn forget_until(&mut self, horizon: Millis) {
        self.spans.retain(|(_, until)| *until > horizon);
    }
}

record!(Gaps { spans });

/// When a clock that stood at `at` has run for `limit` without the time of any gap.
pub fn put_off(at: Millis, limit: Millis, gaps: &[&Gaps]) -> Millis {
    let due = at.saturating_add(limit);
    if gaps.iter().all(|gaps| gaps.spans.is_empty()) {
        return due;
    }
    let mut spans: Vec<(Millis, Millis)> =
        gaps.iter().flat_map(|gaps| gaps.spans.iter().copied()).collect();
    spans.sort_unstable();
    // What of a gap lies behind `passed` puts the deadline off, if it begins before it.
    let (mut due, mut passed) = (due, at);
    for (from, until) in spans {
        if from >= due {
            break;
        }
        let from = from.max(passed);
        if until > from {
            due = due.saturating_add(until - from);
            passed = until;
        }
    }
    due
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_put_off_by_the_gaps_it_runs_through() {
        let mut topic = Gaps::default();
        topic.add(100, 150);
        topic.add(300, 320);
        let mut queue = Gaps::default();
        queue.add(140, 180);
        let due = |at, limit| put_off(at, limit, &[&topic, &queue]);
        assert_eq!(due(0, 50), 50);
        assert_eq!(due(0, 100), 100);
        assert_eq!(due(0, 101), 181);
        assert_eq!(due(120, 10), 190);
        assert_eq!(due(0, 300), 400);
        assert_eq!(due(170, 5), 185);
        assert_eq!(due(400, 5), 405);
    }

    #[test]
    fn gaps_that_touch_are_one_and_the_oldest_are_joined() {
        let mut gaps = Gaps::default();
        gaps.add(10, 20);
        gaps.add(15, 30);
        assert_eq!(gaps.spans(), [(10, 30)]);
        for at in 1..=100 {
            gaps.add(at * 100, at * 100 + 1);
        }
        assert_eq!(gaps.spans().len(), GAPS_MAX);
        assert_eq!(gaps.spans()[0], (10, 3_701));
        gaps.forget_until(9_901);
        assert_eq!(gaps.spans(), [(10_000, 10_001)]);
    }
}
