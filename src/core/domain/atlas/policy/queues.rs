//! Chunks of tasks as cases, and the queues that their jobs may go to as candidates.

use super::candidate::{Candidate, Row};
use super::case::Case;
use super::weighed::Weighed;
use crate::policy::declare::{FilterOf, Judged, Never, WeightOf};
use crate::policy::values::Values;
use crate::policy::verdict::Verdict;

/// A chunk of a task, and the queues that its jobs may go to.
#[derive(Clone, Copy, Debug)]
pub enum Queues {}

impl Judged for Queues {
    type Case<'a> = Case<'a>;
    type Candidate<'a> = Candidate<'a>;
    type Weighed = Weighed;
    type After = After;
    type Whole = Whole;
    type Figure = fn(&Case<'_>, &Candidate<'_>, &Values, &mut Weighed);
    type Factor = fn(&Case<'_>, &Candidate<'_>, &Values, &mut Weighed) -> f64;
    type Key = Never;
}

/// Judgement of a queue with the weight known.
pub type After = fn(&Case<'_>, &Candidate<'_>, &Weighed, &Values) -> Verdict;
/// Judgement of all queues at once; a weight sets the `factor` of each row.
pub type Whole = fn(&Case<'_>, &mut [Row<'_>], &Values);

/// A filter of queues.
pub type QueueFilter = FilterOf<Queues>;
/// A weight of queues.
pub type QueueWeight = WeightOf<Queues>;

/// Declares a [`QueueFilter`]: see `filter!`.
macro_rules! queue_filter {
    ($params:ident { $($rest:tt)* }) => {
        $crate::policy::declare::filter!(
            $params of $crate::domain::atlas::policy::Queues, (
                $crate::domain::atlas::policy::Case<'_>,
                $crate::domain::atlas::policy::Candidate<'_>,
                $crate::domain::atlas::policy::Weighed
            ) { $($rest)* }
        )
    };
}

/// Declares a [`QueueWeight`]: see `weight!`.
macro_rules! queue_weight {
    ($params:ident { $($rest:tt)* }) => {
        $crate::policy::declare::weight!(
            $params of $crate::domain::atlas::policy::Queues, (
                $crate::domain::atlas::policy::Case<'_>,
                $crate::domain::atlas::policy::Candidate<'_>,
                $crate::domain::atlas::policy::Weighed
            ) { $($rest)* }
        )
    };
}

pub(crate) use {queue_filter, queue_weight};
