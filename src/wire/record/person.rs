//! Where a record names a person.

use crate::avro::Cursor;
use std::ops::Range;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{
    Grant, JobState, PrincipalKind, QuotaKind, Task, UserKind, UserShare,
};
use yardmaster_core::record::Decode;

/// A person that a record names.
pub(crate) struct Person<'a> {
    /// Where the string lies in the datum, its length included; bytes.
    pub at: Range<usize>,
    /// The name.
    pub name: &'a str,
}

/// The person that a datum of a topic's current schema names; `None` if it names none, or cannot be
/// read so far.
#[inline]
pub(crate) fn person(topic: Topic, datum: &[u8]) -> Option<Person<'_>> {
    let mut at = Cursor::new(datum);
    let is_there = match topic {
        Topic::JobState => JobState::skip_to("user", &mut at).map(|()| true),
        Topic::Task => Task::skip_to("user", &mut at).map(|()| true),
        Topic::UserShare => UserShare::skip_to("user", &mut at).map(|()| true),
        Topic::User => UserKind::decode(&mut at).map(|kind| kind == UserKind::User),
        Topic::Quota => QuotaKind::decode(&mut at).map(|kind| kind == QuotaKind::User),
        Topic::Grant => Grant::skip_to("principal_kind", &mut at)
            .and_then(|()| PrincipalKind::decode(&mut at))
            .map(|kind| kind == PrincipalKind::User),
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
