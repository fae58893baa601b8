//! A node with the jobs on it and its offer, and what it has once some of these jobs ended (F-7).

use super::bounds::whole;
use super::facts::{HeldJob, Seconds, seconds};
use super::pool::Pool;
use crate::domain::cms::state::{PoolNode, PoolOffer};
use crate::event::{OwnSlotOffer, Resource};
use crate::unit::Millis;

/// A node at a moment.
pub(super) struct NodeAt<'a> {
    /// The node.
    pub(super) node: &'a PoolNode,
    /// Its live offer, that with most cores left of several.
    pub(super) offer: Option<&'a PoolOffer>,
    /// The jobs on it, the first to end first.
    jobs: Vec<JobOn<'a>>,
    /// Its memory, MB: at least so much, for what others have of it is not known.
    memory_mb: i64,
    now_s: Seconds,
}

/// A job on a node, in the order of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct JobOn<'a> {
    ends_in_s: Seconds,
    cores: i64,
    rss_mb: i64,
    resources: &'a [Resource<String>],
}

/// What a node has, a while from now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Free {
    /// Whether it has that already: no job need end.
    pub(super) is_now: bool,
    /// How long it takes.
    pub(super) in_s: Seconds,
    /// Cores that are free then.
    pub(super) cores: i64,
    /// Memory that is free then, MB.
    pub(super) mem_mb: i64,
    /// Time that its pilot has left then.
    pub(super) wall_left_s: Seconds,
    /// Named resources that are free then.
    pub(super) resources: Vec<Resource<String>>,
    /// Core-seconds that idle until then.
    pub(super) idle_core_s: i64,
}

impl<'a> NodeAt<'a> {
    /// A node, with the live offer that names it.
    pub(super) fn of(
        pool: &'a Pool,
        node: &'a PoolNode,
        offer: Option<&'a PoolOffer>,
        now_s: Seconds,
    ) -> NodeAt<'a> {
        let (mut jobs, mut taken_mb) = (Vec::new(), 0i64);
        for held in pool.held_on(&node.node) {
            let (cores, rss_mb) = (held.cores, held.rss_mb);
            let ends_in_s = remaining_s(pool, held, now_s);
            jobs.push(JobOn { ends_in_s, cores, rss_mb, resources: &held.job.resources });
            if held.counts_from_s <= seconds(node.seen_at) {
                taken_mb = taken_mb.saturating_add(rss_mb);
            }
        }
        jobs.sort_unstable();
        let memory_mb = node.mem_most_mb.max(node.mem_free_mb.saturating_add(taken_mb));
        NodeAt { node, offer, jobs, memory_mb, now_s }
    }

    /// Whether its pilot lives: it is not over, and it offers something or has a job.
    pub(super) fn is_alive(&self) -> bool {
        self.has_time() && (self.offer.is_some() || !self.jobs.is_empty())
    }

    /// Whether its pilot is not over yet.
    pub(super) fn has_time(&self) -> bool {
        seconds(self.node.ends_at) > self.now_s
    }

    /// What it has once so many cores are free; `None`: it never has.
    pub(super) fn once_free(&self, need: i64) -> Option<Free> {
        let sum = |jobs: &[JobOn<'_>], of: fn(&JobOn<'_>) -> i64| {
            jobs.iter().fold(0, |sum: i64, job| sum.saturating_add(of(job)))
        };
        let busy = sum(&self.jobs, |job| job.cores);
        let idle_now = self.node.cores_total.saturating_sub(busy);
        let (mut cores, mut in_s, mut ended) = (idle_now, 0, 0);
        while cores < need {
            let job = self.jobs.get(ended)?;
            cores = cores.saturating_add(job.cores);
            (in_s, ended) = (job.ends_in_s, ended + 1);
        }
        let idle = |cores: i64, idle_s: Seconds| i128::from(cores) * i128::from(idle_s);
        let of_ended =
            self.jobs.iter().take(ended).map(|job| idle(job.cores, in_s - job.ends_in_s));
        let idle_core_s = whole(of_ended.fold(idle(idle_now, in_s), i128::saturating_add));
        let left = self.jobs.get(ended..).unwrap_or_default();
        let mem_mb = self.memory_mb.saturating_sub(sum(left, |job| job.rss_mb));
        let until_end_s = seconds(self.node.ends_at).saturating_sub(self.now_s);
        let wall_left_s = until_end_s.saturating_sub(in_s);
        let resources = self.resources_beside(left);
        let is_now = ended == 0;
        Some(Free { is_now, in_s, cores, mem_mb, wall_left_s, resources, idle_core_s })
    }

    /// Named resources that the node has beside what jobs have of them.
    fn resources_beside(&self, jobs: &[JobOn<'_>]) -> Vec<Resource<String>> {
        let left = |(name, most): (&String, &i64)| {
            let of_jobs = jobs.iter().flat_map(|job| job.resources).filter(|it| it.name == *name);
            let taken = of_jobs.fold(0, |sum: i64, it| sum.saturating_add(it.amount));
            Resource { name: name.clone(), amount: most.saturating_sub(taken) }
        };
        self.node.resources_most.iter().map(left).collect()
    }
}

/// The offer that the pilot of a node would make of so many cores, so much memory and time.
pub(super) fn offer_of(
    node: &PoolNode,
    (cores, mem_mb, wall_left_s): (i64, i64, Seconds),
    resources: &[Resource<String>],
    now: Millis,
) -> PoolOffer {
    let offer = OwnSlotOffer {
        cores_free: cores,
        cores_total: node.cores_total,
        mem_free_mb: mem_mb,
        wall_left_s,
        block: node.block.clone(),
        node: node.node.clone(),
        corepower_mhs06: node.corepower_mhs06,
        resources: resources.to_vec(),
        labels: node.labels.clone(),
        ..OwnSlotOffer::default()
    };
    PoolOffer { offer, site: node.site.clone(), changed_at: now, ..PoolOffer::default() }
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
