//! Nodes kept free for jobs of many cores (C-55, F-7).

use super::autocluster::{Autocluster, Place};
use super::decision::PoolAction;
use super::drain_plan::{DrainPlan, plans};
use super::effective::effective_priority;
use super::entry::{Standing, WorkflowEntry};
use super::facts::{PendingJob, Seconds, SiteStatus, seconds};
use super::pool::Pool;
use crate::domain::cms::state::{PoolDrain, PoolNode};
use crate::turns::{has_turn, parts};
use crate::unit::SECOND;
use std::cmp::Reverse;
use std::collections::btree_set::Iter;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// The span in which drains of a site are counted for its rate.
pub const HOUR_S: Seconds = 3600;

/// Drains whose job started elsewhere or is gone.
pub fn cancelled(pool: &Pool) -> Vec<PoolAction> {
    let is_elsewhere = |(node, drain): &(&PoolNode, &PoolDrain)| match pool.job(&drain.job) {
        Some(Standing::Pending(_)) => false,
        Some(Standing::Held(held)) => held.node.as_ref() != Some(&node.node),
        None => true,
    };
    let cancelled = pool.drains().filter(is_elsewhere);
    cancelled
        .map(|(node, drain)| PoolAction::DrainCancelled {
            node: node.node.clone(),
            job: drain.job.clone(),
        })
        .collect()
}

/// How many comparisons of jobs with nodes a cut may make. Beyond it jobs that are alike take turns
/// over so many cuts as it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrainBudget {
    /// Comparisons.
    pub comparisons: usize,
    /// The number of the cut.
    pub cycle: u64,
}

impl DrainBudget {
    /// All jobs in one cut.
    pub const UNBOUNDED: DrainBudget = DrainBudget { comparisons: usize::MAX, cycle: 0 };
}

/// New drains: for the jobs of many cores that have the highest priority of all that wait and fit
/// nowhere for long, first queued first; and whether jobs took turns.
pub fn drains(pool: &Pool, budget: DrainBudget, now_s: Seconds) -> (Vec<PoolAction>, bool) {
    let mut room = pool.settings().max_draining - pool.open_drains().count() as i64;
    if room <= 0 {
        return (Vec::new(), false);
    }
    let mut sites = SiteRates::of(pool, now_s);
    let mut taken: BTreeSet<&str> =
        pool.open_drains().map(|(node, _)| node.node.as_str()).collect();
    let is_free = |node: &&PoolNode| !taken.contains(node.node.as_str());
    let free = pool.nodes().filter(|node| sites.has_room(&node.site)).filter(is_free);
    let free: Vec<&PoolNode> = free.filter(|node| is_online(pool, node)).collect();
    let (mut waiting, takes_turns) = Waiting::of(pool, &free, budget, now_s);
    let mut actions = Vec::new();
    while room > 0
        && let Some((job, plans)) = waiting.next()
    {
        let is_free =
            |plan: &&DrainPlan<'_>| !taken.contains(plan.node) && sites.has_room(plan.site);
        let Some(best) = plans.iter().find(is_free) else {
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
                until_s: now_s.saturating_add(best.ready_in_s),
                since: now_s.saturating_mul(SECOND),
            },
            need_cores: best.need,
            idle_core_s: best.idle_core_s,
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
    free: &'a [&'a PoolNode],
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
    /// Once one of them was asked for.
    plans: Option<Vec<DrainPlan<'a>>>,
}

impl<'a> Waiting<'a> {
    /// Those that have their turn in a cut, and whether they take turns.
    fn of(
        pool: &'a Pool,
        free: &'a [&'a PoolNode],
        budget: DrainBudget,
        now_s: Seconds,
    ) -> (Waiting<'a>, bool) {
        let mut kinds = kinds(pool, now_s);
        let parts = parts(kinds.len(), free.len(), budget.comparisons);
        let has_turn = |cluster: &&Autocluster| {
            cluster.oldest().is_some_and(|first| has_turn(&first.job, budget.cycle, parts))
        };
        kinds.retain(has_turn);
        let alike =
            kinds.into_iter().map(|cluster| Alike { cluster, left: cluster.places(), plans: None });
        let alike: Vec<Alike<'_>> = if free.is_empty() { Vec::new() } else { alike.collect() };
        let first = BinaryHeap::new();
        let drained_for = pool.open_drains().map(|(_, drain)| drain.job.as_str()).collect();
        let mut waiting = Waiting { pool, free, now_s, drained_for, alike, first, last: None };
        (0..waiting.alike.len()).for_each(|kind| waiting.advance(kind));
        (waiting, parts > 1)
    }

    /// The next job, and where it may run, the best first.
    fn next(&mut self) -> Option<(&'a PendingJob, &[DrainPlan<'a>])> {
        if let Some(last) = self.last.take() {
            self.advance(last);
        }
        let Reverse((.., job, kind)) = self.first.pop()?;
        let job = waiting_job(self.pool, job)?;
        self.last = Some(kind);
        let (pool, free, now_s) = (self.pool, self.free, self.now_s);
        let alike = &mut self.alike[kind];
        let signature = &alike.cluster.signature;
        let plans = alike.plans.get_or_insert_with(|| plans(pool, signature, free, now_s));
        Some((job, plans))
    }

    /// Leaves out the further jobs that are like the last one.
    fn leave_alike(&mut self) {
        self.last = None;
    }

    /// Finds the next job of a kind that has waited for long enough and that no node is drained
    /// for.
    fn advance(&mut self, kind: usize) {
        let (pool, now_s) = (self.pool, self.now_s);
        let wait_s = pool.settings().drain_wait_s;
        let is_old = |since_s: Seconds| now_s.saturating_sub(since_s) >= wait_s;
        for place in self.alike[kind].left.by_ref().take_while(|place| is_old(place.queued_at_s)) {
            let Some(job) = waiting_job(pool, &place.job) else { continue };
            let since_s = job.not_fitted_since_s.unwrap_or(job.queued_at_s);
            if is_old(since_s) && !self.drained_for.contains(&*job.job) {
                let place = (job.queued_at_s, job.workflow.as_str(), job.seq, &*job.job, kind);
                return self.first.push(Reverse(place));
            }
        }
    }
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
    let pending =
        pool.workflows().filter(|(name, _, _)| pool.counters().workflow(*name).pending > 0);
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
        is_old
            && (signature.cores_min > 1 || signature.whole_node)
            && workflow.is_some_and(|it| effective_priority(it, settings) == highest)
    };
    pool.clusters().iter().filter(is_kind).collect()
}
