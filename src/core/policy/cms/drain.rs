//! Nodes kept free for jobs of many cores (C-55, F-7).

use super::bounds::whole;
use super::decision::Action;
use super::effective::effective_priority;
use super::entry::Standing;
use super::facts::{Drain, HeldJob, NodeRecord, PendingJob, Seconds, SiteStatus};
use super::pool::Pool;
use std::collections::{BTreeMap, BTreeSet};

/// The span in which drains of a site are counted for its rate.
pub const HOUR_S: Seconds = 3600;

/// Drains whose job started elsewhere or is gone.
pub fn cancelled(pool: &Pool) -> Vec<Action> {
    let waits_or_is_there = |drain: &&Drain| match pool.job(&drain.job) {
        Some(Standing::Pending(_)) => false,
        Some(Standing::Held(held)) => held.node.as_ref() != Some(&drain.node),
        None => true,
    };
    let cancelled = pool.drains().filter(waits_or_is_there);
    cancelled
        .map(|drain| Action::DrainCancelled { node: drain.node.clone(), job: drain.job.clone() })
        .collect()
}

/// New drains: for the jobs of many cores that have the highest priority of all that wait and fit
/// nowhere for long, first queued first.
pub fn drains(pool: &Pool, now_s: Seconds) -> Vec<Action> {
    let settings = pool.settings();
    let mut room = settings.max_draining - pool.open_drains().count() as i64;
    if room <= 0 || pool.nodes().next().is_none() {
        return Vec::new();
    }
    let mut begun: BTreeMap<&str, i64> = BTreeMap::new();
    let lately =
        pool.drain_starts().filter(|start| now_s.saturating_sub(start.started_at_s) < HOUR_S);
    lately.for_each(|start| *begun.entry(&start.site).or_default() += 1);
    let rate = settings.drain_rate_per_hour;
    let mut sites: BTreeSet<&str> = pool.nodes().map(|node| node.site.as_str()).collect();
    sites.retain(|site| begun.get(site).copied().unwrap_or(0) < rate);
    if sites.is_empty() {
        return Vec::new();
    }
    let mut taken: Vec<&str> = pool.open_drains().map(|drain| drain.node.as_str()).collect();
    let mut actions = Vec::new();
    for job in waiting(pool, now_s) {
        if room <= 0 || sites.is_empty() {
            break;
        }
        let free = pool.nodes().filter(|node| !taken.contains(&node.node.as_str()));
        let fits =
            free.filter(|node| sites.contains(node.site.as_str()) && may_run_on(pool, job, node));
        let plans = fits.map(|node| plan(pool, job, node, now_s));
        let Some(best) = plans.min_by_key(|plan| (plan.idle_core_s, plan.ready_in_s, plan.node))
        else {
            continue;
        };
        let of_site = begun.entry(best.site).or_default();
        *of_site += 1;
        if *of_site >= rate {
            sites.remove(best.site);
        }
        taken.push(best.node);
        room -= 1;
        actions.push(Action::DrainNode {
            drain: Drain {
                node: best.node.to_owned(),
                site: best.site.to_owned(),
                job: job.job.clone(),
                until_s: now_s.saturating_add(best.ready_in_s),
            },
            need_cores: best.need,
            idle_core_s: best.idle_core_s,
            decided_at_s: now_s,
        });
    }
    actions
}

/// The jobs that a node may be drained for, first queued first.
fn waiting(pool: &Pool, now_s: Seconds) -> Vec<&PendingJob> {
    let settings = pool.settings();
    let pending =
        pool.workflows().filter(|(name, _, _)| pool.counters().workflow(*name).pending > 0);
    let Some(highest) = pending.map(|(_, _, record)| effective_priority(record, settings)).max()
    else {
        return Vec::new();
    };
    let mut jobs: Vec<&PendingJob> = Vec::new();
    for cluster in pool.clusters() {
        let signature = &cluster.signature;
        let record = pool.workflow(signature.workflow).and_then(|entry| entry.record.as_ref());
        let is_first = record.is_some_and(|it| effective_priority(it, settings) == highest);
        if !is_first || signature.cores_min <= 1 && !signature.whole_node {
            continue;
        }
        let records = cluster.places().filter_map(|place| match pool.job(&place.job)? {
            Standing::Pending(job) => Some(job),
            Standing::Held(_) => None,
        });
        jobs.extend(records.filter(|job| {
            let since = job.not_fitted_since_s.unwrap_or(job.queued_at_s);
            now_s.saturating_sub(since) >= settings.drain_wait_s
        }));
    }
    jobs.retain(|job| pool.open_drains().all(|drain| drain.job != job.job));
    jobs.sort_by(|a, b| {
        (a.queued_at_s, &a.workflow, a.seq, &a.job).cmp(&(
            b.queued_at_s,
            &b.workflow,
            b.seq,
            &b.job,
        ))
    });
    jobs
}

/// Cores that a job waits for on a node.
fn need(job: &PendingJob, node: &NodeRecord) -> i64 {
    if job.whole_node { node.cores_total } else { job.cores_min }
}

fn may_run_on(pool: &Pool, job: &PendingJob, node: &NodeRecord) -> bool {
    let is_listed = job.site_whitelist.as_ref().is_none_or(|sites| sites.contains(&node.site));
    let terms = pool.name(&node.site).and_then(|site| pool.site(site));
    let is_online = terms.is_some_and(|terms| terms.status == SiteStatus::Online);
    is_listed && is_online && node.cores_total >= need(job, node).max(job.cores_min)
}

/// What draining a node costs.
struct Plan<'a> {
    node: &'a str,
    site: &'a str,
    need: i64,
    ready_in_s: Seconds,
    idle_core_s: i64,
}

/// When a node is ready for a job, and what idles until then (F-7).
fn plan<'a>(pool: &Pool, job: &PendingJob, node: &'a NodeRecord, now_s: Seconds) -> Plan<'a> {
    let mut running: Vec<(Seconds, i64)> =
        pool.held_on(&node.node).map(|held| (remaining_s(pool, held, now_s), held.cores)).collect();
    running.sort_unstable();
    let need = need(job, node);
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
    let idle_core_s = whole(idle_of(idle_now, ready_in_s) + of_counted.sum::<i128>());
    Plan { node: &node.node, site: &node.site, need, ready_in_s, idle_core_s }
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
