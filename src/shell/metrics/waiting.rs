//! Requests that wait, as metrics: how many and why, how old, and whether any is forgotten.

use super::OTHER;
use super::counters::PAIRS_MAX;
use super::current::Current;
use super::table::Metric;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use yardmaster_core::engine::Engine;
use yardmaster_core::output::throttle::{SubjectKind, owner_of, work_queue};
use yardmaster_core::state::State;
use yardmaster_core::state::blockers::{Blockers, Cause};
use yardmaster_core::state::record::RequestState;
use yardmaster_core::unit::{Millis, SECOND};

/// How many requests are looked at, those to be judged now first; the others are counted and no
/// more. A look takes about a microsecond, and the loop waits for all of them.
pub(super) const LOOKED_AT_MAX: usize = 20_000;
/// A request whose time to be judged passed so long ago is overdue.
pub(super) const OVERDUE_AFTER: Millis = 60 * SECOND;

/// No answer to this attempt was given yet.
const NOT_JUDGED: &str = "not_judged";
/// Its owner or task is held by a throttle.
const THROTTLED: &str = "throttled";
/// It waits for another reason than a throttle, before any candidate is looked at.
const AS_WHOLE: &str = "deferred_as_whole";
/// Reasons that are shown of each policy, be there any or none.
pub(super) const FIXED: [&str; 3] = [NOT_JUDGED, THROTTLED, AS_WHOLE];

/// The requests of one policy.
#[derive(Default)]
struct OfPolicy {
    oldest_asked_at: Option<Millis>,
    overdue: u64,
}

/// Counts the requests that are open, if those are known; looks at no more than `most`.
pub(super) fn record(current: &Current, engine: &Engine, most: usize) {
    let Some(open) = engine.open_requests() else { return };
    let mut looks = Looks::new(engine);
    open.take(most).for_each(|request| looks.take(request));
    looks.show(current, engine.waiting());
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
    /// Subjects that are held by a throttle.
    held: BTreeSet<(SubjectKind, &'a str)>,
    reasons: Reasons<'a>,
}

impl<'a> Looks<'a> {
    fn new(engine: &'a Engine) -> Looks<'a> {
        let state = &engine.state;
        let names = || engine.policies().iter().map(|policy| policy.spec.name.as_str());
        let throttles = state.throttles.iter().map(|(_, throttle)| throttle);
        let held = throttles.filter(|throttle| throttle.holds(state.now));
        Looks {
            state,
            policies: names().map(|name| (name, OfPolicy::default())).collect(),
            by_reason: names().flat_map(|name| FIXED.map(|why| ([name, why], 0))).collect(),
            looked_at: 0,
            held: held.map(|throttle| (throttle.kind, throttle.subject.as_str())).collect(),
            reasons: Reasons::default(),
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
        let deferral = request.answer.as_ref().filter(|it| it.attempt >= task.attempt);
        let due = deferral.map_or(task.changed_at.max(task.asked_at), |it| it.until);
        if due.saturating_add(OVERDUE_AFTER) < self.state.now {
            of_policy.overdue += 1;
        }
        let reason = match deferral {
            None => NOT_JUDGED,
            Some(answer) if !answer.blockers.is_empty() => self.reasons.of(&answer.blockers),
            Some(_) => {
                let (kind, of) = work_queue(&task.gshare, &task.resource_type);
                let is_held = self.held.contains(&owner_of(task))
                    || self.held.contains(&(SubjectKind::Task, task.task.as_str()))
                    || self.held.contains(&(kind, of.as_str()));
                if is_held { THROTTLED } else { AS_WHOLE }
            }
        };
        self.count(policy, reason, 1);
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

/// The filter that rejected most candidates, by the lists that equal deferrals share.
#[derive(Default)]
struct Reasons<'a> {
    known: BTreeMap<(*const Arc<Cause>, *const u16), &'a str>,
}

impl<'a> Reasons<'a> {
    fn of(&mut self, blockers: &'a Blockers) -> &'a str {
        let lists = (blockers.causes().as_ptr(), blockers.of_queue().as_ptr());
        self.known.entry(lists).or_insert_with(|| most_rejecting(blockers))
    }
}

/// The filter that rejected most candidates; of equals the first by name.
fn most_rejecting(blockers: &Blockers) -> &str {
    let mut by_cause = vec![0_u64; blockers.causes().len()];
    for cause in blockers.of_queue() {
        if let Some(count) = by_cause.get_mut(usize::from(*cause)) {
            *count += 1;
        }
    }
    let mut by_filter: BTreeMap<&str, u64> = BTreeMap::new();
    for (cause, count) in blockers.causes().iter().zip(by_cause) {
        *by_filter.entry(&cause.filter).or_default() += count;
    }
    let most = by_filter.into_iter().rev().max_by_key(|(_, count)| *count);
    most.map_or(OTHER, |(filter, _)| filter)
}
