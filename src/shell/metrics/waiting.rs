//! Requests that wait, as metrics: how many and why, how old, and whether any is forgotten.

use super::OTHER;
use super::counters::PAIRS_MAX;
use super::current::Current;
use super::table::Metric;
use crate::waiting::{FIXED, ReasonSorter, each_open};
use std::collections::BTreeMap;
use yardmaster_core::engine::Engine;
use yardmaster_core::state::State;
use yardmaster_core::state::record::RequestState;
use yardmaster_core::unit::{Millis, SECOND};

/// A request whose time to be judged passed so long ago is overdue.
pub(super) const OVERDUE_AFTER: Millis = 60 * SECOND;

/// The requests of one policy.
#[derive(Default)]
struct OfPolicy {
    oldest_asked_at: Option<Millis>,
    overdue: u64,
}

/// Counts the requests that are open, if those are known; looks at no more than `most`.
pub(super) fn record(current: &Current, engine: &Engine, most: usize) {
    if engine.open_requests().is_none() {
        return;
    }
    let mut looks = Looks::new(engine);
    let open = each_open(engine, most, |request| looks.take(request));
    looks.show(current, open);
}

/// Shows none.
pub(super) fn forget(current: &Current) {
    current.set(Metric::WaitingRequests, std::iter::empty::<([&str; 2], f64)>());
    for metric in [Metric::WaitingAge, Metric::OverdueRequests] {
        current.set(metric, std::iter::empty::<([&str; 1], f64)>());
    }
}

/// Counts of the requests that were looked at so far.
struct Looks<'a> {
    state: &'a State,
    policies: BTreeMap<&'a str, OfPolicy>,
    by_reason: BTreeMap<[&'a str; 2], u64>,
    looked_at: u64,
    sorter: ReasonSorter<'a>,
}

impl<'a> Looks<'a> {
    fn new(engine: &'a Engine) -> Looks<'a> {
        let state = &engine.state;
        // An offer waits for nothing: that jobs wait for slots is shown as idle jobs.
        let judged = || engine.policies().iter().filter(|it| !it.flavour.judges_offers());
        let names = || judged().map(|policy| policy.spec.name.as_str());
        Looks {
            state,
            policies: names().map(|name| (name, OfPolicy::default())).collect(),
            by_reason: names().flat_map(|name| FIXED.map(|why| ([name, why], 0))).collect(),
            looked_at: 0,
            sorter: ReasonSorter::new(engine),
        }
    }

    fn take(&mut self, request: &'a RequestState) {
        self.looked_at += 1;
        let Some(task) = &request.task else { return };
        // A request may name a policy that there is not: it is rejected when it is judged.
        let named = self.policies.get_key_value(task.policy.as_str());
        let policy = named.map_or(OTHER, |(name, _)| *name);
        let of_policy = self.policies.entry(policy).or_default();
        let asked_at = of_policy.oldest_asked_at.unwrap_or(task.asked_at).min(task.asked_at);
        of_policy.oldest_asked_at = Some(asked_at);
        let Some(sorted) = self.sorter.sort(request) else { return };
        let due = sorted.deferral.map_or(task.changed_at.max(task.asked_at), |it| it.until);
        if due.saturating_add(OVERDUE_AFTER) < self.state.now {
            of_policy.overdue += 1;
        }
        self.count(policy, sorted.reason, 1);
    }

    fn count(&mut self, policy: &'a str, reason: &'a str, requests: u64) {
        let has_room = self.by_reason.len() < PAIRS_MAX;
        let is_known = has_room || self.by_reason.contains_key(&[policy, reason]);
        let labels = if is_known { [policy, reason] } else { [OTHER; 2] };
        *self.by_reason.entry(labels).or_default() += requests;
    }

    fn show(mut self, current: &Current, open: usize) {
        let beyond = (open as u64).saturating_sub(self.looked_at);
        if beyond > 0 {
            self.count(OTHER, OTHER, beyond);
        }
        let requests = self.by_reason.iter().map(|(labels, requests)| (*labels, *requests as f64));
        current.set(Metric::WaitingRequests, requests);
        let policies = || self.policies.iter();
        let age = |of: &OfPolicy| {
            let asked_at = of.oldest_asked_at.unwrap_or(self.state.now);
            self.state.now.saturating_sub(asked_at).max(0) as f64 / SECOND as f64
        };
        current.set(Metric::WaitingAge, policies().map(|(name, of)| ([*name], age(of))));
        let overdue = policies().map(|(name, of)| ([*name], of.overdue as f64));
        current.set(Metric::OverdueRequests, overdue);
    }
}
