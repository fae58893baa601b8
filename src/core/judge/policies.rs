//! The policies that answer, each made ready for the shares it is asked for.

use crate::domain::atlas::judge::world::World;
use crate::domain::atlas::policy::{Case, Preassigned};
use crate::judge::view::CutView;
use crate::policy::{Domain, Policy, PolicySpec, Resolved, kind};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All policies, with what was prepared for each share.
pub(crate) struct Policies {
    all: Vec<Policy>,
    /// By index of the policy: the dry run of job brokerage, for one whose candidates are nuclei.
    checks: Vec<Option<Policy>>,
    /// By index of the policy, then by share.
    ready: RefCell<Vec<BTreeMap<String, Arc<Ready>>>>,
}

/// A policy made ready for a share. It holds until a queue, a site or a parameter changes.
pub(crate) struct Ready {
    /// Its parameters.
    pub(crate) resolved: Resolved,
    /// Indices of the queues on the candidate list of tasks that name none.
    list: Vec<u32>,
    /// Parameters of the dry run of job brokerage, for a policy whose candidates are nuclei.
    pub(crate) check: Option<Resolved>,
}

impl Ready {
    /// The candidate list of a case: indices of queues, in order of their names.
    pub(crate) fn list(&self, policy: &Policy, world: &World, case: &Case<'_>) -> Cow<'_, [u32]> {
        if case.preassigned == Preassigned::No {
            return Cow::Borrowed(&self.list);
        }
        world.admitted(policy, case, &self.resolved).into()
    }
}

impl Policies {
    /// None of them is ready for any share yet.
    pub(crate) fn new(all: Vec<Policy>) -> Policies {
        let checks = all.iter().map(|policy| check_of(policy, &all)).collect();
        let ready = RefCell::new(all.iter().map(|_| BTreeMap::new()).collect());
        Policies { all, checks, ready }
    }

    /// All of them, in the order of the topology.
    pub(crate) fn all(&self) -> &[Policy] {
        &self.all
    }

    /// The policy at an index.
    pub(crate) fn at(&self, index: usize) -> &Policy {
        &self.all[index]
    }

    /// The index of a policy. That of a domain answers every request of the domain: the name in a
    /// request is the one that the policy had when the record was read.
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        let is_it = |policy: &Policy| policy.spec.name == name;
        let of_domain = |policy: &Policy| policy.flavour.domain().is_some();
        self.all.iter().position(is_it).or_else(|| self.all.iter().position(of_domain))
    }

    /// The dry run of job brokerage of a policy whose candidates are nuclei.
    pub(crate) fn check(&self, index: usize) -> Option<&Policy> {
        self.checks.get(index)?.as_ref()
    }

    /// Whether the candidates of any of them are nuclei.
    pub(crate) fn any_judges_nuclei(&self) -> bool {
        self.all.iter().any(|policy| policy.flavour.judges_nuclei())
    }

    /// The domain that one of them is of, if a program brings one.
    pub(crate) fn domain(&self) -> Option<&Domain> {
        self.all.iter().find_map(|policy| policy.flavour.domain())
    }

    /// A queue, a site or a parameter changed: all are made ready again when they are asked for.
    pub(crate) fn reset(&mut self) {
        self.ready.get_mut().iter_mut().for_each(BTreeMap::clear);
    }

    /// A policy ready for a share.
    pub(crate) fn ready(&self, index: usize, gshare: &str, view: CutView<'_>) -> Arc<Ready> {
        if let Some(held) = self.ready.borrow()[index].get(gshare) {
            return held.clone();
        }
        let look_up = |component: &str, name: &str| view.state.parameter(component, name);
        let policy = &self.all[index];
        let resolved = policy.resolve(&look_up, gshare);
        let list = view.world.queue_indices(|queue| policy.lists(queue, &resolved));
        let check = self.check(index).map(|check| check.resolve(&look_up, gshare));
        let ready = Arc::new(Ready { resolved, list, check });
        self.ready.borrow_mut()[index].insert(gshare.to_owned(), ready.clone());
        ready
    }
}

/// The dry run of job brokerage for a policy of tasks: of the policy of jobs that there is, else of
/// one with every filter (spec atlas N7).
fn check_of(policy: &Policy, policies: &[Policy]) -> Option<Policy> {
    const JOBS: &str = "atlas-production-job";
    if !policy.flavour.judges_nuclei() {
        return None;
    }
    let own = policies.iter().find(|other| other.flavour.name == JOBS);
    let full = || kind(JOBS).map(|jobs| PolicySpec::full(JOBS, jobs, policy.spec.rules));
    let spec = own.map(|own| own.spec.clone()).or_else(full)?;
    Policy::compile(&policy.flavour.dry_run_of(&spec)).ok()
}
