//! Decisions carried out, and states of jobs looked at.

use super::clusters::{ClusterLook, ClusterReport, Errand, chosen};
use super::handing::{HandedOver, Order};
use super::job::{AtCluster, JobEnd, JobListing, Stage, outcome_entry};
use super::lines::{note, print};
use super::strays::{Stray, StrayFate};
use super::waiting::WaitedJobs;
use crate::arex::{ArexError, JobFailure};
use crate::cli::import::Entry;
use crate::clock;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use yardmaster_core::event::OutcomeKind;
use yardmaster_core::explain::iso;
use yardmaster_core::output::decision::{Decision, Outcome};
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

    /// Hands a job over to the target of a decision.
    fn hand_over(&mut self, decision: &Decision) {
        let Some(job) = self.jobs.get_mut(&decision.subject) else { return };
        job.stage = Stage::Handing;
        let decision = Box::new(decision.clone());
        let Some((alternative, _, (cluster, queue))) = chosen(&decision, job) else {
            let error = ArexError::Failed("the decision names no target of a cluster".to_owned());
            return self.handed_over(&decision, HandedOver { id: Err(error), strays: Vec::new() });
        };
        let (facts, cluster) = (self.log.cluster(cluster), cluster.to_owned());
        let order = Order::new(&decision, job, alternative, (&cluster, queue), facts);
        self.clusters.ask(&cluster, Errand::Jobs, facts, move |cluster| {
            let handed_over = order.carry_out(cluster);
            ClusterReport::HandedOver(decision, handed_over)
        });
    }

    /// Takes up what was done at clusters.
    pub(super) fn take_reports(&mut self) {
        for report in self.clusters.reports() {
            match report {
                ClusterReport::HandedOver(decision, handed) => self.handed_over(&decision, handed),
                ClusterReport::Looked(cluster, look) => self.looked(&cluster, look),
                ClusterReport::Fetched(subject, files) => self.fetched(&subject, files),
            }
        }
    }

    /// A decision was carried out. What became of it is published before anything else happens.
    fn handed_over(&mut self, decision: &Decision, HandedOver { id, strays }: HandedOver) {
        self.strays.extend(strays);
        let Some(job) = self.jobs.get(&decision.subject) else { return };
        let name = plain(&decision.subject).into_owned();
        let (alternative, target, cluster) = match chosen(decision, job) {
            Some((alternative, target, (cluster, _))) => (Some(alternative), target, cluster),
            None => (None, "a target", ""),
        };
        let (stage, kind, reason) = match (&id, alternative) {
            (Ok(id), Some(alternative)) => {
                let mut at = AtCluster::new(decision, target, id, alternative);
                at.reach("ACCEPTING", clock::now(), false);
                (Stage::Handed(Box::new(at)), OutcomeKind::Accepted, String::new())
            }
            (Err(error), _) => {
                let is_refused = matches!(error, ArexError::Refused(_));
                let kind = if is_refused { OutcomeKind::Refused } else { OutcomeKind::Failed };
                (Stage::Asked(Some(Instant::now())), kind, error.to_string())
            }
            (Ok(_), None) => return,
        };
        let mut entries = vec![outcome_entry(decision, kind, &reason, clock::now())];
        if let Stage::Handed(at) = &stage {
            entries.push(job.state_entry(at));
        }
        let facts = self.log.cluster(cluster);
        let url = facts.map_or("", |facts| facts.submission_url.trim_end_matches('/'));
        let line = match &id {
            Ok(id) => format!("{target} took it: {url}/rest/1.0/jobs/{id}"),
            Err(_) => format!("{target} does not take it: {reason}"),
        };
        let cluster = cluster.to_owned();
        self.publish(&entries);
        match &stage {
            Stage::Handed(_) => {
                print(&format!("{name}: {}", plain(&line)));
                self.clusters.look_soon(&cluster);
            }
            _ => note(&format!("{name}: {}", plain(&line))),
        }
        if let Some(job) = self.jobs.get_mut(&decision.subject) {
            job.stage = stage;
        }
    }

    /// Looks at the clusters that have jobs, wanted or not.
    pub(super) fn look(&mut self) {
        let handed = self.jobs.values().filter_map(|job| match &job.stage {
            Stage::Handed(at) => Some(at),
            _ => None,
        });
        let with_strays = self.strays.iter().map(|stray| stray.cluster.as_str());
        let clusters: BTreeSet<&str> =
            handed.clone().map(|at| at.cluster()).chain(with_strays).collect();
        for cluster in clusters
            .into_iter()
            .filter(|it| self.clusters.is_due(it))
            .map(str::to_owned)
            .collect::<Vec<_>>()
        {
            let ids = handed
                .clone()
                .filter(|at| at.cluster() == cluster)
                .map(|at| at.id.clone())
                .collect();
            let strays = self.strays.iter().filter(|stray| stray.cluster == cluster).cloned();
            let strays: Vec<Stray> = strays.collect();
            self.clusters.look(&cluster, self.log.cluster(&cluster), ids, strays);
        }
    }

    /// A look at a cluster is over.
    fn looked(&mut self, cluster: &str, look: ClusterLook) {
        let was_silent = self.clusters.looked(cluster, look.states.is_err());
        for (stray, fate) in look.strays {
            let it = self.strays.iter_mut().filter(|it| it.is(&stray));
            it.for_each(|it| it.is_looked_for = true);
            match fate {
                StrayFate::Open => {}
                StrayFate::Unseen => {
                    let it = self.strays.iter_mut().filter(|it| it.is(&stray));
                    it.for_each(|it| it.is_answered = true);
                }
                // Of those beside one that is wanted more may come.
                StrayFate::Cancelled | StrayFate::Over if stray.beside.is_some() => {}
                _ => self.strays.retain(|it| !it.is(&stray)),
            }
            stray.line(fate).iter().for_each(|line| note(&plain(line)));
        }
        match look.states {
            Err(why) if !was_silent => {
                note(&format!("{}; its jobs are looked at again later", plain(&why.to_string())));
            }
            Err(_) => {}
            Ok(states) => {
                if was_silent {
                    note(&format!("{}: answers again", plain(cluster)));
                }
                self.compare(cluster, &states, look.failures);
            }
        }
    }

    /// Compares the states of a cluster's jobs with what is known of them.
    fn compare(
        &mut self,
        cluster: &str,
        states: &BTreeMap<String, String>,
        mut failures: BTreeMap<String, JobFailure>,
    ) {
        let (mut changed, mut others) = (Vec::new(), Vec::new());
        for (subject, job) in &mut self.jobs {
            let Stage::Handed(at) = &mut job.stage else { continue };
            if at.cluster() != cluster {
                continue;
            }
            match at.listed(states.get(&at.id).map(String::as_str)) {
                JobListing::Nothing => {}
                // It was handed over while the cluster was looked at: how it failed is asked next.
                JobListing::Reached(word) if word == "FAILED" && !failures.contains_key(&at.id) => {
                }
                JobListing::Reached(word) => {
                    changed.push((subject.clone(), word, failures.remove(&at.id)));
                }
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
        for (subject, word, failure) in changed {
            self.clusters.look_soon(cluster);
            self.reach(&subject, &word, failure);
        }
    }

    /// Publishes records; what may mend itself is tried again until a signal comes.
    pub(super) fn publish(&mut self, entries: &[Entry]) {
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
