//! How this kind declares its filters and weights: their parameters are those of the kind, and none
//! waits for facts to change, since a choice is made at once or not at all.

use crate::policy::declare::{RankWeigh, Weigh};
use crate::policy::{Applies, Filter, FilterFunction, Reason, Weight};

/// A filter of targets.
pub(super) const fn target_filter(
    name: &'static str,
    spec: &'static str,
    help: &'static str,
    reasons: &'static [&'static Reason],
    applies: Applies,
    judge: FilterFunction,
) -> Filter {
    Filter { name, spec, help, reasons, params: &[], reads: &[], temporary: false, applies, judge }
}

/// A weight that gives one key of a target's rank.
pub(super) const fn rank_weight(
    name: &'static str,
    spec: &'static str,
    help: &'static str,
    weigh: RankWeigh,
) -> Weight {
    Weight { name, spec, help, params: &[], figures: &[], reads: &[], weigh: Weigh::Rank(weigh) }
}
