//! How the grid fares: jobs by their end, use of the cores, waiting times.

use std::collections::VecDeque;
use yardmaster_core::unit::{MINUTE, Millis};

/// How the grid fared so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridSummary {
    /// Simulated time.
    pub now: Millis,
    /// Records published.
    pub records: u64,
    /// Tasks that arrived, and those that ended.
    pub tasks: (u64, u64),
    /// Chunks that asked for queues for the first time.
    pub chunks: u64,
    /// Askings, repeated ones after a refusal included.
    pub requests: u64,
    /// Chunks that wait for an answer now.
    pub chunks_waiting: u64,
    /// Assignments carried out.
    pub accepted: u64,
    /// Assignments not carried out, at random or because they named no queue of this grid.
    pub refused: u64,
    /// Chunks that were rejected and ended so.
    pub rejected: u64,
    /// Deferrals heard.
    pub deferrals: u64,
    /// Tries of jobs: jobs generated for assignments, and all repetitions of failed ones.
    pub generated: u64,
    /// Of those, how many repeat a failed job under a new name, or as its next attempt.
    pub repeated: u64,
    /// Tries by their end.
    pub finished: u64,
    /// See `finished`.
    pub failed: u64,
    /// See `finished`.
    pub cancelled: u64,
    /// See `finished`.
    pub closed: u64,
    /// Tries that fell silent: nothing is ever published of them again.
    pub silent: u64,
    /// Tries that live: they were generated and are not over.
    pub live: u64,
    /// Of those, how many wait for a pilot.
    pub waiting: u64,
    /// Of those, how many run.
    pub running: u64,
    /// Transfers under way or waiting.
    pub transfers: u64,
    /// Cores in all queues.
    pub cores: u64,
    /// Cores in queues in service.
    pub cores_available: u64,
    /// Cores on which payloads run.
    pub cores_busy: u64,
    /// Core time used over core time available, since the start; 0..=1.
    pub cpu_use: f64,
    /// The same, over the last hour.
    pub cpu_use_recent: f64,
    /// Part of the core time used that went to other shares than those meant; 0..=1.
    pub share_error: f64,
    /// Generation of a job to the start of its payload: median; ms.
    pub wait_median: Millis,
    /// The same, 95th percentile; ms.
    pub wait_p95: Millis,
    /// Request to its first answer, a deferral perhaps: median; ms.
    pub answer_median: Millis,
    /// The same, 95th percentile; ms.
    pub answer_p95: Millis,
    /// First request for a job to its assignment: median over jobs; ms.
    pub assignment_median: Millis,
    /// The same, 95th percentile; ms.
    pub assignment_p95: Millis,
    /// First request for a job to the start of its payload: median; ms.
    pub start_median: Millis,
    /// The same, 95th percentile; ms.
    pub start_p95: Millis,
    /// Arrival of a task to the end of its last job: median; ms.
    pub task_end_median: Millis,
    /// The same, 95th percentile; ms.
    pub task_end_p95: Millis,
    /// Tries that commands took away from their queue, to be brokered again.
    pub commanded_moved: u64,
    /// Jobs given to a queue from which a command had taken their work back before.
    pub given_again: u64,
    /// How often the same work was given to one queue, at most.
    pub given_most: u32,
    /// Tries that commands ended where they were.
    pub commanded_ended: u64,
    /// Of all that commands were about, those that were not what the rule took them for: alive, or
    /// in another state. There should be none.
    pub commanded_wrong: u64,
}

/// Spans of time by their length: a bucket is at most 1/16 of what it holds wide.
#[derive(Clone, Debug)]
pub struct Spans {
    buckets: Vec<u64>,
    count: u64,
}

const STEPS: u32 = 16;

impl Default for Spans {
    fn default() -> Self {
        Spans { buckets: vec![0; 64 * STEPS as usize], count: 0 }
    }
}

impl Spans {
    /// Counts a span.
    pub fn add(&mut self, span: Millis) {
        self.add_times(span, 1);
    }

    /// Counts a span so many times.
    pub fn add_times(&mut self, span: Millis, times: u64) {
        self.buckets[bucket(span.max(0) as u64)] += times;
        self.count += times;
    }

    /// A quantile, to a sixteenth; 0 when nothing was counted.
    pub fn quantile(&self, part: f64) -> Millis {
        let wanted = part * self.count as f64;
        let mut seen = 0;
        for (at, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen > 0 && seen as f64 >= wanted {
                return middle(at);
            }
        }
        0
    }
}

fn bucket(span: u64) -> usize {
    let steps = u64::from(STEPS);
    if span < steps {
        return span as usize;
    }
    let octave = span.ilog2() - STEPS.ilog2();
    let step = (span >> octave) - steps;
    ((u64::from(octave) + 1) * steps + step) as usize
}

fn middle(bucket: usize) -> Millis {
    let steps = STEPS as usize;
    if bucket < steps {
        return bucket as Millis;
    }
    let (octave, step) = (bucket / steps - 1, bucket % steps);
    let width = 1i64 << octave;
    (steps + step) as Millis * width + width / 2
}

/// Use of the cores over time.
#[derive(Clone, Debug)]
pub struct Use {
    /// Cores on which payloads run.
    pub busy: u64,
    /// Cores in service.
    pub available: u64,
    since: Millis,
    all: Span,
    now: Span,
    recent: VecDeque<Span>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    busy: u128,
    available: u128,
}

/// Length of a span of use.
pub const SPAN: Millis = 10 * MINUTE;
/// Spans in the recent hour.
const RECENT: usize = 6;

impl Use {
    /// Nothing runs yet.
    pub fn new(now: Millis, available: u64) -> Use {
        let (all, recent) = (Span::default(), VecDeque::new());
        Use { busy: 0, available, since: now, all, now: Span::default(), recent }
    }

    /// Brings the account up to now; before `busy` or `available` change.
    pub fn settle(&mut self, now: Millis) {
        let passed = (now - self.since).max(0) as u128;
        self.since = now;
        for span in [&mut self.all, &mut self.now] {
            span.busy += passed * u128::from(self.busy);
            span.available += passed * u128::from(self.available);
        }
    }

    /// Ends a span.
    pub fn end_span(&mut self, now: Millis) {
        self.settle(now);
        self.recent.push_back(std::mem::take(&mut self.now));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// Part of the core time used: since the start, and recently.
    pub fn parts(&self) -> (f64, f64) {
        let mut recent = self.now;
        for span in &self.recent {
            recent.busy += span.busy;
            recent.available += span.available;
        }
        (self.all.part(), recent.part())
    }
}

impl Span {
    fn part(&self) -> f64 {
        match self.available {
            0 => 0.0,
            available => self.busy as f64 / available as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_sixteenth() {
        let mut spans = Spans::default();
        (1..=100_000).for_each(|span| spans.add(span));
        for (part, want) in [(0.5, 50_000.0), (0.95, 95_000.0), (0.01, 1_000.0)] {
            let got = spans.quantile(part) as f64;
            assert!((got / want - 1.0).abs() < 1.0 / 16.0, "{part}: {got}");
        }
        assert_eq!(Spans::default().quantile(0.5), 0);
        spans.add(Millis::MAX);
        assert!(spans.quantile(1.0) > Millis::MAX / 2);
    }

    #[test]
    fn every_span_lies_near_the_middle_of_its_bucket() {
        for span in (0..5_000).chain([1 << 40, (1 << 40) + 12_345]) {
            let near = middle(bucket(span)) as f64;
            assert!((near - span as f64).abs() <= span as f64 / 32.0 + 0.5, "{span}: {near}");
        }
    }

    #[test]
    fn use_is_busy_time_over_available_time() {
        let mut usage = Use::new(0, 10);
        usage.busy = 5;
        usage.end_span(SPAN);
        usage.available = 20;
        usage.busy = 20;
        usage.settle(2 * SPAN);
        assert_eq!(usage.parts(), (25.0 / 30.0, 25.0 / 30.0));
        (3..=9).for_each(|span| usage.end_span(span * SPAN));
        assert_eq!(usage.parts().1, 1.0);
    }
}
