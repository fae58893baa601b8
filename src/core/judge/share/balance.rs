//! Running power of each share, and the share that is next.

use super::{ShareNode, Tree, WHOLE};
use crate::event::Status;
use crate::event::is_newer;
use crate::id::Name;
use crate::state::State;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Executing or queued power of a share; HS06.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hs06 {
    /// Jobs sent to pilots and running.
    pub executing: f64,
    /// Jobs activated.
    pub queued: f64,
}

/// Present and target part of a leaf share in the running power.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareUse {
    /// The leaf.
    pub gshare: String,
    /// Its part of the running power, from 0 to 1.
    pub part: f64,
    /// Its part by the tree, from 0 to 1.
    pub target: f64,
}

/// Present and target part of each leaf share in the running power, in the order of the tree.
pub fn share_use(state: &State) -> Vec<ShareUse> {
    let (tree, power) = (Tree::of(state), executing_and_queued(state));
    let all: f64 = power.values().map(|power| power.executing).sum();
    let executing = |leaf: &str| power.get(leaf).map_or(0.0, |power| power.executing);
    let part = |leaf: &str| if all > 0.0 { executing(leaf) / all } else { 0.0 };
    let leaf = |leaf: &ShareNode| ShareUse {
        gshare: leaf.name.clone(),
        part: part(&leaf.name),
        target: leaf.value / WHOLE,
    };
    tree.leaves().map(leaf).collect()
}

/// By share: cores of its jobs times core power of their queues (spec atlas 10.2). One walk over
/// the counters of (queue, gshare, resource type).
///
/// Sums are whole milli-HS06, so their order does not matter. A queue that is not configured, or
/// whose core power is not set, adds nothing.
pub fn executing_and_queued(state: &State) -> BTreeMap<String, Hs06> {
    let mut sums: BTreeMap<Name, (u128, u128)> = BTreeMap::new();
    let powers = OnceCell::new();
    for (key, load) in state.ledger.load.iter() {
        let cores = |status: Status| u128::from(load.count.by[status.index()].cores);
        let executing = cores(Status::Sent) + cores(Status::Running);
        let queued = cores(Status::Activated);
        if executing + queued > 0 {
            let powers = powers.get_or_init(|| core_powers(state));
            let power = powers.get(key[0] as usize).copied().flatten().map_or(0, u128::from);
            let sum = sums.entry(Name(key[1])).or_default();
            sum.0 += executing * power;
            sum.1 += queued * power;
        }
    }
    let hs06 = |milli: u128| milli as f64 / 1_000.0;
    let named = sums.into_iter().map(|(name, (executing, queued))| {
        let sum = Hs06 { executing: hs06(executing), queued: hs06(queued) };
        (state.names.text(name).to_owned(), sum)
    });
    named.collect()
}

/// By number of its unified name, core power of each queue jobs are counted at; milli-HS06 per
/// core. Pseudo-queues of one queue are on the same nodes: the first by name stands for all.
fn core_powers(state: &State) -> Vec<Option<u32>> {
    let mut powers = Vec::new();
    for (_, fact) in state.facts.queues.iter() {
        let Some(queue) = fact.current(is_newer) else { continue };
        if let Some(name) = state.known_name(&queue.unified) {
            powers.resize(powers.len().max(name.index() + 1), None);
            powers[name.index()].get_or_insert(queue.core_power_mhs06);
        }
    }
    powers
}

/// How a node stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Use {
    /// Executing power of all its leaves; HS06.
    pub executing: f64,
    /// Queued power of all its leaves; HS06.
    pub queued: f64,
    /// Its due part of all power that executes now; HS06.
    pub pledged: f64,
}

impl Use {
    /// Executing of what is pledged; %. 999999 when nothing is, and at most (spec atlas 10.3).
    pub fn percent(&self) -> f64 {
        percent(self.executing, self.pledged)
    }

    /// Executing power per pledged power: siblings are ordered by it.
    fn ratio(&self) -> f64 {
        if self.pledged > 0.0 { (self.executing / self.pledged).min(LAST) } else { LAST }
    }
}

/// Ratio of a node to which nothing is pledged: behind all others.
const LAST: f64 = 1e6;

/// Usage of a share to which nothing is pledged, and the largest that is shown; %.
const WITHOUT_PLEDGE: f64 = 999_999.0;

/// A share that uses less of its target than this, and could not use it up, is idle.
const IDLE_BELOW: f64 = 0.85;

fn percent(executing: f64, pledged: f64) -> f64 {
    if pledged > 0.0 { (100.0 * executing / pledged).min(WITHOUT_PLEDGE) } else { WITHOUT_PLEDGE }
}

/// How all nodes of a tree stand.
#[derive(Clone, Debug, Default)]
pub struct Balance {
    /// By index of the node.
    pub uses: Vec<Use>,
}

impl Balance {
    /// Weighs what each leaf has against what it is due. Power of shares that are no leaves counts
    /// in what all have, and for no node.
    pub fn new(tree: &Tree, power: &BTreeMap<String, Hs06>) -> Balance {
        let all: f64 = power.values().map(|power| power.executing).sum();
        let mut uses: Vec<Use> = tree
            .nodes()
            .iter()
            .map(|node| match power.get(&node.name).filter(|_| node.children.is_empty()) {
                Some(power) => {
                    Use { executing: power.executing, queued: power.queued, pledged: 0.0 }
                }
                None => Use::default(),
            })
            .collect();
        for (index, node) in tree.nodes().iter().enumerate().rev() {
            if node.children.is_empty() {
                uses[index].pledged = node.value / WHOLE * all;
            }
            let Use { executing, queued, pledged } = uses[index];
            if let Some(parent) = node.parent {
                uses[parent].executing += executing;
                uses[parent].queued += queued;
                uses[parent].pledged += pledged;
            }
        }
        Balance { uses }
    }

    /// How a node stands; nothing for one that is not in the tree.
    pub fn of(&self, tree: &Tree, name: &str) -> Option<Use> {
        tree.find(name).and_then(|index| self.uses.get(index)).copied()
    }

    /// Leaves, the one that is furthest behind its due first: at every node children by executing
    /// of pledged, equals in tree order (spec atlas 10.3).
    pub fn order<'a>(&self, tree: &'a Tree) -> Vec<&'a str> {
        let by_need = |indices: &[usize]| {
            let mut indices = indices.to_vec();
            indices.sort_by(|one, other| {
                self.uses[*one].ratio().total_cmp(&self.uses[*other].ratio())
            });
            indices.into_iter().rev()
        };
        let mut order = Vec::new();
        let mut to_do: Vec<usize> = by_need(tree.roots()).collect();
        while let Some(index) = to_do.pop() {
            let node = &tree.nodes()[index];
            if node.children.is_empty() {
                order.push(node.name.as_str());
            }
            to_do.extend(by_need(&node.children));
        }
        order
    }

    /// Usage of a share once busy ones were given what idle ones leave; % (spec atlas 10.4). It is
    /// that of the node below the root that the share is in. `None`: the tree has no such share.
    pub fn equivalent_percent(&self, tree: &Tree, name: &str) -> Option<f64> {
        let own = tree.level_1(tree.find(name)?);
        let use_of = |index: usize| &self.uses[index];
        let likely = |it: &Use| it.pledged.min(it.executing.max(it.queued / 2.0));
        let is_idle = |it: &Use| {
            it.pledged > 0.0 && it.executing / it.pledged < IDLE_BELOW && likely(it) < it.pledged
        };
        let (mut left, mut busy) = (0.0, 1.0);
        for it in tree.roots().iter().map(|index| use_of(*index)) {
            left += it.pledged - likely(it);
            if !is_idle(it) {
                busy += it.pledged;
            }
        }
        let it = use_of(own);
        let target = if is_idle(it) { it.pledged } else { it.pledged + left * it.pledged / busy };
        Some(percent(it.executing, target))
    }
}
