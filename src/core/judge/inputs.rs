//! Requests whose input lies where `replica` records say: brought up to date once a cycle, where a
//! request or a record changed.
//!
//! A request's list of a dataset's copies names all of them as of the request's own time. Newer
//! records count in its place, and any record within its lifetime where the request states none.

mod copies;

use crate::event::is_newer;
use crate::event::{Dataset, FilePlacement, ReplicaSummary, Task};
use crate::state::State;
use crate::state::admit::is_open;
use crate::state::record::RequestState;
use copies::{Copies, copies};
use std::collections::{BTreeMap, BTreeSet};

/// Open requests with the places of their input by `replica` records.
#[derive(Default)]
pub(crate) struct Inputs {
    /// By subject.
    known: BTreeMap<String, Known>,
}

/// A request with the places of its input by records.
#[derive(PartialEq)]
struct Known {
    task: Task,
    /// Datasets of which records say where they lie.
    by_records: usize,
    datasets: usize,
}

impl Inputs {
    /// Brings everything up to date with a cut that was just closed. Requests whose input moved
    /// count as touched, so they are evaluated again.
    pub(super) fn update(&mut self, state: &mut State, everything: bool) {
        let datasets = std::mem::take(&mut state.touched.datasets);
        let moved: BTreeSet<String> = match everything {
            true => {
                self.known.clear();
                state.requests.by_name.keys().cloned().collect()
            }
            false => {
                let subjects = datasets.iter().flat_map(|dataset| state.replicas.subjects(dataset));
                subjects.cloned().collect()
            }
        };
        let touched: Vec<String> = state.touched.subjects.iter().cloned().collect();
        for subject in touched.iter().chain(&moved) {
            let request = state.requests.of(subject);
            let known = request.and_then(|request| known(state, request));
            if self.known.get(subject) == known.as_ref() {
                continue;
            }
            match known {
                Some(known) => self.known.insert(subject.clone(), known),
                None => self.known.remove(subject),
            };
            state.touched.subjects.insert(subject.clone());
        }
    }

    /// Those of one request alone, at its present cut.
    pub(crate) fn of_one(state: &State, request: &RequestState) -> Inputs {
        let known = known(state, request).map(|known| (request.subject.clone(), known));
        Inputs { known: known.into_iter().collect() }
    }

    /// A request, if records say where its input lies.
    pub(super) fn of(&self, subject: &str) -> Option<&Task> {
        self.known.get(subject).map(|known| &known.task)
    }

    /// Nothing is known of a request any more.
    pub(super) fn remove(&mut self, subject: &str) {
        self.known.remove(subject);
    }

    /// Note of a decision that places of the input come from replica records instead of the
    /// request.
    pub(super) fn note(&self, subject: &str) -> Option<String> {
        let Known { by_records, datasets, .. } = self.known.get(subject)?;
        Some(format!("input_located({by_records} of {datasets} datasets by replica records)"))
    }
}

/// An open request with the places of its input; `None` if no record says anything of them.
fn known(state: &State, request: &RequestState) -> Option<Known> {
    let task = request.task.as_ref().filter(|_| is_open(request))?;
    let datasets = &task.input.datasets;
    if !datasets.iter().any(|dataset| state.replicas.knows(&dataset.name)) {
        return None;
    }
    let located: Vec<Option<Copies>> =
        datasets.iter().map(|dataset| copies(state, task, dataset)).collect();
    let by_records = located.iter().flatten().count();
    if by_records == 0 {
        return None;
    }
    let mut task = task.clone();
    for (dataset, copies) in task.input.datasets.iter_mut().zip(&located) {
        if let Some(copies) = copies {
            dataset.replicas = copies.replicas.clone();
        }
    }
    match task.input.placements.is_empty() {
        true => summarize(state, &mut task, &located),
        false => place(&mut task.input.placements, &located),
    }
    Some(Known { task, by_records, datasets: located.len() })
}

/// Which of the chunk's files lie where. A whole copy holds each of them and an empty place none.
/// Of a part it is not known which files it holds, so what the request states of it stands.
fn place(placements: &mut [FilePlacement], located: &[Option<Copies>]) {
    for placement in placements {
        let Some(Some(copies)) = located.get(placement.dataset as usize) else { continue };
        placement.endpoints.retain(|endpoint| !copies.is_gone(endpoint));
        for endpoint in copies.whole() {
            if !placement.endpoints.iter().any(|held| held == endpoint) {
                placement.endpoints.push(endpoint.to_owned());
            }
        }
    }
}

/// Sets the part of the chunk's input at each endpoint of which there are records: of a part of the
/// datasets the same part of the chunk.
fn summarize(state: &State, task: &mut Task, located: &[Option<Copies>]) {
    let is_read =
        |primary: bool| move |dataset: &&Dataset| !dataset.pseudo && (dataset.primary || !primary);
    let datasets = &task.input.datasets;
    let has_primary = datasets.iter().any(|dataset| is_read(true)(&dataset));
    let read: Vec<&Dataset> = datasets.iter().filter(is_read(has_primary)).collect();
    let total = |dataset: &Dataset| {
        let of_copies = dataset.replicas.iter().map(|replica| replica.files_total).max();
        dataset.files.max(of_copies.unwrap_or(0)).max(1)
    };
    let all: u64 = read.iter().fold(0, |sum, dataset| sum.saturating_add(total(dataset)));
    let moved: BTreeSet<&str> = located.iter().flatten().flat_map(Copies::endpoints).collect();
    let mut summaries: Vec<ReplicaSummary> = task.replicas.clone();
    summaries.retain(|summary| !moved.contains(summary.endpoint.as_str()));
    for endpoint in moved {
        let at = |dataset: &&Dataset| -> u64 {
            let here = dataset.replicas.iter().filter(|it| it.endpoint == endpoint);
            here.map(|it| it.files).sum::<u64>().min(total(dataset))
        };
        let files: u64 = read.iter().fold(0, |sum, dataset| sum.saturating_add(at(dataset)));
        if files == 0 {
            continue;
        }
        let part =
            |whole: u64| (u128::from(whole) * u128::from(files) / u128::from(all.max(1))) as u64;
        let storage = state.facts.storages.of(endpoint).and_then(|fact| fact.current(is_newer));
        let stated = located.iter().flatten().any(|copies| copies.is_on_tape(endpoint));
        summaries.push(ReplicaSummary {
            endpoint: endpoint.to_owned(),
            files: u32::try_from(part(u64::from(task.total_files))).unwrap_or(u32::MAX),
            bytes: part(task.total_bytes),
            tape: storage.map_or(stated, |storage| storage.tape),
        });
    }
    task.replicas = summaries;
}
