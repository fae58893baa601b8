//! The jobs of a pool that got no slots, by what they lack of the offers at hand.

use super::PoolJudging;
use crate::domain::cms::judge::offers::live_offers;
use crate::domain::cms::policy::idle::reasons;
use crate::domain::cms::policy::pool::Pool;
use crate::id::Name;
use crate::judge::policies::Policies;
use crate::state::State;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A pool with its jobs that wait for slots.
pub struct IdleJobs<'a> {
    /// The pool as of the last cut, or else made of the state.
    pub pool: Cow<'a, Pool>,
    /// How many, by what is nearest to letting them go, or by why they are not looked at.
    pub by_reason: BTreeMap<&'static str, u64>,
    /// The same by workflow, of those that are looked at.
    pub by_workflow: BTreeMap<(Name, &'static str), u64>,
}

impl PoolJudging {
    /// The jobs that wait for slots; `None`: there is no pool.
    pub(crate) fn idle(&self, state: &State, policies: &Policies) -> Option<IdleJobs<'_>> {
        let (pool, blocked) = match self.view.pool() {
            Some(pool) => (Cow::Borrowed(pool), self.view.blocked()),
            None => {
                let view = self.view_of(state, policies);
                let blocked = view.blocked();
                (Cow::Owned(view.pool?), blocked)
            }
        };
        let by_workflow = reasons(&self.judges, &pool, &live_offers(state), state.now);
        let mut by_reason: BTreeMap<&'static str, u64> = BTreeMap::new();
        for ((_, reason), jobs) in &by_workflow {
            *by_reason.entry(reason).or_default() += jobs;
        }
        for (code, jobs) in blocked {
            *by_reason.entry(code).or_default() += jobs;
        }
        Some(IdleJobs { pool, by_reason, by_workflow })
    }

    /// How many jobs wait for slots. Where no cycle was judged all jobs are looked at.
    pub(crate) fn idle_jobs(&self, state: &State) -> u64 {
        let Some(pool) = self.view.pool() else {
            return state.idle_jobs().count() as u64;
        };
        let pending: usize = pool.clusters().iter().map(|cluster| cluster.len()).sum();
        pending as u64 + self.view.blocked().values().sum::<u64>()
    }
}
