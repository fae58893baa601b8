//! One candidate: through the filters, weighed.

use super::applicable::{Applicable, Early, LateFilter};
use super::candidate::Candidate;
use super::case::Case;
use super::compile::{Policy, Resolved};
use super::declare::{FilterFunction, Reads, Weigh};
use super::verdict::{Objection, Verdict};
use super::weighed::Weighed;
use crate::event::Status;

impl Policy {
    /// The first objection to one candidate, with the filter's index; `None` when it would pass.
    /// For several candidates of a case see [`Policy::object_by`].
    pub fn object_one(
        &self,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
    ) -> Option<(usize, Objection)> {
        self.object_by(&self.applicable(case, resolved), case, candidate, resolved)
    }

    /// The same by the filters of the case, found before.
    pub fn object_by(
        &self,
        applicable: &Applicable,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
    ) -> Option<(usize, Objection)> {
        let found = self.walk_before(case, candidate, resolved, &applicable.before).or_else(|| {
            if applicable.after.is_empty() {
                return None;
            }
            let mut weighed = Weighed::default();
            self.weigh(case, candidate, resolved, &mut weighed, &[]);
            self.walk_after(case, candidate, resolved, &weighed, &applicable.after)
        });
        found.map(|(filter, objection)| (usize::from(filter), objection))
    }

    /// The objection of one filter to a candidate, the others left aside; `None` of a filter that
    /// is not there or does not apply.
    pub fn objection_of(
        &self,
        filter: usize,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
    ) -> Option<Objection> {
        if !self.applies_to(filter, case, resolved) {
            return None;
        }
        let values = &resolved.filters[filter];
        let verdict = match self.filters[filter].judge {
            FilterFunction::Before(judge) => judge(case, candidate, values),
            FilterFunction::After(judge) => {
                let mut weighed = Weighed::default();
                self.weigh(case, candidate, resolved, &mut weighed, &[]);
                judge(case, candidate, &weighed, values)
            }
            // Its verdict depends on the others, too.
            FilterFunction::Whole(_)
            | FilterFunction::Last(_)
            | FilterFunction::Kept(_)
            | FilterFunction::Nuclei(_) => return None,
            // Of a kind that does not judge queues.
            FilterFunction::Target(_) | FilterFunction::Staged(_) | FilterFunction::Job(_) => {
                return None;
            }
        };
        match verdict {
            Verdict::Pass => None,
            Verdict::Object(objection) => Some(bounded(objection)),
        }
    }

    /// Kinds of facts that a filter reads, by its index: when none of these changed, its verdict is
    /// the same.
    pub fn reads(&self, filter: usize) -> &'static [Reads] {
        self.filters.get(filter).map_or(&[], |filter| filter.reads)
    }

    /// Through some filters before weighing: the first objection that lasts, else the last one.
    pub(super) fn walk_before(
        &self,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
        filters: &[Early],
    ) -> Option<(u16, Objection)> {
        let mut doubt = None;
        for filter in filters {
            let values = &resolved.filters[usize::from(filter.at)];
            if let Verdict::Object(objection) = (filter.judge)(case, candidate, values) {
                let found = Some((filter.at, bounded(objection)));
                if !filter.temporary {
                    return found;
                }
                doubt = found;
            }
        }
        doubt
    }

    /// Through some filters after weighing: the first objection.
    pub(super) fn walk_after(
        &self,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
        weighed: &Weighed,
        filters: &[LateFilter],
    ) -> Option<(u16, Objection)> {
        filters.iter().find_map(|LateFilter { at, judge }| {
            match judge(case, candidate, weighed, &resolved.filters[usize::from(*at)]) {
                Verdict::Object(objection) => Some((*at, bounded(objection))),
                Verdict::Pass => None,
            }
        })
    }

    /// Weighs a candidate; `whole` has the factors of the weights that depend on all candidates, in
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
        for (weight, values) in self.weights.iter().zip(&resolved.weights) {
            let value = match weight.weigh {
                Weigh::Figure(figure) => {
                    figure(case, candidate, values, weighed);
                    continue;
                }
                Weigh::Factor(factor) => factor(case, candidate, values, weighed),
                Weigh::Whole(_) => whole.next().copied().unwrap_or(1.0),
                Weigh::Nucleus(_) | Weigh::Rank(_) | Weigh::JobKey(_) => 1.0,
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
