//! Decisions carried out, states of jobs looked at, and jobs that are over ended.

use super::clusters::{ClusterLook, chosen};
use super::fetched::fetch;
use super::job::{AtCluster, JobEnd, JobListing, Stage, outcome_entry};
use super::lines::{note, print};
use super::waiting::WaitedJobs;
use crate::arex::{ArexError, JobFailure, is_before_the_batch_system};
use crate::cli::import::Entry;
use crate::clock;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use yardmaster_core::event::OutcomeKind;
use yardmaster_core::explain::iso;
use yardmaster_core::output::decision::{ATTEMPT_MAX, Decision, Outcome};
use yardmaster_core::plain::plain;
use yardmaster_drive::port::LogError;

/// Between two tries to publish.
const PUBLISH_AGAIN: Duration = Duration::from_secs(1);

impl WaitedJobs<'_> {
    /// Carries a decision out.
    pub(super) fn take_up(&mut self, decision: &Decision) {
        let Some(job) = self.jobs.get_mut(&decision.subject) else { return };
        if !matches!(job.stage, Stage::Asked(_)) || decision.attempt < job.task.attempt {
            return;
        }
        let name = plain(&decision.subject).into_owned();
        match &decision.outcome {
            Outcome::Assign(_) => self.hand_over(decision),
            Outcome::Defer { until } => {
                job.stage = Stage::Asked(None);
                let counts = decision.counts.iter();
                let counts: Vec<String> =
                    counts.map(|it| format!("{} {}", it.filter, it.rejected)).collect();
                note(&format!(
                    "{name}: waits until {}: {}",
                    iso(*until),
                    plain(&counts.join(", "))
                ));
            }
            Outcome::Reject { reason } => {
                job.stage = Stage::Over(JobEnd::Unplaced);
                print(&format!("{name}: no target takes it: {}", plain(reason)));
                decision.notes.iter().for_each(|it| note(&format!("{name}: {}", plain(it))));
                note(&format!("{name}: `explain {name} --fates` shows why each target does not"));
            }
        }
    }

    /// Hands a job over to the target of a decision. What became of it is published before anything
    /// else happens.
    fn hand_over(&mut self, decision: &Decision) {
        let Some(job) = self.jobs.get(&decision.subject) else { return };
        let name = plain(&decision.subject).into_owned();
        let done = match chosen(decision, job) {
            None => Err(ArexError::Failed("the decision names no target of a cluster".to_owned())),
            Some((alternative, target, (cluster, queue))) => {
                let facts = self.log.cluster(cluster);
                let id = self.clusters.hand_over(job, alternative, (cluster, queue), facts);
                id.map(|id| {
                    let mut at = AtCluster::new(decision, target, &id, alternative);
                    at.reach("ACCEPTING", clock::now(), false);
                    let url = facts.map_or("", |facts| facts.submission_url.trim_end_matches('/'));
                    (at, format!("{target} took it: {url}/rest/1.0/jobs/{id}"))
                })
            }
        };
        let (kind, reason) = match &done {
            Ok(_) => (OutcomeKind::Accepted, String::new()),
            Err(ArexError::Refused(why)) => (OutcomeKind::Refused, why.clone()),
            Err(ArexError::Failed(why) | ArexError::NotTrusted(why)) => {
                (OutcomeKind::Failed, why.clone())
            }
        };
        let mut entries = vec![outcome_entry(decision, kind, &reason, clock::now())];
        entries.extend(done.as_ref().ok().map(|(at, _)| job.state_entry(at)));
        self.publish(&entries);
        let stage = match done {
            Ok((at, line)) => {
                print(&format!("{name}: {}", plain(&line)));
                Stage::Handed(Box::new(at))
            }
            Err(_) => {
                let targets = decision.outcome.ranked().iter().filter(|it| it.jobs > 0);
                let target = targets.map(|it| it.queue.as_str()).next().unwrap_or("a target");
                note(&format!("{name}: {} does not take it: {}", plain(target), plain(&reason)));
                Stage::Asked(Some(Instant::now()))
            }
        };
        if let Some(job) = self.jobs.get_mut(&decision.subject) {
            job.stage = stage;
        }
    }

    /// Looks at the clusters that have jobs.
    pub(super) fn look(&mut self) {
        let handed = self.jobs.values().filter_map(|job| match &job.stage {
            Stage::Handed(at) => Some(at.cluster().to_owned()),
            Stage::Asked(_) | Stage::Over(_) => None,
        });
        for cluster in handed.collect::<BTreeSet<_>>() {
            match self.clusters.look(&cluster, self.log.cluster(&cluster)) {
                ClusterLook::Resting => {}
                ClusterLook::Silent(_, false) => {}
                ClusterLook::Silent(why, true) => {
                    note(&format!(
                        "{}; its jobs are looked at again later",
                        plain(&why.to_string())
                    ));
                }
                ClusterLook::States(states, was_silent) => {
                    if was_silent {
                        note(&format!("{}: answers again", plain(&cluster)));
                    }
                    self.compare(&cluster, &states);
                }
            }
        }
    }

    /// Compares the states of a cluster's jobs with what is known of them.
    fn compare(&mut self, cluster: &str, states: &BTreeMap<String, String>) {
        let (mut changed, mut others) = (Vec::new(), Vec::new());
        for (subject, job) in &mut self.jobs {
            let Stage::Handed(at) = &mut job.stage else { continue };
            if at.cluster() != cluster {
                continue;
            }
            match at.listed(states.get(&at.id).map(String::as_str)) {
                JobListing::Nothing => {}
                JobListing::Reached(word) => changed.push((subject.clone(), word)),
                JobListing::OfOthers => others.push((subject.clone(), at.id.clone())),
            }
        }
        for (subject, id) in others {
            note(&format!(
                "{}: {} has no job {} of these credentials: give those that it was submitted with",
                plain(&subject),
                plain(cluster),
                plain(&id)
            ));
            if let Some(job) = self.jobs.get_mut(&subject) {
                job.stage = Stage::Over(JobEnd::Left);
            }
        }
        for (subject, word) in changed {
            self.clusters.look_soon(cluster);
            self.reach(&subject, &word);
        }
    }

    /// A job reached a state.
    fn reach(&mut self, subject: &str, word: &str) {
        let Some(job) = self.jobs.get_mut(subject) else { return };
        let Stage::Handed(at) = &mut job.stage else { return };
        let mut failure = None;
        if word == "FAILED" {
            let facts = self.log.cluster(at.cluster());
            let cluster = self.clusters.cluster(at.cluster(), facts);
            failure = cluster.ok().map(|cluster| cluster.failure(&at.id));
        }
        let is_cancelled = failure.as_ref().is_some_and(JobFailure::is_cancelled);
        let word = if is_cancelled { "KILLED" } else { word };
        let failed_in = failure.as_ref().map_or("", |failure| failure.state.as_str());
        let was_in_batch = !failed_in.is_empty() && !is_before_the_batch_system(failed_in);
        at.reach(word, clock::now(), was_in_batch);
        note(&format!("{}: {} at {}", plain(subject), plain(word), plain(&at.target)));
        let at = at.as_ref().clone();
        let entry = job.state_entry(&at);
        self.publish(&[entry]);
        self.end_if_over(subject, failure);
    }

    /// Ends a job that is over: submits it again if nothing of it ran, else fetches its outputs.
    pub(super) fn end_if_over(&mut self, subject: &str, failure: Option<JobFailure>) {
        let Some(job) = self.jobs.get_mut(subject) else { return };
        let Stage::Handed(at) = &job.stage else { return };
        if !at.is_over() {
            return;
        }
        let (at, name) = (at.as_ref().clone(), plain(subject).into_owned());
        let failure = failure.unwrap_or_default();
        if !failure.reason.is_empty() {
            note(&format!("{name}: {}", plain(&failure.reason)));
        }
        if is_before_the_batch_system(&failure.state) && at.word == "FAILED" {
            if job.retries > 0 && at.attempt < ATTEMPT_MAX {
                job.retries -= 1;
                note(&format!(
                    "{name}: nothing of it ran; it is submitted again, to another cluster"
                ));
                let entry = job.ask_elsewhere(at.cluster(), at.attempt + 1, clock::now());
                return self.publish(&[entry]);
            }
            let not_there = job.rejected_clusters(at.cluster());
            let not_there: String = not_there.map(|it| format!(" -k {}", plain(&it))).collect();
            let hint = "submits it to another cluster";
            note(&format!(
                "{name}: nothing of it ran; `submit --wait --again {name}{not_there}` {hint}"
            ));
        }
        let is_fetched = self.fetch(subject, &at);
        let end = match at.word == "FINISHED" && is_fetched {
            true => JobEnd::Finished,
            false => JobEnd::Failed,
        };
        print(&format!("{name}: {}", plain(&at.word)));
        if let Some(job) = self.jobs.get_mut(subject) {
            job.stage = Stage::Over(end);
        }
    }

    /// Fetches the outputs of a job that is over, if they are wanted; whether all are here.
    fn fetch(&mut self, subject: &str, at: &AtCluster) -> bool {
        let Some(get) = &self.submission.args.get else { return true };
        if at.word == "WIPED" {
            return true;
        }
        let (name, folder) = (plain(subject), get.join(subject));
        let shown = folder.display();
        let facts = self.log.cluster(at.cluster());
        let cluster = self.clusters.cluster(at.cluster(), facts);
        let fetched = cluster.map_err(|error| error.to_string()).and_then(|cluster| {
            let files = fetch(cluster, &at.id, &folder)?;
            if self.submission.args.clean {
                cluster.act("clean", &at.id).map_err(|error| error.to_string())?;
            }
            Ok(files)
        });
        match fetched {
            Ok(files) => {
                let plural = if files == 1 { "file" } else { "files" };
                print(&format!("{name}: {files} {plural} in {shown}"));
                true
            }
            Err(why) => {
                note(&format!(
                    "{name}: its outputs are not in {shown}: {}; `submit --wait --resume {name} \
                     --get DIR` fetches them",
                    plain(&why)
                ));
                false
            }
        }
    }

    /// Publishes records; what may mend itself is tried again until a signal comes.
    fn publish(&mut self, entries: &[Entry]) {
        let mut was_reported = false;
        loop {
            match self.publisher.publish(entries) {
                Ok(()) => return,
                Err(error) => {
                    if !std::mem::replace(&mut was_reported, true) {
                        tracing::warn!("not published: {error}; it is tried again");
                    }
                    if matches!(error, LogError::Stop(_)) || !self.stop.goes_on() {
                        return;
                    }
                    std::thread::sleep(PUBLISH_AGAIN);
                }
            }
        }
    }
}
