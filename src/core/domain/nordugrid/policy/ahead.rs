//! Jobs in front: what was sent to a target and is not yet in its published facts (N-08, N-09).
//!
//! Every figure is the sum of what each job contributes, and what a job contributes follows from
//! its state and its placements alone. Nothing is counted by hand.

use super::job_state::{ClusterJobState, JobRecord};
use super::windows::{Needed, UNLIMITED_S};
use crate::event::{BatchFacts, OutcomeKind};
use crate::state::record::{Placement, RequestState};
use crate::unit::{Bytes, Millis};
use std::collections::BTreeMap;

/// Until when a job counts as being in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Until {
    /// Until facts that are not older than this moment, at which it reached the batch system.
    FactsOf(Millis),
    /// Until something is published of it: it did not reach the batch system.
    News,
}

/// How long a job needs its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeNeeded {
    /// As long as the queue's default says.
    Default,
    /// So many seconds; [`UNLIMITED_S`]: no limit.
    Stated(u64),
}

/// Contribution of one job to the figures of one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetContribution {
    /// Number of the target.
    pub target: u32,
    /// Until when it counts.
    pub until: Until,
    /// How long its CPUs are needed.
    pub time: TimeNeeded,
    /// How much.
    pub amount: Amount,
}

/// Amounts of some jobs. Wider than what one job can state, so that sums are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Jobs.
    pub jobs: u64,
    /// CPUs.
    pub slots: u128,
    /// Reserved space of session directories; bytes.
    pub disk_bytes: u128,
    /// Reserved space of the cluster's cache; bytes.
    pub cache_bytes: u128,
}

/// All that the state holds of one job.
#[derive(Clone, Copy)]
pub struct KnownJob<'a> {
    /// Name.
    pub name: &'a str,
    /// The target it is at, `cluster/queue`, and its state there; `None`: it is at none.
    pub record: Option<(&'a str, JobRecord)>,
    /// Its request, with the placements and what became of them.
    pub request: Option<&'a RequestState>,
    /// When it is looked at.
    pub time: Millis,
    /// How long a placement holds what it takes while nothing is heard of the job; ms.
    pub lifetime: Millis,
}

/// A placement of a job, with what follows from its age and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// Number of the target.
    pub target: u32,
    /// The placement.
    pub placement: &'a Placement,
    /// Whether the target did not take the job: nothing is held there (N-25).
    pub is_refused: bool,
    /// Whether it is so old that it holds nothing without a record of the job.
    pub is_expired: bool,
}

/// Sums at one target by until when they count and how long the CPUs are needed, ascending.
type Sums = Vec<((Until, TimeNeeded), Amount)>;

/// Jobs with their contributions, and the sums of these for each target.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    jobs: BTreeMap<String, Vec<TargetContribution>>,
    /// By the number of the target.
    sums: Vec<Sums>,
}

impl<'a> KnownJob<'a> {
    /// Its placements, in the order of their attempts.
    pub fn placements(&self) -> &'a [Placement] {
        self.request.map_or(&[], |request| &request.placements)
    }

    /// When a placement holds nothing any more if nothing is heard of the job.
    pub fn expires_at(&self, placement: &Placement) -> Millis {
        placement.now.saturating_add(self.lifetime)
    }

    /// A placement at the target of a number.
    pub fn held(&self, target: u32, placement: &'a Placement) -> Held<'a> {
        let outcome = self.request.and_then(|it| it.outcomes.get(&placement.decision));
        Held {
            target,
            placement,
            is_refused: outcome.is_some_and(|outcome| *outcome != OutcomeKind::Accepted),
            is_expired: self.expires_at(placement) <= self.time,
        }
    }
}

/// Contributions of a job: at the target where it is, and at those where a placement was not
/// refused. Once at each target; a placement's figures count before the record's, those of a later
/// attempt before those of an earlier one. Placements are in the order of their attempts.
pub fn contributions(
    record: Option<(u32, JobRecord)>,
    held: &[Held<'_>],
) -> Vec<TargetContribution> {
    let mut found: Vec<TargetContribution> = Vec::new();
    for it in held.iter().filter(|it| !it.is_refused) {
        let Some(until) = held_until(record, held, it) else { continue };
        let placed = &it.placement.placed;
        found.retain(|earlier| earlier.target != it.target);
        found.push(TargetContribution {
            target: it.target,
            until,
            time: TimeNeeded::Stated(placed.time_s.unwrap_or(UNLIMITED_S)),
            amount: Amount {
                jobs: 1,
                slots: placed.count.into(),
                disk_bytes: placed.disk_bytes.into(),
                cache_bytes: placed.cache_bytes.into(),
            },
        });
    }
    let Some((target, record)) = record else { return found };
    let is_counted = found.iter().any(|earlier| earlier.target == target);
    if let Some(until) = until(&record, None).filter(|_| !is_counted) {
        let time = record.time_s.map_or(TimeNeeded::Default, TimeNeeded::Stated);
        let amount = Amount { jobs: 1, slots: record.count.into(), ..Amount::default() };
        found.push(TargetContribution { target, until, time, amount });
    }
    found
}

/// Until when a job counts as being in front because of a placement; `None`: it does not. What the
/// job's record says counts if it is about this attempt. Without it the placement holds until it
/// expires, or until something is heard of a later attempt.
fn held_until(
    record: Option<(u32, JobRecord)>,
    held: &[Held<'_>],
    this: &Held<'_>,
) -> Option<Until> {
    let Placement { attempt, now: decided_at, .. } = *this.placement;
    let of_job = |at: u32| held.iter().filter(move |it| it.target == at);
    if let Some((at, record)) = record {
        let since = record.changed_at.unwrap_or(Millis::MIN);
        let is_later = |it: &Held<'_>| it.placement.attempt > attempt && it.placement.now <= since;
        if at == this.target {
            let has_earlier = of_job(at).any(|it| it.placement.attempt < attempt && !it.is_refused);
            if is_about(&record, this.placement, has_earlier) {
                return until(&record, Some(decided_at));
            }
        } else if of_job(at).any(is_later) {
            return None;
        }
    }
    Some(Until::News).filter(|_| !this.is_expired)
}

/// Whether a record of a job at a target is about this attempt, not about an earlier one: that
/// ended before this was decided, or was in the batch system before. `has_earlier`: an earlier
/// attempt was sent there. Clocks of clusters differ, so that a time before the decision says
/// nothing where there is no earlier attempt.
fn is_about(record: &JobRecord, placement: &Placement, has_earlier: bool) -> bool {
    let is_before = |at: Option<Millis>| at.is_some_and(|at| at < placement.now);
    match record.state {
        ClusterJobState::PreBatch => true,
        ClusterJobState::InBatch => !has_earlier || !is_before(record.reached_batch_at),
        ClusterJobState::Leaving | ClusterJobState::Ended => {
            placement.attempt == 0 || !is_before(record.changed_at)
        }
    }
}

/// Until when a job counts as being in front by its record; `None`: it does not. One that is in the
/// batch system since a moment that nobody stated got there after it was decided, if we did decide
/// it.
fn until(record: &JobRecord, decided_at: Option<Millis>) -> Option<Until> {
    match record.state {
        ClusterJobState::PreBatch => Some(Until::News),
        ClusterJobState::InBatch => record.reached_batch_at.or(decided_at).map(Until::FactsOf),
        ClusterJobState::Leaving | ClusterJobState::Ended => None,
    }
}

impl Ahead {
    /// Takes what a job contributes in the place of what it contributed before.
    pub fn put(&mut self, job: &str, contributions: Vec<TargetContribution>) {
        if let Some(before) = self.jobs.remove(job) {
            self.take_away(&before);
        }
        self.add(&contributions);
        if !contributions.is_empty() {
            self.jobs.insert(job.to_owned(), contributions);
        }
    }

    /// Amounts at a target, added up, of the jobs that facts of a moment do not contain.
    pub fn amount(&self, target: u32, as_of: Millis) -> Amount {
        let amounts = self.since(target, as_of).iter();
        amounts.fold(Amount::default(), |sum, (_, amount)| sum.plus(*amount))
    }

    /// CPUs that jobs in front need at a target, by the time needed.
    pub fn needed(&self, target: u32, as_of: Millis, share: &BatchFacts, needed: &mut Vec<Needed>) {
        needed.clear();
        let default = share.default_cpu_time_s.or(share.default_wall_time_s);
        for ((_, time), amount) in self.since(target, as_of) {
            let time_s = match time {
                TimeNeeded::Default => default.unwrap_or(UNLIMITED_S),
                TimeNeeded::Stated(time_s) => *time_s,
            };
            let slots = u64::try_from(amount.slots).unwrap_or(u64::MAX);
            needed.push(Needed { slots, time_s });
        }
    }

    /// The sums as they would be if every contribution were added up again: equal to the sums kept.
    pub fn recount(&self) -> Ahead {
        let mut again = Ahead { jobs: self.jobs.clone(), sums: Vec::new() };
        self.jobs.values().for_each(|contributions| again.add(contributions));
        again
    }

    /// Whether the sums are the same.
    pub fn has_sums_of(&self, other: &Ahead) -> bool {
        let targets = self.sums.len().max(other.sums.len());
        let none = Sums::new();
        (0..targets)
            .all(|at| self.sums.get(at).unwrap_or(&none) == other.sums.get(at).unwrap_or(&none))
    }

    /// Sums of the jobs that facts of a moment do not contain.
    #[inline]
    fn since(&self, target: u32, as_of: Millis) -> &[((Until, TimeNeeded), Amount)] {
        let Some(sums) = self.sums.get(target as usize) else { return &[] };
        let is_contained = |until: Until| until <= Until::FactsOf(as_of);
        match sums.first() {
            Some(((until, _), _)) if is_contained(*until) => {
                &sums[sums.partition_point(|((until, _), _)| is_contained(*until))..]
            }
            Some(_) | None => sums,
        }
    }

    fn add(&mut self, contributions: &[TargetContribution]) {
        for TargetContribution { target, until, time, amount } in contributions {
            let target = *target as usize;
            if self.sums.len() <= target {
                self.sums.resize_with(target + 1, Sums::new);
            }
            let (sums, key) = (&mut self.sums[target], (*until, *time));
            match sums.binary_search_by_key(&key, |(key, _)| *key) {
                Ok(at) => sums[at].1 = sums[at].1.plus(*amount),
                Err(at) => sums.insert(at, (key, *amount)),
            }
        }
    }

    fn take_away(&mut self, contributions: &[TargetContribution]) {
        for TargetContribution { target, until, time, amount } in contributions {
            let Some(sums) = self.sums.get_mut(*target as usize) else { continue };
            let key = (*until, *time);
            if let Ok(at) = sums.binary_search_by_key(&key, |(key, _)| *key) {
                sums[at].1 = sums[at].1.minus(*amount);
                if sums[at].1.jobs == 0 {
                    sums.remove(at);
                }
            }
        }
    }
}

impl Amount {
    fn plus(self, other: Amount) -> Amount {
        Amount {
            jobs: self.jobs.saturating_add(other.jobs),
            slots: self.slots.saturating_add(other.slots),
            disk_bytes: self.disk_bytes.saturating_add(other.disk_bytes),
            cache_bytes: self.cache_bytes.saturating_add(other.cache_bytes),
        }
    }

    fn minus(self, other: Amount) -> Amount {
        Amount {
            jobs: self.jobs.saturating_sub(other.jobs),
            slots: self.slots.saturating_sub(other.slots),
            disk_bytes: self.disk_bytes.saturating_sub(other.disk_bytes),
            cache_bytes: self.cache_bytes.saturating_sub(other.cache_bytes),
        }
    }
}

/// The rest of an amount; never below 0.
pub fn left(free: Bytes, reserved: u128) -> Bytes {
    free.saturating_sub(Bytes::try_from(reserved).unwrap_or(Bytes::MAX))
}
