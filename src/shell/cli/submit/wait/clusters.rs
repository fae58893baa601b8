//! The clusters that jobs are handed over to: each asked with the user's credentials, no more often
//! than needed.

use super::job::SubmittedJob;
use crate::arex::{ArexCluster, ArexError, Credentials};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster_core::domain::nordugrid::xrsl::{Alternative, Handover, to_adl};
use yardmaster_core::event::ClusterFacts;
use yardmaster_core::output::decision::Decision;

/// How long a cluster rests between two looks at its jobs: at first, and at most while nothing
/// changes there or it is silent.
const REST: Duration = Duration::from_secs(2);
const REST_MAX: Duration = Duration::from_secs(30);

/// Clusters by their names.
pub(super) struct Clusters {
    credentials: Credentials,
    /// Each with its submission URL.
    known: BTreeMap<String, (String, ArexCluster)>,
    rests: BTreeMap<String, ClusterRest>,
}

/// How a cluster rests between looks.
struct ClusterRest {
    until: Instant,
    span: Duration,
    is_silent: bool,
}

/// A look at a cluster's jobs.
pub(super) enum ClusterLook {
    /// It is not due.
    Resting,
    /// The states of all jobs of the user; and whether the cluster was silent before.
    States(BTreeMap<String, String>, bool),
    /// The cluster does not answer; and whether that is new.
    Silent(ArexError, bool),
}

impl Clusters {
    pub fn new(credentials: Credentials) -> Clusters {
        Clusters { credentials, known: BTreeMap::new(), rests: BTreeMap::new() }
    }

    /// Goes on with other credentials of the user.
    pub fn renew(&mut self, credentials: Credentials) {
        self.credentials = credentials;
        self.known.clear();
    }

    /// The cluster of a name, as it publishes itself.
    pub fn cluster(
        &mut self,
        name: &str,
        facts: Option<&ClusterFacts>,
    ) -> Result<&mut ArexCluster, ArexError> {
        let url = facts.map_or("", |facts| facts.submission_url.as_str());
        let known = match self.known.remove(name) {
            // It may be published no more while a job is there.
            Some(known) if known.0 == url || url.is_empty() => known,
            None if url.is_empty() => {
                return Err(ArexError::Failed(format!(
                    "{name}: no submission URL of it is published (topic site, \
                     cluster.submission_url)"
                )));
            }
            _ => (url.to_owned(), ArexCluster::new(url, &self.credentials)?),
        };
        Ok(&mut self.known.entry(name.to_owned()).or_insert(known).1)
    }

    /// Hands a job over as one of its alternatives; its id at the cluster. One whose files cannot
    /// be uploaded is cancelled there.
    pub fn hand_over(
        &mut self,
        job: &SubmittedJob,
        alternative: &Alternative,
        (name, queue): (&str, &str),
        facts: Option<&ClusterFacts>,
    ) -> Result<String, ArexError> {
        let delegation = match alternative.is_staged_by_the_cluster() {
            true => self.cluster(name, facts)?.delegate()?,
            false => None,
        };
        let handover = Handover {
            queue,
            environments: facts.map_or(&[], |facts| &facts.runtime_environments),
            delegation: delegation.as_deref(),
            description: job.task.description.as_ref().map_or("", |it| &it.text),
            dialect: SubmittedJob::dialect(&job.task),
        };
        let adl = to_adl(alternative, &handover)
            .map_err(|error| ArexError::Refused(format!("{name}: {error}")))?;
        let cluster = self.cluster(name, facts)?;
        let id = cluster.submit(&adl)?;
        for (file, path) in alternative.uploads() {
            if let Err(error) = cluster.upload(&id, file, &job.files.join(path)) {
                // It would wait for its files until the cluster gives up.
                let _ = cluster.act("kill", &id);
                return Err(error);
            }
        }
        self.look_soon(name);
        Ok(id)
    }

    /// Looks at a cluster's jobs, if that is due.
    pub fn look(&mut self, name: &str, facts: Option<&ClusterFacts>) -> ClusterLook {
        let rest = self.rests.get(name);
        if rest.is_some_and(|rest| Instant::now() < rest.until) {
            return ClusterLook::Resting;
        }
        let was_silent = rest.is_some_and(|rest| rest.is_silent);
        let span = rest.map_or(REST, |rest| REST_MAX.min(rest.span + rest.span / 2));
        let states = self.cluster(name, facts).and_then(ArexCluster::states);
        let (until, is_silent) = (Instant::now() + span, states.is_err());
        self.rests.insert(name.to_owned(), ClusterRest { until, span, is_silent });
        match states {
            Ok(states) => ClusterLook::States(states, was_silent),
            Err(error) => ClusterLook::Silent(error, !was_silent),
        }
    }

    /// Looks at a cluster soon again: something changed there.
    pub fn look_soon(&mut self, name: &str) {
        let is_silent = self.rests.get(name).is_some_and(|rest| rest.is_silent);
        let rest = ClusterRest { until: Instant::now() + REST, span: REST, is_silent };
        self.rests.insert(name.to_owned(), rest);
    }
}

/// The alternative that a decision chose, and the target with its parts.
pub(super) fn chosen<'a>(
    decision: &'a Decision,
    job: &'a SubmittedJob,
) -> Option<(&'a Alternative, &'a str, (&'a str, &'a str))> {
    let target = decision.outcome.ranked().iter().find(|it| it.jobs > 0)?.queue.as_str();
    let number = decision.placed.as_ref().map_or(0, |placed| placed.alternative as usize);
    Some((job.alternatives.get(number)?, target, target.split_once('/')?))
}
