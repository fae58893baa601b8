//! The clusters that jobs are handed over to: each asked by a thread of its own with the user's
//! credentials, so that one that does not answer holds up no other, and no more often than needed.

use super::fetched::Fetched;
use super::handing::HandedOver;
use super::job::SubmittedJob;
use super::strays::{Stray, StrayFate};
use crate::arex::{ArexCluster, ArexError, Credentials, JobFailure};
use crate::thread;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use yardmaster_core::domain::nordugrid::xrsl::Alternative;
use yardmaster_core::event::ClusterFacts;
use yardmaster_core::output::decision::Decision;

/// How long a cluster rests between two looks at its jobs: at first, and at most while nothing
/// changes there or it is silent.
const REST: Duration = Duration::from_secs(2);
const REST_MAX: Duration = Duration::from_secs(30);

/// Clusters by their names.
pub(super) struct Clusters {
    /// The user's, for all threads: what waits to be done is done with those of then.
    credentials: Arc<Mutex<Arc<Credentials>>>,
    threads: BTreeMap<(String, Errand), ClusterThread>,
    rests: BTreeMap<String, ClusterRest>,
    reports: (Sender<ClusterReport>, Receiver<ClusterReport>),
}

/// What a cluster is asked about; each by a connection of its own, since files may take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Errand {
    /// Jobs: they are handed over, and looked at.
    Jobs,
    /// Outputs of jobs.
    Outputs,
}

type Work = Box<dyn FnOnce(Result<&mut ArexCluster, ArexError>) -> ClusterReport + Send>;

struct ClusterThread {
    /// Submission URL.
    url: String,
    works: Sender<Work>,
}

/// How a cluster rests between looks.
struct ClusterRest {
    /// `None`: a look is under way.
    until: Option<Instant>,
    span: Duration,
    is_silent: bool,
}

/// What was done at a cluster.
pub(super) enum ClusterReport {
    /// A decision was carried out.
    HandedOver(Box<Decision>, HandedOver),
    /// A look at the jobs of a cluster.
    Looked(String, ClusterLook),
    /// The outputs of a job were fetched.
    Fetched(String, Fetched),
}

/// A look at a cluster's jobs.
pub(super) struct ClusterLook {
    /// The states of all jobs of the user.
    pub states: Result<BTreeMap<String, String>, ArexError>,
    /// How those failed that are waited for.
    pub failures: BTreeMap<String, JobFailure>,
    pub strays: Vec<(Stray, StrayFate)>,
}

impl Clusters {
    pub fn new(credentials: Credentials) -> Clusters {
        let (threads, rests) = (BTreeMap::new(), BTreeMap::new());
        let credentials = Arc::new(Mutex::new(Arc::new(credentials)));
        Clusters { credentials, threads, rests, reports: channel() }
    }

    /// Goes on with other credentials of the user.
    pub fn renew(&mut self, credentials: Credentials) {
        *newest(&self.credentials) = Arc::new(credentials);
    }

    /// Has something done at a cluster, by its name as it publishes itself; the report comes later.
    pub fn ask(
        &mut self,
        name: &str,
        errand: Errand,
        facts: Option<&ClusterFacts>,
        work: impl FnOnce(Result<&mut ArexCluster, ArexError>) -> ClusterReport + Send + 'static,
    ) {
        let unasked = match self.thread(name, errand, facts) {
            Err(error) => Some((Box::new(work) as Work, error)),
            Ok(thread) => match thread.works.send(Box::new(work)) {
                Ok(()) => None,
                Err(SendError(work)) => {
                    Some((work, ArexError::Failed(format!("{name}: its thread ended"))))
                }
            },
        };
        if let Some((work, error)) = unasked {
            let _ = self.reports.0.send(work(Err(error)));
        }
    }

    /// The reports that came.
    pub fn reports(&self) -> Vec<ClusterReport> {
        self.reports.1.try_iter().collect()
    }

    fn thread(
        &mut self,
        name: &str,
        errand: Errand,
        facts: Option<&ClusterFacts>,
    ) -> Result<&ClusterThread, ArexError> {
        let url = facts.map_or("", |facts| facts.submission_url.as_str());
        let key = (name.to_owned(), errand);
        let thread = match self.threads.remove(&key) {
            // It may be published no more while a job is there.
            Some(known) if known.url == url || url.is_empty() => known,
            None if url.is_empty() => {
                return Err(ArexError::Failed(format!(
                    "{name}: no submission URL of it is published (topic site, \
                     cluster.submission_url)"
                )));
            }
            _ => self.started(url)?,
        };
        Ok(self.threads.entry(key).or_insert(thread))
    }

    fn started(&self, url: &str) -> Result<ClusterThread, ArexError> {
        let mut used = Arc::clone(&newest(&self.credentials));
        let mut cluster = ArexCluster::new(url, &used)?;
        let (works, to_do) = channel::<Work>();
        let (reports, credentials) = (self.reports.0.clone(), Arc::clone(&self.credentials));
        let address = url.to_owned();
        let work = move || {
            for work in to_do {
                let now = Arc::clone(&newest(&credentials));
                let renewed = match Arc::ptr_eq(&now, &used) {
                    true => Ok(()),
                    false => cluster.renew(&address, &now),
                };
                if renewed.is_ok() {
                    used = now;
                }
                let _ = reports.send(work(renewed.map(|()| &mut cluster)));
            }
        };
        let started = thread::spawn("cluster", work);
        started.map_err(|error| ArexError::Failed(format!("a thread for it: {error}")))?;
        Ok(ClusterThread { url: url.to_owned(), works })
    }

    /// Whether a look at a cluster is due.
    pub fn is_due(&self, name: &str) -> bool {
        let rest = self.rests.get(name);
        rest.is_none_or(|rest| rest.until.is_some_and(|until| Instant::now() >= until))
    }

    /// Looks at the jobs of a cluster: at those of these ids, and at strays.
    pub fn look(
        &mut self,
        name: &str,
        facts: Option<&ClusterFacts>,
        ids: Vec<String>,
        strays: Vec<Stray>,
    ) {
        let known = self.rests.get(name);
        let (span, is_silent) = known.map_or((REST, false), |rest| (rest.span, rest.is_silent));
        self.rests.insert(name.to_owned(), ClusterRest { until: None, span, is_silent });
        let owned = name.to_owned();
        let work = move |cluster: Result<&mut ArexCluster, ArexError>| {
            let look = match cluster {
                Ok(cluster) => ClusterLook::take(cluster, &ids, strays),
                Err(error) => ClusterLook::none(error, strays),
            };
            ClusterReport::Looked(owned, look)
        };
        self.ask(name, Errand::Jobs, facts, work);
    }

    /// Notes that a look at a cluster is over; whether it was silent before.
    pub fn looked(&mut self, name: &str, is_silent: bool) -> bool {
        let known = self.rests.get(name);
        let (span, was_silent) = known.map_or((REST, false), |rest| (rest.span, rest.is_silent));
        let until = Some(Instant::now() + span);
        let span = REST_MAX.min(span + span / 2);
        self.rests.insert(name.to_owned(), ClusterRest { until, span, is_silent });
        was_silent
    }

    /// Looks at a cluster soon again: something changed there.
    pub fn look_soon(&mut self, name: &str) {
        let known = self.rests.get(name);
        let is_silent = known.is_some_and(|rest| rest.is_silent);
        let is_looked_at = known.is_some_and(|rest| rest.until.is_none());
        let until = (!is_looked_at).then(|| Instant::now() + REST);
        self.rests.insert(name.to_owned(), ClusterRest { until, span: REST, is_silent });
    }
}

impl ClusterLook {
    fn take(cluster: &mut ArexCluster, ids: &[String], strays: Vec<Stray>) -> ClusterLook {
        let states = match cluster.states() {
            Ok(states) => states,
            Err(error) => return ClusterLook::none(error, strays),
        };
        let failed = ids.iter().filter(|id| states.get(*id).is_some_and(|word| word == "FAILED"));
        let failures = failed.map(|id| (id.clone(), cluster.failure(id))).collect();
        let fate = |stray: Stray| {
            let fate = stray.end(cluster, &states);
            (stray, fate)
        };
        let strays = strays.into_iter().map(fate).collect();
        ClusterLook { states: Ok(states), failures, strays }
    }

    fn none(error: ArexError, strays: Vec<Stray>) -> ClusterLook {
        let strays = strays.into_iter().map(|stray| (stray, StrayFate::Open)).collect();
        ClusterLook { states: Err(error), failures: BTreeMap::new(), strays }
    }
}

/// The credentials of now. No thread leaves them half written.
fn newest(shared: &Mutex<Arc<Credentials>>) -> MutexGuard<'_, Arc<Credentials>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The target that a decision chose.
pub(super) fn chosen_target(decision: &Decision) -> Option<&str> {
    let mut ranked = decision.outcome.ranked().iter();
    ranked.find(|it| it.jobs > 0).map(|it| it.queue.as_str())
}

/// The alternative that a decision chose, and the target with its parts.
pub(super) fn chosen<'a>(
    decision: &'a Decision,
    job: &'a SubmittedJob,
) -> Option<(&'a Alternative, &'a str, (&'a str, &'a str))> {
    let target = chosen_target(decision)?;
    let number = decision.placed.as_ref().map_or(0, |placed| placed.alternative as usize);
    Some((job.alternatives.get(number)?, target, target.split_once('/')?))
}
