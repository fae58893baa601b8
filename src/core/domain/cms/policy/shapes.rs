//! What the nodes of each site have while nothing runs on them, and whether any could hold a job
//! (C-50, C-60).

use super::autocluster::{Autocluster, Signature};
use super::entry::WorkflowEntry;
use super::facts::{CoresMax, Seconds, SiteStatus, Workflow};
use super::label;
use super::look::allocation;
use super::pool::Pool;
use super::quota::SiteTerms;
use super::settings::Settings;
use crate::domain::cms::state::PoolNode;
use crate::id::Name;
use std::collections::BTreeMap;

/// Most numbers of cores that a job is tried with on one node.
const CORES_TRIED: usize = 1_024;

/// What a node has while nothing runs on it, as far as its offers showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Cores.
    pub cores: i64,
    /// Memory, MB.
    pub mem_mb: i64,
    /// Time that a pilot has left.
    pub wall_s: Seconds,
}

impl Shape {
    fn has_all_of(&self, other: &Shape) -> bool {
        self.cores >= other.cores && self.mem_mb >= other.mem_mb && self.wall_s >= other.wall_s
    }
}

/// The shapes of nodes at each site, each with a node of it: of two, one of which has all that the
/// other has, that one.
#[derive(Debug, Default)]
pub struct Shapes<'a> {
    of_site: BTreeMap<Name, Vec<(Shape, &'a PoolNode)>>,
}

impl<'a> Shapes<'a> {
    /// Those of the known nodes.
    pub fn of(pool: &'a Pool) -> Shapes<'a> {
        let mut of_site: BTreeMap<Name, Vec<(Shape, &PoolNode)>> = BTreeMap::new();
        for node in pool.nodes().filter(|node| node.seen_at != 0) {
            let Some(site) = pool.name(&node.site) else { continue };
            let (mem_mb, wall_s) = (node.mem_most_mb, node.wall_most_s);
            let shape = Shape { cores: node.cores_total, mem_mb, wall_s };
            let known = of_site.entry(site).or_default();
            let is_alike = |other: &PoolNode| {
                other.labels == node.labels && other.resources_most == node.resources_most
            };
            if !known.iter().any(|(it, other)| it.has_all_of(&shape) && is_alike(other)) {
                known.retain(|(it, other)| !(shape.has_all_of(it) && is_alike(other)));
                known.push((shape, node));
            }
        }
        // Pilots of a site are alike: one that was seen late in its life had more time before.
        for shapes in of_site.values_mut() {
            let wall_s = shapes.iter().map(|(shape, _)| shape.wall_s).max().unwrap_or(0);
            shapes.iter_mut().for_each(|(shape, _)| shape.wall_s = wall_s);
        }
        Shapes { of_site }
    }

    /// Those of a site.
    pub fn at(&self, site: Name) -> &[(Shape, &'a PoolNode)] {
        self.of_site.get(&site).map_or(&[], Vec::as_slice)
    }

    /// The shape of a site's nodes by which a job is looked at where nothing is offered: one that
    /// could hold it, else the largest.
    pub fn for_job(
        &self,
        pool: &Pool,
        cluster: &Autocluster,
        site: Name,
    ) -> Option<(Shape, &'a PoolNode)> {
        let signature = &cluster.signature;
        let workflow = pool.workflow(signature.workflow).and_then(WorkflowEntry::workflow);
        let rank = |(it, node): &&(Shape, &PoolNode)| {
            let holds = holds(it, node, signature, workflow, pool.settings());
            (holds, it.cores, it.mem_mb, it.wall_s)
        };
        self.at(site).iter().max_by_key(rank).copied()
    }

    /// Whether a node of a site that takes jobs now could hold jobs that are alike; `None`: that is
    /// not known, for no node of such a site is, or there is no such site.
    pub fn hold(&self, pool: &Pool, cluster: &Autocluster) -> Option<bool> {
        let signature = &cluster.signature;
        let workflow = pool.workflow(signature.workflow).and_then(WorkflowEntry::workflow);
        let (mut is_any, mut is_any_unknown) = (false, false);
        for (site, terms) in pool.sites().filter(|(site, _)| may_run(*site, cluster, workflow)) {
            let shapes = self.at(site);
            let settings = pool.settings();
            let fits =
                shapes.iter().any(|(it, node)| holds(it, node, signature, workflow, settings));
            if !is_open(terms, workflow) {
                // It comes back: what it could hold has a place.
                is_any_unknown |= fits || shapes.is_empty();
                continue;
            }
            if fits {
                return Some(true);
            }
            (is_any, is_any_unknown) = (true, is_any_unknown || shapes.is_empty());
        }
        (is_any && !is_any_unknown).then_some(false)
    }
}

impl Shapes<'_> {
    /// The most of each that any node has of the sites that take jobs now.
    pub fn most(&self, pool: &Pool, cluster: &Autocluster) -> Shape {
        let workflow = pool.workflow(cluster.signature.workflow).and_then(WorkflowEntry::workflow);
        let sites = pool.sites().filter(|(site, terms)| takes(*site, terms, cluster, workflow));
        let mut most = Shape { cores: 0, mem_mb: 0, wall_s: 0 };
        for (shape, _) in sites.flat_map(|(site, _)| self.at(site)) {
            most.cores = most.cores.max(shape.cores);
            most.mem_mb = most.mem_mb.max(shape.mem_mb);
            most.wall_s = most.wall_s.max(shape.wall_s);
        }
        most
    }
}

/// Whether jobs may run at a site as it is now, whatever is free there.
fn takes(
    site: Name,
    terms: &SiteTerms,
    cluster: &Autocluster,
    workflow: Option<Workflow<'_>>,
) -> bool {
    is_open(terms, workflow) && may_run(site, cluster, workflow)
}

/// Whether a site takes jobs of a workflow as it is now.
fn is_open(terms: &SiteTerms, workflow: Option<Workflow<'_>>) -> bool {
    match terms.status {
        SiteStatus::Online => true,
        SiteStatus::Test => workflow.is_some_and(|workflow| workflow.facts().site_test),
        SiteStatus::Drain | SiteStatus::Offline => false,
    }
}

/// Whether jobs may run at a site, there or by overflow, whatever its status.
fn may_run(site: Name, cluster: &Autocluster, workflow: Option<Workflow<'_>>) -> bool {
    let overflows = || {
        let own = cluster.signature.allow_overflow;
        own.unwrap_or_else(|| workflow.is_some_and(|workflow| workflow.facts().allow_overflow))
    };
    cluster.is_local_to(site) || overflows()
}

/// Whether a node of a shape has what a job takes with some number of cores that it may use.
pub fn holds(
    shape: &Shape,
    node: &PoolNode,
    signature: &Signature,
    workflow: Option<Workflow<'_>>,
    settings: &Settings,
) -> bool {
    let most = match signature.cores_max {
        CoresMax::Cores(most) if !signature.whole_node => most.min(shape.cores),
        CoresMax::Cores(_) | CoresMax::Node => shape.cores,
    };
    let least = if signature.whole_node { shape.cores } else { signature.cores_min };
    let fits = |cores: i64| {
        let taken = allocation(settings, signature, workflow, cores);
        taken.wall_s <= shape.wall_s && taken.rss_mb <= shape.mem_mb
    };
    shape.cores >= signature.cores_min
        && label::suffices(node, signature)
        && (least..=most).take(CORES_TRIED).any(fits)
}
