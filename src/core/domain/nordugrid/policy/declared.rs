//! How this kind declares its filters and weights: their parameters are those of the kind, and none
//! waits for facts to change, since a choice is made at once or not at all.

use super::case::JobCase;
use super::figures::TargetFigures;
use super::staged::StagedTarget;
use crate::domain::nordugrid::policy::rank::RankKey;
use crate::policy::declare::{Before, Judged, Never};
use crate::policy::{Applies, Filter, FilterOf, Reason, Weight, WeightOf};

/// A job description, and the queues of clusters that it may be sent to.
#[derive(Clone, Copy, Debug)]
pub enum Targets {}

impl Judged for Targets {
    type Case<'a> = JobCase<'a>;
    type Candidate<'a> = StagedTarget<'a>;
    type Weighed = Never;
    type After = Never;
    type Whole = Never;
    type Figure = Never;
    type Factor = Never;
    type Key = fn(&TargetFigures) -> RankKey;
}

/// A filter of targets.
pub(super) type TargetFilter = FilterOf<Targets>;
/// A key of a target's rank.
pub(super) type TargetKey = WeightOf<Targets>;

/// Declares a filter of targets.
pub(super) const fn target_filter(
    name: &'static str,
    spec: &'static str,
    help: &'static str,
    reasons: &'static [&'static Reason],
    applies: Applies<Targets>,
    judge: Before<Targets>,
) -> TargetFilter {
    let filter = Filter { name, spec, help, reasons, params: &[], reads: &[], temporary: false };
    TargetFilter::before(filter, applies, judge)
}

/// Declares a key of a target's rank.
pub(super) const fn rank_weight(
    name: &'static str,
    spec: &'static str,
    help: &'static str,
    key: fn(&TargetFigures) -> RankKey,
) -> TargetKey {
    let weight = Weight { name, spec, help, params: &[], figures: &[], reads: &[] };
    TargetKey::key(weight, key)
}
