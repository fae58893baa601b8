//! How the grid fares.

use std::collections::BTreeMap;
use yardmaster_core::unit::Millis;

/// How the grid fared so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NordugridSummary {
    /// Simulated time.
    pub now: Millis,
    /// Records published.
    pub records: u64,
    /// Jobs submitted.
    pub submitted: u64,
    /// Jobs that wait for a target.
    pub waiting: u64,
    /// Jobs that a cluster took.
    pub placed: u64,
    /// Jobs placed by how many targets were chosen: one, two ... the last counts all beyond.
    pub attempts: [u64; 6],
    /// Assignments that a cluster refused.
    pub refused: u64,
    /// Assignments to clusters that did not answer.
    pub unanswered: u64,
    /// Jobs rejected, by the first word of the reason.
    pub rejected: BTreeMap<String, u64>,
    /// Of those, jobs that some cluster in service would have taken.
    pub rejected_with_target: u64,
    /// Jobs by their end.
    pub finished: u64,
    /// See `finished`.
    pub failed: u64,
    /// Killed by their users, those that fell silent included.
    pub killed: u64,
    /// Jobs that clusters lost: they fell silent.
    pub lost: u64,
    /// Jobs at clusters, before they run.
    pub queued: u64,
    /// Jobs that run.
    pub running: u64,
    /// CPUs of all queues.
    pub cpus: u64,
    /// CPUs on which jobs of the grid run.
    pub cpus_busy: u64,
    /// CPU time used by jobs of the grid over that of all CPUs, since the start; 0..=1.
    pub cpu_use: f64,
    /// Input bytes from far away.
    pub remote_bytes: u64,
    /// Input bytes from close by.
    pub local_bytes: u64,
    /// Input bytes that were in a cache.
    pub cached_bytes: u64,
    /// Input files that may be cached, and those of them that were.
    pub cacheable: (u64, u64),
    /// Submission to a cluster's consent: median; ms.
    pub place_median: Millis,
    /// The longest; ms.
    pub place_longest: Millis,
    /// Age of the oldest job that waits for a target; ms.
    pub oldest_waiting: Millis,
    /// Submission to the start: median; ms.
    pub start_median: Millis,
    /// The same, 95th percentile; ms.
    pub start_p95: Millis,
}

impl NordugridSummary {
    /// Part of the input files that may be cached and were; 0..=1.
    pub fn hit_rate(&self) -> f64 {
        self.cacheable.1 as f64 / self.cacheable.0.max(1) as f64
    }
}
