//! Filters that compare what the job asks for with what a target publishes (N-14): the eleven
//! attributes of the seed in its order, then `walltime`. An attribute that the description does not
//! have is not compared.

use super::case::JobCase;
use super::declared::{TargetFilter, target_filter};
use super::grid_facts::split_target;
use super::limits::{cpu_time, grid_time, wall_time};
use super::software::WantedSoftware;
use super::target::TargetCandidate;
use crate::domain::nordugrid::xrsl::{NameCondition, NodeAccess, Relation};
use crate::event::ClusterFacts;
use crate::policy::verdict::object;
use crate::policy::{Applies, Reason, Verdict};

const MATCH_CLUSTER: Reason =
    Reason::new("match:cluster", "the cluster is not one that the job may go to");
const MATCH_QUEUE: Reason =
    Reason::new("match:queue", "the queue is not one that the job may go to");
const MATCH_COUNT: Reason =
    Reason::new("match:count", "the job wants {limit} CPUs, it may have at most {measured}");
const MATCH_MEMORY: Reason = Reason::new(
    "match:memory",
    "the job wants {limit:mb} of memory, the cluster publishes {measured:mb}",
);
const MATCH_ARCHITECTURE: Reason =
    Reason::new("match:architecture", "the cluster does not publish the architecture wanted");
const MATCH_MIDDLEWARE: Reason =
    Reason::new("match:middleware", "the cluster does not publish the middleware wanted");
const MATCH_RUNTIME_ENVIRONMENT: Reason = Reason::new(
    "match:runtimeenvironment",
    "the cluster does not publish the runtime environments wanted",
);
const MATCH_OPSYS: Reason =
    Reason::new("match:opsys", "the cluster does not publish the operating system wanted");
const MATCH_NODE_ACCESS: Reason =
    Reason::new("match:nodeaccess", "the cluster's nodes have not the network access wanted");

pub(super) static CLUSTER: TargetFilter = target_filter(
    "match_cluster",
    "cms-nordugrid N-14",
    "cluster: name or second name, whatever the case of letters",
    &[&MATCH_CLUSTER],
    Applies::To(|case, _| !case.clusters.is_empty()),
    |case, candidate, _| cluster(case, candidate),
);

pub(super) static QUEUE: TargetFilter = target_filter(
    "match_queue",
    "cms-nordugrid N-14",
    "queue: the queue's name",
    &[&MATCH_QUEUE],
    Applies::To(|case, _| !case.job.queue.is_empty()),
    |case, candidate, _| queue(case, candidate),
);

pub(super) static COUNT: TargetFilter = target_filter(
    "match_count",
    "cms-nordugrid N-14",
    "count: CPUs of the queue and of the cluster, and the most that one job may have",
    &[&MATCH_COUNT],
    Applies::To(|case, _| case.job.count_given),
    |case, candidate, _| count(case, candidate),
);

pub(super) static CPU_TIME: TargetFilter = cpu_time();
pub(super) static GRID_TIME: TargetFilter = grid_time();
pub(super) static WALL_TIME: TargetFilter = wall_time();

pub(super) static MEMORY: TargetFilter = target_filter(
    "match_memory",
    "cms-nordugrid N-14",
    "memory: what the queue publishes, else a node of the cluster",
    &[&MATCH_MEMORY],
    Applies::To(|case, _| case.job.memory_mb.is_some()),
    |case, candidate, _| memory(case, candidate),
);

pub(super) static ARCHITECTURE: TargetFilter = target_filter(
    "match_architecture",
    "cms-nordugrid N-14",
    "architecture: that of the cluster",
    &[&MATCH_ARCHITECTURE],
    Applies::To(|case, _| !case.job.architecture.is_empty()),
    |case, candidate, _| architecture(case, candidate),
);

pub(super) static MIDDLEWARE: TargetFilter = target_filter(
    "match_middleware",
    "cms-nordugrid N-14",
    "middleware: names and versions that the cluster publishes",
    &[&MATCH_MIDDLEWARE],
    Applies::To(|case, _| !case.middleware.is_empty()),
    |case, candidate, _| {
        software(&case.middleware, &candidate.cluster.middleware, &MATCH_MIDDLEWARE)
    },
);

pub(super) static RUNTIME_ENVIRONMENT: TargetFilter = target_filter(
    "match_runtimeenvironment",
    "cms-nordugrid N-14",
    "runtimeenvironment: names and versions that the cluster publishes",
    &[&MATCH_RUNTIME_ENVIRONMENT],
    Applies::To(|case, _| !case.runtime_environment.is_empty()),
    |case, candidate, _| {
        let published = &candidate.cluster.runtime_environments;
        software(&case.runtime_environment, published, &MATCH_RUNTIME_ENVIRONMENT)
    },
);

pub(super) static OPERATING_SYSTEM: TargetFilter = target_filter(
    "match_opsys",
    "cms-nordugrid N-14",
    "opsys: names and versions that the cluster publishes",
    &[&MATCH_OPSYS],
    Applies::To(|case, _| !case.operating_system.is_empty()),
    |case, candidate, _| {
        software(&case.operating_system, &candidate.cluster.operating_systems, &MATCH_OPSYS)
    },
);

pub(super) static NODE_ACCESS: TargetFilter = target_filter(
    "match_nodeaccess",
    "cms-nordugrid N-14",
    "nodeaccess: connections that nodes take and make",
    &[&MATCH_NODE_ACCESS],
    Applies::To(|case, _| case.job.node_access.is_some()),
    |case, candidate, _| node_access(case, candidate),
);

fn cluster(case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> Verdict {
    let names = &candidate.cluster.lower_names;
    let holds = |(is_refused, name): &(bool, String)| names.contains(name) != *is_refused;
    pass_if(case.clusters.iter().all(holds), &MATCH_CLUSTER)
}

fn queue(case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> Verdict {
    let (_, published) = split_target(candidate.id(case));
    pass_if(case.job.queue.iter().all(|it| is_named(it, published)), &MATCH_QUEUE)
}

fn count(case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> Verdict {
    let (share, count) = (&candidate.share.facts, case.job.count);
    let known = [share.total_slots, candidate.cluster.facts.total_slots];
    let most = known.into_iter().flatten().min();
    let most = most.map(|most| most.min(share.max_slots_per_job.unwrap_or(u64::MAX)));
    match most {
        Some(most) if count <= most => Verdict::Pass,
        most => object(&MATCH_COUNT, most.unwrap_or(0) as f64, count as f64),
    }
}

fn memory(case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> Verdict {
    let Some(wanted) = case.job.memory_mb else { return Verdict::Pass };
    let published = candidate.share.facts.max_memory_mb;
    let published = published.or(candidate.cluster.facts.node_memory_mb);
    match published {
        Some(published) if wanted <= published => Verdict::Pass,
        published => object(&MATCH_MEMORY, published.unwrap_or(0) as f64, wanted as f64),
    }
}

fn architecture(case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> Verdict {
    let published = &candidate.cluster.facts.architecture;
    let is_met = |condition: &NameCondition| condition.name == *published;
    pass_if(case.job.architecture.iter().all(is_met), &MATCH_ARCHITECTURE)
}

fn node_access(case: &JobCase<'_>, candidate: &TargetCandidate<'_>) -> Verdict {
    let ClusterFacts { inbound, outbound, .. } = candidate.cluster.facts;
    let is_given = |access: &NodeAccess| match access {
        NodeAccess::Inbound => inbound,
        NodeAccess::Outbound => outbound,
    };
    let mut wanted = case.job.node_access.iter().flatten();
    pass_if(wanted.all(is_given), &MATCH_NODE_ACCESS)
}

fn software(wanted: &[WantedSoftware], published: &[u32], reason: &'static Reason) -> Verdict {
    pass_if(wanted.iter().all(|condition| condition.is_met_by(published)), reason)
}

fn is_named(condition: &NameCondition, name: &str) -> bool {
    (condition.name == name) != (condition.relation == Relation::NotEqual)
}

fn pass_if(holds: bool, reason: &'static Reason) -> Verdict {
    if holds { Verdict::Pass } else { object(reason, 0.0, 0.0) }
}
