//! The inputs of judging: the state at a cut, the configuration as judging wants it, and values
//! computed from both.

use crate::domain::atlas::judge::caches::Caches;
use crate::domain::atlas::judge::world::World;
use crate::domain::nordugrid::judge::targets::KeptTargets;
use crate::domain::own::judge::kept_view::KeptView;
use crate::event::Task;
use crate::judge::inputs::Inputs;
use crate::policy::{Domain, DomainCommand, DomainFacts, DomainView};
use crate::state::State;
use crate::state::record::RequestState;

/// The configuration as judging wants it, with its caches. Derived from the state.
#[derive(Default)]
pub struct Grid {
    world: World,
    caches: Caches,
    inputs: Inputs,
    targets: KeptTargets,
    domain: KeptView,
}

/// All that judging reads at a cut.
#[derive(Clone, Copy)]
pub struct CutView<'a> {
    /// The state at the cut.
    pub state: &'a State,
    /// The configuration.
    pub world: &'a World,
    /// Values that were computed already.
    pub(crate) caches: &'a Caches,
    /// Requests whose input lies where records say.
    pub(crate) inputs: &'a Inputs,
    /// Facts about targets; empty if no policy judges targets.
    pub(crate) targets: &'a KeptTargets,
    /// Facts of a domain that a program brings, if a policy is of one.
    pub(crate) domain: Option<&'a dyn DomainView>,
}

impl Grid {
    /// Brings everything up to date with a cut that was just closed, by what the state notes as
    /// touched; with `everything`, all of it is made again. `domain`: that of a policy, if one is
    /// of a domain that a program brings.
    pub fn update(&mut self, state: &mut State, domain: Option<&Domain>, everything: bool) {
        let is_other = everything || state.touched.queues || state.touched.settings;
        self.domain.update(state, domain, everything);
        self.world.update(state, everything);
        self.inputs.update(state, everything);
        self.targets.update(state, everything);
        self.caches.begin_cut(state, is_other);
    }

    /// The configuration.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The inputs of judging at the state's cut. The state must be the one of the last update, or
    /// differ from it only by outputs that were folded since.
    pub fn view<'a>(&'a self, state: &'a State) -> CutView<'a> {
        let Grid { world, caches, inputs, targets, domain } = self;
        CutView { state, world, caches, inputs, targets, domain: domain.get() }
    }

    /// A decision on a single job was folded: what it takes at its target counts from now on.
    pub(crate) fn note_placed(&mut self, state: &State, subject: &str) {
        if state.setting.judges_targets {
            self.targets.put_job(state, subject);
        }
    }

    /// Whether facts of a domain that a program brings changed.
    pub(crate) fn has_domain_changed(&self) -> bool {
        self.domain.has_changed()
    }

    /// Commands that a domain asks for at the cut.
    pub(crate) fn domain_commands(&self, state: &State) -> Vec<DomainCommand> {
        let facts = DomainFacts::of(state);
        self.domain.get().map_or_else(Vec::new, |domain| domain.commands(facts))
    }

    /// A request was answered: what that changes for the domain counts from now on.
    pub(crate) fn note_answer(&mut self, state: &State, subject: &str) {
        self.domain.note_answer(state, subject);
    }

    /// A request has its final answer: nothing is known of its input any more.
    pub(crate) fn end_request(&mut self, subject: &str) {
        self.inputs.remove(subject);
    }
}

impl<'a> CutView<'a> {
    /// A request's task, with the places of its input by replica records where there are any.
    pub(crate) fn task_of(self, request: &'a RequestState) -> Option<&'a Task> {
        let task = request.task.as_ref()?;
        Some(self.inputs.of(&request.subject).unwrap_or(task))
    }
}
