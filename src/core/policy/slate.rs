//! Judging where what is said of one candidate hangs on the others: filter by filter over all of
//! them, instead of candidate by candidate.

use super::compile::{Policy, Resolved};
use super::pipeline::{Candidates, Chosen, Judgement, Refused, best, bounded};
use super::{Candidate, Case, Objection, Row, Verdict, Weigh, Weighed};

/// How a candidate stands so far.
#[derive(Clone, Copy)]
enum Stand {
    Open,
    /// An objection that may fall soon.
    Doubtful(u16, Objection),
    Out(u16, Objection),
}

/// All candidates of a case, and how each stands.
struct Slate<'a, C: Candidates + ?Sized> {
    case: &'a Case<'a>,
    candidates: &'a C,
    stands: Vec<Stand>,
    /// Weights of those that were weighed.
    weights: Vec<f64>,
}

impl<'a, C: Candidates + ?Sized> Slate<'a, C> {
    fn places(&self) -> impl Iterator<Item = u32> + use<'a, C> {
        let stands = self.stands.clone();
        (0..).zip(stands).filter(|(_, stand)| !matches!(stand, Stand::Out(..))).map(|(at, _)| at)
    }

    fn object(&mut self, place: u32, filter: u16, objection: Objection, temporary: bool) {
        let stand = &mut self.stands[place as usize];
        match (&stand, temporary) {
            (Stand::Open | Stand::Doubtful(..), true) => {
                *stand = Stand::Doubtful(filter, objection)
            }
            (Stand::Open | Stand::Doubtful(..), false) => *stand = Stand::Out(filter, objection),
            _ => {}
        }
    }

    fn rows(&self, places: &[u32], weighed: &[Weighed]) -> Vec<Row<'a>> {
        let row = |(at, place): (usize, &u32)| Row {
            candidate: self.candidates.at(*place),
            doubtful: matches!(self.stands[*place as usize], Stand::Doubtful(..)),
            ahead: false,
            weight: weighed.get(at).map_or(1.0, |weighed| weighed.total),
            running: weighed.get(at).map_or(0.0, |weighed| weighed.running),
            verdict: Verdict::Pass,
            factor: 1.0,
        };
        places.iter().enumerate().map(row).collect()
    }
}

impl Policy {
    /// Judges a case with filters or weights that see all candidates.
    pub(super) fn judge_all<C: Candidates + ?Sized>(
        &self,
        case: &Case<'_>,
        candidates: &C,
        resolved: &Resolved,
    ) -> Judgement {
        let stands = vec![Stand::Open; candidates.count()];
        let weights = vec![0.0; candidates.count()];
        let mut slate = Slate { case, candidates, stands, weights };
        self.sift(&mut slate, resolved);
        for stand in &mut slate.stands {
            if let Stand::Doubtful(filter, objection) = *stand {
                *stand = Stand::Out(filter, objection);
            }
        }
        let (mut places, mut weighed) = self.weigh_all(&slate, resolved);
        let mut left = Vec::new();
        for (place, weighed) in places.drain(..).zip(weighed.drain(..)) {
            slate.weights[place as usize] = weighed.0.total;
            match self.walk_after(case, &candidates.at(place), resolved, &weighed.0) {
                Some((filter, objection)) => slate.object(place, filter, objection, false),
                None => left.push((place, weighed)),
            }
        }
        let ahead = self.last_words(&mut slate, &mut left, resolved);
        self.conclude(&slate, left, &ahead, resolved)
    }

    /// Filters before weighing, in their order.
    fn sift<C: Candidates + ?Sized>(&self, slate: &mut Slate<'_, C>, resolved: &Resolved) {
        let mut from = 0;
        let all = self.whole.iter().map(|(at, until, judge)| (*until, Some((*at, *judge))));
        for (until, whole) in all.chain([(self.before.len(), None)]) {
            let filters = &self.before[from..until];
            from = until;
            if !filters.is_empty() {
                for place in slate.places() {
                    let candidate = slate.candidates.at(place);
                    let found = self.walk_before(slate.case, &candidate, resolved, filters);
                    if let Some((filter, objection)) = found {
                        let temporary = self.filters[usize::from(filter)].0.temporary;
                        slate.object(place, filter, objection, temporary);
                    }
                }
            }
            let Some((filter, judge)) = whole else { continue };
            let places: Vec<u32> = slate.places().collect();
            let mut rows = slate.rows(&places, &[]);
            judge(slate.case, &mut rows, &resolved.filters[usize::from(filter)]);
            let temporary = self.filters[usize::from(filter)].0.temporary;
            let verdicts: Vec<Verdict> = rows.into_iter().map(|row| row.verdict).collect();
            for (place, verdict) in places.into_iter().zip(verdicts) {
                if let Verdict::Object(objection) = verdict {
                    slate.object(place, filter, bounded(objection), temporary);
                }
            }
        }
    }

    /// The weights of those still there, each with the factors that hang on all.
    fn weigh_all<C: Candidates + ?Sized>(
        &self,
        slate: &Slate<'_, C>,
        resolved: &Resolved,
    ) -> (Vec<u32>, Vec<(Weighed, Vec<f64>)>) {
        let places: Vec<u32> = slate.places().collect();
        let mut factors = vec![Vec::new(); places.len()];
        for ((weight, _), args) in self.weights.iter().zip(&resolved.weights) {
            if let Weigh::Whole(weigh) = weight.weigh {
                let mut rows = slate.rows(&places, &[]);
                weigh(slate.case, &mut rows, args);
                for (factors, row) in factors.iter_mut().zip(rows) {
                    factors.push(row.factor);
                }
            }
        }
        let weigh = |(place, factors): (&u32, Vec<f64>)| {
            let mut weighed = Weighed::default();
            let candidate: Candidate<'_> = slate.candidates.at(*place);
            self.weigh(slate.case, &candidate, resolved, &mut weighed, &factors);
            (weighed, factors)
        };
        let weighed = places.iter().zip(factors).map(weigh).collect();
        (places, weighed)
    }

    /// The filters that are asked last. Which candidates go ahead of all others.
    fn last_words<C: Candidates + ?Sized>(
        &self,
        slate: &mut Slate<'_, C>,
        left: &mut Vec<(u32, (Weighed, Vec<f64>))>,
        resolved: &Resolved,
    ) -> Vec<u32> {
        let mut ahead = Vec::new();
        for (filter, judge) in &self.last {
            let places: Vec<u32> = left.iter().map(|(place, _)| *place).collect();
            let weighed: Vec<Weighed> = left.iter().map(|(_, it)| it.0.clone()).collect();
            let mut rows = slate.rows(&places, &weighed);
            rows.iter_mut().zip(&places).for_each(|(row, at)| row.ahead = ahead.contains(at));
            judge(slate.case, &mut rows, &resolved.filters[usize::from(*filter)]);
            let said: Vec<(bool, Verdict)> =
                rows.into_iter().map(|row| (row.ahead, row.verdict)).collect();
            let mut said_of = said.iter();
            left.retain(|(place, _)| match said_of.next() {
                Some((_, Verdict::Object(objection))) => {
                    slate.object(*place, *filter, bounded(*objection), false);
                    false
                }
                Some((true, Verdict::Pass)) => {
                    if !ahead.contains(place) {
                        ahead.push(*place);
                    }
                    true
                }
                _ => true,
            });
        }
        ahead
    }

    fn conclude<C: Candidates + ?Sized>(
        &self,
        slate: &Slate<'_, C>,
        left: Vec<(u32, (Weighed, Vec<f64>))>,
        ahead: &[u32],
        resolved: &Resolved,
    ) -> Judgement {
        let mut judgement =
            Judgement { counts: vec![0; self.filters.len()], ..Judgement::default() };
        for (place, stand) in (0..).zip(&slate.stands) {
            if let Stand::Out(filter, objection) = *stand {
                judgement.counts[usize::from(filter)] += 1;
                let weight = slate.weights[place as usize];
                judgement.fates.push(Refused { candidate: place, filter, objection, weight });
            }
        }
        judgement.passed = left.len() as u32;
        let most = self.spec.candidates_max as usize;
        // Those ahead have no weight and go first.
        let is_ahead = |place: &u32| ahead.contains(place);
        let mut first: Vec<(f64, u32)> =
            left.iter().filter(|(at, _)| is_ahead(at)).map(|(at, _)| (0.0, *at)).collect();
        let mut others: Vec<(f64, u32)> = left
            .iter()
            .filter(|(at, _)| !is_ahead(at))
            .map(|(at, weighed)| (weighed.0.total, *at))
            .collect();
        best(&mut first, slate.candidates, most);
        best(&mut others, slate.candidates, most - first.len());
        for (_, place) in first.into_iter().chain(others) {
            let factors = left.iter().find(|(at, _)| *at == place).map(|(_, it)| it.1.as_slice());
            let mut weighed = Weighed::kept();
            let candidate = slate.candidates.at(place);
            self.weigh(slate.case, &candidate, resolved, &mut weighed, factors.unwrap_or(&[]));
            if is_ahead(&place) {
                weighed.total = 0.0;
            }
            judgement.ranked.push(Chosen { candidate: place, weighed });
        }
        judgement
    }
}
