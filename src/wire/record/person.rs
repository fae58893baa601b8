//! Where a record names a person.

use crate::avro::{Cursor, Fault};
use std::ops::Range;
use yardmaster_core::cut::Topic;

/// A person that a record names.
pub(crate) struct Person<'a> {
    /// Where the string lies in the datum, its length included; bytes.
    pub at: Range<usize>,
    /// The name.
    pub name: &'a str,
}

/// The person that a datum of a topic's current schema names; `None` if it names none, or cannot be
/// read so far. The fields before the name are those of the topic's `read`.
#[inline]
pub(crate) fn person(topic: Topic, datum: &[u8]) -> Option<Person<'_>> {
    let mut at = Cursor::new(datum);
    let is_there = match topic {
        Topic::JobState => before_job_user(&mut at).map(|()| true),
        Topic::Task => before_task_user(&mut at).map(|()| true),
        // A user is the first kind, a group the second.
        Topic::User | Topic::Quota => at.index().map(|kind| kind == 0),
        Topic::UserShare => texts(&mut at, 1).map(|()| true),
        Topic::Grant => before_principal(&mut at).and_then(|()| at.index()).map(|kind| kind == 0),
        _ => return None,
    };
    let from = datum.len() - at.rest().len();
    let name = match is_there {
        Ok(true) => at.string().ok()?,
        Ok(false) | Err(_) => return None,
    };
    let until = datum.len() - at.rest().len();
    (!name.is_empty()).then_some(Person { at: from..until, name })
}

fn before_job_user(at: &mut Cursor<'_>) -> Result<(), Fault> {
    // Job; status, change, revision, attempt; task, request, queue.
    at.bytes()?;
    longs(at, 4)?;
    texts(at, 3)
}

fn before_task_user(at: &mut Cursor<'_>) -> Result<(), Fault> {
    // Subject; attempt; task, domain, policy.
    at.bytes()?;
    longs(at, 1)?;
    texts(at, 3)?;
    // Phase, two times, revision, chunk, jobs, two priorities.
    longs(at, 8)?;
    // Label, processing type, working group, campaign, path.
    texts(at, 5)
}

fn before_principal(at: &mut Cursor<'_>) -> Result<(), Fault> {
    // Name; change.
    texts(at, 1)?;
    longs(at, 1)
}

fn longs(at: &mut Cursor<'_>, count: usize) -> Result<(), Fault> {
    (0..count).try_for_each(|_| at.long().map(|_| ()))
}

fn texts(at: &mut Cursor<'_>, count: usize) -> Result<(), Fault> {
    (0..count).try_for_each(|_| at.bytes().map(|_| ()))
}
