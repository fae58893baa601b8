//! Jobs of a case, a record each: by share and state at a queue, with the resource types, cores and
//! destinations that the case states beside.

use super::super::json::{count, entries, items, number, texts, whole};
use super::publisher::CasePublisher;
use serde_json::Value;
use std::collections::BTreeSet;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Heartbeat, JobState, Status};
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis};
use yardmaster_wire::record;

/// When jobs were made.
const MADE_AGO: Millis = DAY;
/// When jobs started where some start.
const STARTED_AGO: Millis = MINUTE;
/// When the last job started where none starts any more.
const LAST_STARTED_AGO: Millis = 3 * HOUR;
/// Task of the jobs.
const TASK: &str = "others";

/// States, with how many jobs or cores a case has in each.
fn states(value: &Value) -> impl Iterator<Item = (Status, u32)> {
    entries(value).filter_map(|(name, jobs)| Some((Status::from_name(name)?, count(jobs))))
}

/// The first jobs of a state; `None`: there are not so many.
fn first<'j, 'a>(
    jobs: &'j mut [JobState<'a>],
    wanted: u32,
    is_meant: impl Fn(&JobState<'a>) -> bool + 'j,
) -> Option<impl Iterator<Item = &'j mut JobState<'a>>> {
    let there = jobs.iter().filter(|job| is_meant(job)).count();
    let meant = jobs.iter_mut().filter(move |job| is_meant(job)).take(wanted as usize);
    (there >= wanted as usize).then_some(meant)
}

impl<'c> CasePublisher<'c> {
    /// Publishes all jobs.
    ///
    /// # Errors
    /// That a record cannot be read.
    pub(super) fn jobs(&mut self) -> Result<(), String> {
        let stats = &self.scenario["stats"];
        self.note_work_queue();
        let figures = ["jobs", "cores", "jobs_by_resource_type", "transferring_by_nucleus"];
        let more = entries(&stats["disk_io_kbps_per_core"]).map(|(queue, _)| queue.as_str());
        let named = figures.iter().flat_map(|figure| entries(&stats[*figure]));
        let mut queues: BTreeSet<&str> =
            named.map(|(queue, _)| queue.as_str()).chain(more).collect();
        let inactive = texts(&stats["inactive_queues"]);
        queues.extend(items(&stats["inactive_queues"]).filter_map(Value::as_str));
        for figure in ["user_jobs", "to_running_rate_per_hour"] {
            let named = entries(&self.scenario["analysis"][figure]);
            queues.extend(named.map(|(queue, _)| queue.as_str()));
        }
        for queue in queues {
            let mut jobs = self.jobs_at(queue);
            self.set_types(queue, &mut jobs);
            self.set_cores(queue, &mut jobs);
            self.set_nuclei(queue, &mut jobs);
            let is_inactive = inactive.iter().any(|name| name == queue);
            self.set_users(queue, &mut jobs);
            if is_inactive {
                self.set_inactive(queue, &mut jobs);
            }
            if self.scenario["analysis"].is_object() {
                self.set_starts(queue, is_inactive, &mut jobs);
            }
            let rate = number(&stats["disk_io_kbps_per_core"][queue]);
            jobs.iter().for_each(|job| self.hold(job));
            self.publish_jobs(queue, &jobs, rate)?;
        }
        Ok(())
    }

    /// Work queues of function Resource count jobs of their own, which no record names.
    fn note_work_queue(&mut self) {
        let number = whole(&self.scenario["task"]["work_queue_id"]);
        let mut queues = items(&self.scenario["work_queues"]);
        if queues.any(|it| whole(&it["id"]) == number && it["function"] == "Resource") {
            self.note("no record names a work queue", &[""]);
        }
    }

    /// Jobs of each share and state at a queue.
    fn jobs_at(&self, queue: &'c str) -> Vec<JobState<'c>> {
        let mut jobs = Vec::new();
        for (share, by_state) in entries(&self.scenario["stats"]["jobs"][queue]) {
            for (status, many) in states(by_state) {
                jobs.extend((0..many).map(|_| self.job(queue, share, status)));
            }
        }
        jobs
    }

    /// A job.
    pub(super) fn job<'a>(&self, queue: &'a str, share: &'a str, status: Status) -> JobState<'a> {
        let is_started = status >= Status::Running;
        JobState {
            task: TASK,
            queue,
            gshare: share,
            status,
            cores: 1,
            created_at: self.now - MADE_AGO,
            started_at: if is_started { self.now - STARTED_AGO } else { 0 },
            changed_at: self.now,
            ..JobState::default()
        }
    }

    /// Resource types of jobs of the task's share: its own one, as often as stated.
    fn set_types(&mut self, queue: &str, jobs: &mut [JobState<'c>]) {
        let (stats, task) = (&self.scenario["stats"], &self.scenario["task"]);
        let own = task["resource_type"].as_str().unwrap_or_default();
        let share = task["gshare"].as_str().unwrap_or_default();
        let of_task = texts(&stats["task_resource_types_by_queue"][queue]);
        if of_task.iter().any(|name| name != own) {
            self.note("no record lists the resource types of a task at a queue", &["cap_rt"]);
        }
        for (status, wanted) in states(&stats["jobs_by_resource_type"][queue][own]) {
            let is_meant = move |job: &JobState<'_>| job.gshare == share && job.status == status;
            match first(jobs, wanted, is_meant) {
                Some(meant) => meant.for_each(|job| job.resource_type = own),
                None => self
                    .note("jobs by resource type and by share contradict each other", &["cap_rt"]),
            }
        }
    }

    /// Cores of jobs by state; of a queue without stated ones each job has one.
    fn set_cores(&mut self, queue: &str, jobs: &mut [JobState<'c>]) {
        for (status, cores) in states(&self.scenario["stats"]["cores"][queue]) {
            let there = jobs.iter().filter(|job| job.status == status).count() as u32;
            if cores < there || there == 0 && cores > 0 {
                self.note("jobs and their cores contradict each other", &["over_pledged"]);
                continue;
            }
            let meant = jobs.iter_mut().filter(|job| job.status == status);
            for (at, job) in (0..).zip(meant) {
                job.cores = cores / there + u32::from(at < cores % there);
            }
        }
    }

    /// Nuclei that output of transferring jobs is on its way to.
    fn set_nuclei(&mut self, queue: &str, jobs: &mut [JobState<'c>]) {
        for (nucleus, wanted) in entries(&self.scenario["stats"]["transferring_by_nucleus"][queue])
        {
            let is_meant =
                |job: &JobState<'_>| job.status == Status::Transferring && job.nucleus.is_empty();
            match first(jobs, count(wanted), is_meant) {
                Some(meant) => meant.for_each(|job| job.nucleus = nucleus),
                None => self.note(
                    "more output is on its way than jobs are transferring",
                    &["transferring"],
                ),
            }
        }
    }

    /// Nothing started at the queue for long; the last one is over.
    fn set_inactive(&self, queue: &'c str, jobs: &mut Vec<JobState<'c>>) {
        jobs.push(self.job(queue, "", Status::Finished));
        for job in jobs.iter_mut().filter(|job| job.started_at > 0) {
            job.started_at = self.now - LAST_STARTED_AGO;
        }
    }

    /// Publishes jobs of a queue; `rate`: the disk I/O per core that the first running one reports,
    /// or one more of no share where none runs.
    fn publish_jobs(
        &mut self,
        queue: &'c str,
        jobs: &[JobState<'c>],
        rate: Option<f64>,
    ) -> Result<(), String> {
        let rate = rate.filter(|rate| *rate > 0.0);
        let mut reporter = jobs.iter().position(|job| job.status == Status::Running);
        let more = (rate.is_some() && reporter.is_none()).then(|| {
            reporter = Some(jobs.len());
            self.note("no job runs that could report the disk I/O", &["transferring", "pledged"]);
            self.job(queue, "", Status::Running)
        });
        for (at, job) in jobs.iter().chain(&more).enumerate() {
            let name = self.publish_job(job)?;
            if let Some(rate) = rate.filter(|_| reporter == Some(at)) {
                let disk_io_kbps = rate.round() as u32 * job.cores;
                let sign =
                    Heartbeat { job: &name, at: self.now, disk_io_kbps, ..Heartbeat::default() };
                let now = self.now;
                self.world.read(Topic::Heartbeat, now, |out| record::write(out, &sign))?;
            }
        }
        Ok(())
    }

    /// Publishes a job. Returns its name.
    pub(super) fn publish_job(&mut self, job: &JobState<'_>) -> Result<String, String> {
        self.published += 1;
        let name = self.published.to_string();
        let job = JobState { job: &name, ..job.clone() };
        let now = self.now;
        if matches!(job.status, Status::Sent | Status::Running)
            && let Some(power) = self.powers.get(job.queue)
        {
            let executing = self.executing.entry(job.gshare.to_owned()).or_default();
            *executing += u128::from(job.cores.max(1)) * u128::from(*power);
        }
        self.world.read(Topic::JobState, now, |out| record::write(out, &job))?;
        Ok(name)
    }
}
