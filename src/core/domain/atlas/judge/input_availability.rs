//! The part of a chunk's input that a queue can read where it lies.

use crate::domain::atlas::judge::partial_copies::PartialCopies;
use crate::domain::atlas::judge::world::World;
use crate::domain::atlas::policy::Source;
use crate::event::{Queue, Scope, Storage, Task};
use crate::unit::Bytes;

/// Bytes and files of a chunk's input that lie at endpoints which a queue reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputAvailability {
    /// On disk.
    pub disk_bytes: Bytes,
    /// See `disk_bytes`.
    pub disk_files: u32,
    /// On disk or tape.
    pub any_bytes: Bytes,
    /// See `any_bytes`.
    pub any_files: u32,
}

impl InputAvailability {
    fn add_on_disk(&mut self, bytes: Bytes, files: u32) {
        self.disk_bytes = self.disk_bytes.saturating_add(bytes);
        self.disk_files = self.disk_files.saturating_add(files);
    }

    fn add(&mut self, bytes: Bytes, files: u32) {
        self.any_bytes = self.any_bytes.saturating_add(bytes);
        self.any_files = self.any_files.saturating_add(files);
    }

    /// Takes what one endpoint holds when it is the most so far.
    fn most(&mut self, bytes: Bytes, files: u32, tape: bool) {
        let (b, f) = (bytes, files);
        if !tape {
            (self.disk_bytes, self.disk_files) = (self.disk_bytes, self.disk_files).max((b, f));
        }
        (self.any_bytes, self.any_files) = (self.any_bytes, self.any_files).max((b, f));
    }
}

impl World {
    /// Per queue, what of a task's input lies there; empty when it has none. Where the task states
    /// which files lie at which endpoints, each counts once; else the endpoint that holds most
    /// counts, since a file on two endpoints cannot be distinguished from two files.
    pub(crate) fn input_availability(
        &self,
        task: &Task,
        scope: Scope,
        partial: &PartialCopies,
    ) -> Vec<InputAvailability> {
        if task.input.placements.is_empty() && task.replicas.is_empty() {
            return Vec::new();
        }
        let mut input_availability = vec![InputAvailability::default(); self.queues.len()];
        for replica in task.replicas.iter().filter(|_| task.input.placements.is_empty()) {
            for at in self.readers(&replica.endpoint, scope) {
                input_availability[*at as usize].most(replica.bytes, replica.files, replica.tape);
            }
        }
        if task.input.placements.is_empty() {
            return input_availability;
        }
        // Per queue, the last placement that was counted on disk, and anywhere.
        let mut counted = vec![[0u32; 2]; self.queues.len()];
        for (number, placement) in (1..).zip(&task.input.placements) {
            let (bytes, files) = (placement.bytes, placement.files);
            let counts = |it: &&String| partial.counts(placement.dataset, it);
            for endpoint in placement.endpoints.iter().filter(counts) {
                let tape = self.is_tape(endpoint);
                for at in self.readers(endpoint, scope) {
                    let (there, counted) =
                        (&mut input_availability[*at as usize], &mut counted[*at as usize]);
                    if !tape && std::mem::replace(&mut counted[0], number) != number {
                        there.add_on_disk(bytes, files);
                    }
                    if std::mem::replace(&mut counted[1], number) != number {
                        there.add(bytes, files);
                    }
                }
            }
        }
        input_availability
    }

    /// Bytes and files of a task's input that one queue can read.
    pub(crate) fn there(
        &self,
        at: u32,
        task: &Task,
        scope: Scope,
        partial: &PartialCopies,
    ) -> InputAvailability {
        let queue: &Queue = &self.queues[at as usize].queue;
        let reads = |endpoint: &String| queue.reads(scope).contains(endpoint);
        let mut there = InputAvailability::default();
        for replica in task.replicas.iter().filter(|_| task.input.placements.is_empty()) {
            if reads(&replica.endpoint) {
                there.most(replica.bytes, replica.files, replica.tape);
            }
        }
        for placement in &task.input.placements {
            let counts = |it: &String| partial.counts(placement.dataset, it);
            let here = || placement.endpoints.iter().filter(|it| reads(it) && counts(it));
            let (bytes, files) = (placement.bytes, placement.files);
            if here().any(|endpoint| !self.is_tape(endpoint)) {
                there.add_on_disk(bytes, files);
            }
            if here().next().is_some() {
                there.add(bytes, files);
            }
        }
        there
    }

    fn is_tape(&self, endpoint: &str) -> bool {
        self.storage_named(endpoint).is_some_and(|storage| storage.tape)
    }

    /// By dataset of a task's input and by copy of it: how it may be read there.
    pub(crate) fn sources(&self, task: &Task) -> Vec<Vec<Source>> {
        let source = |endpoint: &str| {
            self.storage_named(endpoint).map_or(Source::UNKNOWN, |storage| Source {
                tape: storage.tape,
                lan: storage.read_lan,
                wan: storage.read_wan,
            })
        };
        let datasets = task.input.datasets.iter();
        datasets
            .map(|dataset| dataset.replicas.iter().map(|it| source(&it.endpoint)).collect())
            .collect()
    }

    /// Whether every dataset of the input has a copy at an endpoint that is open, or nothing is
    /// known that speaks against it (spec atlas F1).
    pub(crate) fn is_open(&self, task: &Task, open: impl Fn(&Storage) -> bool) -> bool {
        task.input.datasets.iter().all(|dataset| {
            let is_open = |endpoint: &str| self.storage_named(endpoint).is_none_or(&open);
            dataset.distributed
                || dataset.replicas.is_empty()
                || dataset.replicas.iter().any(|replica| is_open(&replica.endpoint))
        })
    }
}
