//! Tasks as cases and nuclei as candidates, and how their filters and weights are declared.

use super::case::{Course, NucleusCandidate, NucleusRows, TaskCase};
use crate::policy::Values;
use crate::policy::declare::{FilterOf, Judged, Never, WeightOf};

/// A task, and the nuclei that its output may be gathered at.
#[derive(Clone, Copy, Debug)]
pub enum Nuclei {}

impl Judged for Nuclei {
    type Case<'a> = TaskCase<'a>;
    type Candidate<'a> = NucleusCandidate<'a>;
    type Weighed = Course;
    type After = Never;
    type Whole = fn(&TaskCase<'_>, &mut NucleusRows<'_>, &Values);
    type Figure = Never;
    type Factor = fn(&TaskCase<'_>, &NucleusCandidate<'_>, &Values, &mut Course) -> f64;
    type Key = Never;
}

/// A filter of nuclei.
pub(super) type NucleusFilter = FilterOf<Nuclei>;
/// A weight of nuclei.
pub(super) type NucleusWeight = WeightOf<Nuclei>;

/// Declares a [`NucleusFilter`]: see `filter!`.
macro_rules! nucleus_filter {
    ($params:ident { $($rest:tt)* }) => {
        $crate::policy::declare::filter!(
            $params of $crate::domain::atlas::policy::task::Nuclei, (
                $crate::domain::atlas::policy::task::TaskCase<'_>,
                $crate::domain::atlas::policy::task::NucleusCandidate<'_>,
                $crate::domain::atlas::policy::task::Course
            ) { $($rest)* }
        )
    };
}

/// Declares a [`NucleusWeight`]: see `weight!`.
macro_rules! nucleus_weight {
    ($params:ident { $($rest:tt)* }) => {
        $crate::policy::declare::weight!(
            $params of $crate::domain::atlas::policy::task::Nuclei, (
                $crate::domain::atlas::policy::task::TaskCase<'_>,
                $crate::domain::atlas::policy::task::NucleusCandidate<'_>,
                $crate::domain::atlas::policy::task::Course
            ) { $($rest)* }
        )
    };
}

pub(super) use {nucleus_filter, nucleus_weight};
