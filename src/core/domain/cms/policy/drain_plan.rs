//! The nodes that may be drained for jobs that are alike, and the cost of each (F-7).

use super::autocluster::{Autocluster, Signature};
use super::facts::Seconds;
use super::look::{Look, Pending, allocation};
use super::moment::Moment;
use super::node::{Free, NodeAt, offer_of};
use super::pool::Pool;
use std::cell::OnceCell;

/// A node that could be drained, with the cost of draining it.
pub(super) struct DrainPlan<'a> {
    /// Node.
    pub(super) node: &'a str,
    /// Its site.
    pub(super) site: &'a str,
    /// Cores that are to be free.
    pub(super) need: i64,
    /// What it has then.
    pub(super) free: Free,
    at: &'a NodeAt<'a>,
    passes: OnceCell<bool>,
}

impl DrainPlan<'_> {
    /// Whether nothing but the cores objects to the jobs there.
    pub(super) fn passes(&self, pool: &Pool, cluster: &Autocluster, at: &Moment<'_>) -> bool {
        *self.passes.get_or_init(|| passes_then(pool, cluster, self.at, &self.free, at))
    }
}

/// Where jobs that are alike would have the cores, time and memory that they take once a node is
/// drained, the best first: what idles least, then what is ready first, then by name. A node that
/// has the cores already needs no drain.
pub(super) fn plans<'a>(
    pool: &Pool,
    cluster: &Autocluster,
    nodes: &'a [NodeAt<'a>],
) -> Vec<DrainPlan<'a>> {
    let plans = nodes.iter().filter_map(|node| plan(pool, &cluster.signature, node));
    let mut plans: Vec<DrainPlan<'_>> = plans.collect();
    plans.sort_unstable_by_key(|plan| (plan.free.idle_core_s, plan.free.in_s, plan.node));
    plans
}

fn plan<'a>(pool: &Pool, signature: &Signature, at: &'a NodeAt<'a>) -> Option<DrainPlan<'a>> {
    let (node, need) = (at.node, need(signature, at.node.cores_total));
    if node.cores_total < need || !is_local(pool, signature, &node.site) {
        return None;
    }
    let free = at.once_free(need).filter(|free| !free.is_now)?;
    let is_large = |free: &Free| {
        let workflow = pool.workflow(signature.workflow).and_then(|entry| entry.workflow());
        let taken = allocation(pool.settings(), signature, workflow, free.cores);
        taken.wall_s <= free.wall_left_s && taken.rss_mb <= free.mem_mb
    };
    let (node, site) = (node.node.as_str(), node.site.as_str());
    is_large(&free).then(|| DrainPlan { node, site, need, free, at, passes: OnceCell::new() })
}

/// Cores that jobs wait for on a node of so many.
pub(super) fn need(signature: &Signature, cores_total: i64) -> i64 {
    match signature.whole_node {
        true => signature.cores_min.max(cores_total),
        false => signature.cores_min,
    }
}

fn is_local(pool: &Pool, signature: &Signature, site: &str) -> bool {
    signature.whitelist.is_none() || pool.name(site).is_some_and(|it| signature.is_local_to(it))
}

/// Whether every filter would let the jobs pass at a node with what it has then.
pub(super) fn passes_then(
    pool: &Pool,
    cluster: &Autocluster,
    node: &NodeAt<'_>,
    free: &Free,
    at: &Moment<'_>,
) -> bool {
    let figures = (free.cores, free.mem_mb, free.wall_left_s);
    let offer = offer_of(node.node, figures, &free.resources, at.now());
    let look = Look::new(pool, &offer, at.now());
    passes(&look, cluster, at, cluster.oldest().map_or(0, |oldest| oldest.queued_at_s))
}

/// Whether every filter lets a job of those that are alike pass at an offer, as if its node were
/// drained for it.
pub(super) fn passes(
    look: &Look<'_>,
    cluster: &Autocluster,
    at: &Moment<'_>,
    queued_at_s: Seconds,
) -> bool {
    let mut pending = Pending::new(look, cluster, queued_at_s);
    pending.is_drained_for = true;
    at.judges.objection(look, &pending).is_none()
}
