//! Jobs that are submitted again, from the records of their last submission.

use crate::cli::outputs::outputs;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, Task};
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::ATTEMPT_MAX;
use yardmaster_drive::port::Log;

/// Whether a word can be the id of a job: outputs are fetched into a folder of its name.
pub(super) fn is_job_id(id: &str) -> bool {
    !matches!(id, "" | "." | "..") && !id.contains(|c: char| c == '/' || c.is_control())
}

/// Whether a task is one that `submit` makes: others may write on the topic, too.
fn is_of_submit(task: &Task) -> bool {
    let rest = task.subject.strip_prefix(&task.task);
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let is_numbered = |rest: &str| rest.strip_prefix('/').is_some_and(is_number);
    is_job_id(&task.task) && rest.is_some_and(|rest| rest.is_empty() || is_numbered(rest))
}

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
        let is_meant = is_named && task.description.is_some() && is_of_submit(&task);
        is_meant.then_some(*task)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_submit_does_not_make_is_not_taken_up() {
        let is_taken = |task: &str, subject: &str| {
            let (task, subject) = (task.to_owned(), subject.to_owned());
            is_of_submit(&Task { task, subject, ..Task::default() })
        };
        for (task, subject) in [("a", "a"), ("a", "a/0"), ("a", "a/17"), ("a.b", "a.b/1")] {
            assert!(is_taken(task, subject), "{subject}");
        }
        for (task, subject) in [
            ("a", "a/../../x"),
            ("a", "a/"),
            ("a", "b"),
            ("a", "ab"),
            ("..", ".."),
            (".", "./0"),
            ("a/b", "a/b"),
            ("a\n", "a\n"),
            ("", ""),
        ] {
            assert!(!is_taken(task, subject), "{subject}");
        }
    }
}
