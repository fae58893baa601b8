//! What of a pool is answered in a cycle: refused jobs, then each live offer until it is full or
//! nothing fits (A.5).

use super::answer::Answers;
use super::judging::OfferPolicy;
use super::{PoolView, facts, now_s};
use crate::judge::size::bytes_of;
use crate::output::decision::Decision;
use crate::policy::cms::cut::{in_order, next};
use crate::policy::cms::pool::Pool;
use crate::state::State;
use crate::state::pool::PoolOffer;
use crate::unit::Millis;
use std::collections::{BTreeMap, VecDeque};

/// What is left of a cycle.
#[derive(Default)]
pub(super) struct PoolCut {
    refused: VecDeque<(String, &'static str)>,
    offers: VecDeque<String>,
    /// Offers that nothing fitted, with the number of changes at that look: they are not looked at
    /// again before something changed that could let a job fit. Time alone lets only overflow begin
    /// (C-41); of an offer's own time ever less is left.
    looked: BTreeMap<String, u64>,
    answered: usize,
    bytes: usize,
    notes: Vec<String>,
    is_cut_off: bool,
}

impl PoolCut {
    /// Begins a cycle: which jobs are refused, and which offers are live, in the order in which
    /// they are served (C-17).
    pub(super) fn begin(
        &mut self,
        state: &State,
        view: &PoolView,
        defer: Millis,
        notes: Vec<String>,
    ) {
        let refused = view.refused.iter();
        self.refused = refused.map(|(job, code)| (job.clone(), *code)).collect();
        self.offers = VecDeque::new();
        (self.answered, self.bytes, self.is_cut_off) = (0, 0, false);
        self.notes = notes;
        let Some(pool) = view.pool() else { return };
        let overflow_may_begin = view.overflow_may_begin();
        self.looked.retain(|offer, _| {
            state.pool.offers.of(offer).is_some() && !view.renewed.contains(offer)
        });
        let live: Vec<_> = state
            .pool
            .offers
            .iter()
            .map(|(_, known)| known)
            .filter(|known| known.is_live(state.now) && known.cores_left() > 0)
            .filter(|known| {
                let is_idle = self.looked.get(&known.offer.offer) == Some(&view.changes);
                !is_idle || overflow_may_begin || is_deferred_again(known, defer, state.now)
            })
            .map(|known| facts::offer(known, state.now).offer)
            .collect();
        let ordered = in_order(pool, &live, now_s(state));
        self.offers = ordered.into_iter().map(|offer| offer.offer).collect();
    }

    /// Whether a bound ended the cycle with work left.
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// The next decision, not folded yet; `None`: the cycle has no more. `number` is its number
    /// within the cycle.
    pub(super) fn next(
        &mut self,
        state: &State,
        view: &PoolView,
        with: &OfferPolicy<'_>,
        number: u32,
    ) -> Option<Decision> {
        let pool = view.pool()?;
        let limits = &state.setting.limits;
        if self.answered >= limits.judgements_per_cycle
            || self.bytes >= limits.decision_bytes_per_cycle
        {
            self.is_cut_off |= !self.refused.is_empty() || !self.offers.is_empty();
            return None;
        }
        let (policy, settings) = (with.policy, with.settings);
        let notes = std::mem::take(&mut self.notes);
        let answers = Answers { state, policy, settings, pool, notes: &notes };
        let decision = self.refusal(&answers, number);
        let decision = decision.or_else(|| self.serve(&answers, view, pool, with, number));
        self.notes = notes;
        if let Some(decision) = &decision {
            self.answered += 1;
            self.bytes = self.bytes.saturating_add(bytes_of(decision));
        }
        decision
    }

    fn refusal(&mut self, answers: &Answers<'_>, number: u32) -> Option<Decision> {
        while let Some((job, code)) = self.refused.pop_front() {
            let known = answers.state.pool.jobs.of(&job);
            if let Some(known) = known.filter(|known| known.waits()) {
                return Some(answers.refusal(known, code, number));
            }
        }
        None
    }

    fn serve(
        &mut self,
        answers: &Answers<'_>,
        view: &PoolView,
        pool: &Pool,
        with: &OfferPolicy<'_>,
        number: u32,
    ) -> Option<Decision> {
        let state = answers.state;
        while let Some(offer) = self.offers.front() {
            let known = state.pool.offers.of(offer);
            let is_shown = |known: &PoolOffer| with.policy.spec.dry_run && known.answers > 0;
            let Some(known) = known.filter(|it| it.cores_left() > 0 && !is_shown(it)) else {
                self.offers.pop_front();
                continue;
            };
            let open = facts::offer(known, state.now);
            let (found, refusals) = next(with.judges, pool, &open, now_s(state));
            if let Some(made) = found {
                return Some(answers.assignment(known, &made, &refusals, number));
            }
            self.looked.insert(offer.clone(), view.changes);
            self.offers.pop_front();
            if is_deferred_again(known, with.policy.spec.defer, state.now) {
                return Some(answers.deferral(known, &refusals, number));
            }
        }
        None
    }
}

/// Whether it is to be published that nothing fits an offer: at first, and then each `defer`.
fn is_deferred_again(offer: &PoolOffer, defer: Millis, now: Millis) -> bool {
    offer.deferred_at == 0 || offer.deferred_at.saturating_add(defer) <= now
}
