//! Throttles of owners and tasks (spec atlas 8.1) and of work queues (spec atlas 10.5): what rules
//! measure, and what is published when a figure crosses its limit.
//!
//! A throttle is set when the figure is above the limit, and lifted once it has come down by the
//! hysteresis and the least dwell is over. In between it stands, and is published again before it
//! lapses.

use super::case::Case;
use super::owner::Owner;
use super::work_queue::WorkQueue;
use crate::output::throttle::{SubjectKind, Throttle};
use crate::policy::rule::Rule;
use crate::policy::values::Values;
use crate::policy::wait::{Wait, WaitReason};
use crate::unit::Millis;

/// A rule's figure and its limit; both in the rule's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gauge {
    /// The rule.
    pub rule: Rule,
    /// Why a task is deferred by it.
    pub reason: WaitReason,
    /// Measured figure.
    pub measured: f64,
    /// Largest figure that passes.
    pub limit: f64,
}

/// How throttles are lifted and lapse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// How far below its limit a measure has to come; a part of the limit.
    pub hysteresis: f64,
    /// Least time a throttle stands.
    pub dwell: Millis,
    /// How long a throttle stands without being published again.
    pub lapse: Millis,
}

impl Margin {
    /// Largest figure at which a throttle is lifted.
    pub fn lift_limit(&self, limit: f64) -> f64 {
        limit * (1.0 - self.hysteresis)
    }

    /// Why a request waits by a figure; `stands`: whether it was throttled by it before, and that
    /// was not lifted yet. Without a least dwell one that has come down is as good as lifted.
    pub(super) fn wait(&self, gauge: &Gauge, stands: bool) -> Option<Wait> {
        let Gauge { reason, measured, limit, .. } = *gauge;
        let limit = if stands { self.lift_limit(limit) } else { limit };
        (stands && self.dwell > 0 || measured > limit).then_some(Wait { reason, measured, limit })
    }
}

/// How a kind of policy holds work as a whole.
pub struct Throttling {
    /// Its parameters.
    pub margin: fn(&Values) -> Margin,
    /// How it holds owners and tasks, if it does.
    pub of_owners: Option<OwnerThrottling>,
    /// Component of gdpconfig that the limits of its job throttler are in.
    pub component: &'static str,
    /// Whether its job throttler is on.
    pub throttles_jobs: fn(&Values) -> bool,
    /// Figures of a work queue under the rules of the job throttler; those without a limit are left
    /// out.
    pub of_work_queue: fn(&WorkQueue, &Values) -> Vec<Gauge>,
}

/// How a kind of policy holds owners and tasks.
pub struct OwnerThrottling {
    /// Figures of a user or working group under its rules; those without a limit are left out.
    pub of_owner: fn(&Owner, SubjectKind, &Values) -> Vec<Gauge>,
    /// Figure of a task under its rule; `None`: the rule does not apply.
    pub of_task: fn(&Case<'_>, &Values) -> Option<Gauge>,
}

/// Change of a (rule, subject) that is to be published now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThrottleChange {
    /// It is held, since then.
    Set(Millis),
    /// It is free.
    Lift,
}

/// The change to be published, if any: `before` is the newest record, `gauge` the figure (`None`
/// when the rule has no limit any more), `asks` whether the subject has work to hold.
pub fn step(
    before: Option<&Throttle>,
    gauge: Option<&Gauge>,
    asks: bool,
    margin: &Margin,
    now: Millis,
) -> Option<ThrottleChange> {
    let Some(before) = before.filter(|before| before.stands(now)) else {
        let is_above = gauge.is_some_and(|gauge| gauge.measured > gauge.limit);
        return (asks && is_above).then_some(ThrottleChange::Set(now));
    };
    let Some(gauge) = gauge else { return Some(ThrottleChange::Lift) };
    let is_down = gauge.measured <= margin.lift_limit(gauge.limit);
    if is_down && before.lift_from.is_none_or(|from| from <= now) {
        return Some(ThrottleChange::Lift);
    }
    // One that has nothing to hold lapses.
    let is_due = before.renew_at().is_some_and(|at| at <= now);
    (asks && is_due).then(|| ThrottleChange::Set(before.since()))
}
