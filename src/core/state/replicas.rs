//! Where datasets lie: records are found by dataset, and forgotten.
//!
//! A record is forgotten `replica_lifetime_d` after it was last changed, or with the last request
//! that names its dataset if that is later; beyond `replicas_max` those of files go first, the
//! oldest before others. The order is one of content alone, so what is left does not depend on
//! when a process looked. Where targets are judged a record stands until it is removed or evicted,
//! however old it is: jobs name files, and the newest record of a file says where it is (spec
//! cms-nordugrid B.11).

use crate::cut::Topic;
use crate::event::is_newer;
use crate::event::{Configured, DataKind, Replica, Task, scoped, usual_scope};
use crate::oddity::Oddity;
use crate::state::State;
use crate::state::replica_index::{ReplicaIndex, ReplicaPlace, meanings};
use crate::unit::Millis;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The scope of the dataset that a record is of.
fn dataset_scope(replica: &Replica) -> &str {
    let dataset = match replica.kind {
        DataKind::Dataset => &replica.name,
        DataKind::File => &replica.dataset,
    };
    scoped(dataset).0
}

impl State {
    /// The record of a name that holds.
    fn replica(&self, name: &str) -> Option<&Replica> {
        self.facts.replicas.of(name)?.current(is_newer)
    }

    /// The records that say where a dataset lies, in order of their names: its own, those of its
    /// files, and those of its files that do not name it. `text`: as a request calls it, with or
    /// without scope.
    pub(crate) fn replicas_of(&self, text: &str) -> Vec<&Replica> {
        let (scope, name) = scoped(text);
        let mut own = match scope {
            "" => Vec::new(),
            scope => self.replicas_in(name, |found| found == scope),
        };
        if own.is_empty() {
            let scope = self.scope_meant(text);
            own = self.replicas_in(text, |found| Some(found) == scope);
        }
        self.with_silent_files(own)
    }

    /// Records of datasets and of their files, and those of the same files that name no dataset, in
    /// order of their names.
    fn with_silent_files<'a>(&'a self, own: Vec<(&'a Arc<str>, &'a Replica)>) -> Vec<&'a Replica> {
        let index = &self.replicas;
        let mut names: BTreeSet<&Arc<str>> = own.iter().map(|(name, _)| *name).collect();
        for (_, replica) in own {
            if replica.kind == DataKind::File {
                let others = index.by_file.get(&replica.name).into_iter().flatten();
                let is_silent = |name: &&Arc<str>| {
                    self.replica(name).is_some_and(|other| other.dataset.is_empty())
                };
                names.extend(others.filter(is_silent));
            }
        }
        names.into_iter().filter_map(|name| self.replica(name)).collect()
    }

    /// The records of a dataset and of its files, by its name without scope, of the scopes that are
    /// taken and of those that state none.
    fn replicas_in(&self, name: &str, takes: impl Fn(&str) -> bool) -> Vec<(&Arc<str>, &Replica)> {
        let records = self.replicas.by_dataset.get(name).into_iter().flatten();
        let found = records.filter_map(|name| Some((name, self.replica(name)?)));
        let is_taken = |scope: &str| scope.is_empty() || takes(scope);
        found.filter(|(_, replica)| is_taken(dataset_scope(replica))).collect()
    }

    /// The scope of a name that is stated without: the only one that there is, or of several that
    /// which it has by convention.
    fn scope_meant<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let records = self.replicas.by_dataset.get(name).into_iter().flatten();
        let found = records.filter_map(|name| self.replica(name)).map(dataset_scope);
        let scopes: BTreeSet<&str> = found.filter(|scope| !scope.is_empty()).collect();
        match scopes.len() {
            0 | 1 => scopes.first().copied(),
            _ => Some(usual_scope(name)),
        }
    }

    /// Where a record stands before it changes.
    pub(crate) fn begin_replica(&self, name: &str) -> Option<ReplicaPlace> {
        self.replica(name).map(ReplicaPlace::of)
    }

    /// Brings the index up to date with a record that changed, was added or was removed.
    pub(crate) fn end_replica(&mut self, name: &str, before: Option<ReplicaPlace>) {
        let after = self.replica(name).map(ReplicaPlace::of);
        for place in [&before, &after].into_iter().flatten() {
            self.touch_datasets(place);
        }
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.replicas.leave(name, &before);
        }
        if let Some(after) = after {
            self.replicas.enter(name, &after);
            self.touch_datasets(&after);
        }
    }

    /// Notes that it changed where the data of a record lies.
    fn touch_datasets(&mut self, place: &ReplicaPlace) {
        let datasets = self.datasets_of(place);
        self.touched.datasets.extend(datasets);
    }

    /// The datasets that a record counts for.
    fn datasets_of(&self, place: &ReplicaPlace) -> BTreeSet<String> {
        match (&place.file, place.dataset.as_str()) {
            (Some(file), "") => {
                let records = self.replicas.by_file.get(file).into_iter().flatten();
                let named = records.filter_map(|name| self.replica(name));
                let named = named.map(|replica| scoped(&replica.dataset).1);
                named.filter(|dataset| !dataset.is_empty()).map(str::to_owned).collect()
            }
            (_, dataset) => BTreeSet::from([dataset.to_owned()]),
        }
    }

    /// Notes which datasets the request of a subject names.
    pub(crate) fn name_datasets(&mut self, subject: &str) {
        let task = self.requests.of(subject).and_then(|request| request.task.as_ref());
        let datasets = task.into_iter().flat_map(|task| &task.input.datasets);
        for name in datasets.flat_map(|dataset| meanings(&dataset.name)) {
            let subjects = self.replicas.named.entry(name.to_owned());
            subjects.or_default().insert(subject.to_owned());
        }
    }

    /// A request is forgotten: so are the records that it alone kept.
    pub(crate) fn leave_datasets(&mut self, task: &Task) {
        self.replicas.leave_request(task);
        // Of every scope: what a request may have meant was kept for it (`is_named`).
        for name in task.input.datasets.iter().flat_map(|dataset| meanings(&dataset.name)) {
            let names = self.with_silent_files(self.replicas_in(name, |_| true)).into_iter();
            let over: Vec<(Millis, Arc<str>)> = names
                .filter(|replica| self.is_over(replica.changed_at))
                .map(|replica| (replica.changed_at, replica.name()))
                .map(|(at, name)| (at, name.into()))
                .collect();
            // They are looked at with all others whose lifetime is over.
            self.replicas.by_age.extend(over);
        }
    }

    fn is_over(&self, changed_at: Millis) -> bool {
        let lifetime = self.setting.limits.replica_lifetime_ms;
        changed_at.saturating_add(lifetime) <= self.times.of(Topic::Replica).time
    }

    /// Forgets what is too old and named by no request, and what is too much.
    pub(super) fn forget_replicas(&mut self) {
        if !self.setting.judges_targets {
            self.forget_old_replicas();
        }
        while self.facts.replicas.len() > self.setting.limits.replicas_max {
            let Some((_, _, name)) = self.replicas.by_rank.first().cloned() else { break };
            self.forget_replica(&name);
            self.oddities.count(Topic::Replica, Oddity::Evicted);
        }
        let index = &self.replicas;
        if self.touched.datasets.iter().any(|dataset| index.named.contains_key(dataset)) {
            self.replicas.moved_in = self.number;
        }
    }

    fn forget_old_replicas(&mut self) {
        while let Some((at, name)) = self.replicas.by_age.first().cloned() {
            if !self.is_over(at) {
                break;
            }
            self.replicas.by_age.pop_first();
            if !self.is_named(&name) {
                self.forget_replica(&name);
            }
        }
    }

    /// Whether a request that is remembered names the dataset of a record, and asked before the
    /// record's lifetime was over.
    fn is_named(&self, name: &str) -> bool {
        let Some(place) = self.begin_replica(name) else { return false };
        let until = place.changed_at.saturating_add(self.setting.limits.replica_lifetime_ms);
        let asked_in_time = |subject: &String| {
            let task = self.requests.of(subject).and_then(|request| request.task.as_ref());
            task.is_some_and(|task| task.asked_at <= until)
        };
        let datasets = self.datasets_of(&place);
        datasets.iter().any(|dataset| self.replicas.subjects(dataset).any(asked_in_time))
    }

    fn forget_replica(&mut self, name: &str) {
        let before = self.begin_replica(name);
        self.facts.replicas.remove(name);
        self.end_replica(name, before);
        if self.setting.judges_targets {
            self.touched.facts.insert((Topic::Replica, name.to_owned()));
        }
    }

    /// Makes the index from the records and the requests.
    pub fn settle_replicas(&mut self) {
        self.replicas = ReplicaIndex::default();
        let facts = self.facts.replicas.iter();
        let places: Vec<(String, ReplicaPlace)> = facts
            .filter_map(|(name, fact)| {
                Some((name.to_owned(), ReplicaPlace::of(fact.current(is_newer)?)))
            })
            .collect();
        places.iter().for_each(|(name, place)| self.replicas.enter(name, place));
        let subjects: Vec<String> = self.requests.by_name.keys().cloned().collect();
        subjects.iter().for_each(|subject| self.name_datasets(subject));
    }
}
