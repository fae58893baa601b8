//! Contributions of sample jobs to waiting times: how long those that started had waited, and since
//! when those that have not wait (spec atlas 8.1.3).
//!
//! Whole numbers in buckets of event time: sums are exact, and add up in any order. What they
//! weigh, and where the line between long and short is drawn, is decided when they are read.

use super::Ledger;
use super::ended::note_whether_empty;
use crate::event::Status;
use crate::state::job::{Job, Sample};
use crate::state::rows::RowKey;
use crate::state::window::{Window, bucket_of};
use crate::unit::{DAY, MINUTE, Millis, SECOND};

/// Grain of the windows of jobs that started: their age is known to half of this.
pub const WAIT_GRAIN: Millis = 10 * MINUTE;

/// Their reach: four days, and one bucket, since the first of them began before.
pub const WAIT_REACH: Millis = 4 * DAY + WAIT_GRAIN;

/// Grain of the windows of jobs that wait.
pub const QUEUED_GRAIN: Millis = MINUTE;

/// A longer wait counts as this.
const WAIT_MAX: Millis = 999_999 * SECOND;

/// Waiting times at a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Samples that started, by the time they did: how many; their waits, s; the squares of those.
    pub over: [Window; 3],
    /// Merge jobs that wait, by the time since when: activated or sent; starting. Nothing stays
    /// here of a job that waits no more.
    pub queued: [Window; 2],
}

impl Waits {
    pub(super) fn is_empty(&self) -> bool {
        self.over.iter().chain(&self.queued).all(Window::is_empty)
    }
}

/// A job's contribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// It started in this bucket after so many seconds.
    Over { bucket: i64, seconds: u64 },
    /// It waits since this bucket, in this one of [`Waits::queued`].
    Queued { which: usize, bucket: i64 },
}

/// A sample job's contribution; none where the moment it was ready is not known, or lies behind its
/// start.
fn wait_of(job: &Job) -> Option<Wait> {
    let status = job.status?;
    let is_sample = matches!(job.sample, Sample::Merge | Sample::Probe);
    if !is_sample || job.activated_at <= 0 {
        return None;
    }
    if job.started_at > 0 {
        let waited = job.started_at.saturating_sub(job.activated_at);
        let seconds = (waited.min(WAIT_MAX) / SECOND) as u64;
        let bucket = bucket_of(job.started_at, WAIT_GRAIN);
        return (waited >= 0).then_some(Wait::Over { bucket, seconds });
    }
    let which = match status {
        Status::Activated | Status::Sent => 0,
        Status::Starting => 1,
        _ => return None,
    };
    let bucket = bucket_of(job.activated_at, QUEUED_GRAIN);
    (job.sample == Sample::Merge).then_some(Wait::Queued { which, bucket })
}

impl Ledger {
    /// A sample job at the same queue as before.
    #[cold]
    pub(super) fn wait_changed(&mut self, old: &Job, new: &Job) {
        if wait_of(old) != wait_of(new) {
            self.job_wait(new, 1);
            self.job_wait(old, -1);
        }
    }

    /// A sample job's contributions, put in (`sign` 1) or taken out (-1).
    pub(super) fn job_wait(&mut self, job: &Job, sign: i64) {
        let Some(wait) = wait_of(job) else { return };
        let first = self.first(WAIT_GRAIN, WAIT_REACH);
        self.change_waits([self.queue_of(job).0, 0, 0, 0], |waits| match wait {
            Wait::Over { bucket, .. } if bucket < first => {}
            Wait::Over { bucket, seconds } => {
                for (window, amount) in waits.over.iter_mut().zip(powers(seconds)) {
                    window.add(bucket, sign * amount as i64);
                }
            }
            Wait::Queued { which, bucket } => waits.queued[which].add(bucket, sign),
        });
    }

    /// A sample job is forgotten: how long it had waited stays behind, that it waits does not.
    pub(super) fn wait_stays(&mut self, job: &Job) {
        match wait_of(job) {
            Some(Wait::Over { bucket, seconds })
                if bucket >= self.first(WAIT_GRAIN, WAIT_REACH) =>
            {
                self.change_waits([self.queue_of(job).0, 0, 0, 0], |waits| {
                    for (window, amount) in waits.over.iter_mut().zip(powers(seconds)) {
                        window.leave(bucket, amount);
                    }
                });
            }
            Some(Wait::Queued { .. }) => self.job_wait(job, -1),
            Some(Wait::Over { .. }) | None => {}
        }
    }

    /// Adds the amount that a forgotten job left behind, from a store.
    pub fn restore_wait(&mut self, key: RowKey, which: usize, bucket: i64, left: u64) {
        self.change_waits(key, |waits| waits.over[which].restore(bucket, left));
    }

    fn change_waits(&mut self, key: RowKey, change: impl FnOnce(&mut Waits)) {
        let row = self.waits.row(key);
        let was_empty = self.waits.at(row).is_empty();
        change(self.waits.at(row));
        note_whether_empty(&mut self.waits, row, was_empty, Waits::is_empty);
        self.waits_changed += 1;
    }
}

/// 1, a number, and its square.
fn powers(number: u64) -> [u64; 3] {
    [1, number, number * number]
}
