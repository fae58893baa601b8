//! Contributions of jobs to windows: how they ended, task by task, and when they started.
//!
//! A contribution stays in the bucket in which it was counted when it was folded, even when its job
//! is forgotten; only the passing of time takes it out.

use super::{Ledger, at_queue};
use crate::event::Status;
use crate::id::{Key, Name};
use crate::state::job::{Job, Sample};
use crate::state::rows::{NO_ROW, RowKey, Rows};
use crate::state::window::{Window, bucket_of};
use crate::unit::{HOUR, MINUTE, Millis};

/// Grain of the windows in [`EndedJobs`].
pub const ENDED_GRAIN: Millis = 10 * MINUTE;

/// Ended jobs of a task at a queue, by the time they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedJobs {
    /// Finished, failed, closed to be brokered again.
    pub ended: [Window; 3],
}

/// Which window of an [`EndedJobs`] a job counts in.
#[inline]
pub fn ended_index(job: &Job) -> Option<usize> {
    match job.status? {
        Status::Finished => Some(0),
        Status::Failed => Some(1),
        Status::Closed if job.counts_closed => Some(2),
        _ => None,
    }
}

impl EndedJobs {
    pub(super) fn is_empty(&self) -> bool {
        self.ended.iter().all(Window::is_empty)
    }

    /// Jobs that ended from a moment on: finished, failed, closed. Whole buckets.
    pub fn since(&self, from: Millis) -> [u64; 3] {
        let first = bucket_of(from, ENDED_GRAIN);
        [0, 1, 2].map(|which| self.ended[which].sum(first, i64::MAX))
    }
}

/// Grain of the windows of a task's finished jobs.
pub const WORK_GRAIN: Millis = HOUR;

/// The bucket in which a finished job counts as work of its task that is done (spec atlas 1.2);
/// `None`: it does not. Work is summed by nucleus, and jobs that merge output process no events.
fn work_of(job: &Job) -> Option<i64> {
    let counts =
        job.status == Some(Status::Finished) && job.nucleus != NO_ROW && !job.sample.is_merge();
    counts.then(|| bucket_of(job.over_at(), WORK_GRAIN))
}

/// Row key of a task.
fn of_task(task: Key) -> RowKey {
    [task.0 as u32, (task.0 >> 32) as u32, 0, 0]
}

/// Grain of the windows of started jobs.
pub const START_GRAIN: Millis = 5 * MINUTE;

/// Their reach: six hours, and one bucket, since the first of them began before.
pub const START_REACH: Millis = 6 * HOUR + START_GRAIN;

/// The bucket in which a job counts as one that started (spec atlas 8.5, trrAll); `None`: it does
/// not count, or not any more.
#[inline]
pub fn start_of(job: &Job) -> Option<i64> {
    let counts = matches!(
        job.status?,
        Status::Running
            | Status::Holding
            | Status::Transferring
            | Status::Finished
            | Status::Cancelled
    );
    (counts && job.started_at > 0).then(|| bucket_of(job.started_at, START_GRAIN))
}

/// Jobs that started within the six hours before `at`, the last five minutes left out; jobs per
/// hour (spec atlas 8.5, trrAll). Whole buckets are summed, so both ends lie up to five minutes
/// earlier: nothing that may still be coming in counts.
pub fn starts_per_hour(starts: &Window, at: Millis) -> f64 {
    const FROM: i64 = 6 * HOUR / START_GRAIN;
    const TO: i64 = 2;
    let last = bucket_of(at, START_GRAIN);
    let jobs = starts.sum(last.saturating_sub(FROM), last.saturating_sub(TO));
    let hours = ((FROM - TO + 1) * START_GRAIN) as f64 / HOUR as f64;
    jobs as f64 / hours
}

impl Ledger {
    pub(super) fn job_tally(&mut self, job: &Job, which: usize, amount: i64) {
        let bucket = bucket_of(job.over_at(), ENDED_GRAIN);
        if bucket < self.first(ENDED_GRAIN, self.ended_reach) {
            return;
        }
        let row = self.ended.row(at_queue(job.task, self.queue_of(job), 0));
        let was_empty = self.ended.at(row).is_empty();
        self.ended.at(row).ended[which].add(bucket, amount);
        note_whether_empty(&mut self.ended, row, was_empty, EndedJobs::is_empty);
    }

    /// A job that finished, as work of its task that is done.
    pub(super) fn job_work(&mut self, job: &Job, amount: i64) {
        let Some(bucket) = work_of(job) else { return };
        if bucket >= self.first(WORK_GRAIN, self.work_reach) {
            self.change_work(of_task(job.task), |work| work.add(bucket, amount));
        }
    }

    fn change_work(&mut self, key: RowKey, change: impl FnOnce(&mut Window)) {
        let row = self.work.row(key);
        self.work.note(row, 1);
        let was_empty = self.work.at(row).is_empty();
        change(self.work.at(row));
        note_whether_empty(&mut self.work, row, was_empty, Window::is_empty);
    }

    /// Jobs of a task that finished since a moment and had a nucleus; whole hours after it.
    pub fn work_since(&self, task: Key, at: Millis) -> u64 {
        let first = bucket_of(at, WORK_GRAIN).saturating_add(1);
        self.work.of(of_task(task)).map_or(0, |work| work.sum(first, i64::MAX))
    }

    pub(super) fn job_start(&mut self, queue: Name, bucket: i64, amount: i64) {
        if bucket < self.first(START_GRAIN, START_REACH) {
            return;
        }
        let row = self.starts.row([queue.0, 0, 0, 0]);
        let was_empty = self.starts.at(row).is_empty();
        self.starts.at(row).add(bucket, amount);
        note_whether_empty(&mut self.starts, row, was_empty, Window::is_empty);
    }

    /// A job is forgotten: what it counts for in windows stays behind.
    pub(super) fn job_stays(&mut self, job: &Job) {
        let queue = self.queue_of(job);
        if let Some(which) = ended_index(job) {
            let bucket = bucket_of(job.over_at(), ENDED_GRAIN);
            if bucket >= self.first(ENDED_GRAIN, self.ended_reach) {
                let row = self.ended.row(at_queue(job.task, queue, 0));
                let was_empty = self.ended.at(row).is_empty();
                self.ended.at(row).ended[which].leave(bucket, 1);
                note_whether_empty(&mut self.ended, row, was_empty, EndedJobs::is_empty);
            }
        }
        if let Some(bucket) = work_of(job)
            && bucket >= self.first(WORK_GRAIN, self.work_reach)
        {
            self.change_work(of_task(job.task), |work| work.leave(bucket, 1));
        }
        if let Some(bucket) = start_of(job)
            && bucket >= self.first(START_GRAIN, START_REACH)
        {
            let row = self.starts.row([queue.0, 0, 0, 0]);
            let was_empty = self.starts.at(row).is_empty();
            self.starts.at(row).leave(bucket, 1);
            note_whether_empty(&mut self.starts, row, was_empty, Window::is_empty);
        }
        if job.sample != Sample::None {
            self.wait_stays(job);
        }
    }

    /// Adds the amount that a forgotten job left behind, from a store.
    pub fn restore_tally(&mut self, key: RowKey, which: usize, bucket: i64, left: u64) {
        let row = self.ended.row(key);
        let was_empty = self.ended.at(row).is_empty();
        self.ended.at(row).ended[which].restore(bucket, left);
        note_whether_empty(&mut self.ended, row, was_empty, EndedJobs::is_empty);
    }

    /// The same of the work it did.
    pub fn restore_work(&mut self, key: RowKey, bucket: i64, left: u64) {
        self.change_work(key, |work| work.restore(bucket, left));
    }

    /// The same of its start.
    pub fn restore_starts(&mut self, key: RowKey, bucket: i64, left: u64) {
        let row = self.starts.row(key);
        let was_empty = self.starts.at(row).is_empty();
        self.starts.at(row).restore(bucket, left);
        note_whether_empty(&mut self.starts, row, was_empty, Window::is_empty);
    }
}

/// A row of windows has a reference while there is anything in it.
pub(super) fn note_whether_empty<V: Default>(
    rows: &mut Rows<V>,
    row: u32,
    was_empty: bool,
    is_empty: fn(&V) -> bool,
) {
    if was_empty != is_empty(rows.at(row)) {
        rows.count_reference(row, was_empty);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's example: 300 starts within the window are 50.70 an hour.
    #[test]
    fn starts_of_six_hours_without_the_last_five_minutes_count() {
        let now = 1_760_000_000_000 - 1_760_000_000_000 % START_GRAIN + 2 * MINUTE;
        let mut window = Window::default();
        let began = |ago: Millis| bucket_of(now - ago, START_GRAIN);
        (0..300).for_each(|at| window.add(began(10 * MINUTE + 3 * MINUTE * (at % 115)), 1));
        let rate = starts_per_hour(&window, now);
        assert!((rate - 300.0 / 5.916_666_666_666_667).abs() < 1e-9, "{rate}");
        assert_eq!(format!("{rate:.2}"), "50.70");
        for ago in [0, 4 * MINUTE, 6 * HOUR + 6 * MINUTE] {
            window.add(began(ago), 1_000);
        }
        assert_eq!(starts_per_hour(&window, now), rate, "too new, or too old");
        // Never more than a window reaches back.
        assert!(bucket_of(now - START_REACH, START_GRAIN) <= bucket_of(now, START_GRAIN) - 72);
        assert_eq!(starts_per_hour(&window, Millis::MIN), 0.0);
    }
}
