//! Changes by an assignment (N-27), and how they are folded: the decision is a fact like any other,
//! so that a rebuild which folds it gives the same state.

use super::ahead::left;
use super::case::JobCase;
use super::choice::Choice;
use super::facts::{CacheTag, TargetReservation};
use super::grid_facts::{GridFacts, split_target};
use super::staging::{FileClass, Staging, cache_reserved};
use super::target::TargetCandidate;
use super::windows::{Needed, UNLIMITED_S, Windows};
use crate::unit::{Bytes, Millis};
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
    pub limits: Vec<TargetLimit>,
}

/// A limit that applies to an assignment: `after <= max`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetLimit {
    /// `disk` or `cache`.
    pub name: &'static str,
    /// The target whose disk, or the cluster whose cache.
    pub of: String,
    /// Bytes that earlier decisions hold.
    pub before: u128,
    /// The same with this one.
    pub after: u128,
    /// Bytes that are published as free.
    pub max: Bytes,
}

/// Which assignment it is that changes something.
#[derive(Clone, Copy, Debug)]
pub struct Assigned<'a> {
    /// Name of the job.
    pub job_id: &'a str,
    /// Which attempt of the job, from 0.
    pub attempt: u64,
    /// When it was decided.
    pub decided_at: Millis,
    /// Whether it is so old that it holds nothing without a record of the job.
    pub is_expired: bool,
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
fn limits(
    case: &JobCase<'_>,
    candidate: &TargetCandidate<'_>,
    staging: &Staging,
) -> Vec<TargetLimit> {
    let disk_free = candidate.user.and_then(|user| user.disk_free_bytes);
    let disk = (candidate.ahead.disk_bytes, staging.disk_sum(), disk_free);
    let cache_free = candidate.cluster.facts.cache_free_bytes;
    let cache = (cache_reserved(case, candidate.cluster), staging.cached_sum(), cache_free);
    let cluster = candidate.cluster.facts.name.clone();
    let all = [("disk", candidate.id(case).to_owned(), disk), ("cache", cluster, cache)];
    let held = all.into_iter().filter(|(_, _, (_, held, _))| *held > 0);
    let known = held.filter_map(|(name, of, (before, held, max))| {
        Some(TargetLimit { name, of, before, after: before + u128::from(held), max: max? })
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

impl GridFacts {
    /// Folds an assignment: what it holds, until its outcome, its job's record or newer facts of
    /// the target say otherwise.
    pub fn fold_assignment(&mut self, assigned: Assigned<'_>, changes: &TargetChanges) {
        let Assigned { job_id, attempt, decided_at, is_expired } = assigned;
        self.put_reservation(TargetReservation {
            job_id: job_id.to_owned(),
            attempt,
            target: changes.target.clone(),
            count: changes.count,
            time_s: changes.time_s,
            disk_bytes: changes.disk_bytes,
            cache_bytes: changes.cache_bytes,
            decided_at,
            is_expired,
            outcome: None,
        });
        let (cluster, _) = split_target(&changes.target);
        for source in &changes.tags {
            self.put_tag(&CacheTag {
                cluster: cluster.to_owned(),
                source: source.clone(),
                job_id: job_id.to_owned(),
                attempt,
                target: Some(changes.target.clone()),
                tagged_at: decided_at,
            });
        }
    }
}
