//! Which records say where a dataset lies, and which requests name it. Derived from both.

use crate::event::{DataKind, Replica, Task, scoped};
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Names of records.
type Records = BTreeSet<Arc<str>>;

/// Replica records by dataset, file and age, and the subjects that name each dataset.
#[derive(Clone, Debug, Default)]
pub struct ReplicaIndex {
    /// By name of a dataset, without scope: the records of it, and those of files that name it.
    pub(super) by_dataset: BTreeMap<String, Records>,
    /// By file: the records of it. Some of them may not name its dataset.
    pub(super) by_file: BTreeMap<String, Records>,
    /// Records whose lifetime was not over yet when they were last looked at, oldest first.
    pub(super) by_age: BTreeSet<(Millis, Arc<str>)>,
    /// All records, in the order in which they go when there are too many.
    pub(super) by_rank: BTreeSet<(bool, Millis, Arc<str>)>,
    /// By name of a dataset, without scope: subjects of the requests that name it.
    pub(super) named: BTreeMap<String, BTreeSet<String>>,
    /// The cycle in which data that a request names last moved.
    pub moved_in: u64,
}

/// Where a record stands in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplicaPlace {
    pub(super) changed_at: Millis,
    /// Name of the dataset, without scope.
    pub(super) dataset: String,
    /// The file, if it is one.
    pub(super) file: Option<String>,
}

impl ReplicaPlace {
    pub(super) fn of(replica: &Replica) -> ReplicaPlace {
        let Replica { name, changed_at, kind, dataset, .. } = replica;
        let changed_at = *changed_at;
        match kind {
            DataKind::Dataset => {
                ReplicaPlace { changed_at, dataset: scoped(name).1.to_owned(), file: None }
            }
            DataKind::File => {
                let dataset = scoped(dataset).1.to_owned();
                ReplicaPlace { changed_at, dataset, file: Some(name.clone()) }
            }
        }
    }
}

/// The names, without scope, that the text of a request can mean: that after a scope, and if it
/// holds a colon, all of it.
pub(super) fn meanings(text: &str) -> impl Iterator<Item = &str> {
    let (scope, name) = scoped(text);
    [name].into_iter().chain((!scope.is_empty()).then_some(text))
}

/// Removes a record's name from those under a key.
fn take_out(all: &mut BTreeMap<String, Records>, key: &str, name: &str) {
    if let Some(records) = all.get_mut(key) {
        records.remove(name);
        if records.is_empty() {
            all.remove(key);
        }
    }
}

impl ReplicaIndex {
    pub(super) fn enter(&mut self, name: &str, place: &ReplicaPlace) {
        let name: Arc<str> = name.into();
        let ReplicaPlace { changed_at, dataset, file } = place;
        if let Some(file) = file {
            self.by_file.entry(file.clone()).or_default().insert(name.clone());
        }
        if !dataset.is_empty() {
            self.by_dataset.entry(dataset.clone()).or_default().insert(name.clone());
        }
        self.by_age.insert((*changed_at, name.clone()));
        self.by_rank.insert((file.is_none(), *changed_at, name));
    }

    pub(super) fn leave(&mut self, name: &str, place: &ReplicaPlace) {
        let ReplicaPlace { changed_at, dataset, file } = place;
        if let Some(file) = file {
            take_out(&mut self.by_file, file, name);
        }
        take_out(&mut self.by_dataset, dataset, name);
        let name: Arc<str> = name.into();
        self.by_age.remove(&(*changed_at, name.clone()));
        self.by_rank.remove(&(file.is_none(), *changed_at, name));
    }

    /// A request no longer names its datasets.
    pub(crate) fn leave_request(&mut self, task: &Task) {
        for dataset in task.input.datasets.iter().flat_map(|it| meanings(&it.name)) {
            if let Some(subjects) = self.named.get_mut(dataset) {
                subjects.remove(&task.subject);
                if subjects.is_empty() {
                    self.named.remove(dataset);
                }
            }
        }
    }

    /// Whether anything is known of where a dataset lies that a request calls so.
    pub(crate) fn knows(&self, text: &str) -> bool {
        meanings(text).any(|dataset| self.by_dataset.contains_key(dataset))
    }

    /// Subjects of the requests that name a dataset.
    pub(crate) fn subjects(&self, dataset: &str) -> impl Iterator<Item = &String> {
        self.named.get(dataset).into_iter().flatten()
    }
}
