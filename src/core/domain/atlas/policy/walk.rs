//! One candidate: through the filters, weighed.

use super::candidate::Candidate;
use super::case::Case;
use super::queues::Queues;
use super::weighed::Weighed;
use crate::event::Status;
use crate::policy::applicable::{Applicable, LateFilter, bounded, walk_before};
use crate::policy::compile::Policy;
use crate::policy::declare::{FilterFunction, Reads, Weigh};
use crate::policy::resolved::Resolved;
use crate::policy::values::Values;
use crate::policy::verdict::{Objection, Verdict};

impl Policy {
    /// The first objection to one candidate, with the filter's index; `None` when it would pass.
    /// For several candidates of a case see [`Policy::object_by`].
    pub fn object_one(
        &self,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
    ) -> Option<(usize, Objection)> {
        self.object_by(&self.queue_rules().applicable(case, resolved), case, candidate, resolved)
    }

    /// The same by the filters of the case, found before.
    pub fn object_by(
        &self,
        applicable: &Applicable<Queues>,
        case: &Case<'_>,
        candidate: &Candidate<'_>,
        resolved: &Resolved,
    ) -> Option<(usize, Objection)> {
        let found =
            walk_before(case, candidate, &resolved.filters, &applicable.before).or_else(|| {
                if applicable.after.is_empty() {
                    return None;
                }
                let mut weighed = Weighed::default();
                self.weigh(case, candidate, resolved, &mut weighed, &[]);
                walk_after(case, candidate, &resolved.filters, &weighed, &applicable.after)
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
        let rules = self.queue_rules();
        if !rules.applies_to(filter, case, resolved) {
            return None;
        }
        let values = &resolved.filters[filter];
        let verdict = match rules.filters[filter].judge {
            FilterFunction::Before(judge) => judge(case, candidate, values),
            FilterFunction::After(judge) => {
                let mut weighed = Weighed::default();
                self.weigh(case, candidate, resolved, &mut weighed, &[]);
                judge(case, candidate, &weighed, values)
            }
            // Its verdict depends on the others, too.
            FilterFunction::Whole(_) | FilterFunction::Last(_) | FilterFunction::Kept(_) => {
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
        for (weight, values) in self.queue_rules().weights.iter().zip(&resolved.weights) {
            let value = match weight.weigh {
                Weigh::Figure(figure) => {
                    figure(case, candidate, values, weighed);
                    continue;
                }
                Weigh::Factor(factor) => factor(case, candidate, values, weighed),
                Weigh::Whole(_) => whole.next().copied().unwrap_or(1.0),
                Weigh::Key(never) => match never {},
            };
            weighed.total *= value;
            if weighed.kept {
                weighed.factors[slot] = value;
                slot += 1;
            }
        }
    }
}

/// Through some filters after weighing: the first objection.
pub(super) fn walk_after(
    case: &Case<'_>,
    candidate: &Candidate<'_>,
    values: &[Values],
    weighed: &Weighed,
    filters: &[LateFilter<Queues>],
) -> Option<(u16, Objection)> {
    filters.iter().find_map(|LateFilter { at, judge }| {
        match judge(case, candidate, weighed, &values[usize::from(*at)]) {
            Verdict::Object(objection) => Some((*at, bounded(objection))),
            Verdict::Pass => None,
        }
    })
}
