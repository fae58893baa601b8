//! One job under decision, prepared: what does not depend on the target is found once.

use super::grid_facts::{ClusterRow, GridFacts, UserRow};
use super::names::Numbers;
use super::params::{Own, SizeUnknown};
use super::software::WantedSoftware;
use super::windows::UNLIMITED_S;
use crate::domain::nordugrid::xrsl::{
    Alternative, CacheOption, NameCondition, Relation, SoftwareCondition, names_a_server,
};
use crate::event::BatchFacts;
use crate::policy::Values;
use crate::policy::typed::read;
use crate::unit::{Bytes, Millis};
use std::collections::BTreeMap;

/// A job that wants a target, by one of its alternatives.
pub struct JobCase<'a> {
    /// Facts about the grid.
    pub facts: &'a GridFacts,
    /// The alternative of the job's description that is tried.
    pub job: &'a Alternative,
    /// When.
    pub now: Millis,
    /// The user's facts, by the number of the target.
    pub user: Vec<Option<&'a UserRow>>,
    /// Targets that refused the job (N-25).
    pub excluded: Numbers,
    /// Conditions on the cluster: whether it is refused, and its name in lower case.
    pub clusters: Vec<(bool, String)>,
    /// Conditions on middleware.
    pub middleware: Vec<WantedSoftware>,
    /// Conditions on runtime environments.
    pub runtime_environment: Vec<WantedSoftware>,
    /// Conditions on the operating system.
    pub operating_system: Vec<WantedSoftware>,
    /// Input files in written order.
    pub inputs: Vec<JobInput>,
    /// Clusters with any of the input files close by or in the cache.
    pub holders: Numbers,
    /// Whether the size of any input is not known.
    pub is_size_unknown: bool,
    /// Bytes of the program and its standard input, where the submitter uploads them unasked.
    pub implied_bytes: Bytes,
    /// Whether it is rejected for that (N-15).
    pub rejects_unknown_sizes: bool,
    /// Facts of a queue that are older are not used; s.
    pub info_ttl_s: u64,
    clock: Clock,
}

/// Statements about a job beside its description.
#[derive(Clone, Copy)]
pub struct Stated<'a> {
    /// When it is decided.
    pub now: Millis,
    /// Whose job it is.
    pub user: &'a str,
    /// Sizes of files that the submitter uploads, by the names of inputs; bytes.
    pub uploads: &'a BTreeMap<String, Bytes>,
    /// Targets that refused the job.
    pub excluded_targets: &'a [String],
}

/// An input file.
#[derive(Clone, Debug)]
pub struct JobInput {
    /// Size; 0 if it is not known.
    pub size_bytes: Bytes,
    /// Where it comes from and how it may be used.
    pub kind: InputKind,
    /// Clusters with a replica close by.
    pub local: Numbers,
    /// Clusters that have it in the cache, or soon will.
    pub cached: Numbers,
    /// The first input of the same source, if that is another one.
    pub same_as: Option<usize>,
}

/// Where an input file comes from and how it may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputKind {
    /// Whether the submitter uploads it.
    pub is_uploaded: bool,
    /// Whether and how the cache may be used.
    pub cache: CacheOption,
    /// Whether only clusters that hold it locally will do.
    pub is_local: bool,
    /// Whether it can be asked for far away: a replica is known, or its source names the server.
    pub is_found: bool,
}

/// Clocks by which `gridtime` is scaled; MHz.
#[derive(Clone, Copy, Debug)]
struct Clock {
    default_mhz: u64,
    reference_mhz: u64,
}

impl<'a> JobCase<'a> {
    /// Prepares a job for judgement; `own`: the values of the kind's parameters.
    pub fn new(
        facts: &'a GridFacts,
        job: &'a Alternative,
        stated: &Stated<'_>,
        own: &Values,
    ) -> JobCase<'a> {
        let own: Own = read!(Own, own);
        let wanted = |conditions: &[SoftwareCondition]| -> Vec<WantedSoftware> {
            conditions.iter().map(|condition| facts.software.wanted(condition)).collect()
        };
        let mut excluded = Numbers::default();
        for target in stated.excluded_targets.iter().filter_map(|it| facts.targets.find(it)) {
            excluded.insert(target);
        }
        let (inputs, is_size_unknown) = inputs(facts, job, stated, own.tag_ttl_s as u64);
        JobCase {
            facts,
            job,
            now: stated.now,
            user: facts.user(stated.user),
            excluded,
            clusters: job.cluster.iter().map(in_lower_case).collect(),
            middleware: wanted(&job.middleware),
            runtime_environment: wanted(&job.runtime_environment),
            operating_system: wanted(&job.operating_system),
            implied_bytes: implied_bytes(job, stated),
            holders: holders(&inputs),
            inputs,
            is_size_unknown,
            rejects_unknown_sizes: own.size_unknown == SizeUnknown::Reject,
            info_ttl_s: own.info_ttl_s as u64,
            clock: Clock {
                default_mhz: own.default_clock_mhz as u64,
                reference_mhz: own.reference_clock_mhz as u64,
            },
        }
    }

    /// The clock of a cluster's nodes; MHz.
    pub fn clock_mhz(&self, cluster: &ClusterRow) -> u64 {
        cluster.facts.clock_mhz.filter(|clock| *clock > 0).unwrap_or(self.clock.default_mhz)
    }

    /// `gridtime` as CPU time at a cluster, in units of 1 / `clock_mhz` s, so that it is exact.
    pub fn scaled_grid_time(&self) -> Option<u128> {
        let time_s = self.job.grid_time_s?;
        Some(u128::from(time_s) * u128::from(self.clock.reference_mhz))
    }

    /// How long the job needs its CPUs at a queue, rounded up (N-07): its CPU time, `gridtime`
    /// scaled in its place, else its wall time, else the queue's default of either, else without
    /// limit; s. A window lasts whole seconds, so that rounding up changes no comparison.
    pub fn needed_time_s(&self, cluster: &ClusterRow, share: &BatchFacts) -> u64 {
        let scaled = || {
            let scaled = self.scaled_grid_time()?.div_ceil(self.clock_mhz(cluster).into());
            Some(u64::try_from(scaled).unwrap_or(UNLIMITED_S - 1))
        };
        let asked = self.job.cpu_time_s.or_else(scaled).or(self.job.wall_time_s);
        let default = share.default_cpu_time_s.or(share.default_wall_time_s);
        asked.or(default).unwrap_or(UNLIMITED_S)
    }
}

fn in_lower_case(condition: &NameCondition) -> (bool, String) {
    (condition.relation == Relation::NotEqual, condition.name.to_lowercase())
}

fn holders(inputs: &[JobInput]) -> Numbers {
    let mut holders = Numbers::default();
    for input in inputs {
        holders.add(&input.local);
        holders.add(&input.cached);
    }
    holders
}

/// Bytes of the uploads that the description implies, of those whose sizes are stated.
fn implied_bytes(job: &Alternative, stated: &Stated<'_>) -> Bytes {
    let sizes = job.implied_uploads.iter().filter_map(|name| stated.uploads.get(name));
    sizes.fold(0, |sum: Bytes, size| sum.saturating_add(*size))
}

/// Input files, each looked up once; and whether the size of any is not known.
fn inputs(
    facts: &GridFacts,
    job: &Alternative,
    stated: &Stated<'_>,
    tag_ttl_s: u64,
) -> (Vec<JobInput>, bool) {
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut is_size_unknown = false;
    let mut found: Vec<JobInput> = Vec::with_capacity(job.input_files.len());
    for (at, file) in job.input_files.iter().enumerate() {
        let is_uploaded = file.source.is_empty();
        let kind =
            |is_found| InputKind { is_uploaded, cache: file.cache, is_local: file.local, is_found };
        if is_uploaded {
            let size = stated.uploads.get(&file.name).copied();
            is_size_unknown |= size.is_none();
            let size_bytes = size.unwrap_or(0);
            let (local, cached) = (Numbers::default(), Numbers::default());
            found.push(JobInput { size_bytes, kind: kind(false), local, cached, same_as: None });
            continue;
        }
        let first = *first_of.entry(&file.source).or_insert(at);
        if first < at {
            let same = found[first].clone();
            let kind = kind(same.kind.is_found);
            found.push(JobInput { kind, same_as: Some(first), ..same });
            continue;
        }
        let row = facts.files.find(&file.source);
        let size = row.and_then(|row| row.size_bytes);
        is_size_unknown |= size.is_none();
        let (mut local, mut cached) = (Numbers::default(), Numbers::default());
        for replica in row.into_iter().flat_map(|row| &row.replicas) {
            local.insert(*replica);
            facts.listed_at(*replica).for_each(|cluster| local.insert(cluster));
        }
        for cache in row.into_iter().flat_map(|row| &row.caches) {
            if cache.has_file(stated.now, tag_ttl_s) {
                cached.insert(cache.cluster);
            }
        }
        let has_replica = row.is_some_and(|row| !row.replicas.is_empty());
        let kind = kind(has_replica || names_a_server(&file.source));
        let size_bytes = size.unwrap_or(0);
        found.push(JobInput { size_bytes, kind, local, cached, same_as: None });
    }
    (found, is_size_unknown)
}
