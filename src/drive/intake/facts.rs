//! The part of a job's record that PanDA's message does not have: the facts of its task.

use super::number::ByNumber;
use std::collections::VecDeque;
use std::sync::Arc;
use yardmaster_core::event::{ChunkKind, JobState, Task, TaskPhase};
use yardmaster_core::unit::{Cores, Millis};

/// Facts of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Facts {
    pub user: Box<str>,
    pub group: Box<str>,
    pub gshare: Box<str>,
    pub resource_type: Box<str>,
    pub nucleus: Box<str>,
    pub workflow: Box<str>,
    pub label: Box<str>,
    pub processing_type: Box<str>,
    pub sub_status: Box<str>,
    pub cores: Cores,
    pub priority: i32,
}

impl Facts {
    fn of_task(task: &Task) -> Facts {
        Facts {
            user: task.user.as_str().into(),
            group: task.working_group.as_str().into(),
            gshare: task.gshare.as_str().into(),
            resource_type: task.resource_type.as_str().into(),
            nucleus: task.nucleus.as_str().into(),
            workflow: "".into(),
            label: task.label.as_str().into(),
            processing_type: task.processing_type.as_str().into(),
            sub_status: "".into(),
            cores: task.core_count.unwrap_or(0),
            priority: task.priority,
        }
    }

    /// A record with these facts.
    pub fn stated_in<'a>(&'a self, record: JobState<'a>) -> JobState<'a> {
        JobState {
            user: &self.user,
            group: &self.group,
            gshare: &self.gshare,
            resource_type: &self.resource_type,
            nucleus: &self.nucleus,
            workflow: &self.workflow,
            label: &self.label,
            processing_type: &self.processing_type,
            sub_status: &self.sub_status,
            cores: self.cores,
            priority: self.priority,
            ..record
        }
    }

    /// Those of a record.
    pub fn of_record(job: &JobState<'_>) -> Facts {
        Facts {
            user: job.user.into(),
            group: job.group.into(),
            gshare: job.gshare.into(),
            resource_type: job.resource_type.into(),
            nucleus: job.nucleus.into(),
            workflow: job.workflow.into(),
            label: job.label.into(),
            processing_type: job.processing_type.into(),
            sub_status: job.sub_status.into(),
            cores: job.cores,
            priority: job.priority,
        }
    }
}

/// Order in which records are taken for a task's facts, the greatest last: jobs of merge chunks are
/// few, so their cores stand for the task only while nothing else is known.
type Rank = (bool, Millis, u64, u32);

/// The end of a task as it was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub attempt: u64,
    pub at: Millis,
}

#[derive(Default)]
struct Held {
    facts: Option<(Rank, Arc<Facts>)>,
    end: Option<End>,
    /// Newest attempt under the task's own name, and when that asked.
    asked: Option<(u64, Millis)>,
}

/// Facts and ends of tasks.
#[derive(Default)]
pub(super) struct Tasks {
    held: ByNumber<Held>,
    order: VecDeque<u64>,
}

impl Tasks {
    /// Takes a record of our own topic in. `task` is the task's number. Whether jobs of the task
    /// are to be published with other facts now.
    pub fn learn(&mut self, task: u64, record: &Task, most: usize) -> bool {
        let held = self.at(task, most);
        let is_whole = record.subject == record.task;
        if is_whole && record.phase == TaskPhase::Ended {
            let end = End { attempt: record.attempt, at: record.changed_at };
            let is_newer = |old: End| (end.at, end.attempt) > (old.at, old.attempt);
            if held.end.is_none_or(is_newer) {
                held.end = Some(end);
            }
        }
        if is_whole && record.phase == TaskPhase::Asking {
            let asked = (record.attempt, record.asked_at);
            held.asked = held.asked.max(Some(asked));
        }
        // An end that intake published names the task alone.
        if record.policy.is_empty() {
            return false;
        }
        let rank: Rank =
            (record.chunk != ChunkKind::Merge, record.changed_at, record.attempt, record.revision);
        let new = Facts::of_task(record);
        match &mut held.facts {
            Some((known, _)) if rank <= *known => false,
            // Most records of a task have the same facts of its jobs.
            Some((known, facts)) if **facts == new => {
                *known = rank;
                false
            }
            facts => {
                *facts = Some((rank, Arc::new(new)));
                true
            }
        }
    }

    /// The facts of a task.
    pub fn facts(&self, task: u64) -> Option<&Arc<Facts>> {
        self.held.get(&task)?.facts.as_ref().map(|(_, facts)| facts)
    }

    /// A task ended: what is to be published of it, if that was not published yet.
    pub fn end(&mut self, task: u64, at: Millis, most: usize) -> Option<End> {
        let held = self.at(task, most);
        let attempt = held.asked.map_or(0, |(attempt, _)| attempt);
        let end = End { attempt, at };
        if held.end.is_some_and(|message| message.at >= at && message.attempt >= attempt) {
            return None;
        }
        held.end = Some(end);
        Some(end)
    }

    /// The end that has to be published again: of a task that asked once more before it ended,
    /// which was not known when the end was published.
    pub fn overtaken(&mut self, task: u64) -> Option<End> {
        let held = self.held.get_mut(&task)?;
        let (message, (attempt, asked_at)) = (held.end?, held.asked?);
        if attempt <= message.attempt || asked_at > message.at {
            return None;
        }
        let end = End { attempt, at: message.at };
        held.end = Some(end);
        Some(end)
    }

    fn at(&mut self, task: u64, most: usize) -> &mut Held {
        if !self.held.contains_key(&task) {
            while self.held.len() >= most.max(1) {
                let Some(oldest) = self.order.pop_front() else { break };
                self.held.remove(&oldest);
            }
            self.order.push_back(task);
        }
        self.held.entry(task).or_default()
    }
}
