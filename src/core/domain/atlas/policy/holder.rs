//! Which queues hold the input of an analysis task (spec atlas 8.4). The verdict on one queue
//! depends on the others: whole copies are preferred to parts, disk to tape, stored to virtual.

use super::case::{Case, Preassigned};
use super::locality::{Enough, Holding, Locality, availability, gist};
use crate::event::{ChunkKind, Dataset, Queue};
use std::collections::{BTreeMap, BTreeSet};

/// Kind of a copy that a queue has at an endpoint.
#[derive(Clone, Copy)]
struct Copy {
    tape: bool,
    whole: bool,
    is_virtual: bool,
}

type Held = BTreeMap<String, Vec<Copy>>;

impl Locality {
    /// Looks at the queues of all candidates.
    pub fn new(case: &Case<'_>, queues: &[&Queue], enough: Enough) -> Locality {
        let datasets = datasets(case);
        let (held, named) = held(case, &datasets, queues);
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
            || options.scouts_due
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
        let names: BTreeSet<&String> = all.any.iter().chain(&disk.any).chain(&real.any).collect();
        let holding = |name: &String| Holding {
            kept: kept.contains(name),
            weight: weights.get(name).copied().unwrap_or(1.0),
            is_real: real_used.contains(name),
        };
        let entry = |name: &String| (gist(name), name.clone(), holding(name));
        self.holdings = names.into_iter().map(entry).collect();
        self.holdings.sort_by_key(|(gist, ..)| *gist);
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
    queues: &[&Queue],
) -> (Vec<Held>, BTreeSet<String>) {
    let mut held = vec![Held::new(); datasets.len()];
    let mut named = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let replicas = || datasets.iter().flat_map(|(_, dataset)| &dataset.replicas);
    // By these most queues that hold none are known without a comparison of names.
    let mut gists: Vec<u64> = replicas().map(|it| gist(&it.endpoint)).collect();
    gists.sort_unstable();
    let may_hold = |name: &String| gists.binary_search(&gist(name)).is_ok();
    for queue in queues {
        let site = case.task.site.as_str();
        if !site.is_empty() && (site == queue.unified || site == queue.name) {
            named.insert(queue.unified.clone());
        }
        let endpoints = queue.reads(case.scope);
        let holds_any = endpoints.iter().any(may_hold)
            && replicas().any(|replica| endpoints.contains(&replica.endpoint));
        // The parts of a unified queue read the same.
        if !holds_any || !seen.insert(queue.unified.as_str()) {
            continue;
        }
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

/// Sums over the datasets looked at so far.
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
