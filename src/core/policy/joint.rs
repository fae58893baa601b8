//! Joint evaluation, where the verdict on one candidate depends on the others: filter by filter
//! over all of them, instead of candidate by candidate.

use super::applicable::{Applicable, Together};
use super::candidate::{Candidate, Row};
use super::case::Case;
use super::compile::{Policy, Resolved};
use super::declare::Weigh;
use super::judgement::{Chosen, Judgement, Refused};
use super::pipeline::best;
use super::verdict::{BEYOND_THE_BEST, Objection, Verdict};
use super::walk::bounded;
use super::weighed::Weighed;

/// How a candidate stands so far.
#[derive(Clone, Copy)]
enum Stand {
    Open,
    /// An objection that may fall soon.
    Doubtful(u16, Objection),
    Out(u16, Objection),
}

/// A candidate that passed so far: its index, its weight, the factors that depend on all.
type Left = (u32, (Weighed, Vec<f64>));

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

/// All candidates of a case, and how each stands.
struct Joint<'a> {
    case: &'a Case<'a>,
    candidates: &'a [Candidate<'a>],
    stands: Vec<Stand>,
    /// Weights of those that were weighed.
    weights: Vec<f64>,
}

impl<'a> Joint<'a> {
    fn indices(&self) -> impl Iterator<Item = u32> + use<'a> {
        let stands = self.stands.clone();
        (0..).zip(stands).filter(|(_, stand)| !matches!(stand, Stand::Out(..))).map(|(at, _)| at)
    }

    fn object(&mut self, index: u32, filter: u16, objection: Objection, temporary: bool) {
        let stand = &mut self.stands[index as usize];
        match (&stand, temporary) {
            (Stand::Open | Stand::Doubtful(..), true) => {
                *stand = Stand::Doubtful(filter, objection)
            }
            (Stand::Open | Stand::Doubtful(..), false) => *stand = Stand::Out(filter, objection),
            _ => {}
        }
    }

    fn rows(&self, indices: &[u32], weighed: &[Weighed]) -> Vec<Row<'a>> {
        let row = |(at, index): (usize, &u32)| Row {
            candidate: &self.candidates[*index as usize],
            doubtful: matches!(self.stands[*index as usize], Stand::Doubtful(..)),
            ahead: false,
            preferred: false,
            weight: weighed.get(at).map_or(1.0, |weighed| weighed.total),
            running: weighed.get(at).map_or(0.0, |weighed| weighed.running),
            verdict: Verdict::Pass,
            factor: 1.0,
        };
        indices.iter().enumerate().map(row).collect()
    }
}

impl Policy {
    /// Judges a case with filters or weights that see all candidates.
    pub(super) fn judge_all<'a>(
        &self,
        case: &'a Case<'a>,
        candidates: &'a [Candidate<'a>],
        resolved: &Resolved,
        applicable: &Applicable,
    ) -> Judgement {
        let stands = vec![Stand::Open; candidates.len()];
        let weights = vec![0.0; candidates.len()];
        let mut joint = Joint { case, candidates, stands, weights };
        self.sift(&mut joint, resolved, applicable);
        for stand in &mut joint.stands {
            if let Stand::Doubtful(filter, objection) = *stand {
                *stand = Stand::Out(filter, objection);
            }
        }
        let (mut indices, mut weighed) = self.weigh_all(&joint, resolved);
        let mut left = Vec::new();
        for (index, weighed) in indices.drain(..).zip(weighed.drain(..)) {
            joint.weights[index as usize] = weighed.0.total;
            match self.walk_after(
                case,
                &candidates[index as usize],
                resolved,
                &weighed.0,
                &applicable.after,
            ) {
                Some((filter, objection)) => joint.object(index, filter, objection, false),
                None => left.push((index, weighed)),
            }
        }
        let first = self.ask_last(&mut joint, &mut left, resolved, &applicable.last);
        let mut best = self.best_of(&joint, &left, &first);
        self.ask_kept(&mut joint, &left, &mut best, resolved, &applicable.kept);
        self.conclude(&joint, left, best, &first, resolved)
    }

    /// Filters before weighing, in their order.
    fn sift(&self, joint: &mut Joint<'_>, resolved: &Resolved, applicable: &Applicable) {
        let Applicable { before, whole, .. } = applicable;
        let mut from = 0;
        let all = whole.iter().map(|together| (together.behind, Some(together)));
        for (until, whole) in all.chain([(before.len(), None)]) {
            let filters = &before[from..until];
            from = until;
            if !filters.is_empty() {
                for index in joint.indices() {
                    let candidate = &joint.candidates[index as usize];
                    let found = self.walk_before(joint.case, candidate, resolved, filters);
                    if let Some((filter, objection)) = found {
                        let temporary = self.filters[usize::from(filter)].temporary;
                        joint.object(index, filter, objection, temporary);
                    }
                }
            }
            let Some(Together { at: filter, judge, .. }) = whole.copied() else { continue };
            let indices: Vec<u32> = joint.indices().collect();
            let mut rows = joint.rows(&indices, &[]);
            judge(joint.case, &mut rows, &resolved.filters[usize::from(filter)]);
            let temporary = self.filters[usize::from(filter)].temporary;
            let verdicts: Vec<Verdict> = rows.into_iter().map(|row| row.verdict).collect();
            for (index, verdict) in indices.into_iter().zip(verdicts) {
                if let Verdict::Object(objection) = verdict {
                    joint.object(index, filter, bounded(objection), temporary);
                }
            }
        }
    }

    /// The weights of those still there, each with the factors that depend on all.
    fn weigh_all(
        &self,
        joint: &Joint<'_>,
        resolved: &Resolved,
    ) -> (Vec<u32>, Vec<(Weighed, Vec<f64>)>) {
        let indices: Vec<u32> = joint.indices().collect();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (weight, values) in self.weights.iter().zip(&resolved.weights) {
            if let Weigh::Whole(weigh) = weight.weigh {
                let mut rows = joint.rows(&indices, &[]);
                weigh(joint.case, &mut rows, values);
                columns.push(rows.iter().map(|row| row.factor).collect());
            }
        }
        // Factors that are left out count as 1.
        let is_plain = columns.iter().flatten().all(|factor| *factor == 1.0);
        let weigh = |(at, index): (usize, &u32)| {
            let own = columns.iter().filter(|_| !is_plain).map(|column| column[at]);
            let (factors, mut weighed): (Vec<f64>, _) = (own.collect(), Weighed::default());
            let candidate = &joint.candidates[*index as usize];
            self.weigh(joint.case, candidate, resolved, &mut weighed, &factors);
            (weighed, factors)
        };
        let weighed = indices.iter().enumerate().map(weigh).collect();
        (indices, weighed)
    }

    /// The filters that are asked last. Which candidates go before all others.
    fn ask_last(
        &self,
        joint: &mut Joint<'_>,
        left: &mut Vec<Left>,
        resolved: &Resolved,
        last: &[Together],
    ) -> First {
        let mut first = First::default();
        for Together { at: filter, judge, .. } in last {
            let indices: Vec<u32> = left.iter().map(|(index, _)| *index).collect();
            let weighed: Vec<Weighed> = left.iter().map(|(_, it)| it.0.clone()).collect();
            let mut rows = joint.rows(&indices, &weighed);
            for (row, at) in rows.iter_mut().zip(&indices) {
                row.ahead = first.ahead.contains(at);
                row.preferred = first.preferred.contains(at);
            }
            judge(joint.case, &mut rows, &resolved.filters[usize::from(*filter)]);
            let found: Vec<(bool, bool, Verdict)> =
                rows.into_iter().map(|row| (row.ahead, row.preferred, row.verdict)).collect();
            let mut found = found.iter();
            left.retain(|(index, _)| match found.next() {
                Some((_, _, Verdict::Object(objection))) => {
                    joint.object(*index, *filter, bounded(*objection), false);
                    false
                }
                Some((ahead, preferred, Verdict::Pass)) => {
                    first.note(*index, *ahead, *preferred);
                    true
                }
                None => true,
            });
        }
        first
    }

    /// The best of those left: those ahead have no weight and go first, then those preferred.
    fn best_of(&self, joint: &Joint<'_>, left: &[Left], first: &First) -> Vec<u32> {
        let most = self.most(joint.case);
        let rank = |index: &u32| match (first.is_ahead(*index), first.preferred.contains(index)) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        let mut chosen: Vec<(f64, u32)> = Vec::new();
        for wanted in 0..=2 {
            let of_rank = left.iter().filter(|(at, _)| rank(at) == wanted);
            let mut some: Vec<(f64, u32)> = of_rank
                .map(|(at, weighed)| (if wanted == 0 { 0.0 } else { weighed.0.total }, *at))
                .collect();
            best(&mut some, joint.candidates, most - chosen.len());
            chosen.extend(some);
        }
        chosen.into_iter().map(|(_, index)| index).collect()
    }

    /// The filters that are asked of the best alone. Where they leave none of these, the others are
    /// refused as well: none takes their place.
    fn ask_kept(
        &self,
        joint: &mut Joint<'_>,
        left: &[Left],
        best: &mut Vec<u32>,
        resolved: &Resolved,
        kept: &[Together],
    ) {
        for Together { at: filter, judge, .. } in kept {
            let of_best = best.iter().filter_map(|at| left.iter().find(|(it, _)| it == at));
            let weighed: Vec<Weighed> = of_best.map(|(_, it)| it.0.clone()).collect();
            let mut rows = joint.rows(best, &weighed);
            judge(joint.case, &mut rows, &resolved.filters[usize::from(*filter)]);
            let verdicts: Vec<Verdict> = rows.into_iter().map(|row| row.verdict).collect();
            let mut verdicts = verdicts.iter();
            best.retain(|index| match verdicts.next() {
                Some(Verdict::Object(objection)) => {
                    joint.object(*index, *filter, bounded(*objection), false);
                    false
                }
                Some(Verdict::Pass) | None => true,
            });
            if best.is_empty() {
                for (index, weighed) in left {
                    let objection = Objection {
                        reason: &BEYOND_THE_BEST,
                        measured: weighed.0.total,
                        limit: 0.0,
                        recheck_at: None,
                    };
                    joint.object(*index, *filter, bounded(objection), false);
                }
                return;
            }
        }
    }

    fn conclude(
        &self,
        joint: &Joint<'_>,
        left: Vec<Left>,
        best: Vec<u32>,
        first: &First,
        resolved: &Resolved,
    ) -> Judgement {
        let mut judgement =
            Judgement { counts: vec![0; self.filters.len()], ..Judgement::default() };
        judgement.pass = joint.case.pass;
        for (index, stand) in (0..).zip(&joint.stands) {
            if let Stand::Out(filter, objection) = *stand {
                judgement.counts[usize::from(filter)] += 1;
                let weight = joint.weights[index as usize];
                judgement.fates.push(Refused { candidate: index, filter, objection, weight });
            }
        }
        judgement.passed = (joint.stands.len() - judgement.fates.len()) as u32;
        for index in best {
            let factors = left.iter().find(|(at, _)| *at == index).map(|(_, it)| it.1.as_slice());
            let mut weighed = Weighed::kept();
            let candidate = &joint.candidates[index as usize];
            self.weigh(joint.case, candidate, resolved, &mut weighed, factors.unwrap_or(&[]));
            if first.is_ahead(index) {
                weighed.total = 0.0;
            }
            judgement.ranked.push(Chosen { candidate: index, weighed });
        }
        judgement
    }
}
