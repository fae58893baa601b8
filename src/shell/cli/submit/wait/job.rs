//! A job that is handed over: where it stands, and the records of that.

use crate::arex::published;
use crate::cli::import::Entry;
use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::time::Instant;
use yardmaster_core::cut::Topic;
use yardmaster_core::domain::nordugrid::xrsl::{Alternative, Dialect, read_to_run};
use yardmaster_core::event::{DecisionOutcome, JobState, OutcomeAbout, OutcomeKind, Status, Task};
use yardmaster_core::output::decision::{Decision, request_name};
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// So many lists of a cluster's jobs in a row lack a job that is gone.
const MISSING_MAX: u32 = 3;
/// Longest reason that is published; characters.
const REASON_CHARS: usize = 300;

/// A job.
pub(super) struct SubmittedJob {
    pub task: Task,
    pub alternatives: Vec<Alternative>,
    /// Where the files lie that are uploaded.
    pub files: PathBuf,
    /// How often it may still be submitted again.
    pub retries: u32,
    /// Whether another process may carry it on, too.
    pub is_shared: bool,
    pub stage: Stage,
}

/// Where a job stands.
pub(super) enum Stage {
    /// It waits for a decision; since when, until one came.
    Asked(Option<Instant>),
    /// It is being handed over to a cluster.
    Handing,
    /// It is at a cluster.
    Handed(Box<AtCluster>),
    /// It is over, and its outputs are being fetched.
    Fetching(Box<AtCluster>),
    /// It is over.
    Over(JobEnd),
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobEnd {
    /// It finished, and its outputs are here if they were wanted.
    Finished,
    /// It failed, was cancelled or removed, or its outputs cannot be fetched.
    Failed,
    /// No target took it.
    Unplaced,
    /// Nothing more is known of it.
    Left,
}

/// A job at a cluster, as it was last published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AtCluster {
    /// The target, `cluster/queue`.
    pub target: String,
    /// Id that the cluster gave it.
    pub id: String,
    /// Attempt of the request that placed it.
    pub attempt: u64,
    /// REST's word for its state; empty: none was read.
    pub word: String,
    pub cores: u32,
    pub cpu_time_s: u32,
    pub wall_time_s: u32,
    pub changed_at: Millis,
    pub activated_at: Millis,
    pub started_at: Millis,
    pub ended_at: Millis,
    /// How many lists of the cluster's jobs in a row lack it.
    pub missing: u32,
    /// Whether it was handed over or listed with these credentials: then it is theirs.
    pub is_ours: bool,
}

/// What a list of a cluster's jobs says of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum JobListing {
    /// Nothing new.
    Nothing,
    /// It reached a state, in REST's word.
    Reached(String),
    /// It is none of the jobs of these credentials.
    OfOthers,
}

impl AtCluster {
    /// A job that a cluster has taken.
    pub fn new(decision: &Decision, target: &str, id: &str, alternative: &Alternative) -> Self {
        let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let time = |seconds: Option<u64>| small(seconds.unwrap_or(0));
        AtCluster {
            target: target.to_owned(),
            id: id.to_owned(),
            attempt: decision.attempt,
            cores: small(alternative.count),
            cpu_time_s: time(alternative.cpu_time_s.or(alternative.grid_time_s)),
            wall_time_s: time(alternative.wall_time_s),
            is_ours: true,
            ..AtCluster::default()
        }
    }

    /// The cluster.
    pub fn cluster(&self) -> &str {
        self.target.split('/').next().unwrap_or_default()
    }

    /// Takes its word in a list of the cluster's jobs; `None`: it is not listed. One that was
    /// listed with these credentials, and is no more, is gone.
    pub fn listed(&mut self, word: Option<&str>) -> JobListing {
        self.missing = if word.is_some() { 0 } else { self.missing + 1 };
        self.is_ours |= word.is_some();
        let is_gone = self.missing >= MISSING_MAX;
        match word.or((is_gone && self.is_ours).then_some("WIPED")) {
            Some(word) if word != self.word => JobListing::Reached(word.to_owned()),
            None if is_gone => JobListing::OfOthers,
            _ => JobListing::Nothing,
        }
    }

    /// Notes that it reached a state at a moment. Of a job that failed it is known whether it
    /// was in the batch system.
    pub fn reach(&mut self, word: &str, at: Millis, was_in_batch: bool) {
        self.word = word.to_owned();
        // States of one millisecond would have no order.
        self.changed_at = at.max(self.changed_at + 1);
        let (status, _) = self.published();
        let is_in = matches!(status, Status::Activated | Status::Running | Status::Transferring);
        if self.activated_at == 0 && (is_in || status == Status::Finished || was_in_batch) {
            self.activated_at = self.changed_at;
        }
        if status == Status::Running && self.started_at == 0 {
            self.started_at = self.changed_at;
        }
        if status.is_ended() && self.ended_at == 0 {
            self.ended_at = self.changed_at;
        }
    }

    /// Its status, and the word that is published. A state that has no name here counts as before
    /// the batch system, where a job holds room.
    pub fn published(&self) -> (Status, &str) {
        published(&self.word).unwrap_or((Status::Assigned, &self.word))
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        self.published().0.is_ended()
    }
}

/// The description that was read last: jobs of one file have the same.
#[derive(Default)]
pub(super) struct LastRead {
    text: String,
    dialect: Dialect,
    jobs: Vec<Vec<Alternative>>,
}

impl LastRead {
    /// The alternatives of a task's job.
    fn alternatives(&mut self, task: &Task) -> anyhow::Result<Vec<Alternative>> {
        let (subject, dialect) = (&task.subject, SubmittedJob::dialect(task));
        let described = task.description.as_ref();
        let described =
            described.ok_or_else(|| anyhow::anyhow!("{subject}: its record has no description"))?;
        if self.jobs.is_empty() || self.text != described.text || self.dialect != dialect {
            let read = read_to_run(&described.text, dialect);
            self.jobs = read.map_err(|error| anyhow::anyhow!("{subject}: {error}"))?.jobs;
            (self.text, self.dialect) = (described.text.clone(), dialect);
        }
        let number = described.job as usize;
        self.jobs
            .get(number)
            .cloned()
            .ok_or_else(|| anyhow::anyhow!("{subject}: its description has no job number {number}"))
    }
}

impl SubmittedJob {
    /// A job of a task; `read` has the description that was read last.
    ///
    /// # Errors
    /// The description is none, or has no such job.
    pub fn new(task: Task, files: PathBuf, read: &mut LastRead) -> anyhow::Result<SubmittedJob> {
        let alternatives = read.alternatives(&task)?;
        let stage = Stage::Asked(Some(Instant::now()));
        Ok(SubmittedJob { task, alternatives, files, retries: 0, is_shared: false, stage })
    }

    /// The dialect of its description.
    pub fn dialect(task: &Task) -> Dialect {
        match task.description.as_ref().is_some_and(|it| it.server_dialect) {
            true => Dialect::Server,
            false => Dialect::User,
        }
    }

    /// The first file that it uploads and that is not there, in any of its alternatives.
    pub fn missing_upload(&self) -> Option<PathBuf> {
        let uploads = self.alternatives.iter().flat_map(Alternative::uploads);
        let mut paths = uploads.map(|(_, path)| self.files.join(path));
        paths.find(|path| !path.is_file())
    }

    /// The first file that it uploads from elsewhere than the folder of its files. A description
    /// that is read from the log may be another's.
    pub fn upload_from_elsewhere(&self) -> Option<&str> {
        let uploads = self.alternatives.iter().flat_map(Alternative::uploads);
        let is_below = |path: &str| {
            Path::new(path)
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        uploads.map(|(_, path)| path).find(|path| !is_below(path))
    }

    /// Clusters that may not be chosen, and one more, each with its minus.
    pub fn rejected_clusters(&self, one_more: &str) -> impl Iterator<Item = Cow<'_, str>> {
        let named = self.task.description.iter().flat_map(|it| &it.clusters);
        let named = named.filter(|name| name.starts_with('-')).map(|name| name.as_str().into());
        named.chain([format!("-{one_more}").into()])
    }

    /// The record that asks for a target again, elsewhere than at a cluster.
    pub fn ask_elsewhere(&mut self, cluster: &str, attempt: u64, now: Millis) -> Entry {
        self.task.attempt = attempt;
        (self.task.asked_at, self.task.changed_at) = (now, now);
        let clusters: Vec<String> = self.rejected_clusters(cluster).map(Cow::into_owned).collect();
        if let Some(description) = &mut self.task.description {
            description.clusters.retain(|name| !name.starts_with('-'));
            description.clusters.extend(clusters);
        }
        self.stage = Stage::Asked(Some(Instant::now()));
        let mut value = Vec::new();
        record::write(&mut value, &self.task);
        let (topic, key) = (Topic::Task, self.task.subject.clone());
        Entry { topic, key, value: Some(value), headers: Vec::new() }
    }

    /// The record of where it is.
    pub fn state_entry(&self, at: &AtCluster) -> Entry {
        let request = request_name(&self.task.subject, at.attempt);
        let (status, sub_status) = at.published();
        let state = JobState {
            job: &self.task.subject,
            status,
            changed_at: at.changed_at,
            attempt: u32::try_from(at.attempt).unwrap_or(u32::MAX),
            task: &self.task.task,
            request: &request,
            queue: &at.target,
            user: &self.task.user,
            sub_status,
            cores: at.cores,
            created_at: self.task.asked_at,
            activated_at: at.activated_at,
            started_at: at.started_at,
            ended_at: at.ended_at,
            cpu_time_s: at.cpu_time_s,
            wall_time_s: at.wall_time_s,
            cluster_job: &at.id,
            ..JobState::default()
        };
        let mut value = Vec::new();
        record::write(&mut value, &state);
        let (topic, key) = (Topic::JobState, self.task.subject.clone());
        Entry { topic, key, value: Some(value), headers: Vec::new() }
    }
}

/// The record of what became of a decision.
pub(super) fn outcome_entry(
    decision: &Decision,
    kind: OutcomeKind,
    reason: &str,
    now: Millis,
) -> Entry {
    let reason = match reason.char_indices().nth(REASON_CHARS) {
        None => reason.to_owned(),
        Some((end, _)) => format!("{}...", reason[..end].trim_end()),
    };
    let outcome = DecisionOutcome {
        subject: decision.subject.clone(),
        decision: decision.id,
        about: OutcomeAbout::Decision,
        kind,
        // Never older than the decision, whatever the clocks are.
        at: now.max(decision.now),
        reason,
    };
    let mut value = Vec::new();
    record::write(&mut value, &outcome);
    let (topic, key) = (Topic::Outcome, decision.subject.clone());
    Entry { topic, key, value: Some(value), headers: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::event::JobDescription;

    /// A job of another's credentials is never listed with these: nothing is known of its end.
    #[test]
    fn only_a_job_that_was_listed_can_be_gone() {
        let mut other = AtCluster { word: "RUNNING".to_owned(), ..AtCluster::default() };
        let listed: Vec<JobListing> = (0..3).map(|_| other.listed(None)).collect();
        assert_eq!(listed, [JobListing::Nothing, JobListing::Nothing, JobListing::OfOthers]);
        let mut ours = AtCluster::default();
        assert_eq!(ours.listed(Some("RUNNING")), JobListing::Reached("RUNNING".to_owned()));
        ours.word = "RUNNING".to_owned();
        let lists = [None, None, Some("RUNNING"), None, None];
        assert!(lists.into_iter().all(|word| ours.listed(word) == JobListing::Nothing));
        assert_eq!(ours.listed(None), JobListing::Reached("WIPED".to_owned()));
    }

    #[test]
    fn uploads_from_elsewhere_are_known() {
        let of = |path: &str| {
            let text = format!("&(executable=/bin/true)(inputfiles=(a \"{path}\"))");
            let description = Some(JobDescription { text, ..JobDescription::default() });
            let task = Task { description, ..Task::default() };
            let job = SubmittedJob::new(task, PathBuf::new(), &mut LastRead::default());
            job.unwrap().upload_from_elsewhere().map(str::to_owned)
        };
        for path in ["", "b", "work/b", "./b"] {
            assert_eq!(of(path), None, "{path}");
        }
        for path in ["/etc/passwd", "../b", "work/../../b", "file:///etc/passwd"] {
            assert!(of(path).is_some(), "{path}");
        }
    }
}
