//! Jobs that are published again though no message asks for it: those that waited until their task
//! was known, and those whose task's facts changed since. Live ones alone: a job that is over keeps
//! the facts with which it ended, or gets its first.
//!
//! However many there are, a transaction publishes no more of them than its limit; the others wait
//! in a queue. The queue holds nothing that is not known without it: a process that reads back what
//! was published finds the jobs whose facts are not those of their task.

use super::jobs::Job;
use super::number::ByNumber;
use super::{Intake, Records};
use std::collections::VecDeque;
use std::sync::Arc;

/// Jobs that are to be looked at again.
#[derive(Default)]
pub(super) struct Again {
    queue: VecDeque<u64>,
    /// By task, the jobs that were published with its facts. Those that ended are left out when the
    /// task is looked at, or when there are more of them than jobs.
    members: ByNumber<Vec<u64>>,
    count: usize,
}

impl Again {
    fn join(&mut self, task: u64, number: u64) {
        self.count += 1;
        self.members.entry(task).or_default().push(number);
    }

    fn sweep(&mut self, is_member: impl Fn(u64) -> bool) {
        self.members.retain(|_, jobs| {
            jobs.retain(|number| is_member(*number));
            !jobs.is_empty()
        });
        self.count = self.members.values().map(Vec::len).sum();
    }
}

impl Intake {
    /// How many jobs are looked at again, since their task is known now or its facts changed.
    pub fn queued(&self) -> usize {
        self.again.queue.len() + self.changes.again.len()
    }

    /// All was read back: finds the jobs to look at again.
    pub(super) fn look_round(&mut self) {
        let mut due = Vec::new();
        for (number, job) in &mut self.jobs.held {
            let facts = self.tasks.facts(job.task);
            if is_member(job) {
                self.again.join(job.task, *number);
            }
            let is_due = match &job.facts {
                None => job.waits && facts.is_some(),
                Some(held) => is_member(job) && facts.is_some_and(|new| new != held),
            };
            if is_due || job.is_torn {
                due.push((*number, is_due));
            }
        }
        due.sort_unstable();
        for (number, is_due) in due {
            self.call(number, is_due);
        }
    }

    /// Calls a job up that is to be looked at again.
    pub(super) fn call(&mut self, number: u64, is_outdated: bool) {
        let Some(job) = self.jobs.held.get_mut(&number) else { return };
        job.is_outdated |= is_outdated;
        if job.waits && is_outdated {
            job.waits = false;
            let task = job.task;
            self.leave(task, number);
        }
        let Some(job) = self.jobs.held.get_mut(&number) else { return };
        if !job.is_queued {
            job.is_queued = true;
            self.again.queue.push_back(number);
        }
    }

    /// A task's facts are others than before.
    pub(super) fn wake(&mut self, task: u64) {
        let waiting = self.waiting.remove(&task).unwrap_or_default();
        self.waiting_count -= waiting.len();
        let held = &mut self.jobs.held;
        for number in &waiting {
            if let Some(job) = held.get_mut(number) {
                job.waits = false;
            }
        }
        let mut members = self.again.members.remove(&task).unwrap_or_default();
        self.again.count -= members.len();
        members.retain(|number| {
            held.get(number).is_some_and(|job| job.task == task && is_member(job))
        });
        for number in waiting.iter().chain(&members) {
            self.call(*number, true);
        }
        if !members.is_empty() {
            self.again.count += members.len();
            self.again.members.insert(task, members);
        }
    }

    /// Publishes at most so many of those again of which anything new is known.
    pub fn publish_again(&mut self, most: usize, records: &mut Records) {
        let before = records.len();
        while records.len() - before < most {
            let Some(number) = self.again.queue.pop_front() else { break };
            let Some(job) = self.jobs.held.get_mut(&number) else { continue };
            job.is_queued = false;
            let was_torn = job.is_torn;
            let was_outdated = job.is_outdated && self.update(number);
            if was_torn || was_outdated {
                self.publish_job(number, records);
            }
        }
        self.publish_given(before.saturating_add(most), records);
        let held = &self.jobs.held;
        if self.again.count > 2 * held.len() + 1_024 {
            self.again.sweep(|number| held.get(&number).is_some_and(is_member));
        }
    }

    /// Before a job is published: it gets the facts of its task, or waits for them.
    pub(super) fn enlist(&mut self, number: u64) {
        let Some(job) = self.jobs.held.get(&number) else { return };
        if job.task == 0 || job.waits || (job.facts.is_some() && !job.is_outdated) {
            return;
        }
        let (task, knows) = (job.task, job.facts.is_some());
        if (!self.is_reading_back && self.update(number)) || knows {
            return;
        }
        if self.waiting_count >= self.limits.intake_waiting_max {
            self.counts.dropped += 1;
            return;
        }
        if let Some(job) = self.jobs.held.get_mut(&number) {
            job.waits = true;
            self.waiting_count += 1;
            self.waiting.entry(task).or_default().push(number);
        }
    }

    /// Gives a job the facts of its task; whether they are others than it had.
    fn update(&mut self, number: u64) -> bool {
        let Some(job) = self.jobs.held.get_mut(&number) else { return false };
        job.is_outdated = false;
        let is_first = job.facts.is_none();
        let Some(facts) = self.tasks.facts(job.task) else { return false };
        let news = job.take(&Arc::clone(facts));
        if is_first && is_member(job) {
            self.again.join(job.task, number);
        }
        news
    }

    /// Takes a job off those that wait.
    pub(super) fn leave(&mut self, task: u64, number: u64) {
        let Some(jobs) = self.waiting.get_mut(&task) else { return };
        let before = jobs.len();
        jobs.retain(|job| *job != number);
        self.waiting_count -= before - jobs.len();
        if jobs.is_empty() {
            self.waiting.remove(&task);
        }
    }
}

/// Whether a job is published again when its task's facts change.
fn is_member(job: &Job) -> bool {
    use yardmaster_wire::dialect::OWN;
    !job.status.is_ended() && job.facts.is_some() && job.learned != OWN
}
