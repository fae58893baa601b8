//! Changes by an assignment (N-27).

use super::ahead::left;
use super::case::JobCase;
use super::choice::Choice;
use super::staging::{FileClass, Staging, cache_reserved};
use super::target::TargetCandidate;
use super::windows::{Needed, UNLIMITED_S, Windows};
use crate::output::limit_use::LimitUse;
use crate::unit::Bytes;
use std::collections::BTreeSet;

/// Changes at the target of an assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetChanges {
    /// The target, `cluster/queue`.
    pub target: String,
    /// CPUs held.
    pub count: u64,
    /// For how long, rounded up; s. `None`: no limit.
    pub time_s: Option<u64>,
    /// Free CPUs that are left.
    pub free_slots_after: Windows,
    /// Bytes held of the user's disk.
    pub disk_bytes: Bytes,
    /// Bytes that are left there; `None`: not known.
    pub disk_free_bytes_after: Option<Bytes>,
    /// Bytes held of the cluster's cache.
    pub cache_bytes: Bytes,
    /// Bytes that are left there; `None`: it has no cache.
    pub cache_free_bytes_after: Option<Bytes>,
    /// Files that will be in the cache.
    pub tags: BTreeSet<String>,
    /// Jobs by which its queue grows: 1 if it has not enough free CPUs, else 0. The job is in front
    /// from now on and counts there once.
    pub queued_jobs_delta: u64,
    /// The limits that apply to what is held (TS-07): of a disk or cache of which the size is not
    /// known, or nothing is held, there is none.
    pub limits: Vec<LimitUse>,
}

impl TargetChanges {
    /// Changes by the assignment of a job according to a choice; `None`: it is not assigned.
    pub fn of(case: &JobCase<'_>, choice: &Choice) -> Option<TargetChanges> {
        let figures = choice.ranked.get(choice.chosen.as_ref()?.at)?;
        let candidate = TargetCandidate::of(case, case.facts.share(figures.target)?)?;
        let staging = Staging::of(case, candidate.cluster);
        let (disk_bytes, cache_bytes) = (staging.disk_sum(), staging.cached_sum());
        let time_s = candidate.needed_time_s(case);
        let mut needed = Vec::new();
        candidate.needed_ahead(case, &mut needed);
        needed.push(Needed { slots: case.job.count, time_s });
        let windows = candidate.user.map_or_else(Windows::default, |user| user.windows.clone());
        let after = |free: Bytes, held: Bytes| left(free, held.into());
        Some(TargetChanges {
            target: candidate.id(case).to_owned(),
            count: case.job.count,
            time_s: Some(time_s).filter(|time_s| *time_s != UNLIMITED_S),
            free_slots_after: windows.after(&needed),
            disk_bytes,
            disk_free_bytes_after: candidate.disk_free().map(|free| after(free, disk_bytes)),
            cache_bytes,
            cache_free_bytes_after: staging.cache_free.map(|free| after(free, cache_bytes)),
            tags: tags(case, staging.cluster, staging.cache_free.is_some()),
            queued_jobs_delta: u64::from(!figures.is_free),
            limits: limits(case, &candidate, &staging),
        })
    }
}

/// The limits of disk and cache that the job holds something of. Where it holds nothing, the rest
/// may be overdrawn: less may be published as free than earlier decisions hold.
fn limits(case: &JobCase<'_>, candidate: &TargetCandidate<'_>, staging: &Staging) -> Vec<LimitUse> {
    let disk_free = candidate.user.and_then(|user| user.disk_free_bytes);
    let disk = (candidate.ahead.disk_bytes, staging.disk_sum(), disk_free);
    let cache_free = candidate.cluster.facts.cache_free_bytes;
    let cache = (cache_reserved(case, candidate.cluster), staging.cached_sum(), cache_free);
    let cluster = case.facts.names.name(candidate.cluster.number).to_owned();
    let amount = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
    let all = [("disk", candidate.id(case).to_owned(), disk), ("cache", cluster, cache)];
    let held = all.into_iter().filter(|(_, _, (_, held, _))| *held > 0);
    let known = held.filter_map(|(name, of, (before, held, max))| {
        let (before, after) = (amount(before), amount(before + u128::from(held)));
        Some(LimitUse { name: name.to_owned(), of, before, after, max: max? })
    });
    known.collect()
}

/// Files that come through the cache.
fn tags(case: &JobCase<'_>, cluster: u32, has_cache: bool) -> BTreeSet<String> {
    let inputs = case.inputs.iter().zip(&case.job.input_files);
    let through_cache =
        inputs.filter(|(input, _)| FileClass::of(input, cluster, has_cache).is_for_cache());
    through_cache.filter(|_| has_cache).map(|(_, file)| file.source.clone()).collect()
}
