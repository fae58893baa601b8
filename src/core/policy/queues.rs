//! Chunks of tasks as cases, and the queues that their jobs may go to as candidates.

use super::candidate::{Candidate, Row};
use super::case::Case;
use super::declare::{FilterOf, Judged, Never, WeightOf};
use super::values::Values;
use super::verdict::Verdict;
use super::weighed::Weighed;

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
            $params of $crate::policy::Queues, (
                $crate::policy::Case<'_>, $crate::policy::Candidate<'_>, $crate::policy::Weighed
            ) { $($rest)* }
        )
    };
}

/// Declares a [`QueueWeight`]: see `weight!`.
macro_rules! queue_weight {
    ($params:ident { $($rest:tt)* }) => {
        $crate::policy::declare::weight!(
            $params of $crate::policy::Queues, (
                $crate::policy::Case<'_>, $crate::policy::Candidate<'_>, $crate::policy::Weighed
            ) { $($rest)* }
        )
    };
}

pub(in crate::policy) use {queue_filter, queue_weight};
