//! Jobs that reach a state, and those that are over: submitted again if nothing of them ran, else
//! ended, with their outputs.

use super::clusters::{ClusterReport, Errand};
use super::fetched::Fetched;
use super::job::{AtCluster, JobEnd, Stage};
use super::lines::{note, print};
use super::waiting::WaitedJobs;
use crate::arex::{JobFailure, is_before_the_batch_system};
use crate::clock;
use yardmaster_core::output::decision::ATTEMPT_MAX;
use yardmaster_core::plain::plain;

impl WaitedJobs<'_> {
    /// A job reached a state, by failing in a way that is known.
    pub(super) fn reach(&mut self, subject: &str, word: &str, failure: Option<JobFailure>) {
        let Some(job) = self.jobs.get_mut(subject) else { return };
        let Stage::Handed(at) = &mut job.stage else { return };
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
        if !self.fetch(subject, &at) {
            self.end(subject, &at, true);
        }
    }

    /// Has the outputs of a job that is over fetched; `false`: none are wanted.
    fn fetch(&mut self, subject: &str, at: &AtCluster) -> bool {
        let (Some(get), Some(job)) = (&self.submission.args.get, self.jobs.get_mut(subject)) else {
            return false;
        };
        if at.word == "WIPED" {
            return false;
        }
        job.stage = Stage::Fetching(Box::new(at.clone()));
        let (subject, id) = (subject.to_owned(), at.id.clone());
        let (folder, is_cleaned) = (get.join(&subject), self.submission.args.clean);
        let facts = self.log.cluster(at.cluster());
        self.clusters.ask(at.cluster(), Errand::Outputs, facts, move |cluster| {
            let fetched = Fetched::from(cluster, &id, &folder, is_cleaned);
            ClusterReport::Fetched(subject, fetched)
        });
        true
    }

    /// The outputs of a job were fetched, as far as they could be.
    pub(super) fn fetched(&mut self, subject: &str, fetched: Fetched) {
        let Some(job) = self.jobs.get(subject) else { return };
        let (Stage::Fetching(at), Some(get)) = (&job.stage, &self.submission.args.get) else {
            return;
        };
        let (at, name, folder) = (at.as_ref().clone(), plain(subject), get.join(subject));
        let (shown, cluster) = (folder.display(), plain(at.cluster()));
        let is_whole = match fetched {
            Fetched::Whole(files, kept) => {
                let plural = if files == 1 { "file" } else { "files" };
                print(&format!("{name}: {files} {plural} in {shown}"));
                if let Some(why) = kept {
                    note(&format!("{name}: it is not removed from {cluster}: {}", plain(&why)));
                }
                true
            }
            Fetched::Before => {
                print(&format!(
                    "{name}: {cluster} has it no more; what was fetched before is in {shown}"
                ));
                true
            }
            Fetched::Lacking(why) => {
                note(&format!(
                    "{name}: its outputs are not in {shown}: {}; `submit --wait --resume {name} \
                     --get DIR` fetches them",
                    plain(&why)
                ));
                false
            }
        };
        self.end(subject, &at, is_whole);
    }

    /// A job is over, and its outputs are here if they were wanted.
    fn end(&mut self, subject: &str, at: &AtCluster, is_whole: bool) {
        print(&format!("{}: {}", plain(subject), plain(&at.word)));
        let is_finished = at.word == "FINISHED" && is_whole;
        if let Some(job) = self.jobs.get_mut(subject) {
            job.stage = Stage::Over(if is_finished { JobEnd::Finished } else { JobEnd::Failed });
        }
    }
}
