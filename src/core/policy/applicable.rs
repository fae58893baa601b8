//! Which filters a case has: the one place where it is asked whether a filter applies.

use super::case::Case;
use super::compile::{Policy, Resolved};
use super::declare::{After, Applies, Before, FilterFunction, Whole};
use super::task::TaskCase;
use super::values::Values;

/// The filters of a policy that apply to a case, by how they judge, each in the policy's order.
pub struct Applicable {
    /// Those that judge candidate by candidate before weighing.
    pub(super) before: Vec<Early>,
    /// Those before weighing that judge all candidates together.
    pub(super) whole: Vec<Together>,
    /// Those that judge candidate by candidate after weighing.
    pub(super) after: Vec<LateFilter>,
    /// Those that judge all candidates together at the end.
    pub(super) last: Vec<Together>,
    /// Those that judge the best together, when these were taken.
    pub(super) kept: Vec<Together>,
}

/// A filter that is asked before weighing.
#[derive(Clone, Copy)]
pub(super) struct Early {
    /// Its index in the policy's list.
    pub(super) at: u16,
    /// Whether what it objects to may be over soon.
    pub(super) temporary: bool,
    /// How it judges.
    pub(super) judge: Before,
}

/// A filter that is asked after weighing.
#[derive(Clone, Copy)]
pub(super) struct LateFilter {
    /// Its index in the policy's list.
    pub(super) at: u16,
    /// How it judges.
    pub(super) judge: After,
}

/// A filter that judges all candidates together.
#[derive(Clone, Copy)]
pub(super) struct Together {
    /// Its index in the policy's list.
    pub(super) at: u16,
    /// How many of the filters before weighing come first.
    pub(super) behind: usize,
    /// How it judges.
    pub(super) judge: Whole,
}

impl Applicable {
    /// Whether one of them judges all candidates together.
    pub(super) fn sees_all(&self) -> bool {
        !self.whole.is_empty() || !self.last.is_empty() || !self.kept.is_empty()
    }
}

impl Policy {
    /// The filters that apply to a case. They are the same for all its candidates, and are found
    /// once for all of them.
    pub fn applicable(&self, case: &Case<'_>, resolved: &Resolved) -> Applicable {
        let mut before = Vec::with_capacity(self.filters.len());
        let (mut whole, mut after) = (Vec::new(), Vec::new());
        let (mut last, mut kept) = (Vec::new(), Vec::new());
        for (at, (filter, values)) in self.filters.iter().zip(&resolved.filters).enumerate() {
            if !applies(filter.applies, case, values) {
                continue;
            }
            let (at, temporary, behind) = (at as u16, filter.temporary, before.len());
            match filter.judge {
                FilterFunction::Before(judge) => before.push(Early { at, temporary, judge }),
                FilterFunction::Whole(judge) => whole.push(Together { at, behind, judge }),
                FilterFunction::After(judge) => after.push(LateFilter { at, judge }),
                FilterFunction::Last(judge) => last.push(Together { at, behind, judge }),
                FilterFunction::Kept(judge) => kept.push(Together { at, behind, judge }),
                FilterFunction::Nuclei(_)
                | FilterFunction::Target(_)
                | FilterFunction::Staged(_)
                | FilterFunction::Job(_) => {}
            }
        }
        Applicable { before, whole, after, last, kept }
    }

    /// Whether the filter at a place applies to a case.
    pub(super) fn applies_to(&self, at: usize, case: &Case<'_>, resolved: &Resolved) -> bool {
        let filter = self.filters.get(at).zip(resolved.filters.get(at));
        filter.is_some_and(|(filter, values)| applies(filter.applies, case, values))
    }

    /// Whether the filter at a place applies to a task that wants a nucleus.
    pub(super) fn applies_to_task(
        &self,
        at: usize,
        case: &TaskCase<'_>,
        resolved: &Resolved,
    ) -> bool {
        match self.filters[at].applies {
            Applies::Always => true,
            Applies::ToTask(applies) => applies(case, &resolved.filters[at]),
            Applies::ToCase(_) | Applies::ToJob(_) => false,
        }
    }
}

fn applies(applies: Applies, case: &Case<'_>, values: &Values) -> bool {
    match applies {
        Applies::Always => true,
        Applies::ToCase(applies) => applies(case, values),
        Applies::ToTask(_) | Applies::ToJob(_) => false,
    }
}
