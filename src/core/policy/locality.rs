//! Which queues hold the input of an analysis task (spec atlas 8.4). What is said of one queue
//! hangs on the others: whole copies are preferred to parts, disk to tape, stored to virtual.

use super::{Candidate, Case, Preassigned};
use crate::core::event::{ChunkKind, Dataset, DatasetReplica};
use std::collections::{BTreeMap, BTreeSet};

/// How a place of a dataset's copy may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Whether it is tape.
    pub tape: bool,
    /// Whether it may be read over the LAN.
    pub lan: bool,
    /// Whether it may be read from afar.
    pub wan: bool,
}

impl Source {
    /// A place of which nothing is known: it is taken for disk that is in service.
    pub const UNKNOWN: Source = Source { tape: false, lan: true, wan: true };
}

/// What a copy must have to count as whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Enough {
    /// Files that may be missing.
    pub missing: f64,
    /// Part of the files that is enough; %.
    pub percent: f64,
}

impl Enough {
    fn is_met(&self, replica: &DatasetReplica) -> bool {
        let missing = replica.files_total.saturating_sub(replica.files) as f64;
        let part = replica.files as f64 / replica.files_total.max(1) as f64 * 100.0;
        replica.files == replica.files_total
            || replica.files > 0 && (missing <= self.missing || part >= self.percent)
    }
}

/// Where a dataset can be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Availability {
    /// Whole enough on disk that can be read.
    pub disk: bool,
    /// Whole on disk that can be read, nothing missing.
    pub whole_disk: bool,
    /// Whole enough on tape that can be read.
    pub tape: bool,
    /// Any part of it where it can be read from afar.
    pub remote: bool,
    /// Whole enough anywhere, readable or not.
    pub anywhere: bool,
}

/// Where a dataset can be had, by what is known of the places of its copies.
pub fn availability(dataset: &Dataset, sources: &[Source], enough: Enough) -> Availability {
    let mut found = Availability::default();
    for (at, replica) in dataset.replicas.iter().enumerate() {
        let source = sources.get(at).copied().unwrap_or(Source::UNKNOWN);
        if replica.is_virtual {
            continue;
        }
        found.remote |= source.wan;
        if !enough.is_met(replica) {
            continue;
        }
        found.anywhere = true;
        if !source.lan && !source.wan {
            continue;
        }
        let is_whole = replica.files == replica.files_total;
        found.disk |= !source.tape;
        found.whole_disk |= !source.tape && is_whole;
        found.tape |= source.tape;
    }
    found
}

/// What a queue holds of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Holding {
    /// Whether it is among the queues to be used.
    pub kept: bool,
    /// One for each dataset on disk, 0.001 for each on tape only.
    pub weight: f64,
    /// Whether it holds all of it, or some of it where no queue holds all, without virtual copies.
    pub is_real: bool,
}

/// Which queues hold the input, by unified name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Locality {
    holdings: BTreeMap<String, Holding>,
    /// Whether queues count that hold a part of the datasets, since none holds all.
    pub union: bool,
    /// Whether virtual placement is avoided for the sake of the input.
    pub avoid_virtual: bool,
    /// Whether a dataset is distributed: its files lie at several places on purpose.
    pub distributed: bool,
    /// Whether a dataset has no whole copy on disk.
    pub incomplete: bool,
}

/// What a queue has at an endpoint.
#[derive(Clone, Copy)]
struct Copy {
    tape: bool,
    whole: bool,
    is_virtual: bool,
}

type Held = BTreeMap<String, Vec<Copy>>;

impl Locality {
    /// What a queue holds.
    pub fn of(&self, unified: &str) -> Holding {
        self.holdings.get(unified).copied().unwrap_or_default()
    }

    /// How many queues are among those to be used.
    pub fn kept_count(&self) -> usize {
        self.holdings.values().filter(|holding| holding.kept).count()
    }

    /// Looks at all candidates.
    pub fn new(case: &Case<'_>, candidates: &[Candidate<'_>], enough: Enough) -> Locality {
        let datasets = datasets(case);
        let (held, named) = held(case, &datasets, candidates);
        let mut locality = Locality::default();
        let mut useless = Vec::new();
        for ((at, dataset), held) in datasets.iter().zip(&held) {
            let whole_somewhere = held.values().flatten().any(|copy| copy.whole);
            let is_distributed = !held.is_empty()
                && (!dataset.name.ends_with('/') && !whole_somewhere && dataset.distributed
                    || dataset.name.ends_with('/'));
            locality.distributed |= is_distributed;
            let sources = case.sources.get(*at).map_or(&[][..], Vec::as_slice);
            let is_partial = !availability(dataset, sources, enough).whole_disk;
            locality.incomplete |= is_partial;
            useless.push(is_distributed || is_partial);
        }
        let options = &case.task.options;
        let is_careful = case.task.chunk != ChunkKind::Normal
            || options.avoid_vp
            || case.task.use_local_io
            || locality.distributed;
        locality.avoid_virtual = case.task.chunk == ChunkKind::Merge || locality.distributed;
        let mut sums = Sums::default();
        for (held, partial) in held.iter().zip(useless) {
            sums.add(
                holders(held, true, true, partial),
                holders(held, false, !is_careful, partial),
                holders(held, true, false, partial),
            );
        }
        locality.choose(case, sums, &named);
        locality
    }

    /// Which of the holders are used.
    fn choose(&mut self, case: &Case<'_>, sums: Sums, named: &BTreeSet<String>) {
        let Sums { all, disk, real, weights, .. } = sums;
        let mut real_used = &real.all;
        let kept = if case.preassigned == Preassigned::One {
            let holds = |set: &BTreeSet<String>| named.iter().any(|name| set.contains(name));
            match (holds(&all.all), holds(&all.any)) {
                (true, _) => all.all.clone(),
                (false, true) => all.any.clone(),
                (false, false) => BTreeSet::new(),
            }
        } else if !disk.all.is_empty() {
            disk.all.clone()
        } else if !all.all.is_empty() {
            all.all.clone()
        } else {
            self.union = !all.any.is_empty();
            self.avoid_virtual |= self.union;
            real_used = &real.any;
            if disk.any.is_empty() { all.any.clone() } else { disk.any.clone() }
        };
        for name in all.any.iter().chain(&disk.any).chain(&real.any) {
            let holding = Holding {
                kept: kept.contains(name),
                weight: weights.get(name).copied().unwrap_or(1.0),
                is_real: real_used.contains(name),
            };
            self.holdings.insert(name.clone(), holding);
        }
    }
}

/// The datasets that are read, each with its place in the task's list.
fn datasets<'a>(case: &Case<'a>) -> Vec<(usize, &'a Dataset)> {
    let all = case.task.input.datasets.iter().enumerate();
    all.filter(|(_, it)| !it.pseudo && it.container.is_empty()).collect()
}

/// Whether a task reads any dataset.
pub fn reads_any(case: &Case<'_>) -> bool {
    case.task.input.datasets.iter().any(|it| !it.pseudo && it.container.is_empty())
}

/// By dataset, what each queue holds of it; and the queues the task names.
fn held(
    case: &Case<'_>,
    datasets: &[(usize, &Dataset)],
    candidates: &[Candidate<'_>],
) -> (Vec<Held>, BTreeSet<String>) {
    let mut held = vec![Held::new(); datasets.len()];
    let mut named = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for candidate in candidates {
        let queue = candidate.queue;
        if !seen.insert(queue.unified.as_str()) {
            continue;
        }
        let site = case.task.site.as_str();
        if site == queue.unified || site == queue.name {
            named.insert(queue.unified.clone());
        }
        let endpoints = queue.reads(case.scope);
        for ((at, dataset), held) in datasets.iter().zip(&mut held) {
            for (number, replica) in dataset.replicas.iter().enumerate() {
                if !endpoints.contains(&replica.endpoint) {
                    continue;
                }
                let source = case.sources.get(*at).and_then(|it| it.get(number));
                let copy = Copy {
                    tape: source.is_some_and(|source| source.tape),
                    whole: replica.files == replica.files_total,
                    is_virtual: replica.is_virtual,
                };
                held.entry(queue.unified.clone()).or_default().push(copy);
            }
        }
    }
    (held, named)
}

/// The queues that hold a dataset, whole if any holds it whole; parts count beside them only where
/// they may and no queue has a whole stored copy on disk. Virtual copies count for nothing as soon
/// as one has.
fn holders(held: &Held, with_tape: bool, with_virtual: bool, partial: bool) -> BTreeSet<String> {
    let (mut whole, mut part) = (BTreeSet::new(), BTreeSet::new());
    let mut is_stored = false;
    for (name, copies) in held {
        for copy in copies {
            if copy.is_virtual && !with_virtual || copy.tape && !with_tape {
                continue;
            }
            if copy.whole {
                whole.insert(name.clone());
                is_stored |= !copy.tape && !copy.is_virtual;
            } else {
                part.insert(name.clone());
            }
        }
    }
    if is_stored {
        let is_virtual = |name: &String| held[name].iter().any(|copy| copy.is_virtual);
        whole.retain(|name| !is_virtual(name));
        part.retain(|name| !is_virtual(name));
    }
    if whole.is_empty() {
        return part;
    }
    if partial && !is_stored {
        whole.append(&mut part);
    }
    whole
}

/// Queues that hold all datasets, and those that hold any.
#[derive(Default)]
struct Of {
    all: BTreeSet<String>,
    any: BTreeSet<String>,
}

impl Of {
    fn add(&mut self, holders: BTreeSet<String>, is_first: bool) {
        if is_first {
            self.all = holders.clone();
        } else {
            self.all.retain(|name| holders.contains(name));
        }
        self.any.extend(holders);
    }
}

/// What the datasets looked at so far come to.
#[derive(Default)]
struct Sums {
    all: Of,
    disk: Of,
    real: Of,
    weights: BTreeMap<String, f64>,
    begun: bool,
}

/// Weight of a dataset that is on tape only.
const TAPE: f64 = 0.001;

impl Sums {
    fn add(&mut self, all: BTreeSet<String>, disk: BTreeSet<String>, real: BTreeSet<String>) {
        let is_first = !std::mem::replace(&mut self.begun, true);
        for name in &all {
            let part = if disk.contains(name) { 1.0 } else { TAPE };
            *self.weights.entry(name.clone()).or_insert(0.0) += part;
        }
        self.all.add(all, is_first);
        self.disk.add(disk, is_first);
        self.real.add(real, is_first);
    }
}
