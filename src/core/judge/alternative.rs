//! Rules beside those of a log: what they would answer at a cut that the log's own rules made. They
//! read the same state; nothing that they answer has an effect on it.

use crate::domain::cms::judge::PoolJudging;
use crate::judge::policies::Policies;
use crate::policy::Policy;
use crate::state::State;

/// A second set of rules with its own policies and its own view of the pool.
pub(crate) struct AlternativeRules {
    /// Policies that answer requests.
    pub(crate) policies: Policies,
    /// Judges slot offers, if a policy answers them.
    pub(crate) pool: Option<PoolJudging>,
}

impl AlternativeRules {
    /// Makes these policies ready.
    pub(crate) fn new(policies: Vec<Policy>) -> AlternativeRules {
        let policies = Policies::new(policies);
        AlternativeRules { pool: PoolJudging::of(&policies), policies }
    }

    /// Takes up what changed, or everything, and leaves the notes of that for the log's own rules.
    /// `is_configured`: a queue, a site or a parameter changed.
    pub(crate) fn begin_cut(&mut self, state: &mut State, is_configured: bool, is_cold: bool) {
        if is_configured {
            self.policies.reset();
        }
        let Some(pool) = &mut self.pool else { return };
        let (facts, touched) = (state.touched.facts.clone(), state.pool.touched.clone());
        pool.begin_cut(state, &self.policies, is_cold);
        (state.touched.facts, state.pool.touched) = (facts, touched);
    }

    /// Follows what a published output changed, and leaves the notes of that likewise.
    pub(crate) fn note_output(&mut self, state: &mut State) {
        let Some(pool) = &mut self.pool else { return };
        let touched = state.pool.touched.clone();
        pool.note_output(state);
        state.pool.touched = touched;
    }

    /// Forgets what is derived.
    pub(crate) fn forget(&mut self) {
        if let Some(pool) = &mut self.pool {
            pool.forget();
        }
    }
}
