//! Jobs: submitted, placed, staged, run, and ended, well or badly.

use super::agenda::NordugridStep;
use super::work::WantedJob;
use super::{NorduGrid, Standing};
use crate::grid::Handle;
use yardmaster_core::event::{JobState, Status};
use yardmaster_core::output::decision::DecisionId;
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};

/// Part of the jobs whose input cannot be brought, and of those whose payload fails.
const STAGING_FAILS: f64 = 0.01;
/// See `STAGING_FAILS`.
const PAYLOAD_FAILS: f64 = 0.03;
/// Part of the jobs that their users kill.
const KILLED: f64 = 0.01;
/// A user gives a silent job up after so long.
const GIVEN_UP: Millis = 6 * HOUR;
/// How far behind in its queue a job may stand and start before others that do not fit.
const BACKFILL: usize = 40;

/// Stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NordugridStage {
    /// It waits for a decision.
    Waiting,
    /// A decision was heard: the queue, by number, if it is one of this grid.
    Answered(Option<u32>),
    /// A cluster took it.
    Accepted,
    /// Its input is brought.
    Preparing,
    /// It waits in the batch system.
    Queued,
    /// It runs.
    Running,
    /// Its output is taken away.
    Finishing,
    /// Nothing is heard of it any more.
    Lost,
}

/// A live job.
#[derive(Clone, Debug)]
pub struct NordugridJob {
    /// Name.
    pub name: String,
    /// User, by position.
    pub user: usize,
    /// Its requirements.
    pub wanted: WantedJob,
    /// When it was submitted.
    pub submitted_at: Millis,
    /// Its stage.
    pub stage: NordugridStage,
    /// Queue that it is at, by number.
    pub queue: u32,
    /// Decision that was heard last, with its attempt.
    pub decision: Option<(DecisionId, u64)>,
    /// Decisions heard that chose a target.
    pub tries: usize,
    /// When it reached the batch system, began to run, and ended; 0: it did not.
    pub times: [Millis; 3],
}

impl NordugridJob {
    /// A job that is submitted.
    pub fn new(name: String, user: usize, wanted: WantedJob, now: Millis) -> NordugridJob {
        NordugridJob {
            name,
            user,
            wanted,
            submitted_at: now,
            stage: NordugridStage::Waiting,
            queue: 0,
            decision: None,
            tries: 0,
            times: [0; 3],
        }
    }
}

impl NorduGrid {
    /// A cluster took a job.
    pub(super) fn accepted(&mut self, handle: Handle) {
        self.say(handle, NordugridStage::Accepted, "ACCEPTED", Status::Defined);
        self.take_space(handle);
        self.count.queued += 1;
        self.after_between(5 * SECOND, MINUTE, NordugridStep::Step(handle));
    }

    /// A job goes on to what follows.
    pub(super) fn step(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        let cluster = self.queues[job.queue as usize].cluster as usize;
        let loses = self.clusters[cluster].bad.1;
        match job.stage {
            NordugridStage::Accepted if self.dice.chance(loses) => self.lost(handle),
            NordugridStage::Accepted => {
                self.say(handle, NordugridStage::Preparing, "PREPARING", Status::Assigned);
                let span = self.staged(handle);
                self.after(span, NordugridStep::Step(handle));
            }
            NordugridStage::Preparing if self.dice.chance(STAGING_FAILS) => {
                self.ends(handle, "FAILED", Status::Failed);
            }
            NordugridStage::Preparing => {
                self.fill_cache(handle);
                self.reach(handle, 0);
                self.say(handle, NordugridStage::Queued, "INLRMS:Q", Status::Activated);
                let queue = self.jobs.get(handle).map_or(0, |job| job.queue);
                self.queues[queue as usize].waiting.push_back(handle);
                self.start_waiting(queue);
            }
            NordugridStage::Running => self.payload_ends(handle),
            NordugridStage::Finishing => {
                let fails = self.dice.chance(PAYLOAD_FAILS);
                let (word, status) = match fails {
                    true => ("FAILED", Status::Failed),
                    false => ("FINISHED", Status::Finished),
                };
                self.ends(handle, word, status);
            }
            NordugridStage::Waiting
            | NordugridStage::Answered(_)
            | NordugridStage::Queued
            | NordugridStage::Lost => {}
        }
    }

    /// Starts jobs of a queue in order of arrival; some behind may start before one that does not
    /// fit.
    pub(super) fn start_waiting(&mut self, queue: u32) {
        let mut at = 0;
        while at < BACKFILL {
            let of = &self.queues[queue as usize];
            let Some(handle) = of.waiting.get(at).copied() else { return };
            let count = self.jobs.get(handle).map_or(0, |job| job.wanted.count);
            if of.free() == 0 {
                return;
            }
            if count > of.free() {
                at += 1;
                continue;
            }
            self.settle_use();
            let of = &mut self.queues[queue as usize];
            of.waiting.remove(at);
            of.busy += count;
            self.count.cpus_busy += count;
            self.job_starts(handle);
        }
    }

    fn job_starts(&mut self, handle: Handle) {
        self.count.queued -= 1;
        self.count.running += 1;
        self.reach(handle, 1);
        self.say(handle, NordugridStage::Running, "INLRMS:R", Status::Running);
        let Some(job) = self.jobs.get(handle) else { return };
        self.starts.add(self.now - job.submitted_at);
        let runs = job.wanted.runs_s as Millis * SECOND;
        let part = if self.dice.chance(KILLED) { self.dice.within(0.1, 0.9) } else { 1.0 };
        self.after((runs as f64 * part) as Millis, NordugridStep::Step(handle));
    }

    fn payload_ends(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        let (queue, count) = (job.queue, job.wanted.count);
        let ran = self.now - job.times[1];
        let is_whole = ran >= job.wanted.runs_s as Millis * SECOND;
        self.settle_use();
        let of = &mut self.queues[queue as usize];
        of.busy -= count;
        self.count.cpus_busy -= count;
        self.count.running -= 1;
        self.reach(handle, 2);
        if is_whole {
            self.say(handle, NordugridStage::Finishing, "FINISHING", Status::Transferring);
            self.after_between(10 * SECOND, 5 * MINUTE, NordugridStep::Step(handle));
        } else {
            self.ends(handle, "KILLED", Status::Cancelled);
        }
        self.start_waiting(queue);
    }

    /// A job falls silent; its user gives it up at last.
    fn lost(&mut self, handle: Handle) {
        self.count.lost += 1;
        if let Some(job) = self.jobs.get_mut(handle) {
            job.stage = NordugridStage::Lost;
        }
        self.after(GIVEN_UP, NordugridStep::GivenUp(handle));
    }

    /// A job that is lost is killed by its user.
    pub(super) fn given_up(&mut self, handle: Handle) {
        self.ends(handle, "KILLED", Status::Cancelled);
    }

    fn ends(&mut self, handle: Handle, word: &str, status: Status) {
        let Some(job) = self.jobs.get(handle) else { return };
        let is_before_run = job.times[1] == 0;
        match status {
            Status::Finished => self.count.finished += 1,
            Status::Failed => self.count.failed += 1,
            _ => self.count.killed += 1,
        }
        self.count.queued -= u64::from(is_before_run);
        self.say(handle, NordugridStage::Finishing, word, status);
        self.give_space(handle);
        self.forget(handle);
    }

    fn reach(&mut self, handle: Handle, at: usize) {
        let now = self.now;
        if let Some(job) = self.jobs.get_mut(handle) {
            job.times[at] = now;
        }
    }

    /// Publishes the state that a job reached; of a cluster that does not answer, once it does.
    fn say(&mut self, handle: Handle, stage: NordugridStage, word: &str, status: Status) {
        let Some(job) = self.jobs.get_mut(handle) else { return };
        job.stage = stage;
        let job = &*job;
        let queue = &self.queues[job.queue as usize];
        let attempt = job.decision.map_or(0, |(_, attempt)| attempt);
        let request = format!("{}:{attempt}", job.name);
        let record = self.publisher.made_job(&JobState {
            job: &job.name,
            status,
            changed_at: self.now,
            task: &job.name,
            request: &request,
            queue: &queue.name,
            user: &self.users[job.user].name,
            sub_status: word,
            cores: job.wanted.count as u32,
            created_at: job.submitted_at,
            activated_at: job.times[0],
            started_at: job.times[1],
            ended_at: job.times[2],
            cpu_time_s: u32::try_from(job.wanted.cpu_time_s).unwrap_or(u32::MAX),
            ..JobState::default()
        });
        let cluster = &mut self.clusters[queue.cluster as usize];
        match cluster.standing {
            Standing::Silent => cluster.held.push(record),
            Standing::Active | Standing::Inactive => self.publisher.publish(record),
        }
    }
}
