//! A job that is handed over to a cluster, once: its description bears a mark, by which it is found
//! again where no answer came, or where another process handed it over.

use super::job::SubmittedJob;
use super::strays::{Stray, mark};
use crate::arex::{ArexCluster, ArexError, is_waiting_for_files};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};
use yardmaster_core::domain::nordugrid::xrsl::{Alternative, Dialect, Handover, to_adl};
use yardmaster_core::event::ClusterFacts;
use yardmaster_core::output::decision::Decision;

/// How long a job is looked for that a cluster may have, before it goes elsewhere; and the first
/// pause between two looks.
const LOOKED_FOR: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_secs(1);
/// A cluster's moments are whole seconds: what is handed over later than this has a later one.
const SETTLED: Duration = Duration::from_millis(1_200);
/// How often the files of a job are sent that another process may send, too.
const UPLOADS: u32 = 3;

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

/// What became of an order.
pub(super) struct HandedOver {
    /// Its id at the cluster.
    pub id: Result<String, ArexError>,
    /// Jobs of it that may be there beside.
    pub strays: Vec<Stray>,
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
            mark: mark(decision),
            is_shared: job.is_shared,
        }
    }

    /// Hands it over, and sends its files.
    pub fn carry_out(&self, cluster: Result<&mut ArexCluster, ArexError>) -> HandedOver {
        let mut strays = Vec::new();
        let id = cluster.and_then(|cluster| {
            let spared = cluster.not_spared();
            if self.is_shared && spared.is_err() {
                strays.push(self.stray(None));
            }
            spared?;
            let known = match self.is_shared {
                true => self.found(cluster, false, &mut strays)?,
                false => None,
            };
            match known {
                Some(id) => {
                    // Another process may send them as well; without them the cluster ends it.
                    let _ = self.upload(cluster, &id);
                    Ok(id)
                }
                None => self.made(cluster, &mut strays),
            }
        });
        if let Ok(id) = &id
            && self.is_shared
        {
            // Another process may hand it over later than this.
            let beside = Some(id.clone());
            strays.push(Stray {
                beside,
                is_looked_for: true,
                is_answered: true,
                ..self.stray(None)
            });
        }
        HandedOver { id, strays }
    }

    /// Its id at the cluster, once it was made there and has its files.
    fn made(
        &self,
        cluster: &mut ArexCluster,
        strays: &mut Vec<Stray>,
    ) -> Result<String, ArexError> {
        let adl = self.adl(cluster)?;
        let id = match cluster.submit(&adl) {
            Err(ArexError::Unanswered(why)) => {
                let found = self.found(cluster, true, strays).ok().flatten();
                found.ok_or(ArexError::Failed(why))?
            }
            answer => answer?,
        };
        if self.is_shared {
            // Of several processes that handed it over, all see the same one as the first.
            sleep(SETTLED);
            let found = cluster.marked(&self.mark).unwrap_or_default();
            if let Some(first) = found.into_iter().next().filter(|first| *first != id) {
                self.cancel(cluster, id, strays);
                let _ = self.upload(cluster, &first);
                return Ok(first);
            }
        }
        match self.upload(cluster, &id) {
            Ok(()) => Ok(id),
            Err(_) if self.is_shared && self.has_its_files(cluster, &id) => Ok(id),
            Err(error) => {
                // It would wait for its files until the cluster gives up.
                self.cancel(cluster, id, strays);
                Err(error)
            }
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

    /// Looks for it at a cluster that may have it, `is_late`: or may come to have it. If the
    /// cluster does not tell in time, there may be a stray.
    fn found(
        &self,
        cluster: &mut ArexCluster,
        is_late: bool,
        strays: &mut Vec<Stray>,
    ) -> Result<Option<String>, ArexError> {
        let (begun, mut pause) = (Instant::now(), PAUSE);
        loop {
            let found = cluster.marked(&self.mark).map(|found| found.into_iter().next());
            match &found {
                Ok(Some(_)) => return found,
                Ok(None) if !is_late => return found,
                _ if begun.elapsed() + pause > LOOKED_FOR => {
                    if found.is_err() {
                        cluster.spare();
                    }
                    strays.push(self.stray(None));
                    return found;
                }
                _ => {}
            }
            sleep(pause);
            pause *= 2;
        }
    }

    /// Sends the files that it uploads, unless it waits for none any more.
    fn upload(&self, cluster: &mut ArexCluster, id: &str) -> Result<(), ArexError> {
        let tries = if self.is_shared { UPLOADS } else { 1 };
        let mut done = Ok(());
        for again in 0..tries {
            if self.alternative.uploads().next().is_none()
                || self.is_shared && self.has_its_files(cluster, id)
            {
                return Ok(());
            }
            if again > 0 {
                sleep(PAUSE);
            }
            let mut uploads = self.alternative.uploads();
            done = uploads
                .try_for_each(|(file, path)| cluster.upload(id, file, &self.files.join(path)));
            if done.is_ok() {
                break;
            }
        }
        done
    }

    /// Whether a job of it is known to wait for no files any more.
    fn has_its_files(&self, cluster: &mut ArexCluster, id: &str) -> bool {
        let states = cluster.states().unwrap_or_default();
        states.get(id).is_some_and(|word| !is_waiting_for_files(word))
    }

    /// Cancels a job of it, now or as soon as the cluster answers.
    fn cancel(&self, cluster: &mut ArexCluster, id: String, strays: &mut Vec<Stray>) {
        if cluster.act("kill", &id).is_err() {
            strays.push(self.stray(Some(id)));
        }
    }

    fn stray(&self, id: Option<String>) -> Stray {
        let (subject, cluster) = (self.subject.clone(), self.cluster.clone());
        let (mark, since) = (self.mark.clone(), Instant::now());
        let (beside, is_looked_for, is_answered) = (None, false, false);
        Stray { subject, cluster, id, mark, since, beside, is_looked_for, is_answered }
    }
}
