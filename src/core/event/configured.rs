//! The common part of all configuration records.

use super::field_name::FieldName;
use crate::content::content_of;
use crate::output::throttle::SubjectKind;
use crate::record::Published;
use crate::unit::Millis;
use std::cmp::Ordering;

/// A kind of configuration record: a slowly changing fact under a name. Within a lane the newest
/// content since the last null holds; across lanes the newest of those, by `changed_at` and then by
/// content.
pub trait Configured: Clone + PartialEq + Published {
    /// Whether its name is one of its fields, not several joined.
    const IS_KEY_A_FIELD: bool = true;

    /// Its name: the record's key.
    fn name(&self) -> String;

    /// When it was last changed.
    fn changed_at(&self) -> Millis;

    /// Rank above its time in its order: of two, the higher one is newer. Below 0: it cannot be
    /// in force, and what was in force before stays.
    fn revision(&self) -> i64 {
        0
    }

    /// The same, changed at another time; ms since 1970.
    fn changed(&self, at: Millis) -> Self;

    /// Whether the last one that is written holds, whatever time it states.
    fn is_as_written(&self) -> bool {
        false
    }

    /// The longest name by which it refers to things.
    fn longest_name(&self) -> FieldName<'_>;

    /// The things to evaluate again when it changed.
    fn touches(&self) -> Touches;

    /// The same when the record of a name was removed.
    fn removed(name: &str) -> Touches;
}

/// Whether one record is newer than another: by its revision, its time, then by its content.
pub fn is_newer<T: Configured>(one: &T, other: &T) -> bool {
    let order = |record: &T| (record.revision(), record.changed_at());
    order(one).cmp(&order(other)).then_with(|| content_of(one).cmp(&content_of(other)))
        == Ordering::Greater
}

/// The thing that a changed configuration record is part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touches {
    /// The queues.
    Queues,
    /// Parameters, lists and targets are made of it.
    Settings,
    /// The storage endpoint of its name.
    Storage,
    /// The link of its name.
    Link,
    /// The figures of a user or working group.
    Owner(SubjectKind, String),
    /// The figures of all users and working groups.
    AllOwners,
    /// Where a file or a dataset lies.
    Locations,
    /// Where jobs may go: clusters, their queues, what is free there for users.
    Targets,
    /// Nothing that is decided by.
    Nothing,
}
