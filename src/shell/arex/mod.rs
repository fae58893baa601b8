//! Clusters of ARC by their interface REST (A-REX 6 and 7): jobs are handed over, followed, and
//! their files sent and fetched, with a user's credentials.

mod answer;
mod credentials;
mod delegation;
mod link;
mod reply;
mod words;

pub use answer::SessionEntry;
pub use credentials::{Credentials, NamedCredentials, NoCredentials, UserChain};
pub use words::{STATES, is_before_the_batch_system, is_waiting_for_files, published};

use crate::ask::in_query;
use crate::clock;
use link::{ArexQuestion, Body, Link};
use reply::ArexAnswer;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};
use yardmaster_core::domain::nordugrid::xrsl::mark_in;

const JSON: &str = "application/json";
/// How long a cluster is asked for no more jobs to be taken that answered nothing for long.
const SPARED: Duration = Duration::from_secs(60);

/// Why a cluster does not do what it is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArexError {
    /// It refuses, on purpose.
    #[error("{0}")]
    Refused(String),
    /// It cannot be reached, or something fails there.
    #[error("{0}")]
    Failed(String),
    /// It has no such job, or the job no such file.
    #[error("{0}")]
    Absent(String),
    /// It may have done what it was asked, and what it answers, if anything, does not tell.
    #[error("{0}")]
    Unanswered(String),
    /// Its certificate is none of the authorities that are trusted.
    #[error("{0}")]
    NotTrusted(String),
}

/// How a job failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFailure {
    /// A-REX's own name of the state in which it did; empty: not known.
    pub state: String,
    /// Why, for people.
    pub reason: String,
}

impl JobFailure {
    /// Whether the job was cancelled: REST of A-REX 7 lists it as FAILED all the same.
    pub fn is_cancelled(&self) -> bool {
        self.reason.contains("canceled by external request")
    }
}

/// A cluster, as one user asks it.
pub struct ArexCluster {
    link: Link,
    /// The user's certificates; `None`: the user has a token.
    chain: Option<UserChain>,
    /// Id of the credentials that the cluster has of the user.
    delegation: Option<String>,
    /// The mark of each job whose description was read; empty: it has none.
    marks: BTreeMap<String, String>,
    /// Until when it is taken to be silent.
    silent_until: Option<Instant>,
}

impl ArexCluster {
    /// The cluster of a submission URL. Nothing is asked yet.
    ///
    /// # Errors
    /// It is no URL of https.
    pub fn new(url: &str, credentials: &Credentials) -> Result<ArexCluster, ArexError> {
        let (link, chain) = (Link::new(url, credentials)?, credentials.chain().cloned());
        Ok(ArexCluster {
            link,
            chain,
            delegation: None,
            marks: BTreeMap::new(),
            silent_until: None,
        })
    }

    /// Goes on with other credentials of the user; what is known of its jobs stays.
    ///
    /// # Errors
    /// As [`ArexCluster::new`].
    pub fn renew(&mut self, url: &str, credentials: &Credentials) -> Result<(), ArexError> {
        let ArexCluster { link, chain, .. } = ArexCluster::new(url, credentials)?;
        (self.link, self.chain, self.delegation) = (link, chain, None);
        Ok(())
    }

    /// Notes that it answered nothing for long: it is spared for a minute.
    pub fn spare(&mut self) {
        self.silent_until = Some(Instant::now() + SPARED);
    }

    /// Refuses to ask a cluster that is spared.
    ///
    /// # Errors
    /// It is spared.
    pub fn not_spared(&self) -> Result<(), ArexError> {
        match self.silent_until.is_some_and(|until| Instant::now() < until) {
            true => Err(ArexError::Failed("the cluster did not answer before this".to_owned())),
            false => Ok(()),
        }
    }

    /// Hands a job over that ADL describes; its id at the cluster. It waits there for its uploads.
    ///
    /// # Errors
    /// The cluster refuses it, or fails; it may have the job if the answer is lost
    /// ([`ArexError::Unanswered`]): [`ArexCluster::marked`] finds it.
    pub fn submit(&mut self, adl: &str) -> Result<String, ArexError> {
        let body = Body::Bytes(adl.as_bytes());
        let answer = self.ask("POST", "/jobs?action=new", JSON, "application/xml", body)?;
        match answer.status {
            200..=299 => match answer::new_job(&answer.body) {
                Some(made) => made.map_err(ArexError::Refused),
                None => Err(ArexError::Unanswered("its answer is none of A-REX".to_owned())),
            },
            401 | 403 => Err(ArexError::Refused(status(&answer))),
            // Of something between that does not know what became of it.
            408 | 502..=504 => Err(ArexError::Unanswered(status(&answer))),
            // A fault, behind which it may have the job.
            _ => {
                let found = self.marked(mark_in(adl).unwrap_or_default()).ok();
                match found.and_then(|jobs| jobs.into_iter().next()) {
                    Some(job) => Ok(job),
                    // The user is none of the cluster's ("User can't be assigned configuration").
                    None if answer.status == 500 => Err(ArexError::Refused(status(&answer))),
                    None => Err(ArexError::Failed(status(&answer))),
                }
            }
        }
    }

    /// The jobs of the user whose descriptions bear a mark and that nobody cancelled, those that
    /// were handed over first first: by the cluster's clock, whole seconds, then by their ids.
    ///
    /// # Errors
    /// The cluster does not tell of every job.
    pub fn marked(&mut self, mark: &str) -> Result<Vec<String>, ArexError> {
        let states = self.states()?;
        self.marked_among(&states, mark)
    }

    /// The same among jobs whose states are known.
    ///
    /// # Errors
    /// As [`ArexCluster::marked`].
    pub fn marked_among(
        &mut self,
        states: &BTreeMap<String, String>,
        mark: &str,
    ) -> Result<Vec<String>, ArexError> {
        let mut found = Vec::new();
        for (job, word) in states.iter().filter(|_| !mark.is_empty()) {
            if self.has_mark(job, mark)? && !self.is_cancelled(job, word) {
                found.push((String::new(), job.clone()));
            }
        }
        if found.len() > 1 {
            for (moment, job) in &mut found {
                let local = self.diagnosis(job, "local")?;
                *moment = answer::line_of(&local, "starttime").to_owned();
            }
            found.sort();
        }
        Ok(found.into_iter().map(|(_, job)| job).collect())
    }

    fn has_mark(&mut self, job: &str, mark: &str) -> Result<bool, ArexError> {
        if let Some(known) = self.marks.get(job) {
            return Ok(known == mark);
        }
        let description = self.diagnosis(job, "description")?;
        let known = mark_in(&description).unwrap_or_default();
        // A job that is only just made may have no description for a moment.
        if !description.is_empty() {
            self.marks.insert(job.to_owned(), known.to_owned());
        }
        Ok(known == mark)
    }

    /// Whether a job in a state was cancelled, or is about to be.
    fn is_cancelled(&mut self, job: &str, word: &str) -> bool {
        match word {
            "KILLING" | "KILLED" => true,
            "FAILED" => self.failure(job).is_cancelled(),
            _ => false,
        }
    }

    /// Sends a file of a job, under its name in the session directory.
    ///
    /// # Errors
    /// The file cannot be read, or the cluster does not take it.
    pub fn upload(&mut self, job: &str, name: &str, path: &Path) -> Result<(), ArexError> {
        let shown = path.display();
        let facts = std::fs::metadata(path)
            .map_err(|error| ArexError::Failed(format!("the upload {shown}: {error}")))?;
        let (path_there, size) = (session(job, name), facts.len());
        let form = "application/octet-stream";
        let answer = self.ask("PUT", &path_there, JSON, form, Body::File(path, size))?;
        match answer.status {
            200 | 201 | 204 => Ok(()),
            _ => Err(ArexError::Failed(format!("the upload of {name}: {}", status(&answer)))),
        }
    }

    /// The states of now of all jobs of the user, by their ids.
    ///
    /// # Errors
    /// The cluster does not answer.
    pub fn states(&mut self) -> Result<BTreeMap<String, String>, ArexError> {
        let answer = self.get(&format!("/jobs?state={}", STATES.join(",")), JSON)?;
        answer::states(&answer.body).map_err(ArexError::Failed)
    }

    /// How a job failed, as far as the cluster tells.
    pub fn failure(&mut self, job: &str) -> JobFailure {
        let mut item = |name: &str| self.diagnosis(job, name).unwrap_or_default();
        let state = answer::line_of(&item("local"), "failedstate").to_owned();
        let reason = item("failed").split_whitespace().collect::<Vec<_>>().join(" ");
        JobFailure { state, reason }
    }

    /// A text that A-REX keeps of a job; empty if it has none.
    fn diagnosis(&mut self, job: &str, name: &str) -> Result<String, ArexError> {
        let path = format!("/jobs/{}/diagnose/{name}", in_query(job));
        let answer = self.ask("GET", &path, "*/*", "", NONE)?;
        match answer.status {
            // 500: of one job; what it is cannot be known.
            404 | 500 => Ok(String::new()),
            _ => right(answer, &path).map(|it| String::from_utf8_lossy(&it.body).into_owned()),
        }
    }

    /// What is in a folder of a job's session directory; `folder` is empty, or ends with a slash.
    ///
    /// # Errors
    /// The cluster does not answer, or has no such folder.
    pub fn listing(&mut self, job: &str, folder: &str) -> Result<Vec<SessionEntry>, ArexError> {
        let answer = self.get(&session(job, folder), JSON)?;
        answer::listing(&answer.body).map_err(ArexError::Failed)
    }

    /// Fetches a file of a job's session directory.
    ///
    /// # Errors
    /// The cluster does not answer, or has no such file; or it cannot be written.
    pub fn fetch(&mut self, job: &str, name: &str, into: &mut File) -> Result<(), ArexError> {
        let path = session(job, name);
        let question =
            ArexQuestion { method: "GET", path: &rest(&path), accept: "*/*", form: "", body: NONE };
        let answer = self.link.ask(&question, Some(into))?;
        right(answer, &path).map(drop)
    }

    /// Asks that a job be done with: `kill`, or `clean` once it is over.
    ///
    /// # Errors
    /// The cluster does not answer, or refuses.
    pub fn act(&mut self, action: &str, job: &str) -> Result<(), ArexError> {
        let body = serde_json::json!({"job": [{"id": job}]}).to_string();
        let path = format!("/jobs?action={action}");
        let answer = self.ask("POST", &path, JSON, JSON, Body::Bytes(body.as_bytes()))?;
        right(answer, &path).map(drop)
    }

    /// Gives the cluster credentials of the user, by which it fetches and sends files; once for
    /// all jobs. `None`: the user has a token, of which none are made.
    ///
    /// # Errors
    /// The cluster refuses them, or fails.
    pub fn delegate(&mut self) -> Result<Option<String>, ArexError> {
        let Some(chain) = self.chain.clone() else { return Ok(None) };
        if self.delegation.is_none() {
            let path = "/delegations?action=new";
            let answer = self.ask("POST", path, "*/*", "", NONE)?;
            let place = answer.header("location").map(str::to_owned);
            let answer = right(answer, path)?;
            let id = place.as_deref().and_then(|it| it.trim_end_matches('/').rsplit('/').next());
            let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
            let id = id.ok_or_else(|| {
                ArexError::Failed("its answer to a delegation names no id".to_owned())
            })?;
            let proxy =
                delegation::signed(&answer.body, &chain, clock::now()).map_err(|error| {
                    ArexError::Failed(format!("its request for a delegation: {error}"))
                })?;
            let path = format!("/delegations/{}", in_query(&id));
            let form = "application/x-pem-file";
            let answer = self.ask("PUT", &path, "*/*", form, Body::Bytes(&proxy))?;
            right(answer, &path)?;
            self.delegation = Some(id);
        }
        Ok(self.delegation.clone())
    }

    /// The answer to `GET`, which is one of success.
    fn get(&mut self, path: &str, accept: &str) -> Result<ArexAnswer, ArexError> {
        let answer = self.ask("GET", path, accept, "", NONE)?;
        right(answer, path)
    }

    fn ask(
        &mut self,
        method: &str,
        path: &str,
        accept: &str,
        form: &str,
        body: Body<'_>,
    ) -> Result<ArexAnswer, ArexError> {
        self.link.ask(&ArexQuestion { method, path: &rest(path), accept, form, body }, None)
    }
}

const NONE: Body<'_> = Body::Bytes(&[]);

/// A path of the interface's version.
fn rest(path: &str) -> String {
    format!("/rest/1.0{path}")
}

/// The path of a file, or a folder, in a job's session directory.
fn session(job: &str, name: &str) -> String {
    let name: Vec<String> = name.split('/').map(in_query).collect();
    format!("/jobs/{}/session/{}", in_query(job), name.join("/"))
}

fn right(answer: ArexAnswer, path: &str) -> Result<ArexAnswer, ArexError> {
    match answer.status {
        200..=299 => Ok(answer),
        401 | 403 => Err(ArexError::Refused(status(&answer))),
        404 => Err(ArexError::Absent(format!("{} to {path}", status(&answer)))),
        _ => Err(ArexError::Failed(format!("{} to {path}", status(&answer)))),
    }
}

/// The status of an answer, for people.
fn status(answer: &ArexAnswer) -> String {
    format!("the cluster answers {} {}", answer.status, answer.reason)
}
