//! Nodes kept free for jobs of many cores (C-55, F-7).

use super::autocluster::{Autocluster, Place};
use super::decision::PoolAction;
use super::drain_plan::{DrainPlan, need, passes, passes_then, plans};
use super::effective::effective_priority;
use super::entry::{Standing, WorkflowEntry};
use super::facts::{PendingJob, Seconds, SiteStatus, Workflow, seconds};
use super::look::{Look, Pending};
use super::moment::Moment;
use super::node::NodeAt;
use super::pool::Pool;
use crate::domain::cms::state::{PoolDrain, PoolNode, PoolOffer};
use crate::id::Name;
use crate::turns::{has_turn, parts};
use std::cmp::Reverse;
use std::collections::btree_set::Iter;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// The span in which drains of a site are counted for its rate.
pub const HOUR_S: Seconds = 3600;

/// Drains that are over: their job started elsewhere or is gone, or it cannot have the node.
pub fn cancelled(pool: &Pool, at: &Moment<'_>) -> Vec<PoolAction> {
    let of_node = offers_of_nodes(at);
    let is_over = |(node, drain): &(&PoolNode, &PoolDrain)| match pool.job(&drain.job) {
        Some(Standing::Pending(_)) => {
            let offer = of_node.get(node.node.as_str()).copied();
            !may_still_have(pool, NodeAt::of(pool, node, offer, at.now_s), drain, at)
        }
        Some(Standing::Held(held)) => held.node.as_ref() != Some(&node.node),
        None => true,
    };
    let cancelled = pool.drains().filter(is_over);
    cancelled
        .map(|(node, drain)| PoolAction::DrainCancelled {
            node: node.node.clone(),
            job: drain.job.clone(),
        })
        .collect()
}

/// Whether a job that waits may still have the node that is drained for it: now, if it offers the
/// cores, which the job takes in the same cut if it fits; else once these are free.
fn may_still_have(pool: &Pool, node: NodeAt<'_>, drain: &PoolDrain, at: &Moment<'_>) -> bool {
    let Some((cluster, place)) = pool.place_of(&drain.job) else { return false };
    let need = need(&cluster.signature, node.node.cores_total);
    if let Some(offer) = node.offer.filter(|offer| offer.cores_left() >= need) {
        return passes(&Look::new(pool, offer, at.now()), cluster, at, place.queued_at_s);
    }
    // Between the end of the last job and the offer a pilot gives no sign of life.
    let margin_s = pool.settings().backfill_margin_s;
    let is_due = at.now_s <= drain.until_s.saturating_add(margin_s);
    let is_alive = node.is_alive() || node.has_time() && is_due;
    let free = node.once_free(need).filter(|_| is_alive);
    free.is_some_and(|free| passes_then(pool, cluster, &node, &free, at))
}

/// The live offer of each node that one names: that with most cores left.
fn offers_of_nodes<'a>(at: &Moment<'a>) -> BTreeMap<&'a str, &'a PoolOffer> {
    let mut all: BTreeMap<&str, &PoolOffer> = BTreeMap::new();
    for offer in at.offers.iter().filter(|offer| !offer.offer.node.is_empty()) {
        let known = all.entry(&offer.offer.node).or_insert(offer);
        *known = if offer.cores_left() > known.cores_left() { offer } else { known };
    }
    all
}

/// New drains: for the jobs of many cores that have the highest priority of all that wait and fit
/// nowhere for long, first queued first; and whether jobs took turns. A node is drained only where
/// the job then runs: it lives, and nothing but its cores objects to the job.
pub fn drains(pool: &Pool, at: &Moment<'_>) -> (Vec<PoolAction>, bool) {
    let mut room = pool.settings().max_draining - pool.open_drains().count() as i64;
    let kinds = if room > 0 { kinds(pool, at.now_s) } else { Vec::new() };
    if kinds.is_empty() {
        return (Vec::new(), false);
    }
    let mut sites = SiteRates::of(pool, at.now_s);
    let mut taken: BTreeSet<&str> =
        pool.open_drains().map(|(node, _)| node.node.as_str()).collect();
    let of_node = offers_of_nodes(at);
    let is_free = |node: &&PoolNode| !taken.contains(node.node.as_str());
    let free = pool.nodes().filter(|node| sites.has_room(&node.site)).filter(is_free);
    let free = free
        .filter(|node| is_online(pool, node))
        .map(|node| NodeAt::of(pool, node, of_node.get(node.node.as_str()).copied(), at.now_s));
    let free: Vec<NodeAt<'_>> = free.filter(NodeAt::is_alive).collect();
    let (mut waiting, takes_turns) = Waiting::of(pool, &free, kinds, at);
    let mut actions = Vec::new();
    while room > 0
        && let Some((job, cluster, plans)) = waiting.next()
    {
        let is_free =
            |plan: &&DrainPlan<'_>| !taken.contains(plan.node) && sites.has_room(plan.site);
        let mut fitting = plans.iter().filter(is_free);
        let Some(best) = fitting.find(|plan| plan.passes(pool, cluster, at)) else {
            // What is free only becomes less.
            waiting.leave_alike();
            continue;
        };
        sites.note_begun(best.site);
        taken.insert(best.node);
        room -= 1;
        actions.push(PoolAction::DrainNode {
            node: best.node.to_owned(),
            site: best.site.to_owned(),
            drain: PoolDrain {
                job: job.job.to_string(),
                until_s: at.now_s.saturating_add(best.free.in_s),
                since: at.now(),
            },
            need_cores: best.need,
            idle_core_s: best.free.idle_core_s,
        });
    }
    (actions, takes_turns)
}

fn is_online(pool: &Pool, node: &PoolNode) -> bool {
    let terms = pool.name(&node.site).and_then(|site| pool.site(site));
    terms.is_some_and(|terms| terms.status == SiteStatus::Online)
}

/// Drains begun within the hour, by site.
struct SiteRates<'a> {
    begun: BTreeMap<&'a str, i64>,
    most: i64,
}

impl<'a> SiteRates<'a> {
    fn of(pool: &'a Pool, now_s: Seconds) -> SiteRates<'a> {
        let most = pool.settings().drain_rate_per_hour;
        let mut rates = SiteRates { begun: BTreeMap::new(), most };
        for node in pool.nodes() {
            let begun = node.drain_starts.iter().map(|at| seconds(*at));
            let lately = begun.filter(|at_s| now_s.saturating_sub(*at_s) < HOUR_S);
            lately.for_each(|_| rates.note_begun(&node.site));
        }
        rates
    }

    fn note_begun(&mut self, site: &'a str) {
        *self.begun.entry(site).or_default() += 1;
    }

    fn has_room(&self, site: &str) -> bool {
        self.begun.get(site).copied().unwrap_or(0) < self.most
    }
}

/// A job by when it was queued, its workflow, its place there and its name; and the number of its
/// kind.
type First<'a> = (Seconds, &'a str, i64, &'a str, usize);

/// The jobs that a node may be drained for, first queued first. Jobs that are alike have the same
/// plans, which are made once.
struct Waiting<'a> {
    pool: &'a Pool,
    nodes: &'a [NodeAt<'a>],
    now_s: Seconds,
    /// Jobs that a node is drained for already.
    drained_for: BTreeSet<&'a str>,
    alike: Vec<Alike<'a>>,
    /// The first job of each kind that was not asked for yet.
    first: BinaryHeap<Reverse<First<'a>>>,
    /// The kind of the job that was asked for last.
    last: Option<usize>,
}

/// Jobs that are alike.
struct Alike<'a> {
    cluster: &'a Autocluster,
    left: Iter<'a, Place>,
    /// When a site where they may run was last offered from.
    offered_s: Seconds,
    /// Once one of them was asked for.
    plans: Option<Vec<DrainPlan<'a>>>,
}

impl<'a> Waiting<'a> {
    /// Those of some kinds that have their turn in a cut, and whether they take turns.
    fn of(
        pool: &'a Pool,
        nodes: &'a [NodeAt<'a>],
        mut kinds: Vec<&'a Autocluster>,
        at: &Moment<'_>,
    ) -> (Waiting<'a>, bool) {
        let each = nodes.len().saturating_add(at.offers.len());
        let parts = parts(kinds.len(), each, at.budget.comparisons);
        let has_turn = |cluster: &&Autocluster| {
            cluster.oldest().is_some_and(|first| has_turn(&first.job, at.budget.cycle, parts))
        };
        kinds.retain(has_turn);
        if nodes.is_empty() {
            kinds.clear();
        }
        let looks: Vec<Look<'_>> = match kinds.is_empty() {
            true => Vec::new(),
            false => at.offers.iter().map(|offer| Look::new(pool, offer, at.now())).collect(),
        };
        kinds.retain(|cluster| !fits_an_offer(cluster, &looks, at));
        let offered = last_offers(pool, at);
        let alike = kinds.into_iter().map(|cluster| {
            let local = offered.iter().filter(|(site, _)| cluster.is_local_to(**site));
            let offered_s = local.map(|(_, at_s)| *at_s).max().unwrap_or(Seconds::MIN);
            Alike { cluster, left: cluster.places(), offered_s, plans: None }
        });
        let alike: Vec<Alike<'_>> = alike.collect();
        let first = BinaryHeap::new();
        let drained_for = pool.open_drains().map(|(_, drain)| drain.job.as_str()).collect();
        let now_s = at.now_s;
        let mut waiting = Waiting { pool, nodes, now_s, drained_for, alike, first, last: None };
        (0..waiting.alike.len()).for_each(|kind| waiting.advance(kind));
        (waiting, parts > 1)
    }

    /// The next job, those that are like it, and where they may run, the best first.
    fn next(&mut self) -> Option<(&'a PendingJob, &'a Autocluster, &[DrainPlan<'a>])> {
        if let Some(last) = self.last.take() {
            self.advance(last);
        }
        let Reverse((.., job, kind)) = self.first.pop()?;
        let job = waiting_job(self.pool, job)?;
        self.last = Some(kind);
        let (pool, nodes) = (self.pool, self.nodes);
        let alike = &mut self.alike[kind];
        let cluster = alike.cluster;
        Some((job, cluster, alike.plans.get_or_insert_with(|| plans(pool, cluster, nodes))))
    }

    /// Leaves out the further jobs that are like the last one.
    fn leave_alike(&mut self) {
        self.last = None;
    }

    /// Finds the next job of a kind that no node is drained for, and that has not fitted for long
    /// enough: a site where it may run was offered from while it waited.
    fn advance(&mut self, kind: usize) {
        let (pool, now_s) = (self.pool, self.now_s);
        let wait_s = pool.settings().drain_wait_s;
        let is_old = |since_s: Seconds| now_s.saturating_sub(since_s) >= wait_s;
        let offered_s = self.alike[kind].offered_s;
        for place in self.alike[kind].left.by_ref().take_while(|place| is_old(place.queued_at_s)) {
            let Some(job) = waiting_job(pool, &place.job) else { continue };
            let since_s = job.not_fitted_since_s.unwrap_or(job.queued_at_s);
            let was_tried = since_s <= offered_s;
            if is_old(since_s) && was_tried && !self.drained_for.contains(&*job.job) {
                let place = (job.queued_at_s, job.workflow.as_str(), job.seq, &*job.job, kind);
                return self.first.push(Reverse(place));
            }
        }
    }
}

/// Whether what is offered suffices for jobs that are alike: they wait for another reason.
fn fits_an_offer(cluster: &Autocluster, looks: &[Look<'_>], at: &Moment<'_>) -> bool {
    let Some(oldest) = cluster.oldest() else { return false };
    let fits = |look: &&Look<'_>| {
        let pending = Pending::new(look, cluster, oldest.queued_at_s);
        look.offer.cores_left() > 0 && at.judges.objection(look, &pending).is_none()
    };
    looks.iter().any(|look| fits(&look))
}

/// When each site was last offered from.
fn last_offers(pool: &Pool, at: &Moment<'_>) -> BTreeMap<Name, Seconds> {
    let nodes = pool.nodes().map(|node| (node.site.as_str(), node.seen_at));
    let offers = at.offers.iter().map(|offer| (offer.site.as_str(), offer.changed_at));
    let mut last: BTreeMap<Name, Seconds> = BTreeMap::new();
    for (site, at) in nodes.chain(offers) {
        let Some(site) = pool.name(site) else { continue };
        let known = last.entry(site).or_insert(Seconds::MIN);
        *known = seconds(at).max(*known);
    }
    last
}

fn waiting_job<'a>(pool: &'a Pool, job: &str) -> Option<&'a PendingJob> {
    match pool.job(job)? {
        Standing::Pending(job) => Some(job),
        Standing::Held(_) => None,
    }
}

/// The autoclusters of many cores that have the highest priority of all that wait, and of which a
/// job has waited for long enough.
fn kinds(pool: &Pool, now_s: Seconds) -> Vec<&Autocluster> {
    let settings = pool.settings();
    let waits =
        |name: Name, of: Workflow<'_>| of.is_live() && pool.counters().workflow(name).pending > 0;
    let pending = pool.workflows().filter(|(name, _, workflow)| waits(*name, *workflow));
    let Some(highest) =
        pending.map(|(_, _, workflow)| effective_priority(workflow, settings)).max()
    else {
        return Vec::new();
    };
    let is_kind = |cluster: &&Autocluster| {
        let signature = &cluster.signature;
        let workflow = pool.workflow(signature.workflow).and_then(WorkflowEntry::workflow);
        let is_old = cluster
            .oldest()
            .is_some_and(|first| now_s.saturating_sub(first.queued_at_s) >= settings.drain_wait_s);
        let is_first =
            |it: Workflow<'_>| it.is_live() && effective_priority(it, settings) == highest;
        is_old
            && (signature.cores_min > 1 || signature.whole_node)
            && workflow.is_some_and(is_first)
    };
    pool.clusters().iter().filter(is_kind).collect()
}
