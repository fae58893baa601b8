//! Answers of a pool in a cycle: refused jobs, then each live offer until it is full or nothing
//! fits (A.5).

use super::answer::Answers;
use super::judging::OfferPolicy;
use super::{PoolView, now_s};
use crate::budget::{CycleLoop, Exceeded};
use crate::domain::cms::policy::cut::{in_order, next};
use crate::domain::cms::policy::pool::Pool;
use crate::domain::cms::state::PoolOffer;
use crate::judge::size::bytes_of;
use crate::limits::Limits;
use crate::output::decision::Decision;
use crate::policy::Policy;
use crate::state::State;
use crate::turns::{has_turn, parts};
use crate::unit::Millis;
use std::collections::{BTreeMap, VecDeque};

/// Refused jobs and offers that are still to be answered in a cycle.
///
/// Beside its answers a cycle compares only so many offers with the autoclusters as its budget has
/// comparisons. An offer that is to be answered again, with a job or with that none fits, is looked
/// at in each cycle, for what was answered need not be remembered: it is folded. The others take
/// turns.
#[derive(Default)]
pub(super) struct PoolCut {
    refused: VecDeque<(String, &'static str)>,
    offers: VecDeque<String>,
    /// Offers that nothing fitted, with the number of changes at that look: they are not looked at
    /// again before something changed that could let a job fit. Time alone lets only overflow begin
    /// (C-41); of an offer's own time ever less is left.
    looked: BTreeMap<String, u64>,
    /// Whether time alone may let a job fit.
    overflow_may_begin: bool,
    answered: usize,
    bytes: usize,
    /// Comparisons of the looks that led to an answer.
    comparisons: usize,
    notes: Vec<String>,
    /// Whether an offer that has no turn in this cycle was not looked at since something changed.
    is_behind: bool,
    /// The bound that ended the cycle with work left.
    cut_off: Option<CycleLoop>,
}

impl PoolCut {
    /// Begins a cycle: which jobs are refused, and which offers are live, in the order in which
    /// they are served (C-17).
    pub(super) fn begin(
        &mut self,
        state: &State,
        view: &PoolView,
        policy: &Policy,
        notes: Vec<String>,
    ) {
        let limits = &state.setting.limits;
        let refused = view.refused(now_s(state)).take(limits.judgements_per_cycle + 1);
        *self = PoolCut {
            refused: refused.map(|(job, code)| (job.to_owned(), code)).collect(),
            looked: std::mem::take(&mut self.looked),
            overflow_may_begin: view.overflow_may_begin(),
            notes,
            ..PoolCut::default()
        };
        let Some(pool) = view.pool() else { return };
        self.looked.retain(|offer, _| {
            state.pool.offers.of(offer).is_some() && !view.renewed.contains(offer)
        });
        let live = state.pool.offers.iter().map(|(_, known)| known);
        let live = live.filter(|known| known.is_live(state.now) && is_open(known, policy));
        let is_due = |known: &&PoolOffer| is_due(known, policy.spec.defer, state.now);
        let (mut list, idle): (Vec<_>, Vec<_>) = live.partition(is_due);
        let most = limits.pool_comparisons_per_cycle;
        let parts = parts(idle.len(), pool.clusters().len(), most);
        let mut is_quiet = list.is_empty() && self.refused.is_empty();
        for known in idle {
            let name = &known.offer.offer;
            let is_spared = self.is_spared(name, view);
            match has_turn(name, state.number, parts) {
                true => {
                    is_quiet &= is_spared;
                    list.push(known);
                }
                false => self.is_behind |= self.looked.get(name) != Some(&view.changes),
            }
        }
        // What was looked at stays so as long as nothing in the cycle changes that.
        if is_quiet {
            return;
        }
        let ordered = in_order(pool, list, state.now);
        self.offers = ordered.into_iter().map(|known| known.offer.offer.clone()).collect();
    }

    /// Whether an offer that is not to be answered again need not be looked at.
    fn is_spared(&self, offer: &str, view: &PoolView) -> bool {
        !self.overflow_may_begin && self.looked.get(offer) == Some(&view.changes)
    }

    /// Whether there is work that only waits for the next cycle.
    pub(super) fn is_cut_off(&self) -> bool {
        self.cut_off.is_some() || self.is_behind
    }

    /// Counts which budgets left work in the cycle that ends.
    pub(super) fn note_exceeded(&self, exceeded: &mut Exceeded) {
        let is_offers = self.is_behind || self.cut_off == Some(CycleLoop::Offers);
        exceeded.note(CycleLoop::Offers, is_offers);
        if let Some(other) = self.cut_off.filter(|it| *it != CycleLoop::Offers) {
            exceeded.note(other, true);
        }
    }

    /// The bound that lets a cycle answer no more, if one does.
    fn bound(&self, limits: &Limits) -> Option<CycleLoop> {
        if self.answered >= limits.judgements_per_cycle {
            Some(CycleLoop::Judgements)
        } else if self.bytes >= limits.decision_bytes_per_cycle {
            Some(CycleLoop::Bytes)
        } else if self.comparisons >= limits.pool_comparisons_per_cycle {
            Some(CycleLoop::Offers)
        } else {
            None
        }
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
        if let Some(bound) = self.bound(&state.setting.limits) {
            let is_left = !self.refused.is_empty() || !self.offers.is_empty();
            self.cut_off = is_left.then_some(bound);
            return None;
        }
        let policy = with.policy;
        let notes = std::mem::take(&mut self.notes);
        let answers = Answers { state, policy, pool, notes: &notes };
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
            let Some(known) = known.filter(|known| is_open(known, with.policy)) else {
                self.offers.pop_front();
                continue;
            };
            let is_due = is_due(known, with.policy.spec.defer, state.now);
            if !is_due && self.is_spared(offer, view) {
                self.offers.pop_front();
                continue;
            }
            let (found, refusals) = next(with.judges, pool, known, state.now);
            if found.is_some() || is_due {
                self.comparisons = self.comparisons.saturating_add(pool.clusters().len());
            }
            if let Some(made) = found {
                return Some(answers.assignment(known, made, &refusals, number));
            }
            self.looked.insert(offer.clone(), view.changes);
            self.offers.pop_front();
            if is_due {
                return Some(answers.deferral(known, &refusals, number));
            }
        }
        None
    }
}

/// Whether a job may get a place of an offer. One that was answered in a dry run is done.
fn is_open(offer: &PoolOffer, policy: &Policy) -> bool {
    offer.cores_left() > 0 && !(policy.spec.dry_run && offer.answers > 0)
}

/// Whether an offer is answered even if nothing fits: at first, and then each `defer`.
fn is_due(offer: &PoolOffer, defer: Millis, now: Millis) -> bool {
    offer.deferred_at == 0 || offer.deferred_at.saturating_add(defer) <= now
}
