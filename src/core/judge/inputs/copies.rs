//! The copies of one dataset, joined from what a request states and what records say.

use crate::event::{DataKind, Dataset, DatasetReplica, Location, Replica, ReplicaState, Task};
use crate::state::State;
use crate::unit::{Bytes, Millis};
use std::collections::{BTreeMap, BTreeSet};

/// The copies of one dataset by endpoint.
pub(super) struct Copies {
    /// Endpoints that hold some of it, in order of their names.
    pub(super) replicas: Vec<DatasetReplica>,
    /// Endpoints of which a record says something that the request does not know.
    moved: BTreeSet<String>,
    tape: BTreeSet<String>,
}

impl Copies {
    /// Endpoints of which records say something.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = &str> {
        self.moved.iter().map(String::as_str)
    }

    /// Of those, the ones that hold all of it.
    pub(super) fn whole(&self) -> impl Iterator<Item = &str> {
        let is_whole = |it: &&DatasetReplica| it.files > 0 && it.files >= it.files_total;
        let whole = self.replicas.iter().filter(is_whole).map(|it| it.endpoint.as_str());
        whole.filter(|endpoint| self.moved.contains(*endpoint))
    }

    /// Whether records say that an endpoint holds none of it.
    pub(super) fn is_gone(&self, endpoint: &str) -> bool {
        self.moved.contains(endpoint) && self.replicas.iter().all(|it| it.endpoint != endpoint)
    }

    /// Whether records say that an endpoint is tape.
    pub(super) fn is_on_tape(&self, endpoint: &str) -> bool {
        self.tape.contains(endpoint)
    }
}

/// Files and bytes at an endpoint, before files that came or went since.
#[derive(Clone, Copy, Default)]
struct Base {
    at: Millis,
    files: u64,
    bytes: Bytes,
    is_whole: bool,
    is_virtual: bool,
}

impl Base {
    fn of(at: Millis, location: &Location) -> Base {
        let Location { files, bytes, complete, state, .. } = *location;
        match state {
            ReplicaState::Available => {
                Base { at, files, bytes, is_whole: complete, is_virtual: false }
            }
            ReplicaState::Copying | ReplicaState::Unavailable => Base { at, ..Base::default() },
        }
    }

    /// That it was called whole before a file of the dataset was lost.
    fn lacks_a_file(&self, lost_at: Millis) -> bool {
        self.is_whole && self.at < lost_at
    }
}

/// Files that came (or went, below 0) since, and their size.
#[derive(Clone, Copy, Default)]
struct Since {
    files: i64,
    bytes: i64,
}

/// Where a dataset lies; `None` if no record counts.
pub(super) fn copies(state: &State, task: &Task, dataset: &Dataset) -> Option<Copies> {
    let lifetime = state.setting.limits.replica_lifetime_ms;
    let since = task.asked_at.saturating_sub(lifetime);
    let is_stated = !dataset.replicas.is_empty();
    let counts = |replica: &&Replica| {
        replica.changed_at >= since && (!is_stated || replica.changed_at > task.changed_at)
    };
    let records = state.replicas_of(&dataset.name).into_iter();
    let records: Vec<&Replica> = records.filter(counts).collect();
    if records.is_empty() {
        return None;
    }
    let (mut own, files): (Vec<&Replica>, Vec<&Replica>) =
        records.iter().partition(|replica| replica.kind == DataKind::Dataset);
    let losses = own.extract_if(.., |replica| replica.endpoint == Replica::ANYWHERE);
    let lost_at = losses.map(|loss| loss.changed_at).max().unwrap_or(Millis::MIN);
    let list = own.iter().filter(|it| it.endpoint.is_empty()).max_by_key(|it| it.changed_at);
    let (listed_at, mut bases) = match list {
        Some(list) => (list.changed_at, listed(list)),
        None if is_stated => (task.changed_at, stated(task.changed_at, dataset)),
        None => (Millis::MIN, BTreeMap::new()),
    };
    let mut moved: BTreeSet<String> = match list {
        Some(_) => dataset.replicas.iter().map(|it| it.endpoint.clone()).collect(),
        None => BTreeSet::new(),
    };
    if list.is_some() {
        moved.extend(bases.keys().cloned());
    }
    for record in own.iter().filter(|it| !it.endpoint.is_empty() && it.changed_at >= listed_at) {
        let here = record.locations.iter().find(|it| it.endpoint == record.endpoint);
        let gone = Base { at: record.changed_at, ..Base::default() };
        let base = here.map_or(gone, |location| Base::of(record.changed_at, location));
        bases.insert(record.endpoint.clone(), base);
        moved.insert(record.endpoint.clone());
    }
    let came = files_since(&files, listed_at, &bases);
    moved.extend(came.keys().cloned());
    let lacking = bases.iter().filter(|(_, base)| base.lacks_a_file(lost_at));
    moved.extend(lacking.map(|(at, _)| at.clone()));
    for endpoint in came.keys() {
        bases.entry(endpoint.clone()).or_default();
    }
    let locations = records.iter().flat_map(|replica| &replica.locations);
    let tape = locations.filter(|location| location.tape).map(|it| it.endpoint.clone());
    let newest = own.iter().max_by_key(|it| it.changed_at);
    let replicas = joined(dataset, newest.copied(), &bases, &came, lost_at);
    Some(Copies { replicas, moved, tape: tape.collect() })
}

fn listed(list: &Replica) -> BTreeMap<String, Base> {
    let base =
        |location: &Location| (location.endpoint.clone(), Base::of(list.changed_at, location));
    list.locations.iter().map(base).collect()
}

/// Copies of a dataset as a request states them, by endpoint.
fn stated(at: Millis, dataset: &Dataset) -> BTreeMap<String, Base> {
    let base = |replica: &DatasetReplica| {
        let DatasetReplica { files, bytes, files_total, is_virtual, .. } = *replica;
        let is_whole = files > 0 && files == files_total;
        (replica.endpoint.clone(), Base { at, files, bytes, is_whole, is_virtual })
    };
    dataset.replicas.iter().map(base).collect()
}

/// Per endpoint the files that came or went after what is known of the whole dataset there. Of a
/// file the newest record counts; of a file that went, it was there before.
fn files_since(
    records: &[&Replica],
    listed_at: Millis,
    bases: &BTreeMap<String, Base>,
) -> BTreeMap<String, Since> {
    // By endpoint and file: when it changed, whether it is there, its size.
    let mut newest: BTreeMap<(&str, &str), (Millis, bool, Bytes)> = BTreeMap::new();
    let mut note = |endpoint, file, found: (Millis, bool, Bytes)| {
        let held = newest.entry((endpoint, file)).or_insert(found);
        *held = (*held).max(found);
    };
    for record in records {
        let (file, at) = (record.name.as_str(), record.changed_at);
        for location in &record.locations {
            let is_there = location.state == ReplicaState::Available;
            let bytes = record.bytes.max(location.bytes);
            note(location.endpoint.as_str(), file, (at, is_there, bytes));
        }
        let is_gone = record.locations.iter().all(|it| it.endpoint != record.endpoint);
        if !record.endpoint.is_empty() && is_gone {
            note(record.endpoint.as_str(), file, (at, false, record.bytes));
        }
    }
    let mut since: BTreeMap<String, Since> = BTreeMap::new();
    for ((endpoint, _), (at, is_there, bytes)) in newest {
        if at <= bases.get(endpoint).map_or(listed_at, |base| base.at) {
            continue;
        }
        let held = since.entry(endpoint.to_owned()).or_default();
        let (sign, bytes) = (if is_there { 1 } else { -1 }, i64::try_from(bytes).unwrap_or(0));
        held.files = held.files.saturating_add(sign);
        held.bytes = held.bytes.saturating_add(sign * bytes);
    }
    since
}

/// The copies that hold something. `lost_at`: when a file was last lost; a copy that was whole
/// before lacks it.
fn joined(
    dataset: &Dataset,
    record: Option<&Replica>,
    bases: &BTreeMap<String, Base>,
    came: &BTreeMap<String, Since>,
    lost_at: Millis,
) -> Vec<DatasetReplica> {
    let since = |endpoint: &String| came.get(endpoint).copied().unwrap_or_default();
    let most = bases.iter().map(|(at, base)| base.files.saturating_add_signed(since(at).files));
    let most = most.max().unwrap_or(0);
    // Where nobody states how many files there are, only what is called whole is.
    let unknown = if bases.values().any(|base| base.is_whole) { most } else { most + 1 };
    let all = [dataset.files, record.map_or(0, |record| record.files)];
    let all = all.into_iter().find(|files| *files > 0).unwrap_or(unknown).max(1);
    let size = [dataset.bytes, record.map_or(0, |record| record.bytes)];
    let size = size.into_iter().find(|bytes| *bytes > 0).unwrap_or(0);
    let copy = |(endpoint, base): (&String, &Base)| {
        let since = since(endpoint);
        let (files, bytes) = match base.is_whole {
            true => (all, if base.bytes > 0 { base.bytes } else { size }),
            false => (base.files, base.bytes),
        };
        let lacks = base.lacks_a_file(lost_at) && since.files >= 0;
        let files = files.saturating_add_signed(since.files).min(all) - u64::from(lacks);
        let bytes = bytes.saturating_add_signed(since.bytes);
        let bytes = if size > 0 { bytes.min(size) } else { bytes };
        let is_virtual = base.is_virtual;
        (files > 0).then(|| DatasetReplica {
            endpoint: endpoint.clone(),
            files,
            bytes,
            files_total: all,
            is_virtual,
        })
    };
    bases.iter().filter_map(copy).collect()
}
