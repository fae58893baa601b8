//! When what filters read last changed, per queue and nucleus: a waiting request is evaluated again
//! only where that was after its last evaluation.

use crate::domain::atlas::judge::world::World;
use crate::id::Name;
use crate::policy::{Policy, Reads};
use crate::request::waiting::{Blocker, QueueBlockers};
use crate::state::State;
use crate::unit::Millis;
use std::collections::{BTreeMap, BTreeSet};

/// Kinds of what filters read, one bit each.
pub(crate) type Kinds = u8;

/// Objections that may disappear by the passing of time alone.
pub(crate) const TIME: Kinds = 1 << 5;

fn bit(reads: Reads) -> Kinds {
    match reads {
        Reads::Load => 1,
        Reads::Pilot => 1 << 1,
        Reads::Link => 1 << 2,
        Reads::Nucleus => 1 << 3,
        Reads::Storage => 1 << 4,
        Reads::Work => 1 << 6,
    }
}

/// By the index of a filter, the kinds of facts that decide whether a queue or nucleus that it
/// blocks stays blocked: those that the filter reads, and, behind a filter that sees all
/// candidates, those that the filters before it read. If one of them began to object, that filter
/// would see other candidates, and others might pass.
pub(crate) fn kinds(policy: &Policy) -> Vec<Kinds> {
    let of = |at| policy.reads(at).iter().fold(0, |all, reads| all | bit(*reads));
    let (mut before, mut before_joint) = (0, 0);
    let with = |at| {
        let kinds = of(at) | before_joint;
        before |= of(at);
        if policy.is_joint(at) {
            before_joint = before;
        }
        kinds
    };
    (0..policy.filter_count()).map(with).collect()
}

/// Per kind the cycle of the newest change: of load, pilots and link of one queue or nucleus.
type Cycles = [u64; 3];

/// Cycles of the newest changes since the configuration changed.
#[derive(Default)]
pub(crate) struct TouchLog {
    /// By index of the queue.
    queues: Vec<Cycles>,
    /// By index of the nucleus: those of its queues.
    nuclei: Vec<Cycles>,
    nucleus_at: BTreeMap<String, u32>,
    nucleus_names: Vec<Option<Name>>,
    /// By index of the nucleus: work that remains there.
    work: Vec<u64>,
    /// Links into a nucleus.
    into: BTreeMap<Name, u64>,
    storage: u64,
    /// Changes since a cycle; made again in each cycle.
    since: BTreeMap<u64, Vec<(u32, Kinds)>>,
}

impl TouchLog {
    /// Begins again with the queues and nuclei there are.
    pub(crate) fn begin(&mut self, world: &World) {
        *self = TouchLog::default();
        self.queues = vec![Cycles::default(); world.queues.len()];
        for view in world.nuclei.iter().chain(&world.satellites) {
            self.nucleus_at.insert(view.name.clone(), self.nuclei.len() as u32);
            self.nuclei.push(Cycles::default());
            self.nucleus_names.push(None);
            self.work.push(0);
        }
    }

    /// Notes what was touched in the cycle that was just closed; `worked` are nuclei whose work
    /// changed.
    pub(crate) fn note(&mut self, state: &State, world: &World, worked: &BTreeSet<Box<str>>) {
        let (touched, cycle) = (&state.touched, state.number);
        for nucleus in worked {
            let at = self.nucleus(nucleus);
            if let Some(held) = self.work.get_mut(at as usize) {
                *held = cycle;
            }
        }
        self.since.clear();
        let sets = [&touched.load, &touched.pilot, &touched.from];
        let is_any = sets.iter().any(|names| !names.is_empty());
        let queues = if is_any { &world.queues[..] } else { &[] };
        for (view, cycles) in queues.iter().zip(&mut self.queues) {
            let now = [
                touched.load.has(view.unified),
                touched.pilot.has(view.unified),
                touched.from.has(view.storage_site),
            ];
            for (held, is_touched) in cycles.iter_mut().zip(now) {
                *held = if is_touched { cycle } else { *held };
            }
        }
        let views = world.nuclei.iter().chain(&world.satellites);
        for (at, view) in views.enumerate() {
            let (Some(cycles), Some(name)) =
                (self.nuclei.get_mut(at), self.nucleus_names.get_mut(at))
            else {
                continue;
            };
            *name = name.or_else(|| state.known_name(&view.name));
            for queue in &view.queues {
                for (held, new) in cycles.iter_mut().zip(self.queues[*queue as usize]) {
                    *held = new.max(*held);
                }
            }
        }
        self.into.extend(touched.into.iter().map(|name| (name, cycle)));
        self.storage = if touched.storage { cycle } else { self.storage };
    }

    /// The index of a nucleus.
    pub(crate) fn nucleus(&self, name: &str) -> u32 {
        self.nucleus_at.get(name).copied().unwrap_or(u32::MAX)
    }

    /// Kinds of facts that may have changed of a nucleus after a cycle.
    pub(crate) fn of_nucleus(&self, at: u32, cycle: u64) -> Kinds {
        let Some(cycles) = self.nuclei.get(at as usize) else { return Kinds::MAX };
        let name = self.nucleus_names.get(at as usize).copied().flatten();
        let is_worked = self.work.get(at as usize).is_some_and(|at| *at > cycle);
        let work = if is_worked { bit(Reads::Work) } else { 0 };
        bits(cycles, cycle) | work | self.of_all(name, cycle)
    }

    /// Kinds of facts that changed after a cycle for all queues: links into a nucleus, storage.
    pub(crate) fn of_all(&self, nucleus: Option<Name>, cycle: u64) -> Kinds {
        let into = nucleus.and_then(|nucleus| self.into.get(&nucleus));
        let nucleus = if into.is_some_and(|at| *at > cycle) { bit(Reads::Nucleus) } else { 0 };
        nucleus | if self.storage > cycle { bit(Reads::Storage) } else { 0 }
    }

    /// The queues of which something changed after a cycle.
    fn since(&mut self, cycle: u64) -> &[(u32, Kinds)] {
        let queues = &self.queues;
        self.since.entry(cycle).or_insert_with(|| {
            let all = (0..).zip(queues).map(|(at, cycles)| (at, bits(cycles, cycle)));
            all.filter(|(_, kinds)| *kinds != 0).collect()
        })
    }

    /// The queues whose blockers read something that changed after a cycle; `of_all` changed for
    /// all queues.
    pub(crate) fn stirred(
        &mut self,
        blockers: &QueueBlockers,
        reads: &[Kinds],
        cycle: u64,
        of_all: Kinds,
    ) -> Vec<u32> {
        let reads = |blocker: Blocker| {
            let kinds = reads.get(blocker.filter).copied().unwrap_or(Kinds::MAX);
            if blocker.expires { kinds | TIME } else { kinds }
        };
        let stirs = |queue: u32, changed: Kinds| {
            blockers.get(queue).is_some_and(|blocker| reads(blocker) & changed != 0)
        };
        if of_all == 0 {
            let changed = self.since(cycle).iter().filter(|(queue, kinds)| stirs(*queue, *kinds));
            return changed.map(|(queue, _)| *queue).collect();
        }
        let queues = &self.queues;
        let changed = |queue: u32| {
            let own = queues.get(queue as usize).map_or(Kinds::MAX, |it| bits(it, cycle));
            own | of_all
        };
        (0..blockers.len()).filter(|queue| stirs(*queue, changed(*queue))).collect()
    }
}

/// The kinds that changed after a cycle.
fn bits(cycles: &Cycles, cycle: u64) -> Kinds {
    let kinds = [Reads::Load, Reads::Pilot, Reads::Link];
    let changed = cycles.iter().zip(kinds).filter(|(at, _)| **at > cycle);
    changed.fold(0, |all, (_, kind)| all | bit(kind))
}

/// Whether storage endpoints are among some kinds.
pub(crate) fn has_storage(kinds: Kinds) -> bool {
    kinds & bit(Reads::Storage) != 0
}

/// The time kind, if a moment has come.
pub(crate) fn time_bit(recheck_at: Option<Millis>, now: Millis) -> Kinds {
    if recheck_at.is_some_and(|at| at <= now) { TIME } else { 0 }
}
