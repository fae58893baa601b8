//! Datasets that a task reads and writes: where they lie, where they are to go.

use crate::record::record;
use crate::unit::{Bytes, Millis};

/// The input of a chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Input {
    /// Its datasets, the primary one first; datasets of a container follow it.
    pub datasets: Vec<Dataset>,
    /// The chunk's files, those on the same endpoints taken together. Exact, where sums by endpoint
    /// cannot distinguish one file on two endpoints from two files.
    pub placements: Vec<FilePlacement>,
}

/// A dataset that is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// Name, without its scope.
    pub name: String,
    /// Container it is a part of; empty when it is none.
    pub container: String,
    /// Whether it is the primary one.
    pub primary: bool,
    /// Whether it stands for no data.
    pub pseudo: bool,
    /// Whether its files lie at several places on purpose, none of which has all.
    pub distributed: bool,
    /// Files of all of it.
    pub files: u64,
    /// Size of all of it.
    pub bytes: Bytes,
    /// When it was made; 0: not known.
    pub created_at: Millis,
    /// When it last changed; 0: not known.
    pub modified_at: Millis,
    /// Where it lies.
    pub replicas: Vec<DatasetReplica>,
}

/// A copy of a dataset, whole or in part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatasetReplica {
    /// Storage endpoint.
    pub endpoint: String,
    /// Files there.
    pub files: u64,
    /// Their size.
    pub bytes: Bytes,
    /// Files there would be in a whole copy.
    pub files_total: u64,
    /// Whether it is virtual: placed where it would be read from, not stored there.
    pub is_virtual: bool,
}

/// Files of the chunk that lie at the same endpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilePlacement {
    /// Their dataset, by its place in [`Input::datasets`].
    pub dataset: u32,
    /// How many.
    pub files: u32,
    /// Their size.
    pub bytes: Bytes,
    /// Where each of them lies.
    pub endpoints: Vec<String>,
}

/// A dataset that is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputDataset {
    /// Name.
    pub name: String,
    /// Whether it is the log.
    pub log: bool,
    /// Storage token (spec atlas 1.4).
    pub token: String,
}

record!(Input { datasets, placements });
record!(Dataset {
    name,
    container,
    primary,
    pseudo,
    distributed,
    files,
    bytes,
    created_at,
    modified_at,
    replicas,
});
record!(DatasetReplica { endpoint, files, bytes, files_total, is_virtual });
record!(FilePlacement { dataset, files, bytes, endpoints });
record!(OutputDataset { name, log, token });
