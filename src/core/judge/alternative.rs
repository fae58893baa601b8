//! Rules beside those of a log: what they would answer at a cut that the log's own rules made. They
//! read the same state, but for configuration records that are supposed to be others; nothing that
//! they answer has an effect on it.

use crate::domain::cms::judge::PoolJudging;
use crate::judge::policies::Policies;
use crate::judge::view::Grid;
use crate::output::Output;
use crate::policy::Policy;
use crate::state::supposed::Supposed;
use crate::state::{State, Touched};

/// A second set of rules with its own policies and its own view of the pool.
pub(crate) struct AlternativeRules {
    /// Policies that answer requests.
    pub(crate) policies: Policies,
    /// Judges slot offers, if a policy answers them.
    pub(crate) pool: Option<PoolJudging>,
    /// Configuration records that are supposed to be others.
    pub(crate) supposed: Vec<Supposed>,
    /// The configuration as it is supposed to be, where any of it is.
    pub(crate) grid: Grid,
    is_begun: bool,
}

impl AlternativeRules {
    /// Makes these policies ready.
    pub(crate) fn new(policies: Vec<Policy>, supposed: Vec<Supposed>) -> AlternativeRules {
        let policies = Policies::new(policies);
        let (pool, grid) = (PoolJudging::of(&policies), Grid::default());
        AlternativeRules { pool, policies, supposed, grid, is_begun: false }
    }

    /// The notes that [`AlternativeRules::begin_cut`] takes, where it takes any of its own.
    pub(crate) fn touched(&self, state: &State) -> Option<Touched> {
        (!self.supposed.is_empty()).then(|| state.touched.clone())
    }

    /// Takes up what changed, or everything, and leaves the notes of that for the log's own rules.
    /// `is_configured`: a queue, a site or a parameter changed; `touched`: what the cut changed.
    pub(crate) fn begin_cut(
        &mut self,
        state: &mut State,
        touched: Option<Touched>,
        (is_configured, is_cold): (bool, bool),
    ) {
        let is_cold = !std::mem::replace(&mut self.is_begun, true) || is_cold;
        if is_configured || is_cold {
            self.policies.reset();
        }
        let held = state.suppose(&self.supposed);
        if let Some(touched) = touched {
            let kept = std::mem::replace(&mut state.touched, touched);
            self.grid.update(state, self.policies.domain(), is_cold);
            state.touched = kept;
        }
        if let Some(pool) = &mut self.pool {
            let (facts, touched) = (state.touched.facts.clone(), state.pool.touched.clone());
            pool.begin_cut(state, &self.policies, is_cold);
            (state.touched.facts, state.pool.touched) = (facts, touched);
        }
        state.end_supposing(held);
    }

    /// Follows what a published output changed, and leaves the notes of that likewise.
    pub(crate) fn note_output(&mut self, state: &mut State, output: &Output) {
        self.note_in_grid(state, output);
        let Some(pool) = &mut self.pool else { return };
        let touched = state.pool.touched.clone();
        pool.note_output(state);
        state.pool.touched = touched;
    }

    fn note_in_grid(&mut self, state: &State, output: &Output) {
        let Output::Decision(decision) = output else { return };
        if self.supposed.is_empty() || decision.answers_offer() {
            return;
        }
        self.grid.note_answer(state, &decision.subject);
        if decision.placed.is_some() {
            self.grid.note_placed(state, &decision.subject);
        }
        if decision.outcome.is_final() {
            self.grid.end_request(&decision.subject);
        }
    }

    /// Forgets what is derived.
    pub(crate) fn forget(&mut self) {
        self.is_begun = false;
        if let Some(pool) = &mut self.pool {
            pool.forget();
        }
    }
}
