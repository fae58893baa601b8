//! `replica`: where a file or a dataset lies.

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::record::{record, symbols};
use crate::unit::{Bytes, Millis};

/// The kind of thing that is located. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DataKind {
    /// A file.
    #[default]
    File = 0,
    /// A dataset.
    Dataset = 1,
}

/// Whether a copy can be read. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ReplicaState {
    /// It can be read.
    #[default]
    Available = 0,
    /// It is being made.
    Copying = 1,
    /// It cannot be read now.
    Unavailable = 2,
}

/// A copy, whole or in part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Location {
    /// Storage endpoint, or the name of the cluster whose cache it is.
    pub endpoint: String,
    /// Files there; of a whole copy it need not be stated.
    pub files: u64,
    /// Their size.
    pub bytes: Bytes,
    /// Whether all of it is there.
    pub complete: bool,
    /// Whether the endpoint is tape.
    pub tape: bool,
    /// Whether it is a cache: the copy may go at any time.
    pub cache: bool,
    /// Whether it can be read; a copy that cannot counts as none.
    pub state: ReplicaState,
}

/// Where a file or a dataset lies: all of its copies, or what one endpoint has of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replica {
    /// Name, scope first: `scope:name`.
    pub name: String,
    /// When this was last changed.
    pub changed_at: Millis,
    /// The kind of thing that is located.
    pub kind: DataKind,
    /// Dataset a file belongs to; empty for a dataset, or when not known.
    pub dataset: String,
    /// Size of all of it; 0: not known.
    pub bytes: Bytes,
    /// Files of all of it; 0: not known.
    pub files: u64,
    /// Checksum of a file.
    pub checksum: String,
    /// Its copies; empty when there is none.
    pub locations: Vec<Location>,
    /// The one endpoint that the record is about: without a location there, nothing is there.
    /// Empty: the record lists every copy, and elsewhere there is none. [`Replica::ANYWHERE`]: a
    /// file of the dataset was lost, so that no copy that was known before is whole.
    pub endpoint: String,
}

impl Replica {
    /// Stands for every endpoint.
    pub const ANYWHERE: &str = "*";
}

symbols!(DataKind: [File, Dataset]);
symbols!(ReplicaState: [Available, Copying, Unavailable]);
record!(Location { endpoint, files, bytes, complete, tape, cache, state });
record!(Replica { name, changed_at, kind, dataset, bytes, files, checksum, locations, endpoint });

/// Scope and name of a dataset or file, which together are its identity, of `scope:name`. The name
/// may hold colons, a scope holds none; it is empty where none is stated.
pub fn scoped(identity: &str) -> (&str, &str) {
    identity.split_once(':').unwrap_or(("", identity))
}

/// The scope that a name has by convention: its first word, of users and groups the first two.
pub fn usual_scope(name: &str) -> &str {
    let words = if name.starts_with("user") || name.starts_with("group") { 2 } else { 1 };
    let end = name.match_indices('.').nth(words - 1).map_or(name.len(), |(at, _)| at);
    &name[..end]
}

impl Configured for Replica {
    const IS_KEY_A_FIELD: bool = false;

    fn name(&self) -> String {
        match self.endpoint.as_str() {
            "" => self.name.clone(),
            endpoint => format!("{}|{endpoint}", self.name),
        }
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Replica {
        Replica { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        let endpoints = self.locations.iter().map(|location| location.endpoint.as_str());
        longest!(self: name, dataset, endpoint).or_in("locations", endpoints)
    }

    fn touches(&self) -> Touches {
        Touches::Locations
    }

    fn removed(_: &str) -> Touches {
        Touches::Locations
    }
}
