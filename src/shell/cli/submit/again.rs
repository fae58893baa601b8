//! Jobs that are submitted again, from the records of their last submission.

use crate::cli::outputs::outputs;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, Task};
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::ATTEMPT_MAX;
use yardmaster_drive::port::Log;

/// Whether the log has a job of an id, or the answer to one: of the job itself, or of all that were
/// described in one file.
///
/// # Errors
/// The log cannot be read.
pub(super) fn is_known(log: &mut impl Log, id: &str) -> anyhow::Result<bool> {
    let asked = outputs(log, Topic::Task, |event| {
        let Event::Task(task) = event else { return None };
        (task.subject == id || task.task == id).then_some(())
    })?;
    if !asked.is_empty() {
        return Ok(true);
    }
    let answered = outputs(log, Topic::Decision, |event| {
        let Event::Output(Output::Decision(it)) = event else { return None };
        (it.subject == id || it.task == id).then_some(())
    })?;
    Ok(!answered.is_empty())
}

/// The last record of each job of a name, with an attempt above all that were asked or answered.
///
/// # Errors
/// The log cannot be read, or has no job of that name.
pub(super) fn again(log: &mut impl Log, name: &str) -> anyhow::Result<Vec<Task>> {
    let mut tasks = last(log, name, "--again")?;
    let answered = outputs(log, Topic::Decision, |event| {
        let Event::Output(Output::Decision(it)) = event else { return None };
        tasks
            .iter()
            .any(|task| task.subject == it.subject)
            .then(|| (it.subject.clone(), it.attempt))
    })?;
    for (_, (subject, attempt)) in answered {
        for task in tasks.iter_mut().filter(|task| task.subject == subject) {
            task.attempt = task.attempt.max(attempt);
        }
    }
    tasks
        .iter_mut()
        .for_each(|task| task.attempt = task.attempt.saturating_add(1).min(ATTEMPT_MAX));
    Ok(tasks)
}

/// The last record of each job of a name: of the job itself, or of all that were described in one
/// file, in their order there. `flag`: the one that names it.
///
/// # Errors
/// The log cannot be read, or has no job of that name.
pub(super) fn last(log: &mut impl Log, name: &str, flag: &str) -> anyhow::Result<Vec<Task>> {
    let tasks = outputs(log, Topic::Task, |event| {
        let Event::Task(task) = event else { return None };
        let is_named = task.subject == name || task.task == name;
        (is_named && task.description.is_some()).then_some(*task)
    })?;
    let mut newest: BTreeMap<String, Task> = BTreeMap::new();
    for (_, task) in tasks {
        let key = |task: &Task| (task.attempt, task.changed_at, task.revision);
        match newest.get(&task.subject) {
            Some(known) if key(known) > key(&task) => {}
            _ => drop(newest.insert(task.subject.clone(), task)),
        }
    }
    if newest.is_empty() {
        anyhow::bail!(
            "{flag} {name}: the log has no record of such a job on the topic task; give the id \
             that its submission printed, or submit its description with --xrsl"
        );
    }
    let mut tasks: Vec<Task> = newest.into_values().collect();
    tasks.sort_by_key(|task| task.description.as_ref().map(|described| described.job));
    Ok(tasks)
}
