//! What judging reads: the state at a cut, the configuration as judging wants it, and what was
//! found out of both.

use crate::core::judge::caches::Caches;
use crate::core::judge::world::World;
use crate::core::state::State;

/// The configuration as judging wants it, with its caches. Derived from the state.
#[derive(Default)]
pub struct Grid {
    world: World,
    caches: Caches,
}

/// All that judging reads at a cut.
#[derive(Clone, Copy)]
pub struct CutView<'a> {
    /// What is known at the cut.
    pub state: &'a State,
    /// The configuration.
    pub world: &'a World,
    /// What was found out already.
    pub(in crate::core) caches: &'a Caches,
}

impl Grid {
    /// Brings everything up to date with a cut that was just closed, by what the state notes as
    /// touched; with `everything`, all of it is made again.
    pub fn update(&mut self, state: &mut State, everything: bool) {
        let is_other = everything || state.touched.queues || state.touched.settings;
        self.world.update(state, everything);
        self.caches.begin_cut(state, is_other);
    }

    /// The configuration.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// What judging reads. The state must be the one of the last update, or differ from it only by
    /// outputs that were folded since.
    pub fn view<'a>(&'a self, state: &'a State) -> CutView<'a> {
        CutView { state, world: &self.world, caches: &self.caches }
    }
}
