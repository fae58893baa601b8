//! Jobs are submitted, decisions heard and carried out.

use super::agenda::NordugridStep;
use super::jobs::{NordugridJob, NordugridStage};
use super::words::ENVIRONMENTS;
use super::work::WantedJob;
use super::{NorduGrid, Standing, index};
use crate::grid::Handle;
use yardmaster_core::event::{DecisionOutcome, OutcomeAbout, OutcomeKind, Task, TaskPhase};
use yardmaster_core::output::decision::{self, Decision};
use yardmaster_core::unit::{Millis, SECOND};

/// Least and most time from a decision to the cluster's answer.
const CARRYING_OUT: (Millis, Millis) = (2 * SECOND, 40 * SECOND);

impl NorduGrid {
    /// A user submits a job.
    pub(super) fn submitted(&mut self) {
        let gap = self.gap_ms * self.dice.exponential();
        if self.now < self.end {
            self.after((gap as Millis).max(1), NordugridStep::Submitted);
        }
        let user = self.dice.weighted(self.users.iter().map(|user| user.weight));
        let wanted = WantedJob::draw(&mut self.dice, &self.catalogue, self.speed);
        self.count.submitted += 1;
        self.count.waiting += 1;
        let name = format!("nordugrid-{:07}", self.count.submitted);
        let description = Some(wanted.description(index::top(self.count.submitted)));
        self.publisher.task(&Task {
            subject: name.clone(),
            task: name.clone(),
            domain: self.domain.clone(),
            policy: self.policy.clone(),
            phase: TaskPhase::Asking,
            asked_at: self.now,
            changed_at: self.now,
            jobs: 1,
            user: self.users[user].name.clone(),
            description,
            ..Task::default()
        });
        let job = NordugridJob::new(name.clone(), user, wanted, self.now);
        let handle = self.jobs.insert(job);
        self.by_name.insert(name, handle);
    }

    /// Hears a decision on a job that waits for one; the first counts.
    pub(super) fn hear(&mut self, decision: &Decision) {
        let Some(&handle) = self.by_name.get(&decision.subject) else { return };
        let Some(job) = self.jobs.get_mut(handle) else { return };
        if job.stage != NordugridStage::Waiting
            || decision.dry_run
            || decision.domain != self.domain
        {
            return;
        }
        match &decision.outcome {
            decision::Outcome::Defer { .. } => {}
            decision::Outcome::Reject { reason } => {
                let word = reason.split([':', '(']).next().unwrap_or(reason).to_owned();
                *self.count.rejected.entry(word).or_default() += 1;
                self.count.waiting -= 1;
                // What came into a cache meanwhile could not be known.
                let has_target = (0..self.queues.len() as u32).any(|queue| {
                    self.is_in_service(queue)
                        && self.misfit(handle, queue).is_none()
                        && self.is_near(handle, queue, false)
                });
                self.count.rejected_with_target += u64::from(has_target);
                self.forget(handle);
            }
            decision::Outcome::Assign(ranked) => {
                let queue = ranked.first().and_then(|it| self.by_queue.get(&it.queue).copied());
                job.stage = NordugridStage::Answered(queue);
                job.decision = Some((decision.id, decision.attempt));
                job.tries += 1;
                self.after_between(CARRYING_OUT.0, CARRYING_OUT.1, NordugridStep::Answered(handle));
            }
        }
    }

    /// A cluster takes a job, or does not.
    pub(super) fn answered(&mut self, handle: Handle) {
        let Some(job) = self.jobs.get(handle) else { return };
        let NordugridStage::Answered(queue) = job.stage else { return };
        let Some((decision, _)) = job.decision else { return };
        let (subject, tries) = (job.name.clone(), job.tries);
        let submitted_at = job.submitted_at;
        let (kind, reason) = self.answer(handle, queue);
        let (about, at) = (OutcomeAbout::Decision, self.now);
        self.publisher.outcome(&DecisionOutcome { subject, decision, about, kind, at, reason });
        if kind == OutcomeKind::Accepted {
            self.count.placed += 1;
            self.count.waiting -= 1;
            let most = self.count.attempts.len();
            self.count.attempts[tries.clamp(1, most) - 1] += 1;
            self.count.place_longest = self.count.place_longest.max(at - submitted_at);
            self.places.add(at - submitted_at);
            if let Some(job) = self.jobs.get_mut(handle) {
                job.queue = queue.unwrap_or(0);
            }
            self.accepted(handle);
            return;
        }
        match kind {
            OutcomeKind::Failed => self.count.unanswered += 1,
            _ => self.count.refused += 1,
        }
        if let Some(job) = self.jobs.get_mut(handle) {
            job.stage = NordugridStage::Waiting;
        }
    }

    fn answer(&mut self, handle: Handle, queue: Option<u32>) -> (OutcomeKind, String) {
        let Some(queue) = queue else {
            return (OutcomeKind::Failed, "there is no such queue".to_owned());
        };
        let cluster = self.queues[queue as usize].cluster;
        let cluster = &self.clusters[cluster as usize];
        let refuses = self.dice.chance(cluster.bad.0);
        match cluster.standing {
            Standing::Silent => {
                return (OutcomeKind::Failed, "the cluster does not answer".to_owned());
            }
            Standing::Inactive => {
                return (OutcomeKind::Refused, "the cluster takes no jobs now".to_owned());
            }
            Standing::Active => {}
        }
        match self.misfit(handle, queue) {
            Some(why) => (OutcomeKind::Refused, why.to_owned()),
            None if refuses => (OutcomeKind::Refused, "the delegation failed".to_owned()),
            None => (OutcomeKind::Accepted, String::new()),
        }
    }

    /// Whether the files of a job that wants them close by are, in the cache too if that counts.
    fn is_near(&self, handle: Handle, queue: u32, counts_cache: bool) -> bool {
        let Some(job) = self.jobs.get(handle).filter(|job| job.wanted.is_local) else {
            return true;
        };
        let cluster = &self.clusters[self.queues[queue as usize].cluster as usize];
        let is_cached = |file: &u32| {
            let cache = cluster.cache.as_ref().filter(|_| counts_cache && !job.wanted.no_cache);
            cache.is_some_and(|cache| cache.has(*file))
        };
        let is_close = |file: &u32| {
            let at = &self.catalogue.file(*file).at;
            cluster.close.iter().any(|it| at.contains(it))
        };
        job.wanted.files.iter().all(|file| is_close(file) || is_cached(file))
    }

    /// Whether a queue takes jobs.
    pub(super) fn is_in_service(&self, queue: u32) -> bool {
        let cluster = self.queues[queue as usize].cluster;
        self.clusters[cluster as usize].standing == Standing::Active
    }

    /// Why a queue cannot run a job; `None`: it can.
    fn misfit(&self, handle: Handle, queue: u32) -> Option<&'static str> {
        let Some(job) = self.jobs.get(handle) else { return Some("there is no such job") };
        let (wanted, of) = (&job.wanted, &self.queues[queue as usize]);
        let cluster = &self.clusters[of.cluster as usize];
        let has = |(at, least): &(usize, usize)| {
            cluster.versions.get(*at).copied().flatten().is_some_and(|version| version >= *least)
        };
        debug_assert!(wanted.environments.iter().all(|(at, _)| *at < ENVIRONMENTS.len()));
        if !wanted.is_sound {
            Some("the description asks for what is not here")
        } else if !cluster.communities.contains(&self.users[job.user].community) {
            Some("the user may not submit here")
        } else if !wanted.environments.is_empty() && !wanted.environments.iter().any(has) {
            Some("the runtime environment is not here")
        } else if wanted.memory_mb > of.max_memory_mb {
            Some("it wants more memory than a slot has")
        } else if wanted.count > of.cpus || wanted.cpu_time_s > of.max_cpu_time_s * wanted.count {
            Some("it wants more CPUs or more time than the queue gives")
        } else if !self.is_near(handle, queue, true) {
            Some("an input file is not here")
        } else if of.waiting.len() as u64 >= of.max_queuable {
            Some("the queue is full")
        } else {
            None
        }
    }
}
