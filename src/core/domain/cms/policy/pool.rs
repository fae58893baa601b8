//! The pool at a moment: the records, the pending jobs as autoclusters, and the counters.
//!
//! Records may come in any order: a job before its workflow, a whitelist before its sites. Equal
//! records give equal pools, whatever the order.

use super::autocluster::{Autocluster, Place, Signature};
use super::counters::Counters;
use super::entry::{GrantEntry, Standing, UserEntry, WorkflowEntry};
use super::facts::{HeldJob, Seconds, SiteStatus, SlotQuota, Workflow, seconds};
use super::quota::SiteTerms;
use super::settings::Settings;
use crate::domain::cms::state::{PoolDrain, PoolNode, PoolOffer};
use crate::id::{Name, Names};
use crate::math::decay::Decay;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The pool: records by name, autoclusters of pending jobs, and counters.
#[derive(Clone, Debug)]
pub struct Pool {
    pub(super) settings: Settings,
    pub(super) decay: Decay,
    pub(super) names: Names,
    pub(super) quotas: BTreeMap<Name, SlotQuota>,
    pub(super) terms: Vec<Option<SiteTerms>>,
    pub(super) t1s: BTreeMap<Name, Seconds>,
    pub(super) workflows: Vec<WorkflowEntry>,
    pub(super) users: Vec<UserEntry>,
    pub(super) grants: Vec<GrantEntry>,
    pub(super) group_grants: BTreeMap<Name, Vec<usize>>,
    pub(super) jobs: BTreeMap<Arc<str>, Standing>,
    pub(super) clusters: Vec<Autocluster>,
    pub(super) by_signature: BTreeMap<Signature, usize>,
    pub(super) nodes: BTreeMap<String, PoolNode>,
    pub(super) on_node: BTreeMap<String, BTreeSet<Arc<str>>>,
    pub(super) counters: Counters,
}

impl Pool {
    /// An empty pool at a moment.
    pub fn new(settings: Settings, now_s: Seconds) -> Pool {
        Pool {
            decay: Decay::at(settings.half_life_s, now_s),
            settings,
            names: Names::default(),
            quotas: BTreeMap::new(),
            terms: Vec::new(),
            t1s: BTreeMap::new(),
            workflows: Vec::new(),
            users: Vec::new(),
            grants: Vec::new(),
            group_grants: BTreeMap::new(),
            jobs: BTreeMap::new(),
            clusters: Vec::new(),
            by_signature: BTreeMap::new(),
            nodes: BTreeMap::new(),
            on_node: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    /// The parameters in force.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clock of decay.
    pub fn decay(&self) -> &Decay {
        &self.decay
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The text of a name.
    pub fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }

    /// The number of a name, if anything has it.
    pub fn name(&self, text: &str) -> Option<Name> {
        self.names.find(text)
    }

    /// Quotas and limits of a site, if the site is known (C-24).
    pub fn site(&self, site: Name) -> Option<&SiteTerms> {
        self.terms.get(site.index()).and_then(Option::as_ref)
    }

    /// The quota set of a site that is in force.
    pub fn quota(&self, site: Name) -> Option<&SlotQuota> {
        self.quotas.get(&site)
    }

    /// The sites of tier T1, and when each was last offered from, as far as that is known.
    pub fn t1s(&self) -> &BTreeMap<Name, Seconds> {
        &self.t1s
    }

    /// Notes when sites were offered from.
    pub fn note_offers<'a>(&mut self, offers: impl Iterator<Item = &'a PoolOffer>) {
        if self.t1s.is_empty() || self.settings.t1_first_s == 0 {
            return;
        }
        self.t1s.values_mut().for_each(|at_s| *at_s = Seconds::MIN);
        for offer in offers {
            let known = self.names.find(&offer.site).and_then(|site| self.t1s.get_mut(&site));
            if let Some(at_s) = known {
                *at_s = seconds(offer.changed_at).max(*at_s);
            }
        }
    }

    /// Whether the storage of a site serves jobs: it is known, and not offline.
    pub fn serves(&self, site: Name) -> bool {
        self.site(site).is_some_and(|terms| terms.status != SiteStatus::Offline)
    }

    /// Whether a user has a role that may flag system jobs (C-05).
    pub fn may_flag_system_jobs(&self, user: Name) -> bool {
        let record = self.user(user).and_then(|entry| entry.record.as_ref());
        let roles = record.into_iter().flat_map(|record| &record.roles);
        roles.into_iter().any(|role| self.settings.system_roles.contains(role))
    }

    /// The known sites.
    pub fn sites(&self) -> impl Iterator<Item = (Name, &SiteTerms)> {
        self.quotas.keys().filter_map(|name| Some((*name, self.site(*name)?)))
    }

    /// Overflow slots left of each known site, by its name's number (C-38).
    pub fn overflow_spare(&self) -> Vec<Option<i64>> {
        let mut spare = vec![None; self.terms.len()];
        for (name, terms) in self.sites() {
            let read = self.counters.site(name).overflow;
            spare[name.index()] = Some(terms.overflow_slots.saturating_sub(read));
        }
        spare
    }

    /// A workflow, with its record or without.
    pub fn workflow(&self, workflow: Name) -> Option<&WorkflowEntry> {
        self.workflows.get(workflow.index())
    }

    /// The workflows whose records were seen.
    pub fn workflows(&self) -> impl Iterator<Item = (Name, &WorkflowEntry, Workflow<'_>)> {
        let all = (0u32..).zip(&self.workflows);
        all.filter_map(|(at, entry)| Some((Name(at), entry, entry.workflow()?)))
    }

    /// A user, if anything is known of it.
    pub fn user(&self, user: Name) -> Option<&UserEntry> {
        self.users.get(user.index())
    }

    /// The grant of a number.
    pub fn grant(&self, at: usize) -> &GrantEntry {
        &self.grants[at]
    }

    /// The grants of a group.
    pub fn grants_of_group(&self, group: Name) -> &[usize] {
        self.group_grants.get(&group).map_or(&[], Vec::as_slice)
    }

    /// A job, if it waits or is held.
    pub fn job(&self, job: &str) -> Option<&Standing> {
        self.jobs.get(job)
    }

    /// Where a job waits: its autocluster, and its place among those that are like it.
    pub fn place_of(&self, job: &str) -> Option<(&Autocluster, &Place)> {
        let Standing::Pending(job) = self.job(job)? else { return None };
        let place = Place { queued_at_s: job.queued_at_s, seq: job.seq, job: Arc::clone(&job.job) };
        self.clusters.iter().find_map(|cluster| Some((cluster, cluster.find(&place)?)))
    }

    /// All jobs that wait or are held, by name.
    pub fn jobs(&self) -> impl Iterator<Item = &Standing> {
        self.jobs.values()
    }

    /// The autoclusters; each has a job.
    pub fn clusters(&self) -> &[Autocluster] {
        &self.clusters
    }

    /// The nodes, by name.
    pub fn nodes(&self) -> impl Iterator<Item = &PoolNode> {
        self.nodes.values()
    }

    /// The jobs held on a node.
    pub fn held_on(&self, node: &str) -> impl Iterator<Item = &HeldJob> {
        let jobs = self.on_node.get(node).into_iter().flatten();
        jobs.filter_map(|job| match self.jobs.get(job)? {
            Standing::Held(held) => Some(&**held),
            Standing::Pending(_) => None,
        })
    }

    /// The drain of a node that is still kept free, if it is.
    pub fn open_drain(&self, node: &str) -> Option<&PoolDrain> {
        let node = self.nodes.get(node)?;
        node.drain.as_ref().filter(|drain| self.keeps_free(node, drain))
    }

    /// Whether a node is still kept free: the job it is drained for has not started there yet.
    fn keeps_free(&self, node: &PoolNode, drain: &PoolDrain) -> bool {
        match self.job(&drain.job) {
            Some(Standing::Held(held)) => held.node.as_ref() != Some(&node.node),
            Some(Standing::Pending(_)) | None => true,
        }
    }

    /// The drains whose node is still kept free, by node.
    pub fn open_drains(&self) -> impl Iterator<Item = (&PoolNode, &PoolDrain)> {
        self.drains().filter(|(node, drain)| self.keeps_free(node, drain))
    }

    /// The drains, by node.
    pub fn drains(&self) -> impl Iterator<Item = (&PoolNode, &PoolDrain)> {
        self.nodes().filter_map(|node| Some((node, node.drain.as_ref()?)))
    }

    /// Largest number of cores of a known node; 0 if none is known.
    pub fn largest_node(&self) -> i64 {
        self.nodes.values().map(|node| node.cores_total).max().unwrap_or(0)
    }
}
