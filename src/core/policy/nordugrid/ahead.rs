//! Jobs in front: what was sent to a target and is not yet in its published facts (N-08, N-09).
//!
//! Every figure is the sum of what each job contributes, and what a job contributes follows from
//! its record and its reservations alone. Nothing is counted by hand.

use super::facts::{JobRecord, Share, Submission, TargetReservation};
use super::job_state::JobState;
use super::windows::{Needed, UNLIMITED_S};
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
pub struct Contribution {
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

/// All that is known of one job.
#[derive(Clone, Debug, Default)]
struct KnownJob {
    record: Option<(u32, JobRecord)>,
    /// By attempt, ascending.
    reservations: Vec<(u32, TargetReservation)>,
    /// Results of submissions, by the number of the target and the attempt: known before the
    /// reservation if the two records come in that order.
    outcomes: BTreeMap<(u32, u64), Submission>,
}

/// Sums at one target by until when they count and how long the CPUs are needed, ascending.
type Sums = Vec<((Until, TimeNeeded), Amount)>;

/// Jobs with their contributions, and the sums of these for each target.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    jobs: BTreeMap<String, KnownJob>,
    /// By the number of the target.
    sums: Vec<Sums>,
}

/// Contributions of a job: at the target of its record, and at those where it has a reservation
/// that was not refused. Once at each target; a reservation's figures count before the record's,
/// those of a later attempt before those of an earlier one. Reservations are in the order of their
/// attempts.
pub fn contributions(
    record: Option<&(u32, JobRecord)>,
    reservations: &[(u32, TargetReservation)],
) -> Vec<Contribution> {
    let mut found: Vec<Contribution> = Vec::new();
    for (target, reservation) in reservations {
        let Some(until) = reserved_until(record, reservations, *target, reservation) else {
            continue;
        };
        if reservation.outcome != Some(Submission::Failed) {
            found.retain(|earlier| earlier.target != *target);
            found.push(Contribution {
                target: *target,
                until,
                time: TimeNeeded::Stated(reservation.time_s.unwrap_or(UNLIMITED_S)),
                amount: Amount {
                    jobs: 1,
                    slots: reservation.count.into(),
                    disk_bytes: reservation.disk_bytes.into(),
                    cache_bytes: reservation.cache_bytes.into(),
                },
            });
        }
    }
    let Some((target, record)) = record else { return found };
    let is_counted = found.iter().any(|earlier| earlier.target == *target);
    if let Some(until) = until(record, None).filter(|_| !is_counted) {
        let time = record.cpu_time_s.or(record.wall_time_s);
        let time = time.map_or(TimeNeeded::Default, TimeNeeded::Stated);
        let amount = Amount { jobs: 1, slots: record.count.into(), ..Amount::default() };
        found.push(Contribution { target: *target, until, time, amount });
    }
    found
}

/// Until when a job counts as being in front because of a reservation; `None`: it does not. What
/// the job's record says counts if it is about this attempt. Without it the reservation holds until
/// it expires, or until something is heard of a later attempt.
fn reserved_until(
    record: Option<&(u32, JobRecord)>,
    reservations: &[(u32, TargetReservation)],
    target: u32,
    reservation: &TargetReservation,
) -> Option<Until> {
    let decided_at = reservation.decided_at;
    let of_job = |at: u32| reservations.iter().filter(move |it| it.0 == at).map(|it| &it.1);
    if let Some((at, record)) = record {
        let since = record.changed_at.unwrap_or(Millis::MIN);
        let is_later =
            |it: &TargetReservation| it.attempt > reservation.attempt && it.decided_at <= since;
        if *at == target {
            let has_earlier = of_job(target).any(|it| {
                it.attempt < reservation.attempt && it.outcome != Some(Submission::Failed)
            });
            if is_about(record, reservation, has_earlier) {
                return until(record, Some(decided_at));
            }
        } else if of_job(*at).any(is_later) {
            return None;
        }
    }
    Some(Until::News).filter(|_| !reservation.is_expired)
}

/// Whether a record of a job at a target is about this attempt, not about an earlier one: that
/// ended before this was decided, or was in the batch system before. `has_earlier`: an earlier
/// attempt was sent there. Clocks of clusters differ, so that a time before the decision says
/// nothing where there is no earlier attempt.
fn is_about(record: &JobRecord, reservation: &TargetReservation, has_earlier: bool) -> bool {
    let is_before = |at: Option<Millis>| at.is_some_and(|at| at < reservation.decided_at);
    match record.state {
        JobState::PreBatch => true,
        JobState::InBatch => !has_earlier || !is_before(record.reached_batch_at),
        JobState::Leaving | JobState::Ended => {
            reservation.attempt == 0 || !is_before(record.changed_at)
        }
    }
}

/// Until when a job counts as being in front by its record; `None`: it does not. One that is in the
/// batch system since a moment that nobody stated got there after it was decided, if we did decide
/// it.
fn until(record: &JobRecord, decided_at: Option<Millis>) -> Option<Until> {
    match record.state {
        JobState::PreBatch => Some(Until::News),
        JobState::InBatch => record.reached_batch_at.or(decided_at).map(Until::FactsOf),
        JobState::Leaving | JobState::Ended => None,
    }
}

impl Ahead {
    /// Takes the newest record of a job.
    pub fn put_record(&mut self, target: u32, record: JobRecord) {
        self.change(record.job_id.clone(), |job| job.record = Some((target, record)));
    }

    /// Takes a reservation. Of several of one attempt at one target the latest counts.
    pub fn put_reservation(&mut self, target: u32, mut reservation: TargetReservation) {
        self.change(reservation.job_id.clone(), |job| {
            let (decided_at, attempt) = (reservation.decided_at, reservation.attempt);
            let is_same =
                |(at, it): &(u32, TargetReservation)| (*at, it.attempt) == (target, attempt);
            if job.reservations.iter().any(|it| is_same(it) && it.1.decided_at > decided_at) {
                return;
            }
            let outcome = job.outcomes.get(&(target, attempt)).copied();
            reservation.outcome = reservation.outcome.or(outcome);
            job.reservations.retain(|it| !is_same(it));
            let at = job.reservations.partition_point(|(_, it)| it.attempt <= attempt);
            job.reservations.insert(at, (target, reservation));
        });
    }

    /// Takes what became of the submission of an attempt.
    pub fn put_outcome(&mut self, job_id: &str, target: u32, attempt: u64, outcome: Submission) {
        self.change(job_id.to_owned(), |job| {
            job.outcomes.insert((target, attempt), outcome);
            for (at, reservation) in &mut job.reservations {
                if (*at, reservation.attempt) == (target, attempt) {
                    reservation.outcome = Some(outcome);
                }
            }
        });
    }

    /// Forgets a job.
    pub fn remove(&mut self, job_id: &str) {
        self.change(job_id.to_owned(), |job| *job = KnownJob::default());
    }

    /// The newest record of a job.
    pub fn record(&self, job_id: &str) -> Option<&JobRecord> {
        self.jobs.get(job_id)?.record.as_ref().map(|(_, record)| record)
    }

    /// Result of submitting an attempt of a job to a target.
    pub fn outcome(&self, job_id: &str, target: u32, attempt: u64) -> Option<Submission> {
        self.jobs.get(job_id)?.outcomes.get(&(target, attempt)).copied()
    }

    /// Amounts at a target, added up, of the jobs that facts of a moment do not contain.
    pub fn amount(&self, target: u32, as_of: Millis) -> Amount {
        let amounts = self.since(target, as_of).iter();
        amounts.fold(Amount::default(), |sum, (_, amount)| sum.plus(*amount))
    }

    /// CPUs that jobs in front need at a target, by the time needed.
    pub fn needed(&self, target: u32, as_of: Millis, share: &Share, needed: &mut Vec<Needed>) {
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
        for job in self.jobs.values() {
            again.add(&contributions(job.record.as_ref(), &job.reservations));
        }
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

    /// Changes what is known of a job: what it contributed is taken away, what it contributes now
    /// is added.
    fn change(&mut self, job_id: String, change: impl FnOnce(&mut KnownJob)) {
        let mut job = self.jobs.remove(&job_id).unwrap_or_default();
        self.take_away(&contributions(job.record.as_ref(), &job.reservations));
        change(&mut job);
        self.add(&contributions(job.record.as_ref(), &job.reservations));
        if job.record.is_some() || !job.reservations.is_empty() || !job.outcomes.is_empty() {
            self.jobs.insert(job_id, job);
        }
    }

    fn add(&mut self, contributions: &[Contribution]) {
        for Contribution { target, until, time, amount } in contributions {
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

    fn take_away(&mut self, contributions: &[Contribution]) {
        for Contribution { target, until, time, amount } in contributions {
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
