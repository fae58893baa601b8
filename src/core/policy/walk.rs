//! One candidate: through the filters, weighed.

use super::compile::{Asked, Late, Policy, Resolved};
use super::{Candidate, Case, Filter, Judge, Objection, Reads, Verdict, Weigh, Weighed};
use crate::core::event::Status;

impl Policy {
    /// The first objection to one candidate, with the filter's index; `None` when it would pass.
    pub fn object_one(
        &self,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
    ) -> Option<(usize, Objection)> {
        let found = self.walk(case, candidate, resolved, &mut Weighed::default());
        found.map(|(filter, objection)| (usize::from(filter), objection))
    }

    /// What one filter says of a candidate, the others left aside; a filter that is not there
    /// says nothing.
    pub fn ask(
        &self,
        filter: usize,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
    ) -> Option<Objection> {
        let (entry, _) = self.filters.get(filter)?;
        let args = &resolved.filters[filter];
        let verdict = match entry.judge {
            Judge::Before(judge) => judge(case, candidate, args),
            Judge::After(judge) => {
                let mut weighed = Weighed::default();
                self.weigh(case, candidate, resolved, &mut weighed, &[]);
                judge(case, candidate, &weighed, args)
            }
            // What it says hangs on the others, too.
            Judge::Whole(_) | Judge::Last(_) | Judge::Nuclei(_) => return None,
        };
        match verdict {
            Verdict::Pass => None,
            Verdict::Object(objection) => Some(bounded(objection)),
        }
    }

    /// What a filter reads, by its index: when none of these changed, it says the same again.
    pub fn reads(&self, filter: usize) -> &'static [Reads] {
        self.filters.get(filter).map_or(&[], |(entry, _): &(&'static Filter, _)| entry.reads)
    }

    /// Through all filters that see one candidate; leaves the weight behind for one that passed.
    fn walk(
        &self,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
        weighed: &mut Weighed,
    ) -> Option<(u16, Objection)> {
        if let Some(found) = self.walk_before(case, candidate, resolved, &self.before) {
            return Some(found);
        }
        self.weigh(case, candidate, resolved, weighed, &[]);
        self.walk_after(case, candidate, resolved, weighed, &self.after)
    }

    /// Through some filters before weighing: the first objection that lasts, else the last one.
    pub(super) fn walk_before(
        &self,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
        filters: &[Asked],
    ) -> Option<(u16, Objection)> {
        let mut doubt = None;
        for asked in filters {
            let args = &resolved.filters[usize::from(asked.at)];
            if let Verdict::Object(objection) = (asked.judge)(case, candidate, args) {
                let found = Some((asked.at, bounded(objection)));
                if !asked.temporary {
                    return found;
                }
                doubt = found;
            }
        }
        doubt
    }

    pub(super) fn walk_after(
        &self,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
        weighed: &Weighed,
        filters: &[Late],
    ) -> Option<(u16, Objection)> {
        filters.iter().find_map(|(at, judge)| {
            match judge(case, candidate, weighed, &resolved.filters[usize::from(*at)]) {
                Verdict::Object(objection) => Some((*at, bounded(objection))),
                Verdict::Pass => None,
            }
        })
    }

    /// Weighs a candidate; `whole` has the factors of the weights that hang on all candidates, in
    /// the policy's order, those left out counting as 1.
    pub(super) fn weigh(
        &self,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
        weighed: &mut Weighed,
        whole: &[f64],
    ) {
        weighed.running = candidate.jobs(Status::Running);
        weighed.network = 1.0;
        weighed.total = 1.0;
        if weighed.kept {
            weighed.factors.clear();
            weighed.factors.resize(self.factor_count, 1.0);
        }
        let (mut slot, mut whole) = (0, whole.iter());
        for ((weight, _), args) in self.weights.iter().zip(&resolved.weights) {
            let value = match weight.weigh {
                Weigh::Figure(figure) => {
                    figure(case, candidate, args, weighed);
                    continue;
                }
                Weigh::Factor(factor) => factor(case, candidate, args, weighed),
                Weigh::Whole(_) => whole.next().copied().unwrap_or(1.0),
                Weigh::Nucleus(_) => 1.0,
            };
            weighed.total *= value;
            if weighed.kept {
                weighed.factors[slot] = value;
                slot += 1;
            }
        }
    }
}

/// An objection whose numbers can be written anywhere: what is not finite becomes the largest that
/// is, or 0.
pub(super) fn bounded(objection: Objection) -> Objection {
    let finite = |value: f64| {
        if value.is_nan() { 0.0 } else { value.clamp(-f64::MAX, f64::MAX) }
    };
    let (measured, limit) = (finite(objection.measured), finite(objection.limit));
    Objection { measured, limit, ..objection }
}
