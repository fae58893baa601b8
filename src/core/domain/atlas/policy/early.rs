//! Filters before weighing, in the order that costs least. They are functions of the case and the
//! candidate alone, so that asking them in any order finds the same: the first objection that
//! lasts, else the last one.

use super::candidate::Candidate;
use super::case::Case;
use super::queues::Queues;
use crate::policy::applicable::{Early, bounded};
use crate::policy::compile::Policy;
use crate::policy::values::Values;
use crate::policy::verdict::{Objection, Verdict};

/// An objection with the index of its filter.
pub(super) type Objected = (u16, Objection);

/// Some filters before weighing.
#[derive(Default)]
pub(super) struct EarlyFilters {
    /// Those that last and look at a candidate's configuration alone.
    of_queue: Vec<Early<Queues>>,
    /// All others that last.
    lasting: Vec<Early<Queues>>,
    /// Those that may be over soon, the last first.
    doubts: Vec<Early<Queues>>,
}

impl EarlyFilters {
    /// Some filters of a policy, in its order.
    pub(super) fn of<'a>(
        policy: &Policy,
        filters: impl DoubleEndedIterator<Item = &'a Early<Queues>>,
    ) -> EarlyFilters {
        let mut early = EarlyFilters::default();
        for filter in filters {
            match filter.temporary {
                true => early.doubts.push(*filter),
                false if policy.are_of_queue[usize::from(filter.at)] => {
                    early.of_queue.push(*filter);
                }
                false => early.lasting.push(*filter),
            }
        }
        early.doubts.reverse();
        early
    }

    /// Whether the objection of none of them comes before that of a filter.
    #[inline]
    pub(super) fn are_behind(&self, filter: u16) -> bool {
        are_behind(&self.of_queue, filter) && are_behind(&self.lasting, filter)
    }

    /// Their objection to a candidate with its configuration alone, or `found` where that lasts and
    /// comes first. `fill` adds the rest to the candidate, where it is looked at.
    #[inline(always)]
    pub(super) fn ask<'c>(
        &self,
        case: &Case<'_>,
        candidate: &mut Candidate<'c>,
        values: &[Values],
        found: Option<Objected>,
        fill: impl FnOnce(&mut Candidate<'c>),
    ) -> Option<Objected> {
        let found = sooner(case, candidate, values, &self.of_queue, found);
        if found.is_some_and(|(filter, _)| are_behind(&self.lasting, filter)) {
            return found;
        }
        fill(candidate);
        let found = sooner(case, candidate, values, &self.lasting, found);
        found.or_else(|| self.doubts.iter().find_map(|it| ask(it, case, candidate, values)))
    }
}

#[inline]
fn are_behind(filters: &[Early<Queues>], filter: u16) -> bool {
    filters.first().is_none_or(|first| first.at > filter)
}

/// The first objection of some filters if it comes before `found`, else that.
#[inline(always)]
fn sooner(
    case: &Case<'_>,
    candidate: &Candidate<'_>,
    values: &[Values],
    filters: &[Early<Queues>],
    found: Option<Objected>,
) -> Option<Objected> {
    let until = found.map_or(u16::MAX, |(filter, _)| filter);
    let mut ahead = filters.iter().take_while(|it| it.at < until);
    ahead.find_map(|it| ask(it, case, candidate, values)).or(found)
}

#[inline(always)]
fn ask(
    filter: &Early<Queues>,
    case: &Case<'_>,
    candidate: &Candidate<'_>,
    values: &[Values],
) -> Option<Objected> {
    match (filter.judge)(case, candidate, &values[usize::from(filter.at)]) {
        Verdict::Object(objection) => Some((filter.at, bounded(objection))),
        Verdict::Pass => None,
    }
}
