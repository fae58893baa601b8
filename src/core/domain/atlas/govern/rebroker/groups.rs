//! Queued jobs of a share at a queue, task by task.

use crate::event::Status;
use crate::govern::facts::Surroundings;
use crate::govern::hold::Hold;
use crate::govern::making::{Making, too_many_moves};
use crate::govern::open::is_taken;
use crate::id::{Key, Name};
use crate::output::command::CommandKind;
use crate::state::State;
use crate::state::job::Job;
use std::collections::BTreeMap;

/// Jobs of one task that wait at a queue, oldest first.
pub(super) struct TaskJobs<'a> {
    /// Their task; `None`: jobs of no task, or of tasks of which no request is known.
    pub(super) task: Option<String>,
    pub(super) jobs: Vec<&'a Job>,
    /// Why they stay; `None`: they may move.
    pub(super) stays: Option<Hold>,
}

impl<'a> TaskJobs<'a> {
    fn new(task: Option<String>, jobs: Vec<&'a Job>, stays: Option<Hold>) -> TaskJobs<'a> {
        TaskJobs { task, jobs, stays }
    }
}

/// Queued jobs of a share at a queue that no command is about, by task; those that were moved as
/// often as they may be apart.
pub(super) fn groups<'a>(
    (state, around): (&'a State, &Surroundings),
    at: (Name, Name),
    making: &Making,
) -> Vec<TaskJobs<'a>> {
    let (mut by_task, mut spent) = (BTreeMap::<Key, Vec<&Job>>::new(), Vec::new());
    let mut moves = None;
    for job in waiting(state, at) {
        if making.ordered.contains(&job.key) || is_taken(state, around, job.key) {
            continue;
        }
        match too_many_moves(state, job.key, CommandKind::Rebroker) {
            None => by_task.entry(job.task).or_default().push(job),
            Some(why) => {
                moves = Some(why);
                spent.push(job);
            }
        }
    }
    let (mut groups, mut unknown) = (Vec::new(), Vec::new());
    for (task, jobs) in by_task {
        match around.task_name(task) {
            Some(name) => groups.push(TaskJobs::new(Some(name), jobs, None)),
            None => unknown.extend(jobs),
        }
    }
    groups.push(TaskJobs::new(None, unknown, None));
    groups.push(TaskJobs::new(None, spent, moves));
    groups.retain(|group| !group.jobs.is_empty());
    groups.iter_mut().for_each(|group| group.jobs.sort_unstable_by_key(|job| job.key));
    groups.sort_by_key(|group| group.jobs.first().map(|job| job.key));
    groups
}

/// All queued jobs of a share at a queue.
fn waiting(state: &State, at: (Name, Name)) -> Vec<&Job> {
    let rows = state.looks.queued_rows().filter(|row| {
        let key = state.ledger.load.key(*row);
        (Name(key[0]), Name(key[1])) == at
    });
    let slots = rows.flat_map(|row| state.looks.queued(row));
    let jobs = slots.filter_map(|slot| state.jobs.slab.get(*slot));
    let mut jobs: Vec<&Job> = jobs
        .filter(|job| {
            job.status.is_some_and(Status::is_queued) && (job.names[0], job.names[1]) == at
        })
        .collect();
    jobs.sort_unstable_by_key(|job| job.key);
    jobs.dedup_by_key(|job| job.key);
    jobs
}
