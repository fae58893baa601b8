//! A pool's policy with what it judges by: one cycle from its cut to its decisions.

mod idle;
mod why;

pub use idle::IdleJobs;

use super::{PoolCut, PoolView};
use crate::budget::Exceeded;
use crate::domain::cms::policy::cut::Step;
use crate::domain::cms::policy::decision::PoolAction;
use crate::domain::cms::policy::judge::{Explained, MatchRules};
use crate::domain::cms::policy::look::Look;
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::policy::settings::Settings;
use crate::judge::notes::time_notes;
use crate::judge::policies::Policies;
use crate::output::decision::Decision;
use crate::policy::Policy;
use crate::state::State;

/// The policy that answers offers, with its settings, its view of the pool and the answers left.
pub(crate) struct PoolJudging {
    /// Which of the policies it is.
    at: usize,
    pub(super) judges: MatchRules,
    pub(super) settings: Settings,
    pub(super) view: PoolView,
    cut: PoolCut,
    exceeded: Exceeded,
}

/// The policy that answers offers, ready to judge.
pub(super) struct OfferPolicy<'a> {
    pub(super) policy: &'a Policy,
    pub(super) judges: &'a MatchRules,
}

impl PoolJudging {
    /// That of the first policy that answers slot offers; `None`: there is none.
    pub(crate) fn of(policies: &Policies) -> Option<PoolJudging> {
        let at = policies.all().iter().position(|policy| policy.flavour.judges_offers())?;
        let policy = policies.at(at);
        Some(PoolJudging {
            at,
            judges: policy.job_judges(),
            settings: policy.pool_settings(&policy.unchanged()),
            view: PoolView::default(),
            cut: PoolCut::default(),
            exceeded: Exceeded::default(),
        })
    }

    /// Its policy.
    pub(super) fn policy<'a>(&self, policies: &'a Policies) -> &'a Policy {
        policies.at(self.at)
    }

    /// Whether a decision is one of its policy.
    pub(crate) fn made(&self, policies: &Policies, decision: &Decision) -> bool {
        policies.at(self.at).spec.name == decision.policy
    }

    /// Takes up what changed, or everything, and begins a cycle.
    pub(crate) fn begin_cut(&mut self, state: &mut State, policies: &Policies, everything: bool) {
        let policy = policies.at(self.at);
        let resolved = policy.resolve(&|component, key| state.parameter(component, key), "");
        let mut notes = resolved.notes.clone();
        self.settings = policy.pool_settings(&resolved);
        if everything {
            self.cut = PoolCut::default();
        }
        self.view.begin_cut(state, &self.settings, everything);
        notes.extend(time_notes(state));
        self.cut.begin(state, &self.view, policy, notes);
    }

    /// Forgets what is derived.
    pub(crate) fn forget(&mut self) {
        (self.view, self.cut) = (PoolView::default(), PoolCut::default());
    }

    /// Whether a bound ended the cycle with work left.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.cut.is_cut_off()
    }

    /// The next decision of the cycle, not folded yet. `number` is its number within the cycle.
    pub(crate) fn next(
        &mut self,
        state: &State,
        policies: &Policies,
        number: u32,
    ) -> Option<Decision> {
        let PoolJudging { judges, view, cut, exceeded, .. } = self;
        let policy = policies.at(self.at);
        let with = OfferPolicy { policy, judges };
        let decision = cut.next(state, view, &with, number);
        if decision.is_none() {
            cut.note_exceeded(exceeded);
        }
        decision
    }

    /// Follows what a published output changed.
    pub(crate) fn note_output(&mut self, state: &mut State) {
        self.view.note_output(state);
    }

    /// Actions take effect whose commands are published later in the cycle.
    pub(crate) fn apply(&mut self, actions: &[PoolAction]) {
        self.view.apply(actions);
    }

    /// The pool; `None` before the first cycle.
    pub(crate) fn pool(&self) -> Option<&Pool> {
        self.view.pool()
    }

    /// Every job before an offer; `None`: it is not known.
    pub(crate) fn explain(&self, state: &State, offer: &str) -> Option<Explained> {
        let offer = state.pool.offers.of(offer)?;
        Some(self.judges.explain(&Look::new(self.view.pool()?, offer, state.now)))
    }

    /// Actions that are wanted in a step of the cut; see [`PoolView::actions`].
    pub(crate) fn actions(&mut self, state: &State, step: Step) -> Vec<PoolAction> {
        self.view.actions(state, &self.judges, step, &mut self.exceeded)
    }

    /// Which budgets left work, since this was last asked.
    pub(crate) fn take_exceeded(&mut self) -> Exceeded {
        std::mem::take(&mut self.exceeded)
    }
}
