//! Which filters a case has, and what those object that are asked before weighing: one walk for
//! every kind of candidates.

use super::declare::{Applies, Before, FilterFunction, Judged, RulesOf};
use super::resolved::Resolved;
use super::values::Values;
use super::verdict::{Objection, Verdict};

/// The filters of a policy that apply to a case, by how they judge, each in the policy's order.
pub struct Applicable<K: Judged> {
    /// Those that judge candidate by candidate before weighing.
    pub(crate) before: Vec<Early<K>>,
    /// Those before weighing that judge all candidates together.
    pub(crate) whole: Vec<Together<K>>,
    /// Those that judge candidate by candidate after weighing.
    pub(crate) after: Vec<LateFilter<K>>,
    /// Those that judge all candidates together at the end.
    pub(crate) last: Vec<Together<K>>,
    /// Those that judge the best together, when these were taken.
    pub(crate) kept: Vec<Together<K>>,
}

/// A filter that is asked before weighing.
pub(crate) struct Early<K: Judged> {
    /// Its index in the policy's list.
    pub(crate) at: u16,
    /// Whether what it objects to may be over soon.
    pub(crate) temporary: bool,
    /// How it judges.
    pub(crate) judge: Before<K>,
}

/// A filter that is asked after weighing.
pub(crate) struct LateFilter<K: Judged> {
    /// Its index in the policy's list.
    pub(crate) at: u16,
    /// How it judges.
    pub(crate) judge: K::After,
}

/// A filter that judges all candidates together.
pub(crate) struct Together<K: Judged> {
    /// Its index in the policy's list.
    pub(crate) at: u16,
    /// How many of the filters before weighing come first.
    pub(crate) behind: usize,
    /// How it judges.
    pub(crate) judge: K::Whole,
}

impl<K: Judged> Applicable<K> {
    /// Whether one of them judges all candidates together.
    pub(crate) fn sees_all(&self) -> bool {
        !self.whole.is_empty() || !self.last.is_empty() || !self.kept.is_empty()
    }
}

impl<K: Judged> RulesOf<K> {
    /// No filters and no weights: those of a policy whose candidates are of another kind.
    pub(super) const NONE: &'static RulesOf<K> =
        &RulesOf { filters: Vec::new(), weights: Vec::new() };

    /// The filters that apply to a case. They are the same for all its candidates, and are found
    /// once for all of them.
    pub fn applicable(&self, case: &K::Case<'_>, resolved: &Resolved) -> Applicable<K> {
        let mut before = Vec::with_capacity(self.filters.len());
        let (mut whole, mut after) = (Vec::new(), Vec::new());
        let (mut last, mut kept) = (Vec::new(), Vec::new());
        for (at, (filter, values)) in self.filters.iter().zip(&resolved.filters).enumerate() {
            if !applies(filter.applies, case, values) {
                continue;
            }
            let (at, temporary, behind) = (at as u16, filter.filter.temporary, before.len());
            match filter.judge {
                FilterFunction::Before(judge) => before.push(Early { at, temporary, judge }),
                FilterFunction::Whole(judge) => whole.push(Together { at, behind, judge }),
                FilterFunction::After(judge) => after.push(LateFilter { at, judge }),
                FilterFunction::Last(judge) => last.push(Together { at, behind, judge }),
                FilterFunction::Kept(judge) => kept.push(Together { at, behind, judge }),
            }
        }
        Applicable { before, whole, after, last, kept }
    }

    /// Whether the filter at a place applies to a case.
    pub(crate) fn applies_to(&self, at: usize, case: &K::Case<'_>, resolved: &Resolved) -> bool {
        let filter = self.filters.get(at).zip(resolved.filters.get(at));
        filter.is_some_and(|(filter, values)| applies(filter.applies, case, values))
    }
}

fn applies<K: Judged>(applies: Applies<K>, case: &K::Case<'_>, values: &Values) -> bool {
    match applies {
        Applies::Always => true,
        Applies::To(applies) => applies(case, values),
    }
}

/// A copy of these is one of numbers and functions, whatever the kind is.
macro_rules! copied {
    ($($kind:ident)*) => {
        $(impl<K: Judged> Clone for $kind<K> {
            fn clone(&self) -> $kind<K> {
                *self
            }
        }

        impl<K: Judged> Copy for $kind<K> {})*
    };
}
copied!(Early LateFilter Together);

impl<K: Judged> Clone for RulesOf<K> {
    fn clone(&self) -> RulesOf<K> {
        RulesOf { filters: self.filters.clone(), weights: self.weights.clone() }
    }
}

/// Through some filters before weighing: the first objection that lasts, else the last one.
#[inline(always)]
pub(crate) fn walk_before<K: Judged>(
    case: &K::Case<'_>,
    candidate: &K::Candidate<'_>,
    values: &[Values],
    filters: &[Early<K>],
) -> Option<(u16, Objection)> {
    walk_with(case, candidate, filters, |at| &values[usize::from(at)])
}

/// The same with the parameters of the filter at a place in the policy's list.
// Inlined, so that a caller who only asks which filter it was, or whose filters have no parameters,
// pays for no more.
#[inline(always)]
pub(crate) fn walk_with<'v, K: Judged>(
    case: &K::Case<'_>,
    candidate: &K::Candidate<'_>,
    filters: &[Early<K>],
    values: impl Fn(u16) -> &'v Values,
) -> Option<(u16, Objection)> {
    let mut doubt = None;
    for filter in filters {
        if let Verdict::Object(objection) = (filter.judge)(case, candidate, values(filter.at)) {
            let found = Some((filter.at, bounded(objection)));
            if !filter.temporary {
                return found;
            }
            doubt = found;
        }
    }
    doubt
}

/// An objection whose numbers can be written anywhere: what is not finite becomes the largest that
/// is, or 0.
pub(crate) fn bounded(objection: Objection) -> Objection {
    let finite = |value: f64| {
        if value.is_nan() { 0.0 } else { value.clamp(-f64::MAX, f64::MAX) }
    };
    let (measured, limit) = (finite(objection.measured), finite(objection.limit));
    Objection { measured, limit, ..objection }
}
