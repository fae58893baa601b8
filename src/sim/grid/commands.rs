//! Commands are carried out: jobs are closed, killed, failed; what is to be brokered again asks
//! again.

use super::Grid;
use super::Record;
use super::chunks::Chunk;
use super::jobs::{GridJob, publish};
use super::pool::Handle;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::command::CommandRule;
use yardmaster_core::event::{ChunkKind, DecisionOutcome, OutcomeAbout, OutcomeKind, Status};
use yardmaster_core::output::command::{Command, CommandKind};
use yardmaster_core::output::decision::DecisionId;
use yardmaster_core::unit::{MINUTE, Millis};

/// Jobs that fell silent, by name: nothing is published of them until they are commanded to end.
#[derive(Default)]
pub(super) struct Silent {
    jobs: BTreeMap<String, (GridJob, Chunk)>,
}

impl Silent {
    /// A job of a chunk that fell silent; the chunk may end without it. Only so many are
    /// remembered; the oldest go first.
    pub(super) fn insert(&mut self, job: GridJob, chunk: Chunk) {
        self.jobs.insert(job.name.clone(), (job, chunk));
        if self.jobs.len() > SILENT_MAX {
            self.jobs.pop_first();
        }
    }
}

impl Grid {
    /// Says jobs that fell silent as they were last published.
    pub(super) fn say_silent(&mut self) {
        for (job, chunk) in self.silent.jobs.values() {
            let queue = &self.queues.all[job.queue as usize];
            publish(&mut self.publisher, job, chunk, queue, "");
        }
    }
}

/// Most silent jobs that are remembered.
const SILENT_MAX: usize = 1_000_000;

/// A command is carried out so long after it was given at the latest.
const ON_ITS_WAY: Millis = MINUTE;

/// Result of carrying out a command on one job.
enum Done {
    /// It ended as the command asks.
    Ended,
    /// There is no such job any more.
    Unknown,
}

/// Jobs whose input is to be brokered again, and the queues that they were at, by chunk.
type Again = BTreeMap<Handle, (u32, BTreeSet<u32>)>;

fn take_back(again: &mut Again, job: &GridJob) {
    let (jobs, queues) = again.entry(job.chunk).or_default();
    *jobs += 1;
    queues.insert(job.queue);
}

impl Grid {
    /// Of all that commands were about, how many were not what the rule took them for.
    pub fn wrongly_commanded(&self) -> u64 {
        self.count.commanded_wrong
    }

    /// Carries commands out, as of the time reached, and publishes what became of each. One that is
    /// not to be carried out has no effect. Appends what is published.
    pub fn obey(&mut self, commands: &[Command], out: &mut Vec<Record>) {
        self.publisher.out = std::mem::take(out);
        let mut again: Again = BTreeMap::new();
        let mut closed: Vec<(Handle, &'static str)> = Vec::new();
        let domain = self.domain.clone();
        let orders = commands.iter().filter(|it| it.is_order() && it.domain == domain);
        for command in orders {
            let mut ended = 0;
            for name in command.about() {
                let done = self.obey_of(command, name, &mut again, &mut closed);
                ended += u32::from(matches!(done, Done::Ended));
            }
            let (kind, reason) = match ended {
                0 if command.kind != CommandKind::Alert => {
                    (OutcomeKind::Refused, "no such job waits or runs".to_owned())
                }
                _ => (OutcomeKind::Accepted, String::new()),
            };
            self.publisher.outcome(&DecisionOutcome {
                subject: command.subject.clone(),
                decision: DecisionId(command.id.0),
                about: OutcomeAbout::Command,
                kind,
                at: self.now,
                reason,
            });
        }
        // Before the jobs end: a task with a chunk to come does not.
        for (chunk, (jobs, queues)) in again {
            let Some(chunk) = self.chunks.get(chunk) else { continue };
            let kind = match chunk.request.chunk {
                ChunkKind::Scout => ChunkKind::Normal,
                kind => kind,
            };
            let mut given = chunk.given.clone();
            queues.into_iter().for_each(|queue| *given.entry(queue).or_default() += 1);
            self.add_chunk(chunk.task, (kind, jobs), given);
        }
        for (job, sub_status) in closed {
            self.over(job, Status::Closed, sub_status);
        }
        *out = std::mem::take(&mut self.publisher.out);
    }

    fn obey_of(
        &mut self,
        command: &Command,
        name: &str,
        again: &mut Again,
        closed: &mut Vec<(Handle, &'static str)>,
    ) -> Done {
        if let Some((job, chunk)) = self.silent.jobs.remove(name) {
            self.end_silent(job, &chunk);
            self.count.commanded_ended += 1;
            return Done::Ended;
        }
        let handle = self.by_name.get(name).copied();
        let Some((handle, job)) = handle.and_then(|it| Some((it, self.jobs.get(it)?))) else {
            return Done::Unknown;
        };
        if closed.iter().any(|(other, _)| *other == handle) {
            return Done::Unknown;
        }
        let waits = job.started_at == 0;
        self.count.commanded_wrong += u64::from(self.is_mistaken(command, handle, job));
        match command.kind {
            CommandKind::Rebroker | CommandKind::Reassign if waits => {
                let sub_status =
                    if command.kind == CommandKind::Reassign { "toreassign" } else { "" };
                take_back(again, job);
                closed.push((handle, sub_status));
                self.count.commanded_moved += 1;
            }
            CommandKind::Rebroker | CommandKind::Reassign => return Done::Unknown,
            CommandKind::Kill if waits => {
                take_back(again, job);
                closed.push((handle, "toreassign"));
                self.count.commanded_moved += 1;
            }
            CommandKind::Fail | CommandKind::Kill => {
                self.count.commanded_ended += 1;
                self.over(handle, Status::Failed, "timed_out");
            }
            CommandKind::KillWorkflow
            | CommandKind::Drain
            | CommandKind::Boost
            | CommandKind::Profile
            | CommandKind::Alert
            | CommandKind::Undrain => {
                return Done::Unknown;
            }
        }
        Done::Ended
    }

    /// Whether a job is not what a rule takes it for, and was not when the command was given: one
    /// in another state, or one that lives and sends heartbeats. What changed while the command was
    /// on its way does not count.
    fn is_mistaken(&self, command: &Command, handle: Handle, job: &GridJob) -> bool {
        use CommandRule as R;
        let Some(rule) = CommandRule::from_name(&command.rule) else { return false };
        // On its way since, or reported with a clock that was wrong by hours.
        if job.changed_at > command.now - ON_ITS_WAY || !job.is_reported {
            return false;
        }
        let is_about = match rule {
            R::T1 => job.status == Status::Pending,
            R::T2 => job.status == Status::Defined,
            R::T3 => matches!(job.status, Status::Pending | Status::Defined | Status::Assigned),
            R::T4 => job.status == Status::Throttled,
            R::T5a => job.status == Status::Activated,
            R::T5b => job.status == Status::Starting,
            R::T6 => matches!(job.status, Status::Activated | Status::Starting),
            R::T7 => job.status == Status::Sent,
            R::T8 => true,
            R::T9 => {
                let runs = matches!(job.status, Status::Running | Status::Starting);
                runs && !self.is_alive(handle)
            }
            R::T10 | R::T12a | R::T12b => job.status == Status::Transferring,
            R::T11a | R::T11b => job.status == Status::Holding,
            R::FastRebrokerage | R::AnalysisTimeout => job.status.is_queued(),
            R::Age => !matches!(job.status, Status::Running) || !self.is_alive(handle),
            R::EventService => matches!(job.status, Status::Running | Status::Starting),
            R::Boost | R::KillWorkflow | R::Alert | R::Profile | R::Drain | R::Undrain => false,
            R::Domain => false,
        };
        !is_about
    }

    /// The end of a job that fell silent is published at last; its task goes on without it.
    fn end_silent(&mut self, mut job: GridJob, chunk: &Chunk) {
        (job.status, job.changed_at, job.ended_at) = (Status::Failed, self.now, self.now);
        let queue = &self.queues.all[job.queue as usize];
        publish(&mut self.publisher, &job, chunk, queue, "lost_heartbeat");
        self.count.failed += 1;
    }
}
