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

/// By queue, the part of a chunk's input that it can read. Most queues can read none.
#[derive(Default)]
pub(crate) struct InputAvailabilities {
    /// By index of the queue: the place in `found`, from 1; 0: nothing lies there.
    places: Vec<u32>,
    found: Vec<Counted>,
}

/// A queue's part, with the last placement that was counted in it: on disk, and anywhere.
#[derive(Default)]
struct Counted {
    there: InputAvailability,
    last: [u32; 2],
}

impl InputAvailabilities {
    /// A queue's part.
    #[inline]
    pub(crate) fn of(&self, queue: u32) -> InputAvailability {
        let place = self.places.get(queue as usize).and_then(|place| place.checked_sub(1));
        place.map_or_else(InputAvailability::default, |at| self.found[at as usize].there)
    }

    fn entry(&mut self, queue: u32) -> &mut Counted {
        let place = &mut self.places[queue as usize];
        if *place == 0 {
            self.found.push(Counted::default());
            *place = self.found.len() as u32;
        }
        &mut self.found[*place as usize - 1]
    }
}

impl World {
    /// Per queue, what of a task's input lies there. Where the task states which files lie at which
    /// endpoints, each counts once; else the endpoint that holds most counts, since a file on two
    /// endpoints cannot be distinguished from two files.
    pub(crate) fn input_availability(
        &self,
        task: &Task,
        scope: Scope,
        partial: &PartialCopies,
    ) -> InputAvailabilities {
        let mut all = InputAvailabilities::default();
        if task.input.placements.is_empty() && task.replicas.is_empty() {
            return all;
        }
        all.places = vec![0; self.queues.len()];
        for replica in task.replicas.iter().filter(|_| task.input.placements.is_empty()) {
            for at in self.readers(&replica.endpoint, scope) {
                all.entry(*at).there.most(replica.bytes, replica.files, replica.tape);
            }
        }
        for (number, placement) in (1..).zip(&task.input.placements) {
            let (bytes, files) = (placement.bytes, placement.files);
            let counts = |it: &&String| partial.counts(placement.dataset, it);
            for endpoint in placement.endpoints.iter().filter(counts) {
                let tape = self.is_tape(endpoint);
                for at in self.readers(endpoint, scope) {
                    let Counted { there, last } = all.entry(*at);
                    if !tape && std::mem::replace(&mut last[0], number) != number {
                        there.add_on_disk(bytes, files);
                    }
                    if std::mem::replace(&mut last[1], number) != number {
                        there.add(bytes, files);
                    }
                }
            }
        }
        all
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
