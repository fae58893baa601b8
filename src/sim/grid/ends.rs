//! How jobs end, and what becomes of the cores and of the chunk.

use super::Grid;
use super::jobs::{GridJob, output_bytes, publish};
use super::pool::Handle;
use yardmaster_core::event::Status;

/// Odds after a failure: below the first another job in its place, below the second its next
/// attempt, else nothing; and the most tries.
const REPLACED: f64 = 0.7;
const REPEATED: f64 = 0.9;
const TRIES_MOST: u32 = 3;
impl Grid {
    pub(super) fn killed(&mut self, handle: Handle) {
        self.over(handle, Status::Cancelled, "");
    }

    /// Taken away from its queue, to be brokered again.
    pub(super) fn closed(&mut self, handle: Handle) {
        self.over(handle, Status::Closed, "toreassign");
    }

    /// A transfer that it needed was given up.
    pub(super) fn transfer_failed(&mut self, handle: Handle) {
        self.over(handle, Status::Failed, "transfer_error");
    }

    /// Gives back cores, or the place among those that wait.
    pub(super) fn give_back(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        let queue = &mut self.queues.all[job.queue as usize];
        match job.status {
            Status::Activated => return queue.unqueue(job.slot),
            Status::Sent | Status::Starting => {}
            Status::Running => {
                self.usage.settle(self.now);
                self.usage.busy -= u64::from(job.cores);
                if let Some(chunk) = self.chunks.get(job.chunk) {
                    self.shares.shift(&chunk.request.gshare, self.now, 0, job.cores);
                }
                self.count.running -= 1;
            }
            _ => return,
        }
        queue.release(job.slot, job.cores);
        let queue = job.queue;
        self.call_pilots(queue);
    }

    /// The end of a try; after a failure perhaps not of the job.
    pub(super) fn over(&mut self, handle: Handle, end: Status, sub_status: &str) {
        let Some(job) = self.jobs.get(handle) else { return };
        if job.started_at == 0 || job.ended_at == 0 {
            self.give_back(handle);
        }
        let Some(mut job) = self.jobs.remove(handle) else { return };
        self.by_name.remove(&job.name);
        if job.started_at != 0 && job.ended_at == 0 {
            job.ended_at = self.now;
        }
        (job.status, job.changed_at) = (end, self.now);
        if let Some(chunk) = self.chunks.get(job.chunk) {
            let queue = &self.queues.all[job.queue as usize];
            publish(&mut self.publisher, &job, chunk, queue, sub_status);
            if end == Status::Finished {
                let nucleus = chunk.request.nucleus.as_str();
                let site = if nucleus.is_empty() { queue.storage_site() } else { nucleus };
                self.storages.store(site, output_bytes(chunk));
            }
        }
        match end {
            Status::Finished => self.count.finished += 1,
            Status::Cancelled => self.count.cancelled += 1,
            Status::Closed => self.count.closed += 1,
            _ => {
                self.count.failed += 1;
                if self.tried_again(&job) {
                    return;
                }
            }
        }
        self.job_over(job.chunk);
    }

    /// Whether another try takes the place of a failed one.
    fn tried_again(&mut self, job: &GridJob) -> bool {
        let tries = job.tries + 1;
        if tries >= TRIES_MOST {
            return false;
        }
        let chunk = self.chunks.get(job.chunk);
        let task = chunk.and_then(|chunk| self.tasks.get_mut(chunk.task));
        let Some(task) = task else { return false };
        let next = match task.dice.unit() {
            unit if unit < REPLACED => {
                self.next_job += 1;
                (self.next_job.to_string(), 0, tries)
            }
            unit if unit < REPEATED => (job.name.clone(), job.attempt + 1, tries),
            _ => return false,
        };
        self.count.repeated += 1;
        self.add_job(job.chunk, job.queue, job.slot, next);
        true
    }
}
