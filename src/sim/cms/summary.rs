//! How the pool fares.

use std::collections::BTreeMap;
use yardmaster_core::unit::{HOUR, MINUTE, Millis};

/// A class and a band, by their names.
pub type Chosen = (&'static str, &'static str);

/// How the pool fared so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CmsSummary {
    /// Simulated time.
    pub now: Millis,
    /// Records published.
    pub records: u64,
    /// Sites, nodes, users, users with steady demand.
    pub sizes: [usize; 4],
    /// Workflows that arrived.
    pub workflows: u64,
    /// Workflows that ended.
    pub workflows_ended: u64,
    /// Jobs submitted, those that cannot be left out.
    pub submitted: u64,
    /// Attempts after a failure.
    pub retries: u64,
    /// Jobs that wait.
    pub waiting: u64,
    /// Jobs that run.
    pub running: u64,
    /// Matches by class and band.
    pub matched: BTreeMap<Chosen, u64>,
    /// Jobs that finished, by class and band.
    pub done: BTreeMap<Chosen, u64>,
    /// Failed attempts by how they failed, those of programs that always fail left out.
    pub failed: BTreeMap<&'static str, u64>,
    /// Failed jobs of programs that always fail.
    pub failed_broken: u64,
    /// Jobs taken away.
    pub cancelled: u64,
    /// Matches of an offer or job that was not there any more.
    pub stale: u64,
    /// Matches that were not taken up.
    pub not_taken_up: u64,
    /// Of these, jobs that were held back by their users for a while.
    pub held: u64,
    /// Deferrals heard.
    pub deferrals: u64,
    /// Announcements of pilots, and those taken back.
    pub offers: u64,
    /// See `offers`.
    pub withdrawn: u64,
    /// Pilots lost with their jobs.
    pub pilots_lost: u64,
    /// Cores of live pilots, and those that jobs have.
    pub cores_offered: u64,
    /// See `cores_offered`.
    pub cores_used: u64,
    /// Core time that jobs had over that of pilots; 0..=1.
    pub core_use: f64,
    /// Wait from submission to the first start by class: median and 95th percentile; ms.
    pub waits: [(Millis, Millis); 2],
    /// The longest such wait, of jobs that still wait too, by class; ms.
    pub longest: [Millis; 2],
    /// Jobs whose first start came later than `Waits::bound` of their class, or that still wait
    /// and have for longer, by kind of work.
    pub late: BTreeMap<&'static str, u64>,
    /// Central workflows, and users with analysis, of which no job started for longer than is right
    /// while some waited.
    pub starved: [u64; 2],
    /// Decayed usage of users with steady demand: how far from equal on average and at most, in
    /// parts of the equal share.
    pub share_error: (f64, f64),
    /// Decayed usage of such a user on average, thousandths of a core.
    pub share_milli: i64,
    /// Jobs that overflowed, by the site that serves their data.
    pub overflow: BTreeMap<String, u64>,
    /// HighIO jobs matched.
    pub high_io: u64,
    /// The most HighIO jobs that one storage served, with its limit.
    pub high_io_most: (i64, i64),
    /// Jobs charged to a restricted pool.
    pub charged: u64,
    /// Matches by the rule that was relaxed for them.
    pub relaxed: BTreeMap<String, u64>,
    /// Jobs submitted that cannot be.
    pub bad_jobs: u64,
    /// Those rejected, by code.
    pub rejected: BTreeMap<String, u64>,
    /// Commands carried out, by kind.
    pub commands: BTreeMap<&'static str, u64>,
    /// Waiting jobs of killed workflows.
    pub killed_waiting: u64,
    /// Workflows that their users ended.
    pub killed_by_users: u64,
    /// Changes of priorities.
    pub priority_changes: u64,
    /// Times that a site went out of service, and that one began to make jobs fail.
    pub sites_out: u64,
    /// See `sites_out`.
    pub sites_failing: u64,
    /// Counts of broken conditions, by name: none of them is to occur.
    pub violations: BTreeMap<&'static str, u64>,
}

impl CmsSummary {
    /// Jobs that finished.
    pub fn finished(&self) -> u64 {
        self.done.values().sum()
    }
}

/// A wait is too long when it is longer than a bucket, in which others may overtake (C-23), and so
/// many medians of its class.
const MEDIANS: Millis = 10;
/// See `MEDIANS`.
const BUCKET: Millis = 6 * HOUR;

/// Waits, by minutes.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    minutes: BTreeMap<Millis, u64>,
    count: u64,
}

impl Waits {
    /// Counts a wait.
    pub fn add(&mut self, wait: Millis) {
        *self.minutes.entry(wait / MINUTE).or_default() += 1;
        self.count += 1;
    }

    /// A quantile; ms, in whole minutes.
    pub fn quantile(&self, part: f64) -> Millis {
        let wanted = part * self.count as f64;
        let mut seen = 0;
        for (minutes, count) in &self.minutes {
            seen += count;
            if seen as f64 >= wanted {
                return minutes * MINUTE;
            }
        }
        0
    }

    /// The longest; ms, in whole minutes.
    pub fn longest(&self) -> Millis {
        self.minutes.last_key_value().map_or(0, |(minutes, _)| minutes * MINUTE)
    }

    /// The wait beyond which a job waits for too long; ms.
    pub fn bound(&self) -> Millis {
        BUCKET + MEDIANS * self.quantile(0.5)
    }

    /// All waits of several.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Waits>) -> Waits {
        let mut sum = Waits::default();
        for (minutes, count) in all.flat_map(|it| &it.minutes) {
            *sum.minutes.entry(*minutes).or_default() += count;
            sum.count += count;
        }
        sum
    }

    /// How many waits were beyond a bound; ms.
    pub fn beyond(&self, bound: Millis) -> u64 {
        let first = bound / MINUTE + 1;
        self.minutes.range(first..).map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_beyond_a_bucket_and_ten_medians_are_counted() {
        let mut waits = Waits::default();
        (0..100).for_each(|_| waits.add(HOUR));
        waits.add(16 * HOUR);
        assert_eq!(
            (waits.quantile(0.5), waits.bound(), waits.beyond(waits.bound())),
            (HOUR, 16 * HOUR, 0)
        );
        waits.add(17 * HOUR);
        assert_eq!((waits.longest(), waits.beyond(waits.bound())), (17 * HOUR, 1));
    }
}
