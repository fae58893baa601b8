//! By what is decided: policies, run-time parameters, and how near users are to their caps. Shown
//! by the process that leads, since the others decide nothing.

use super::OTHER;
use super::current::Current;
use super::figures::top_users;
use super::table::Metric;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::engine::Engine;
use yardmaster_core::event::is_bookkeeping;
use yardmaster_core::event::is_newer;
use yardmaster_core::state::State;
use yardmaster_core::unit::{Millis, SECOND};

/// How many components of run-time parameters get a label of their own: the first by name.
pub(super) const COMPONENTS_MAX: usize = 50;

/// Number and age of the parameters of a component.
#[derive(Clone, Copy, Default)]
struct Component {
    /// How many there are.
    count: usize,
    /// When the newest of them was changed, or one was seen to be gone; ms.
    changed_at: Millis,
}

/// Metrics of policies, parameters and caps.
#[derive(Default)]
pub(super) struct RuleMetrics {
    /// Where the topic was read up to when parameters were last looked at.
    read: Option<u64>,
    components: BTreeMap<String, Component>,
}

impl RuleMetrics {
    pub(super) fn record(&mut self, current: &Current, engine: &Engine) {
        let policies = engine.policies().iter();
        let policies = policies.map(|policy| [policy.spec.name.as_str(), policy.hash()]);
        current.set(Metric::PolicyInfo, policies.map(|labels| (labels, 1.0)));
        self.record_parameters(current, &engine.state);
        let gauges_of = engine.gauges_of_users();
        let caps = top_users(&engine.state).into_iter().flat_map(|(user, _)| {
            let gauges = gauges_of(user).into_iter();
            let gauges = gauges.filter(|gauge| gauge.limit > 0.0);
            gauges.map(move |gauge| ([user, gauge.rule.name()], gauge.measured / gauge.limit))
        });
        current.set(Metric::UserCaps, caps);
    }

    fn record_parameters(&mut self, current: &Current, state: &State) {
        let read = state.times.lanes.of(Topic::Parameter).map(|(_, lane)| lane.next).sum();
        if self.read.replace(read) != Some(read) {
            self.look(state);
        }
        // Set each time: a process that led before has shown none meanwhile.
        let (named, beyond) = split(&self.components);
        let all = named.into_iter().chain(beyond.map(|at| (OTHER, at)));
        let seconds = |at: Millis| at as f64 / SECOND as f64;
        current.set(Metric::ParametersChanged, all.map(|(name, at)| ([name], seconds(at))));
    }

    fn look(&mut self, state: &State) {
        let mut components: BTreeMap<String, Component> = BTreeMap::new();
        for (_, fact) in state.facts.parameters.iter() {
            let Some(parameter) = fact.current(is_newer) else { continue };
            if is_bookkeeping(parameter) {
                continue;
            }
            let component = components.entry(parameter.component.clone()).or_default();
            component.count += 1;
            component.changed_at = component.changed_at.max(parameter.changed_at);
        }
        for (name, before) in std::mem::take(&mut self.components) {
            let now = components.entry(name).or_default();
            let since = if now.count < before.count { state.now } else { before.changed_at };
            now.changed_at = now.changed_at.max(since);
        }
        self.components = components;
    }
}

/// The components with a label of their own, and the newest change of all others.
fn split(all: &BTreeMap<String, Component>) -> (Vec<(&str, Millis)>, Option<Millis>) {
    let mut named: Vec<(&str, Millis)> =
        all.iter().map(|(name, it)| (name.as_str(), it.changed_at)).collect();
    let beyond = named.split_off(COMPONENTS_MAX.min(named.len()));
    (named, beyond.into_iter().map(|(_, at)| at).max())
}

/// Shows none.
pub(super) fn forget(current: &Current) {
    current.set(Metric::ParametersChanged, std::iter::empty::<([&str; 1], f64)>());
    for metric in [Metric::PolicyInfo, Metric::UserCaps] {
        current.set(metric, std::iter::empty::<([&str; 2], f64)>());
    }
}
