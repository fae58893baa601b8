//! The cost of draining a node for a job (F-7).

use super::autocluster::Signature;
use super::bounds::whole;
use super::facts::{HeldJob, Seconds};
use super::pool::Pool;
use crate::domain::cms::state::PoolNode;

/// Where jobs that are alike may run of some nodes of sites that are online, the best first: what
/// idles least, then what is ready first, then by name.
pub(super) fn plans<'a>(
    pool: &Pool,
    signature: &Signature,
    nodes: &[&'a PoolNode],
    now_s: Seconds,
) -> Vec<DrainPlan<'a>> {
    let fits = nodes.iter().filter(|node| may_run_on(pool, signature, node));
    let plans = fits.map(|node| plan(pool, need(signature, node), node, now_s));
    let mut plans: Vec<DrainPlan<'_>> = plans.collect();
    plans.sort_unstable_by_key(|plan| (plan.idle_core_s, plan.ready_in_s, plan.node));
    plans
}

/// Cores that a job waits for on a node.
fn need(signature: &Signature, node: &PoolNode) -> i64 {
    if signature.whole_node { node.cores_total } else { signature.cores_min }
}

fn may_run_on(pool: &Pool, signature: &Signature, node: &PoolNode) -> bool {
    node.cores_total >= need(signature, node).max(signature.cores_min)
        && (signature.whitelist.is_none()
            || pool.name(&node.site).is_some_and(|site| signature.is_local_to(site)))
}

/// A node that could be drained, with the cost of draining it.
pub(super) struct DrainPlan<'a> {
    /// Node.
    pub(super) node: &'a str,
    /// Its site.
    pub(super) site: &'a str,
    /// Cores that are to be free.
    pub(super) need: i64,
    /// When they are.
    pub(super) ready_in_s: Seconds,
    /// Core-seconds that idle until then.
    pub(super) idle_core_s: i64,
}

/// When so many cores of a node are free, and what idles until then (F-7).
fn plan<'a>(pool: &Pool, need: i64, node: &'a PoolNode, now_s: Seconds) -> DrainPlan<'a> {
    let mut running: Vec<(Seconds, i64)> =
        pool.held_on(&node.node).map(|held| (remaining_s(pool, held, now_s), held.cores)).collect();
    running.sort_unstable();
    let busy = running.iter().fold(0, |busy: i64, (_, cores)| busy.saturating_add(*cores));
    let idle_now = node.cores_total.saturating_sub(busy);
    let (mut free, mut ready_in_s, mut counted) = (idle_now, 0, Vec::new());
    for (remaining_s, cores) in running {
        if free >= need {
            break;
        }
        free = free.saturating_add(cores);
        ready_in_s = remaining_s;
        counted.push((remaining_s, cores));
    }
    let idle_of = |cores: i64, idle_s: Seconds| i128::from(cores) * i128::from(idle_s);
    let of_counted = counted.iter().map(|(end_s, cores)| idle_of(*cores, ready_in_s - end_s));
    let idle_core_s = whole(of_counted.fold(idle_of(idle_now, ready_in_s), i128::saturating_add));
    DrainPlan { node: &node.node, site: &node.site, need, ready_in_s, idle_core_s }
}

/// How long a job still runs: as expected, else until its limit (F-7).
fn remaining_s(pool: &Pool, held: &HeldJob, now_s: Seconds) -> Seconds {
    let end = held.expected_end_s.unwrap_or_else(|| {
        let started = held.started_at_s.or(held.reserved_at_s).unwrap_or(now_s);
        let limit = held.job.max_wall_time_s;
        started.saturating_add(limit.unwrap_or(pool.settings().default_wall_time_s))
    });
    end.saturating_sub(now_s).max(0)
}
