//! States of PanDA's jobs and tasks, whichever way they come.

use yardmaster_core::event::Status;

/// Task states after which JEDI asks for no brokerage, unless the task is retried.
const ENDED: [&str; 8] =
    ["done", "finished", "failed", "aborted", "broken", "tobroken", "exhausted", "passed"];
/// State of co-jumbo jobs, placeholders that no queue gets.
const WAITING: &str = "waiting";

/// Whether JEDI asks for no brokerage of a task in a state.
pub(super) fn is_task_ended(word: &str) -> bool {
    ENDED.contains(&word)
}

/// The state of a job; `None` for one that has no counterpart here. `place`: where the word stands.
///
/// # Errors
/// PanDA has no such state; names the place.
pub(crate) fn job_status(place: &str, word: &str) -> Result<Option<Status>, String> {
    match Status::from_name(word) {
        None if word == WAITING => Ok(None),
        None => Err(format!("{place}: found {word:?}, wants a state of a PanDA job")),
        known => Ok(known),
    }
}
