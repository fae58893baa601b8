//! The last published record of each job. Every part of it is a join over the messages there were,
//! so that their order does not matter.

use super::facts::Facts;
use super::number::ByNumber;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;
use yardmaster_core::event::{JobState, Status};
use yardmaster_core::unit::{Bytes, Millis};
use yardmaster_wire::dialect::{Grades, JobMessage, OWN, learned, revision};

/// A job as it was last published.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub status: Status,
    pub attempt: u32,
    pub changed_at: Millis,
    /// Created, started, ended; 0 when not known.
    pub stamps: [Millis; 3],
    /// When a pilot could first take it; 0 when not known. The latest of all messages.
    pub activated_at: Millis,
    pub grades: Grades,
    pub task: u64,
    pub queue: Arc<str>,
    pub bytes: (Bytes, Bytes),
    pub facts: Option<Arc<Facts>>,
    /// The request that placed it; `None` while not known.
    pub request: Option<Arc<str>>,
    /// How many facts of its task it was published with, or that they are its own; see `revision`.
    pub learned: u16,
    /// Enlisted to be published again when its task is known.
    pub waits: bool,
    /// In the queue of those that are looked at again.
    pub is_queued: bool,
    /// Its task's facts changed since it was published.
    pub is_outdated: bool,
    /// Two records of it are on the bus, and only both together have all that is known.
    pub is_torn: bool,
}

impl Job {
    pub fn new(message: &JobMessage<'_>, queue: Arc<str>) -> Job {
        let mut job = Job {
            status: message.status,
            attempt: 0,
            changed_at: message.at,
            stamps: [0; 3],
            activated_at: 0,
            grades: Grades::default(),
            task: message.task,
            queue,
            bytes: (0, 0),
            facts: None,
            request: None,
            learned: 0,
            waits: false,
            is_queued: false,
            is_outdated: false,
            is_torn: false,
        };
        job.grades.improve(message.status, message.at, &mut job.stamps);
        job.ready(message.status, message.at);
        job
    }

    /// The job of a record that was published, by intake or by an import. `share` gives facts that
    /// many have.
    pub fn of_record(
        record: &JobState<'_>,
        (queue, request): (Arc<str>, Option<Arc<str>>),
        task: u64,
        share: impl FnOnce(Facts) -> Arc<Facts>,
    ) -> Job {
        let says_who = [record.user, record.gshare, record.resource_type];
        let is_known = says_who.iter().any(|text| !text.is_empty());
        let learned = learned(record).unwrap_or(if is_known { OWN } else { 0 });
        Job {
            status: record.status,
            attempt: record.attempt,
            changed_at: record.changed_at,
            stamps: [record.created_at, record.started_at, record.ended_at],
            activated_at: record.ready_at(),
            grades: Grades::of_record(record),
            task,
            queue,
            bytes: (record.input_bytes, record.output_bytes),
            facts: (learned > 0).then(|| share(Facts::of_record(record))),
            request,
            learned,
            waits: false,
            is_queued: false,
            is_outdated: false,
            is_torn: false,
        }
    }

    /// Whether the message had something new, so that the job is to be published again.
    pub fn meet(&mut self, message: &JobMessage<'_>, queue: impl FnOnce(&str) -> Arc<str>) -> bool {
        let mut news = self.grades.improve(message.status, message.at, &mut self.stamps);
        news |= self.ready(message.status, message.at);
        if self.task == 0 && message.task != 0 {
            self.task = message.task;
            news = true;
        }
        let order = |status: Status, at: Millis| (status.is_ended(), at, status);
        let new = order(message.status, message.at);
        let (is_newer, is_same) = match new.cmp(&order(self.status, self.changed_at)) {
            Ordering::Greater => (true, false),
            Ordering::Equal => (false, true),
            Ordering::Less => (false, false),
        };
        if is_newer {
            (self.status, self.changed_at) = (message.status, message.at);
            news = true;
        }
        // A state that names no queue leaves it as it is; of two that are equal in all else, the
        // order of names decides, as it does in the fold.
        let takes = (is_newer && !message.queue.is_empty() && *message.queue != *self.queue)
            || (is_same && *message.queue > *self.queue)
            || (self.queue.is_empty() && !message.queue.is_empty());
        if takes {
            self.queue = queue(&message.queue);
            news = true;
        }
        news
    }

    /// Takes another record of the same job in, read back after this one: the newer state, the
    /// better of each stamp, the facts that were learned later. What only both together have is to
    /// be published again.
    pub fn join(&mut self, other: Job) {
        let before = self.order();
        if self.attempt != other.attempt {
            if self.attempt < other.attempt {
                self.replace(other);
            }
            return;
        }
        let last = other.order();
        self.grades.join(other.grades, other.stamps, &mut self.stamps);
        self.activated_at = self.activated_at.max(other.activated_at);
        let state = |job: &Job| (job.status.is_ended(), job.changed_at, job.status);
        if (state(&other), &*other.queue) > (state(self), &*self.queue) {
            (self.status, self.changed_at) = (other.status, other.changed_at);
            if !other.queue.is_empty() {
                self.queue = other.queue;
            }
        } else if self.queue.is_empty() {
            self.queue = other.queue;
        }
        self.task = self.task.max(other.task);
        self.bytes.0 = self.bytes.0.max(other.bytes.0);
        self.bytes.1 = self.bytes.1.max(other.bytes.1);
        self.request = self.request.take().max(other.request);
        if other.learned >= self.learned {
            (self.learned, self.facts) = (other.learned, other.facts);
        }
        let all = self.order();
        self.is_torn = all != last && (self.is_torn || all != before);
    }

    /// Takes the time of a state for the moment at which a pilot could take the job: whether that
    /// is news. A job that became ready again waits from then.
    fn ready(&mut self, status: Status, at: Millis) -> bool {
        let is_news = status == Status::Activated && at > self.activated_at;
        if is_news {
            self.activated_at = at;
        }
        is_news
    }

    /// Another attempt takes the place of this one.
    fn replace(&mut self, other: Job) {
        let Job { waits, is_queued, is_outdated, .. } = *self;
        let request = other.request.or(self.request.take());
        *self = Job { waits, is_queued, is_outdated, request, ..other };
    }

    /// Takes the facts of its task, if they are others than it was published with.
    pub fn take(&mut self, facts: &Arc<Facts>) -> bool {
        let same = |held: &Arc<Facts>| Arc::ptr_eq(held, facts) || held == facts;
        if self.learned == OWN || self.facts.as_ref().is_some_and(same) {
            return false;
        }
        self.facts = Some(Arc::clone(facts));
        self.learned = (self.learned + 1).min(OWN - 1);
        true
    }

    /// Order of two records of a job, as the fold has it.
    fn order(&self) -> (u32, bool, Millis, u64, u64, [Millis; 4]) {
        let is_ended = self.status.is_ended();
        let [created, started, ended] = self.stamps;
        let stamps = [created, started, ended, self.activated_at];
        (self.attempt, is_ended, self.changed_at, self.revision(), self.task, stamps)
    }

    fn revision(&self) -> u64 {
        revision(self.status, self.grades, self.learned, self.request.is_some())
    }

    /// The record, under a name and with the name of its task. `nothing` are the facts of a job of
    /// which none are known.
    pub fn record<'a>(&'a self, job: &'a str, task: &'a str, nothing: &'a Facts) -> JobState<'a> {
        let facts = self.facts.as_deref().unwrap_or(nothing);
        let [created_at, started_at, ended_at] = self.stamps;
        facts.stated_in(JobState {
            job,
            status: self.status,
            changed_at: self.changed_at,
            revision: self.revision(),
            attempt: self.attempt,
            task,
            request: self.request.as_deref().unwrap_or(""),
            queue: &self.queue,
            created_at,
            activated_at: self.activated_at,
            started_at,
            ended_at,
            input_bytes: self.bytes.0,
            output_bytes: self.bytes.1,
            ..JobState::default()
        })
    }
}

/// The jobs that are remembered, no more than a limit: those that ended go first, the oldest of
/// them first.
pub(super) struct Jobs<J> {
    pub held: ByNumber<J>,
    ended: VecDeque<u64>,
    met: VecDeque<u64>,
}

impl<J> Default for Jobs<J> {
    fn default() -> Jobs<J> {
        Jobs { held: ByNumber::default(), ended: VecDeque::new(), met: VecDeque::new() }
    }
}

impl<J> Jobs<J> {
    /// Remembers a job that was not known.
    pub fn meet(&mut self, number: u64, job: J) {
        self.met.push_back(number);
        self.held.insert(number, job);
    }

    /// A job ended; calling it twice does no harm.
    pub fn note_end(&mut self, number: u64) {
        self.ended.push_back(number);
    }

    /// Forgets a job if there are more than the limit. One that ended, by `is_over`, and was tried
    /// again is no such.
    pub fn forget(&mut self, most: usize, is_over: impl Fn(&J) -> bool) -> Option<(u64, J)> {
        if self.met.len() > 2 * self.held.len() + 1_024 {
            let held = &self.held;
            self.met.retain(|number| held.contains_key(number));
        }
        while self.held.len() > most {
            if let Some(ended) = self.ended.pop_front() {
                if self.held.get(&ended).is_some_and(&is_over) {
                    return self.held.remove(&ended).map(|job| (ended, job));
                }
                continue;
            }
            let next = self.met.pop_front()?;
            if let Some(job) = self.held.remove(&next) {
                return Some((next, job));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Jobs;

    #[test]
    fn a_job_that_ended_and_was_tried_again_is_not_forgotten_first() {
        let mut jobs: Jobs<bool> = Jobs::default();
        (1..=3).for_each(|number| jobs.meet(number, false));
        for number in [2, 3] {
            jobs.held.insert(number, true);
            jobs.note_end(number);
        }
        // Tried again: it lives.
        jobs.held.insert(2, false);
        assert_eq!(jobs.forget(2, |is_over| *is_over), Some((3, true)));
        // None is over: the one that was met first goes.
        assert_eq!(jobs.forget(1, |is_over| *is_over), Some((1, false)));
    }
}
