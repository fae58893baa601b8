//! Reservations and the jobs that end them, counted of the topics alone.

use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::event::{DecisionOutcome, JobState, OutcomeKind};
use yardmaster::core::output::decision::{Decision, DecisionId, Outcome, request_name};

/// An assignment that is carried out, or may be.
struct Reservation {
    /// The decision's `now`; ms since 1970.
    now: i64,
    task: String,
    /// Whether an outcome states that its jobs were made.
    is_carried_out: bool,
    /// Jobs by queue.
    jobs: BTreeMap<String, usize>,
}

/// Jobs that decisions reserve and that are still to come.
#[derive(Clone, Debug, Default)]
pub struct Open {
    /// By queue, jobs that are still to come; queues without any are left out.
    pub jobs: BTreeMap<String, i64>,
    /// When the oldest decision that reserves was made; ms since 1970.
    pub since: Option<i64>,
    /// The same of decisions that were carried out.
    pub carried_out_since: Option<i64>,
}

/// Open reservations by request, and the jobs that were seen of each.
#[derive(Default)]
pub struct Reservations {
    /// By request.
    reservations: BTreeMap<String, Reservation>,
    by_decision: BTreeMap<DecisionId, String>,
    /// Names of jobs by request and queue.
    jobs: BTreeMap<(String, String), BTreeSet<String>>,
    /// Of jobs without request, when they were created, by task and queue.
    created: BTreeMap<(String, String), BTreeMap<String, i64>>,
}

impl Reservations {
    /// A decision that counts.
    pub fn decision(&mut self, decision: &Decision) {
        let Outcome::Assign(ranked) = &decision.outcome else { return };
        let request = request_name(&decision.subject, decision.attempt);
        let mut jobs = BTreeMap::new();
        for it in ranked {
            *jobs.entry(it.unified.clone()).or_default() += it.jobs as usize;
        }
        self.by_decision.insert(decision.id, request.clone());
        let (now, task) = (decision.now, decision.task.clone());
        let reservation = Reservation { now, task, is_carried_out: false, jobs };
        self.reservations.insert(request, reservation);
    }

    /// Takes in the outcome of a decision.
    pub fn outcome(&mut self, outcome: &DecisionOutcome) {
        let Some(request) = self.by_decision.get(&outcome.decision) else { return };
        match (outcome.kind, self.reservations.get_mut(request)) {
            (OutcomeKind::Accepted, Some(reservation)) => reservation.is_carried_out = true,
            _ => drop(self.reservations.remove(request)),
        }
    }

    /// A job that intake published.
    pub fn job(&mut self, job: &JobState<'_>) {
        let name = job.job.to_owned();
        let at = |what: &str| (what.to_owned(), job.queue.to_owned());
        if job.request.is_empty() {
            let jobs = self.created.entry(at(job.task)).or_default();
            jobs.insert(name, job.created_at);
            return;
        }
        self.jobs.entry(at(job.request)).or_default().insert(name.clone());
        // It may have been published before its place was known.
        self.created.get_mut(&at(job.task)).and_then(|jobs| jobs.remove(&name));
    }

    /// Jobs with a request, and without.
    pub fn jobs(&self) -> [usize; 2] {
        let without = self.created.values().map(BTreeMap::len).sum();
        [self.jobs.values().map(BTreeSet::len).sum(), without]
    }

    /// The jobs that are reserved now.
    pub fn open(&self) -> Open {
        let mut open = Open::default();
        for (request, reservation) in &self.reservations {
            let mut coming = 0;
            for (queue, jobs) in &reservation.jobs {
                let missing = jobs.saturating_sub(self.seen(request, reservation, queue)) as i64;
                if missing > 0 {
                    *open.jobs.entry(queue.clone()).or_default() += missing;
                }
                coming += missing;
            }
            if coming == 0 {
                continue;
            }
            let older = |than: &mut Option<i64>| {
                *than = Some(than.map_or(reservation.now, |it| it.min(reservation.now)));
            };
            older(&mut open.since);
            if reservation.is_carried_out {
                older(&mut open.carried_out_since);
            }
        }
        open
    }

    /// Jobs of a reservation at a queue: with its request, or of its task and made after it.
    fn seen(&self, request: &str, reservation: &Reservation, queue: &str) -> usize {
        let with = self.jobs.get(&(request.to_owned(), queue.to_owned()));
        let without = self.created.get(&(reservation.task.clone(), queue.to_owned()));
        let second = |at: i64| at.div_euclid(1_000);
        let is_later = |at: &&i64| second(**at) > second(reservation.now);
        let later = without.map_or(0, |jobs| jobs.values().filter(is_later).count());
        with.map_or(0, BTreeSet::len) + later
    }
}
