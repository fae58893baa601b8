//! Global shares (spec atlas 10): the tree as published, which leaf a task belongs to, how much
//! of what runs each share has, and which is next.
//!
//! The tree is made of `share` facts, and those may hold anything. A node whose parents do not lead
//! to the root (one is not known, or they go in a circle) is left out and named. A value below 0
//! or not finite is 0. Where all siblings have 0 they get equal parts, so that the leaves always
//! add to 100.

mod balance;

pub use balance::{Balance, Hs06, ShareUse, Use, executing_and_queued, share_use};

use crate::event::Share;
use crate::event::is_newer;
use crate::math::pattern::Pattern;
use crate::state::State;
use std::collections::BTreeMap;

/// Value of the virtual root, and sum of the leaves.
pub const WHOLE: f64 = 100.0;

/// The leaf of event service merge jobs, whatever they match (spec atlas 10.1).
pub const EXPRESS: &str = "Express";

/// Text that stands for an absent working group in comparisons.
const NO_GROUP: &str = " ";

/// A node of the tree.
#[derive(Clone, Debug)]
pub struct ShareNode {
    /// Name.
    pub name: String,
    /// Its part of all, in the unit of [`WHOLE`].
    pub value: f64,
    /// Whether the job throttler applies to it.
    pub throttled: bool,
    /// Number of PanDA's work queue for it; 0 when it has none.
    pub queue_id: u64,
    /// Index of its parent; `None` below the root.
    pub parent: Option<usize>,
    /// Indices of its children, in tree order; none for a leaf.
    pub children: Vec<usize>,
    rules: Rules,
}

/// Expressions of a node: by trait, those that are set. One that is no pattern matches nothing.
#[derive(Clone, Debug)]
struct Rules([Option<Option<Pattern>>; 6]);

/// Properties of a task or job that the expressions are matched against. A property that is not
/// known (`None`) matches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits<'a> {
    /// Production source label.
    pub label: Option<&'a str>,
    /// Working group; `None` is compared as a single space.
    pub working_group: Option<&'a str>,
    /// Campaign.
    pub campaign: Option<&'a str>,
    /// Processing type.
    pub processing_type: Option<&'a str>,
    /// Path of the transformation.
    pub trans_path: Option<&'a str>,
    /// Resource type.
    pub resource_type: Option<&'a str>,
}

/// The tree: every node behind its parent, siblings in their order, so leaves in tree order.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    nodes: Vec<ShareNode>,
    roots: Vec<usize>,
    by_name: BTreeMap<String, usize>,
    /// Nodes whose parents do not lead to the root, by name.
    pub strays: Vec<String>,
    /// Expressions that are no pattern: node, field. Nothing matches them.
    pub unread: Vec<(String, &'static str)>,
}

impl Tree {
    /// The tree of the facts that hold.
    pub fn of(state: &State) -> Tree {
        let facts = state.facts.shares.iter();
        Tree::new(facts.filter_map(|(_, fact)| fact.current(is_newer)))
    }

    /// The tree of shares; of two with one name the first.
    pub fn new<'a>(shares: impl IntoIterator<Item = &'a Share>) -> Tree {
        let mut published: BTreeMap<&str, &Share> = BTreeMap::new();
        for share in shares {
            published.entry(&share.name).or_insert(share);
        }
        let mut children: BTreeMap<&str, Vec<&Share>> = BTreeMap::new();
        for share in published.values().filter(|share| !share.name.is_empty()) {
            children.entry(&share.parent).or_default().push(share);
        }
        for siblings in children.values_mut() {
            siblings.sort_by_key(|share| share.position);
        }
        let mut tree = Tree::default();
        let below_root = children.remove("").unwrap_or_default();
        let mut to_do: Vec<(Option<usize>, &Share)> =
            below_root.into_iter().rev().map(|share| (None, share)).collect();
        while let Some((parent, share)) = to_do.pop() {
            let index = tree.put(parent, share);
            let below = children.remove(share.name.as_str()).unwrap_or_default();
            to_do.extend(below.into_iter().rev().map(|share| (Some(index), share)));
        }
        let is_in = |name: &&&str| !tree.by_name.contains_key(**name);
        tree.strays = published.keys().filter(is_in).map(|name| (*name).to_owned()).collect();
        tree.normalise();
        tree
    }

    fn put(&mut self, parent: Option<usize>, share: &Share) -> usize {
        let index = self.nodes.len();
        let rules = self.rules(share);
        self.nodes.push(ShareNode {
            name: share.name.clone(),
            value: if share.value.is_finite() { share.value.max(0.0) } else { 0.0 },
            throttled: share.throttled,
            queue_id: share.queue_id,
            parent,
            children: Vec::new(),
            rules,
        });
        match parent {
            Some(parent) => self.nodes[parent].children.push(index),
            None => self.roots.push(index),
        }
        self.by_name.insert(share.name.clone(), index);
        index
    }

    fn rules(&mut self, share: &Share) -> Rules {
        let fields = [
            ("prodsourcelabel", &share.label),
            ("workinggroup", &share.working_group),
            ("campaign", &share.campaign),
            ("processingtype", &share.processing_type),
            ("transpath", &share.trans_path),
            ("rtype", &share.resource_type),
        ];
        Rules(fields.map(|(field, text)| {
            let pattern = Pattern::new(text.as_deref()?);
            if pattern.is_none() {
                self.unread.push((share.name.clone(), field));
            }
            Some(pattern)
        }))
    }

    /// Turns parts among siblings into parts of all, from the root down.
    fn normalise(&mut self) {
        let roots = self.roots.clone();
        self.divide(&roots, WHOLE);
        for index in 0..self.nodes.len() {
            let children = self.nodes[index].children.clone();
            self.divide(&children, self.nodes[index].value);
        }
    }

    fn divide(&mut self, siblings: &[usize], whole: f64) {
        let value = |index: &usize| self.nodes[*index].value;
        let largest = siblings.iter().map(value).fold(0.0, f64::max);
        let mut parts: Vec<f64> = siblings.iter().map(value).collect();
        let ratio = |parts: &[f64]| whole / parts.iter().sum::<f64>();
        if !(ratio(&parts).is_normal() || whole == 0.0) {
            // No sum of these, or none to divide by: taken relative to the largest.
            let part = |value: &f64| if largest > 0.0 { value / largest } else { 1.0 };
            parts = parts.iter().map(part).collect();
        }
        let ratio = if whole == 0.0 { 0.0 } else { ratio(&parts) };
        for (index, part) in siblings.iter().zip(parts) {
            self.nodes[*index].value = part * ratio;
        }
    }

    /// Every node, each behind its parent.
    pub fn nodes(&self) -> &[ShareNode] {
        &self.nodes
    }

    /// Indices of the nodes below the root, in tree order.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// The leaves in tree order.
    pub fn leaves(&self) -> impl Iterator<Item = &ShareNode> {
        self.nodes.iter().filter(|node| node.children.is_empty())
    }

    /// The index of a node.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The leaf of a name.
    pub fn leaf(&self, name: &str) -> Option<&ShareNode> {
        let node = &self.nodes[self.find(name)?];
        node.children.is_empty().then_some(node)
    }

    /// Whether the job throttler applies to a node.
    pub fn is_throttled(&self, name: &str) -> bool {
        self.find(name).is_some_and(|index| self.nodes[index].throttled)
    }

    /// The node below the root that a node is in, or is.
    pub fn level_1(&self, mut index: usize) -> usize {
        while let Some(parent) = self.nodes[index].parent {
            index = parent;
        }
        index
    }

    /// The leaf a task belongs to: the one it names if there is such a leaf, else the first that
    /// its traits match. `None`: no leaf takes it.
    pub fn tag(&self, named: &str, traits: &Traits<'_>) -> Option<&ShareNode> {
        self.leaf(named).or_else(|| self.leaves().find(|leaf| leaf.rules.take(traits)))
    }
}

impl Rules {
    fn take(&self, traits: &Traits<'_>) -> bool {
        let known = [
            traits.label,
            Some(traits.working_group.unwrap_or(NO_GROUP)),
            traits.campaign,
            traits.processing_type,
            traits.trans_path,
            traits.resource_type,
        ];
        self.0.iter().zip(known).all(|(rule, text)| match (rule, text) {
            (Some(Some(pattern)), Some(text)) => pattern.is_match_start(text),
            (Some(None), _) => false,
            (None, _) | (_, None) => true,
        })
    }
}

#[cfg(test)]
mod tests;
