//! A job that is handed over to a cluster, once: its description bears a mark, by which it is found
//! again where no answer came, or where another process handed it over.

use super::job::SubmittedJob;
use crate::arex::{ArexCluster, ArexError, is_waiting_for_files};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};
use yardmaster_core::domain::nordugrid::xrsl::{Alternative, Dialect, Handover, to_adl};
use yardmaster_core::event::ClusterFacts;
use yardmaster_core::output::decision::Decision;

/// How long a job is looked for whose handing over had no answer, before it goes elsewhere; and the
/// first pause between two looks.
const LOOKED_FOR: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);
/// A cluster's moments are whole seconds: what is handed over later than this has a later one.
const SETTLED: Duration = Duration::from_millis(1_200);
/// So long a cluster may still make a job whose handing over had no answer.
const LATE: Duration = Duration::from_secs(600);

/// What is to be handed over.
pub(super) struct Order {
    subject: String,
    cluster: String,
    queue: String,
    alternative: Alternative,
    environments: Vec<String>,
    description: String,
    dialect: Dialect,
    files: PathBuf,
    mark: String,
    /// Whether another process may hand it over, or have done so.
    is_shared: bool,
}

/// A job that is not wanted at its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stray {
    pub subject: String,
    pub cluster: String,
    /// Its id there, if that is known.
    pub id: Option<String>,
    mark: String,
    /// Until then it may come to be there.
    until: Instant,
}

/// What became of an order.
pub(super) struct HandedOver {
    /// Its id at the cluster.
    pub id: Result<String, ArexError>,
    /// What else may be there of it.
    pub stray: Option<Stray>,
}

/// What became of a stray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StrayFate {
    /// It is cancelled.
    Cancelled,
    /// It never came to be there.
    Absent,
    /// Not known yet.
    Open,
}

impl Order {
    /// A job for the target of a decision, as one of its alternatives.
    pub fn new(
        decision: &Decision,
        job: &SubmittedJob,
        alternative: &Alternative,
        (cluster, queue): (&str, &str),
        facts: Option<&ClusterFacts>,
    ) -> Order {
        Order {
            subject: decision.subject.clone(),
            cluster: cluster.to_owned(),
            queue: queue.to_owned(),
            alternative: alternative.clone(),
            environments: facts.map_or(Vec::new(), |facts| facts.runtime_environments.clone()),
            description: job.task.description.as_ref().map_or("", |it| &it.text).to_owned(),
            dialect: SubmittedJob::dialect(&job.task),
            files: job.files.clone(),
            // Ids of decisions are the same wherever domain and job have the same names.
            mark: format!("yardmaster:{}:{}", decision.id, decision.now),
            is_shared: job.is_shared,
        }
    }

    /// Hands it over, and sends its files.
    pub fn carry_out(&self, cluster: Result<&mut ArexCluster, ArexError>) -> HandedOver {
        let mut stray = None;
        let id = cluster.and_then(|cluster| {
            let id = self.placed(cluster, &mut stray)?;
            match self.upload(cluster, &id) {
                Ok(()) => Ok(id),
                Err(error) => {
                    // It would wait for its files until the cluster gives up.
                    stray = self.cancelled(cluster, id);
                    Err(error)
                }
            }
        });
        HandedOver { id, stray }
    }

    /// Its id at the cluster, once it is there.
    fn placed(
        &self,
        cluster: &mut ArexCluster,
        stray: &mut Option<Stray>,
    ) -> Result<String, ArexError> {
        if self.is_shared
            && let Some(id) = cluster.marked(&self.mark)?.into_iter().next()
        {
            return Ok(id);
        }
        let adl = self.adl(cluster)?;
        let id = match cluster.submit(&adl) {
            Err(ArexError::Unanswered(why)) => self.looked_for(cluster, why, stray)?,
            answer => answer?,
        };
        if !self.is_shared {
            return Ok(id);
        }
        // Of two processes that handed it over, both see the same one as the first.
        sleep(SETTLED);
        match cluster.marked(&self.mark).ok().and_then(|found| found.into_iter().next()) {
            Some(first) if first != id => {
                *stray = self.cancelled(cluster, id);
                Ok(first)
            }
            _ => Ok(id),
        }
    }

    fn adl(&self, cluster: &mut ArexCluster) -> Result<String, ArexError> {
        let delegation = match self.alternative.is_staged_by_the_cluster() {
            true => cluster.delegate()?,
            false => None,
        };
        let handover = Handover {
            queue: &self.queue,
            environments: &self.environments,
            delegation: delegation.as_deref(),
            mark: &self.mark,
            description: &self.description,
            dialect: self.dialect,
        };
        to_adl(&self.alternative, &handover)
            .map_err(|error| ArexError::Refused(format!("{}: {error}", self.cluster)))
    }

    /// Looks for a job whose handing over had no answer.
    fn looked_for(
        &self,
        cluster: &mut ArexCluster,
        why: String,
        stray: &mut Option<Stray>,
    ) -> Result<String, ArexError> {
        let (begun, mut pause) = (Instant::now(), PAUSE);
        loop {
            sleep(pause);
            pause *= 2;
            if let Some(id) = cluster.marked(&self.mark).unwrap_or_default().into_iter().next() {
                return Ok(id);
            }
            if begun.elapsed() + pause > LOOKED_FOR {
                *stray = Some(self.stray(None));
                return Err(ArexError::Failed(why));
            }
        }
    }

    /// Sends the files that it uploads, unless it waits for none any more.
    fn upload(&self, cluster: &mut ArexCluster, id: &str) -> Result<(), ArexError> {
        let mut uploads = self.alternative.uploads().peekable();
        let is_late = |cluster: &mut ArexCluster| {
            let states = cluster.states()?;
            Ok(states.get(id).is_some_and(|word| !is_waiting_for_files(word)))
        };
        if uploads.peek().is_none() || self.is_shared && is_late(cluster)? {
            return Ok(());
        }
        uploads.try_for_each(|(file, path)| cluster.upload(id, file, &self.files.join(path)))
    }

    /// Cancels a job of it; what is left to do if the cluster does not answer.
    fn cancelled(&self, cluster: &mut ArexCluster, id: String) -> Option<Stray> {
        let stray = self.stray(Some(id));
        (stray.end(cluster) == StrayFate::Open).then_some(stray)
    }

    fn stray(&self, id: Option<String>) -> Stray {
        let (subject, cluster) = (self.subject.clone(), self.cluster.clone());
        Stray { subject, cluster, id, mark: self.mark.clone(), until: Instant::now() + LATE }
    }
}

impl Stray {
    /// Tells that it may still be there.
    pub fn left(&self) -> String {
        let Stray { subject, cluster, id, .. } = self;
        match id {
            Some(id) => format!(
                "{subject}: its job {id} at {cluster} is not wanted, and could not be cancelled; \
                 cancel it there once the cluster answers"
            ),
            None => format!(
                "{subject}: {cluster} did not tell whether it took it; if it did, cancel it there \
                 once the cluster answers"
            ),
        }
    }

    /// Cancels it, if it is there.
    pub fn end(&self, cluster: &mut ArexCluster) -> StrayFate {
        let ids = match &self.id {
            Some(id) => Ok(vec![id.clone()]),
            None => cluster.marked(&self.mark),
        };
        match ids {
            Ok(ids) if ids.is_empty() && Instant::now() > self.until => StrayFate::Absent,
            Ok(ids) if ids.is_empty() => StrayFate::Open,
            Ok(ids) if ids.iter().all(|id| cluster.act("kill", id).is_ok()) => StrayFate::Cancelled,
            Ok(_) | Err(_) => StrayFate::Open,
        }
    }
}
