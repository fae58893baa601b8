//! Joint evaluation, where the verdict on one candidate depends on the others: filter by filter
//! over all of them, instead of candidate by candidate.

use super::candidate::{Candidate, Row};
use super::case::Case;
use super::early::{EarlyFilters, Objected};
use super::judgement::{Candidates, Chosen, Judgement, Refused};
use super::pipeline::best;
use super::queues::Queues;
use super::walk::walk_after;
use super::weighed::Weighed;
use crate::policy::applicable::{Applicable, Together, bounded, walk_before};
use crate::policy::compile::Policy;
use crate::policy::declare::Weigh;
use crate::policy::resolved::Resolved;
use crate::policy::verdict::{BEYOND_THE_BEST, Objection, Verdict};

/// How a candidate stands so far.
#[derive(Clone, Copy)]
enum Stand {
    Open,
    /// An objection that may fall soon.
    Doubtful(u16, Objection),
    Out(u16, Objection),
}

/// A candidate that passed so far, with its weight.
struct Left<'a> {
    index: u32,
    candidate: &'a Candidate<'a>,
    weighed: Weighed,
    /// The factors that depend on all.
    factors: &'a [f64],
}

/// Candidates that go before others.
#[derive(Default)]
struct First {
    /// Without a weight.
    ahead: Vec<u32>,
    /// With their weight.
    preferred: Vec<u32>,
}

impl First {
    fn is_ahead(&self, index: u32) -> bool {
        self.ahead.contains(&index)
    }

    fn note(&mut self, index: u32, ahead: bool, preferred: bool) {
        for (is_one, list) in [(ahead, &mut self.ahead), (preferred, &mut self.preferred)] {
            if is_one && !list.contains(&index) {
                list.push(index);
            }
        }
    }
}

/// A candidate that is still there.
struct Seen<'a> {
    index: u32,
    candidate: Candidate<'a>,
}

/// How all candidates of a case stand, and those that are still there, in order.
struct Sifted<'a> {
    stands: Vec<Stand>,
    left: Vec<Seen<'a>>,
}

/// A case whose candidates are being weighed.
struct Joint<'a, 'c> {
    case: &'a Case<'a>,
    /// Those that the filters before weighing left.
    seen: &'a [Seen<'c>],
    stands: Vec<Stand>,
    /// Weights of those that were weighed, by index.
    weights: Vec<f64>,
}

impl Joint<'_, '_> {
    fn object(&mut self, index: u32, filter: u16, objection: Objection) {
        self.stands[index as usize] = Stand::Out(filter, objection);
    }

    fn is_out(&self, index: u32) -> bool {
        matches!(self.stands[index as usize], Stand::Out(..))
    }
}

/// Candidates before they are weighed, as a step sees them that sees all.
fn rows<'a>(seen: &'a [Seen<'_>], stands: &[Stand]) -> Vec<Row<'a>> {
    let row = |seen: &'a Seen<'_>| Row {
        candidate: &seen.candidate,
        doubtful: matches!(stands[seen.index as usize], Stand::Doubtful(..)),
        ahead: false,
        preferred: false,
        weight: 1.0,
        running: 0.0,
        verdict: Verdict::Pass,
        factor: 1.0,
    };
    seen.iter().map(row).collect()
}

/// The same when they were weighed.
fn weighed_rows<'a>(left: &[&Left<'a>]) -> Vec<Row<'a>> {
    let row = |left: &&Left<'a>| Row {
        candidate: left.candidate,
        doubtful: false,
        ahead: false,
        preferred: false,
        weight: left.weighed.total,
        running: left.weighed.running,
        verdict: Verdict::Pass,
        factor: 1.0,
    };
    left.iter().map(row).collect()
}

impl Policy {
    /// Judges a case with filters or weights that see all candidates. `is_user_late`: whether what
    /// is known of the user is needed only for those that are weighed.
    pub(super) fn judge_all<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        is_user_late: bool,
        resolved: &Resolved,
        applicable: &Applicable<Queues>,
    ) -> Judgement {
        let mut sifted = self.sift(case, candidates, is_user_late, resolved, applicable);
        if is_user_late {
            for Seen { index, candidate } in &mut sifted.left {
                candidates.add_user(*index, candidate);
            }
        }
        let Sifted { stands, left: seen } = sifted;
        let weights = vec![0.0; stands.len()];
        let mut joint = Joint { case, seen: &seen, stands, weights };
        let factors = self.factors_of_all(&joint, resolved);
        let mut left = self.weigh_all(&joint, resolved, &factors);
        left.retain(|Left { index, candidate, weighed, .. }| {
            joint.weights[*index as usize] = weighed.total;
            let found = walk_after(case, candidate, &resolved.filters, weighed, &applicable.after);
            let Some((filter, objection)) = found else { return true };
            joint.object(*index, filter, objection);
            false
        });
        let first = self.ask_last(&mut joint, &mut left, resolved, &applicable.last);
        let mut best = self.best_of(&joint, candidates, &left, &first);
        self.ask_kept(&mut joint, &left, &mut best, resolved, &applicable.kept);
        self.conclude(&joint, &left, best, &first, resolved)
    }

    /// Filters before weighing, in their order.
    fn sift<'c, C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &'c C,
        is_user_late: bool,
        resolved: &Resolved,
        applicable: &Applicable<Queues>,
    ) -> Sifted<'c> {
        let Applicable { before, whole, .. } = applicable;
        let count = candidates.count();
        let (mut stands, mut left) = (vec![Stand::Open; count], Vec::with_capacity(count));
        let is_temporary = |filter: u16| self.filters[usize::from(filter)].temporary;
        // Whether a candidate is still there when an objection was noted.
        let note = |stand: &mut Stand, found: Option<Objected>| match found {
            None => true,
            Some((filter, objection)) if is_temporary(filter) => {
                *stand = Stand::Doubtful(filter, objection);
                true
            }
            Some((filter, objection)) => {
                *stand = Stand::Out(filter, objection);
                false
            }
        };
        let mut from = whole.first().map_or(before.len(), |together| together.behind);
        let early = EarlyFilters::of(self, before[..from].iter());
        for (index, stand) in (0..).zip(&mut stands) {
            let mut candidate = candidates.bare(index);
            let fill = |candidate: &mut _| {
                candidates.fill(index, candidate);
                if !is_user_late {
                    candidates.add_user(index, candidate);
                }
            };
            if note(stand, early.ask(case, &mut candidate, &resolved.filters, None, fill)) {
                left.push(Seen { index, candidate });
            }
        }
        for (at, Together { at: filter, judge, .. }) in whole.iter().enumerate() {
            let mut rows = rows(&left, &stands);
            judge(case, &mut rows, &resolved.filters[usize::from(*filter)]);
            let verdicts: Vec<Verdict> = rows.into_iter().map(|row| row.verdict).collect();
            let mut verdicts = verdicts.into_iter();
            let until = whole.get(at + 1).map_or(before.len(), |together| together.behind);
            let filters = &before[from..until];
            from = until;
            left.retain(|Seen { index, candidate }| {
                let stand = &mut stands[*index as usize];
                let found = match verdicts.next() {
                    Some(Verdict::Object(objection)) => Some((*filter, bounded(objection))),
                    Some(Verdict::Pass) | None => None,
                };
                note(stand, found)
                    && note(stand, walk_before(case, candidate, &resolved.filters, filters))
            });
        }
        // What may be over soon is not over yet.
        left.retain(|Seen { index, .. }| {
            let stand = &mut stands[*index as usize];
            match *stand {
                Stand::Open => true,
                Stand::Doubtful(filter, objection) | Stand::Out(filter, objection) => {
                    *stand = Stand::Out(filter, objection);
                    false
                }
            }
        });
        Sifted { stands, left }
    }

    /// The factors that depend on all, one candidate's after the other's; none where all are 1.
    fn factors_of_all(&self, joint: &Joint<'_, '_>, resolved: &Resolved) -> Vec<f64> {
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (weight, values) in self.queue_rules().weights.iter().zip(&resolved.weights) {
            if let Weigh::Whole(weigh) = weight.weigh {
                let mut rows = rows(joint.seen, &joint.stands);
                weigh(joint.case, &mut rows, values);
                columns.push(rows.iter().map(|row| row.factor).collect());
            }
        }
        // Factors that are left out count as 1.
        if columns.iter().flatten().all(|factor| *factor == 1.0) {
            return Vec::new();
        }
        let of_candidate = |at: usize| columns.iter().map(move |column| column[at]);
        (0..joint.seen.len()).flat_map(of_candidate).collect()
    }

    /// The weights of those still there.
    fn weigh_all<'a>(
        &self,
        joint: &Joint<'a, '_>,
        resolved: &Resolved,
        factors: &'a [f64],
    ) -> Vec<Left<'a>> {
        let each = factors.len() / joint.seen.len().max(1);
        let weigh = |(at, seen): (usize, &'a Seen<'_>)| {
            let factors = &factors[at * each..][..each];
            let mut weighed = Weighed::default();
            let Seen { index, candidate } = seen;
            self.weigh(joint.case, candidate, resolved, &mut weighed, factors);
            Left { index: *index, candidate, weighed, factors }
        };
        joint.seen.iter().enumerate().map(weigh).collect()
    }

    /// The filters that are asked last. Which candidates go before all others.
    fn ask_last(
        &self,
        joint: &mut Joint<'_, '_>,
        left: &mut Vec<Left<'_>>,
        resolved: &Resolved,
        last: &[Together<Queues>],
    ) -> First {
        let mut first = First::default();
        for Together { at: filter, judge, .. } in last {
            let of_left: Vec<&Left<'_>> = left.iter().collect();
            let mut rows = weighed_rows(&of_left);
            for (row, Left { index, .. }) in rows.iter_mut().zip(left.iter()) {
                row.ahead = first.ahead.contains(index);
                row.preferred = first.preferred.contains(index);
            }
            judge(joint.case, &mut rows, &resolved.filters[usize::from(*filter)]);
            let found: Vec<(bool, bool, Verdict)> =
                rows.into_iter().map(|row| (row.ahead, row.preferred, row.verdict)).collect();
            let mut found = found.into_iter();
            left.retain(|Left { index, .. }| match found.next() {
                Some((_, _, Verdict::Object(objection))) => {
                    joint.object(*index, *filter, bounded(objection));
                    false
                }
                Some((ahead, preferred, Verdict::Pass)) => {
                    first.note(*index, ahead, preferred);
                    true
                }
                None => true,
            });
        }
        first
    }

    /// The best of those left, by their place among these: those ahead have no weight and go first,
    /// then those preferred.
    fn best_of<C: Candidates + ?Sized>(
        &self,
        joint: &Joint<'_, '_>,
        candidates: &C,
        left: &[Left<'_>],
        first: &First,
    ) -> Vec<usize> {
        let rank = |index: &u32| match (first.is_ahead(*index), first.preferred.contains(index)) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let preferred = left.iter().filter(|left| rank(&left.index) == 1).count();
        let most = self.most(joint.case, preferred);
        let lots = self.lots(joint.case);
        let mut chosen: Vec<u32> = Vec::new();
        for wanted in 0..=2 {
            let of_rank = left.iter().filter(|left| rank(&left.index) == wanted);
            let weight = |left: &Left<'_>| if wanted == 0 { 0.0 } else { left.weighed.total };
            let mut some: Vec<(f64, u32)> =
                of_rank.map(|left| (weight(left), left.index)).collect();
            let lot = |name: &str| if wanted == 0 { 0 } else { lots(name) };
            best(&mut some, candidates, most - chosen.len(), lot);
            chosen.extend(some.into_iter().map(|(_, index)| index));
        }
        let place = |index| left.binary_search_by_key(&index, |left| left.index).ok();
        chosen.into_iter().filter_map(place).collect()
    }

    /// The filters that are asked of the best alone. Where they leave none of these, the others are
    /// refused as well: none takes their place.
    fn ask_kept(
        &self,
        joint: &mut Joint<'_, '_>,
        left: &[Left<'_>],
        best: &mut Vec<usize>,
        resolved: &Resolved,
        kept: &[Together<Queues>],
    ) {
        for Together { at: filter, judge, .. } in kept {
            let of_best: Vec<&Left<'_>> = best.iter().map(|at| &left[*at]).collect();
            let mut rows = weighed_rows(&of_best);
            judge(joint.case, &mut rows, &resolved.filters[usize::from(*filter)]);
            let mut rows = rows.iter();
            best.retain(|at| match rows.next().map(|row| row.verdict) {
                Some(Verdict::Object(objection)) => {
                    joint.object(left[*at].index, *filter, bounded(objection));
                    false
                }
                Some(Verdict::Pass) | None => true,
            });
            if best.is_empty() {
                for Left { index, weighed, .. } in left {
                    if !joint.is_out(*index) {
                        joint.object(*index, *filter, bounded(beyond(weighed.total)));
                    }
                }
                return;
            }
        }
    }

    fn conclude(
        &self,
        joint: &Joint<'_, '_>,
        left: &[Left<'_>],
        best: Vec<usize>,
        first: &First,
        resolved: &Resolved,
    ) -> Judgement {
        let mut judgement = Judgement {
            counts: vec![0; self.filters.len()],
            pass: joint.case.pass,
            ..Judgement::default()
        };
        judgement.fates.reserve_exact(joint.stands.len() - left.len());
        for (index, stand) in (0..).zip(&joint.stands) {
            if let Stand::Out(filter, objection) = *stand {
                judgement.counts[usize::from(filter)] += 1;
                let weight = joint.weights[index as usize];
                judgement.fates.push(Refused { candidate: index, filter, objection, weight });
            }
        }
        judgement.passed = (joint.stands.len() - judgement.fates.len()) as u32;
        for at in best {
            let Left { index, candidate, factors, .. } = &left[at];
            let mut weighed = Weighed::kept();
            self.weigh(joint.case, candidate, resolved, &mut weighed, factors);
            if first.is_ahead(*index) {
                weighed.total = 0.0;
            }
            judgement.ranked.push(Chosen { candidate: *index, weighed });
        }
        judgement
    }
}

/// The objection to one that is not among the best, when none of these is left.
fn beyond(measured: f64) -> Objection {
    Objection { reason: &BEYOND_THE_BEST, measured, limit: 0.0, recheck_at: None }
}
