//! The tree of shares, and how shares stand.

use crate::judge::share::{Balance, Tree, executing_and_queued};
use crate::state::State;
use std::sync::OnceLock;

/// The tree of shares, and how shares stand at a cut.
#[derive(Default)]
pub(crate) struct Shares {
    tree: OnceLock<Tree>,
    balance: OnceLock<Balance>,
}

impl Shares {
    /// A new cut: the tree stays.
    pub(crate) fn begin_cut(&mut self) {
        self.balance = OnceLock::new();
    }

    /// The tree.
    pub(crate) fn tree(&self, state: &State) -> &Tree {
        self.tree.get_or_init(|| Tree::of(state))
    }

    /// The tree, and how shares stand at the cut.
    pub(crate) fn at(&self, state: &State) -> (&Tree, &Balance) {
        let tree = self.tree(state);
        let make = || Balance::new(tree, &executing_and_queued(state));
        (tree, self.balance.get_or_init(make))
    }
}
