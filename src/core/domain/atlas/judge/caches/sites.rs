//! Ranks and classes of sites.

use super::census::Census;
use crate::domain::atlas::judge::world::World;
use crate::domain::atlas::policy::SiteRules;
use crate::domain::atlas::policy::site::Rank;
use crate::id::Name;
use crate::state::State;
use crate::unit::Millis;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Ranks of sites by some rules, seen from a moment.
pub(crate) struct RankedSites {
    /// The rules they are made by.
    pub(crate) rules: SiteRules,
    /// The moment they are seen from, and how often waits had changed.
    pub(crate) made_of: (Millis, u64),
    /// By unified name of a queue.
    pub(crate) ranks: BTreeMap<Name, Rank>,
}

/// Classes of sites by some rules at a cut.
pub(crate) struct SiteClasses {
    /// The rules they are made by.
    pub(crate) rules: SiteRules,
    /// By index of the queue.
    classes: Vec<i8>,
    census: OnceLock<Census>,
}

impl SiteClasses {
    /// By some rules; `classes`: by index of the queue.
    pub(crate) fn new(rules: SiteRules, classes: Vec<i8>) -> SiteClasses {
        SiteClasses { rules, classes, census: OnceLock::new() }
    }

    /// Class of the site of a queue, by its index.
    pub(crate) fn class(&self, queue: u32) -> i8 {
        self.classes.get(queue as usize).copied().unwrap_or(0)
    }

    /// Running cores of each user on the whole grid by the classes of their sites, and jobs of each
    /// share. Sites off the grid do not count, and one that is not known is mid.
    pub(crate) fn census(&self, state: &State, world: &World) -> &Census {
        self.census.get_or_init(|| {
            let mut by_name = vec![0; state.names.len()];
            for (view, class) in world.queues.iter().zip(&self.classes) {
                by_name[view.unified.index()] = if view.queue.is_grid() { *class } else { -1 };
            }
            Census::of(state, |queue| by_name[queue.index()])
        })
    }
}
