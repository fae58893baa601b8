//! What was last said of each job. Every part of it is a join over the messages there were, so that
//! their order is nothing.

use super::facts::Facts;
use crate::core::event::{JobState, Status};
use crate::core::id::stir;
use crate::core::unit::{Bytes, Millis};
use crate::wire::dialect::{Grades, JobSaid, revision};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Numbers are stirred, not hashed: they are PanDA's own, and nobody's attack.
#[derive(Clone, Copy, Default)]
pub(super) struct Stirred(u64);

impl Hasher for Stirred {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = crate::core::id::hash(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = stir(number);
    }
}

/// A map by number.
pub(super) type ByNumber<T> = HashMap<u64, T, BuildHasherDefault<Stirred>>;

/// A job as it was last said.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub status: Status,
    pub attempt: u32,
    pub changed_at: Millis,
    /// Created, started, ended; 0 when not known.
    pub stamps: [Millis; 3],
    pub grades: Grades,
    pub task: u64,
    pub queue: Arc<str>,
    pub bytes: (Bytes, Bytes),
    pub facts: Option<Arc<Facts>>,
    /// Enlisted to be said again when its task is known.
    pub waits: bool,
}

impl Job {
    pub fn new(said: &JobSaid<'_>, queue: Arc<str>) -> Job {
        let mut job = Job {
            status: said.status,
            attempt: 0,
            changed_at: said.at,
            stamps: [0; 3],
            grades: Grades::default(),
            task: said.task,
            queue,
            bytes: (0, 0),
            facts: None,
            waits: false,
        };
        job.note_stamp(said);
        job
    }

    /// The job of a record that was said, by us or by an import.
    pub fn of_record(record: &JobState<'_>, queue: Arc<str>, task: u64) -> Job {
        Job {
            status: record.status,
            attempt: record.attempt,
            changed_at: record.changed_at,
            stamps: [record.created_at, record.started_at, record.ended_at],
            grades: Grades::of_record(record),
            task,
            queue,
            bytes: (record.input_bytes, record.output_bytes),
            facts: None,
            waits: false,
        }
    }

    /// Whether something new was said, so that the job is to be said again.
    pub fn meet(&mut self, said: &JobSaid<'_>, queue: impl FnOnce(&str) -> Arc<str>) -> bool {
        let mut news = self.note_stamp(said);
        if self.task == 0 && said.task != 0 {
            self.task = said.task;
            news = true;
        }
        let order = |status: Status, at: Millis| (status.is_ended(), at, status);
        if said.status != self.status
            && order(said.status, said.at) > order(self.status, self.changed_at)
        {
            (self.status, self.changed_at) = (said.status, said.at);
            if !said.queue.is_empty() && *said.queue != *self.queue {
                self.queue = queue(&said.queue);
            }
            news = true;
        }
        news
    }

    /// Takes the stamp that a state gives; whether there was none as good.
    fn note_stamp(&mut self, said: &JobSaid<'_>) -> bool {
        let better = self.grades.improve(said.status);
        if let Some(which) = better {
            self.stamps[which] = said.at;
        }
        better.is_some()
    }

    /// Of two states of a job the newer, as the fold has it.
    pub fn is_newer(&self, other: &Job) -> bool {
        let order = |job: &Job| {
            let status = job.status;
            (job.attempt, status.is_ended(), job.changed_at, job.revision(), status)
        };
        order(self) > order(other)
    }

    fn revision(&self) -> u32 {
        revision(self.status, self.grades, self.facts.is_some())
    }

    /// The record, under a name and with the name of its task. `nothing` are the facts of a job of
    /// which none are known.
    pub fn record<'a>(&'a self, job: &'a str, task: &'a str, nothing: &'a Facts) -> JobState<'a> {
        let facts = self.facts.as_deref().unwrap_or(nothing);
        let [created_at, started_at, ended_at] = self.stamps;
        JobState {
            job,
            status: self.status,
            changed_at: self.changed_at,
            revision: self.revision(),
            attempt: self.attempt,
            task,
            request: &facts.request,
            queue: &self.queue,
            user: &facts.user,
            group: &facts.group,
            gshare: &facts.gshare,
            resource_type: &facts.resource_type,
            nucleus: &facts.nucleus,
            workflow: &facts.workflow,
            label: &facts.label,
            sub_status: &facts.sub_status,
            cores: facts.cores,
            priority: facts.priority,
            created_at,
            started_at,
            ended_at,
            input_bytes: self.bytes.0,
            output_bytes: self.bytes.1,
        }
    }
}

/// The jobs that are remembered, no more than a limit: those that ended go first, the oldest of
/// them first.
#[derive(Default)]
pub(super) struct Jobs {
    pub held: ByNumber<Job>,
    ended: VecDeque<u64>,
    met: VecDeque<u64>,
}

impl Jobs {
    /// Remembers a job that was not known.
    pub fn meet(&mut self, number: u64, job: Job) {
        self.met.push_back(number);
        self.note_end(number, &job);
        self.held.insert(number, job);
    }

    /// To be told whenever a job may have ended; told twice does no harm.
    pub fn note_end(&mut self, number: u64, job: &Job) {
        if job.status.is_ended() {
            self.ended.push_back(number);
        }
    }

    /// Forgets a job if there are more than the limit.
    pub fn forget(&mut self, most: usize) -> Option<(u64, Job)> {
        if self.met.len() > 2 * self.held.len() + 1_024 {
            let held = &self.held;
            self.met.retain(|number| held.contains_key(number));
        }
        while self.held.len() > most {
            let next = self.ended.pop_front().or_else(|| self.met.pop_front())?;
            if let Some(job) = self.held.remove(&next) {
                return Some((next, job));
            }
        }
        None
    }
}
