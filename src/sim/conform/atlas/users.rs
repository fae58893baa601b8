//! Jobs that an analysis case states of queues: whose they are, how many start, how those of the
//! task ended, and the class of their sites.

use super::super::json::{count, entries, number, text, whole};
use super::publisher::CasePublisher;
use serde_json::Value;
use yardmaster_core::domain::atlas::policy::CLASSED;
use yardmaster_core::event::{JobState, Status};
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};

/// How near weights come that are made of a rate in whole starts.
const IN_WHOLE_STARTS: f64 = 3e-3;
/// Hours in which starts count.
const START_HOURS: f64 = 71.0 / 12.0;
/// When jobs started that count, where some start now.
const COUNTED_AGO: Millis = HOUR;
/// When jobs started that count no more.
const FORGOTTEN_AGO: Millis = 7 * HOUR;
/// A group that users work for. Such jobs count for the user at a queue, and not for its caps.
pub(super) const GROUP: &str = "others";
/// The processing type of jobs that merge output.
const MERGES: &str = "pmerge";
/// The share whose probes are samples of waiting times.
const SAMPLED: &str = "User Analysis";
/// The user whose jobs are probes.
const PROBER: &str = "gangarbt";
/// Probes at each queue.
const PROBES: Millis = 10;
/// When probes started.
const PROBED_AGO: Millis = 10 * HOUR;
/// How long probes wait at a site where they wait little.
const SHORT: Millis = MINUTE;
/// How long they wait where they wait too long.
const LONG: Millis = 50_000 * SECOND;

/// Words of differences that come of what is not known of users at queues.
const AT_QUEUES: &[&str] = &["weight ", "badsite", "below_min_weight"];

impl<'c> CasePublisher<'c> {
    /// Sets the users of jobs at a queue.
    pub(super) fn set_users(&mut self, queue: &'c str, jobs: &mut Vec<JobState<'c>>) {
        let scenario = self.scenario;
        let own = scenario["task"]["user_name"].as_str().unwrap_or_default();
        for (share, users) in entries(&scenario["analysis"]["user_jobs"][queue]) {
            if let Some(total) = number(&users["_total"]["running"]) {
                self.set_merging(share, total as usize, jobs);
            }
            let mut named: Vec<(&'c String, &'c Value)> =
                entries(users).filter(|(name, _)| *name != "_total").collect();
            named.sort_by_key(|(name, _)| *name != own);
            for (user, held) in named {
                let is_whole = self.set_user((share, user), held, queue, jobs);
                if user == own && !is_whole {
                    self.note("the user has more jobs at a queue than the share has", AT_QUEUES);
                }
            }
        }
    }

    /// Jobs that run and do not count for users merge output.
    fn set_merging(&mut self, share: &str, total: usize, jobs: &mut [JobState<'c>]) {
        let is_meant =
            |job: &&mut JobState<'c>| job.gshare == share && job.status == Status::Running;
        let running: Vec<&mut JobState<'c>> = jobs.iter_mut().filter(is_meant).collect();
        if total > running.len() {
            self.note("users have more jobs running at a queue than the share has", AT_QUEUES);
        }
        running.into_iter().skip(total).for_each(|job| job.processing_type = MERGES);
    }

    /// Counts a job where it is of the task's user and takes slots by which tasks are classed.
    pub(super) fn hold(&mut self, job: &JobState<'_>) {
        let is_own = self.scenario["task"]["user_name"] == *job.user;
        let is_classed = CLASSED.contains(&job.gshare) && job.processing_type != MERGES;
        if !is_own || !is_classed || job.status != Status::Running {
            return;
        }
        match whole(&self.scenario["analysis"]["queue_class"][job.queue]) {
            1 => self.held[0] += job.cores.max(1),
            0 => self.held[1] += job.cores.max(1),
            _ => {}
        }
    }

    /// Gives a user jobs of a share, and at least one that is not over. Returns whether there are
    /// as many as it has.
    fn set_user(
        &self,
        (share, user): (&'c str, &'c str),
        held: &Value,
        queue: &'c str,
        jobs: &mut Vec<JobState<'c>>,
    ) -> bool {
        let (queued, running) = (count(&held["queued"]), count(&held["running"]));
        let mut left = [queued as usize, running as usize];
        let mut is_there = false;
        for job in jobs.iter_mut() {
            let which = match job.status {
                Status::Running => 1,
                status if status.is_queued() => 0,
                _ => continue,
            };
            let is_free = job.user.is_empty() && job.processing_type.is_empty();
            if job.gshare == share && is_free && left[which] > 0 {
                (job.user, job.group) = (user, GROUP);
                left[which] -= 1;
                is_there = true;
            }
        }
        if !is_there {
            let job = self.job(queue, share, Status::Holding);
            jobs.push(JobState { user, group: GROUP, ..job });
        }
        left == [0, 0]
    }

    /// Sets when jobs at a queue started, so that as many start an hour as stated.
    pub(super) fn set_starts(
        &mut self,
        queue: &'c str,
        is_inactive: bool,
        jobs: &mut Vec<JobState<'c>>,
    ) {
        let rates = &self.scenario["analysis"]["to_running_rate_per_hour"];
        let exact = number(&rates[queue]).unwrap_or(0.0) * START_HOURS;
        let wanted = exact.round();
        if exact != wanted {
            self.tolerance = IN_WHOLE_STARTS;
            self.note("no whole number of starts comes to a rate", &["badsite"]);
        }
        let mut left = wanted as u32;
        for job in jobs.iter_mut().filter(|job| job.started_at > 0) {
            match (left, is_inactive) {
                (0, true) => job.started_at = self.now - FORGOTTEN_AGO,
                (0, false) => {}
                (_, true) => left -= 1,
                (_, false) => {
                    job.started_at = self.now - COUNTED_AGO;
                    left -= 1;
                }
            }
        }
        let started_at = self.now - if is_inactive { 3 * HOUR } else { COUNTED_AGO };
        let over = JobState { started_at, ..self.job(queue, "", Status::Finished) };
        jobs.extend((0..left).map(|_| over.clone()));
    }

    /// Publishes how jobs of the task ended at queues.
    ///
    /// # Errors
    /// That a record cannot be read.
    pub(super) fn outcomes(&mut self) -> Result<(), String> {
        let task = text(&self.scenario["task"]["task_id"]);
        for (queue, outcomes) in entries(&self.scenario["analysis"]["task_job_outcomes"]) {
            for status in [Status::Finished, Status::Failed, Status::Closed] {
                for _ in 0..count(&outcomes[status.name()]) {
                    let job = self.job(queue, "", status);
                    self.publish_job(&JobState { task: &task, started_at: 0, ..job })?;
                }
            }
        }
        Ok(())
    }

    /// Publishes probes by which sites have the stated classes; `quick`: sites beyond the case's
    /// where probes wait little.
    ///
    /// # Errors
    /// That a record cannot be read.
    pub(super) fn classes(&mut self, quick: &[String]) -> Result<(), String> {
        for queue in quick {
            self.probes(queue, SHORT)?;
        }
        for (queue, class) in entries(&self.scenario["analysis"]["queue_class"]) {
            match whole(class) {
                1 => self.probes(queue, SHORT)?,
                -1 => self.probes(queue, LONG)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// How many quick sites have to be there for all others that are stated to be slow.
    pub(super) fn quick_wanted(&self) -> usize {
        let classes = entries(&self.scenario["analysis"]["queue_class"]);
        3 * classes.filter(|(_, class)| whole(class) < 0).count()
    }

    fn probes(&mut self, queue: &str, wait: Millis) -> Result<(), String> {
        let inactive = &self.scenario["stats"]["inactive_queues"];
        let is_inactive = super::super::json::texts(inactive).iter().any(|name| name == queue);
        if !is_inactive {
            let job = self.job(queue, "", Status::Finished);
            self.publish_job(&job)?;
        }
        for at in 0..PROBES {
            let started_at = self.now - PROBED_AGO;
            let activated_at = started_at - wait - at * SECOND;
            let job = self.job(queue, SAMPLED, Status::Finished);
            self.publish_job(&JobState { user: PROBER, activated_at, started_at, ..job })?;
        }
        Ok(())
    }
}
