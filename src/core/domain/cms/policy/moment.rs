//! What the steps of a cut read beside the pool.

use super::facts::Seconds;
use super::judge::MatchRules;
use crate::domain::cms::state::PoolOffer;
use crate::unit::{Millis, SECOND};

/// How many comparisons a step of a cut may make of jobs with nodes and sites. Beyond it jobs that
/// are alike take turns over so many cuts as it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepBudget {
    /// Comparisons.
    pub comparisons: usize,
    /// The number of the cut.
    pub cycle: u64,
}

impl StepBudget {
    /// All jobs in one cut.
    pub const UNBOUNDED: StepBudget = StepBudget { comparisons: usize::MAX, cycle: 0 };
}

/// The moment of a cut, with what is judged by and what is offered at it.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// The filters of the policy.
    pub judges: &'a MatchRules,
    /// The live offers, with what the cut left of each.
    pub offers: &'a [&'a PoolOffer],
    /// Comparisons.
    pub budget: StepBudget,
    /// When it is.
    pub now_s: Seconds,
}

impl Moment<'_> {
    /// When it is, in milliseconds.
    pub fn now(&self) -> Millis {
        self.now_s.saturating_mul(SECOND)
    }
}
