//! Jobs at clusters: the states of ARC, and records of them.

use super::entry::LdapEntry;
use super::figures::{MINUTE_S, moment, times, whole};
use crate::record;
use yardmaster_core::event::{JobState, Status};
use yardmaster_core::unit::Millis;

/// Digits of a SHA-512: in its place ARC publishes an owner since 6.10.
const HASH_DIGITS: usize = 128;

/// A job at a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArcJob {
    /// Its cluster.
    pub cluster: String,
    /// Id that the cluster gave it, as REST has it: what stands last in that of LDAP.
    pub id: String,
    /// Queue, without the cluster.
    pub queue: String,
    /// ARC's word for its state, without blanks: `INLRMS:Q`.
    pub word: String,
    /// Subject of its owner's certificate; empty where only a hash of it is published.
    pub owner: String,
    /// CPUs.
    pub slots: u32,
    /// CPU time that it asked for; s; 0: none stated.
    pub cpu_time_s: u32,
    /// Wall time that it asked for; s; 0: none stated.
    pub wall_time_s: u32,
    /// When it was submitted; ms since 1970.
    pub submitted_at: Millis,
    /// When it ended; ms since 1970; 0: it did not, or nothing is known of it.
    pub ended_at: Millis,
    /// When the cluster first published it in or behind the batch system; ms since 1970; 0: it did
    /// not yet. Carried on by the caller.
    pub activated_at: Millis,
    /// As of when it is in this state; ms since 1970.
    pub changed_at: Millis,
}

impl ArcJob {
    /// The job of an entry, published by a cluster at a time; `None`: it has no id, no state or no
    /// queue.
    pub(super) fn read(cluster: &str, as_of: Millis, entry: &LdapEntry) -> Option<ArcJob> {
        let text = |field: &str| entry.one(&format!("nordugrid-job-{field}")).trim();
        let id = text("globalid").rsplit(['/', ':']).next().unwrap_or("").to_owned();
        let queue = Some(text("execqueue")).filter(|queue| !queue.is_empty());
        let queue = queue.unwrap_or(entry.in_dn("nordugrid-queue-name")).to_owned();
        let word: String = text("status").split_whitespace().collect();
        let word = word.strip_prefix("nordugrid:").map(str::to_owned).unwrap_or(word);
        if [&id, &queue, &word].iter().any(|it| it.is_empty()) {
            return None;
        }
        let owner = text("globalowner");
        let is_hash = owner.len() == HASH_DIGITS && owner.bytes().all(|it| it.is_ascii_hexdigit());
        let small = |count: Option<u64>| u32::try_from(count.unwrap_or(0)).unwrap_or(u32::MAX);
        let submitted_at = moment(text("submissiontime")).unwrap_or(0);
        let mut job = ArcJob {
            cluster: cluster.to_owned(),
            id,
            queue,
            word,
            owner: if is_hash { String::new() } else { owner.to_owned() },
            slots: small(whole(text("cpucount"))).max(1),
            cpu_time_s: small(times(text("reqcputime"), MINUTE_S)),
            wall_time_s: small(times(text("reqwalltime"), MINUTE_S)),
            submitted_at,
            ended_at: 0,
            activated_at: 0,
            changed_at: submitted_at.max(as_of),
        };
        if let Some(ended_at) = moment(text("completiontime")).filter(|_| job.is_ended()) {
            (job.ended_at, job.changed_at) = (ended_at, ended_at);
        }
        let is_before = matches!(job.status(), Status::Assigned);
        if !is_before && !job.is_ended() {
            job.activated_at = as_of;
        }
        Some(job)
    }

    /// The job of a record that was published of it; `None`: it is none of such.
    pub fn of(state: &JobState<'_>) -> Option<ArcJob> {
        let (cluster, queue) = state.queue.split_once('/')?;
        let job = ArcJob {
            cluster: cluster.to_owned(),
            id: state.cluster_job.to_owned(),
            queue: queue.to_owned(),
            word: state.sub_status.to_owned(),
            owner: state.user.to_owned(),
            slots: state.cores,
            cpu_time_s: state.cpu_time_s,
            wall_time_s: state.wall_time_s,
            submitted_at: state.created_at,
            ended_at: state.ended_at,
            activated_at: state.activated_at,
            changed_at: state.changed_at,
        };
        (job.key() == state.job).then_some(job)
    }

    /// The name of its record: its id alone may be another job's at another cluster.
    pub fn key(&self) -> String {
        format!("{}:{}", self.cluster, self.id)
    }

    /// Whether it is over.
    pub fn is_ended(&self) -> bool {
        self.status().is_ended()
    }

    /// The status that ARC's word stands for.
    pub fn status(&self) -> Status {
        arc_status(&self.word)
    }

    /// The same job once its cluster publishes it no more.
    pub fn closed(&self, at: Millis) -> ArcJob {
        ArcJob { word: "DELETED".to_owned(), ended_at: at, changed_at: at, ..self.clone() }
    }

    /// Its record on the topic `job-state`.
    pub fn record(&self) -> Vec<u8> {
        let (key, queue) = (self.key(), format!("{}/{}", self.cluster, self.queue));
        let state = JobState {
            job: &key,
            status: self.status(),
            changed_at: self.changed_at,
            queue: &queue,
            user: &self.owner,
            sub_status: &self.word,
            cores: self.slots,
            created_at: self.submitted_at,
            activated_at: self.activated_at,
            ended_at: self.ended_at,
            cpu_time_s: self.cpu_time_s,
            wall_time_s: self.wall_time_s,
            cluster_job: &self.id,
            ..JobState::default()
        };
        let mut bytes = Vec::new();
        record::write(&mut bytes, &state);
        bytes
    }
}

/// The status that a word of ARC stands for, be it of LDAP or of REST. One that is not known counts
/// as before the batch system, where a job holds room.
pub fn arc_status(word: &str) -> Status {
    let word = word.strip_prefix("PENDING:").unwrap_or(word);
    let (word, part) = word.split_once(':').unwrap_or((word, ""));
    match (word, part) {
        ("INLRMS", "" | "R" | "S" | "E" | "O") => Status::Running,
        ("INLRMS", _) | ("QUEUING" | "HELD", _) => Status::Activated,
        ("RUNNING" | "EXITINGLRMS" | "OTHER", _) => Status::Running,
        ("EXECUTED" | "FINISHING" | "KILLING" | "CANCELING" | "CANCELLING", _) => {
            Status::Transferring
        }
        ("FINISHED", _) => Status::Finished,
        ("FAILED", _) => Status::Failed,
        ("KILLED", _) => Status::Cancelled,
        ("DELETED" | "WIPED", _) => Status::Closed,
        _ => Status::Assigned,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(word: &str) -> ArcJob {
        let mut entry = LdapEntry::new("nordugrid-job-globalid=x,nordugrid-queue-name=q,o=grid");
        entry.add("nordugrid-job-globalid", "gsiftp://ce:2811/jobs/abc");
        entry.add("nordugrid-job-status", word);
        ArcJob::read("ce", 1_000, &entry).unwrap()
    }

    /// Words of LDAP, and of REST where it has others.
    #[test]
    fn every_state_of_arc_has_a_status() {
        for (words, status) in [
            ("ACCEPTING ACCEPTED PREPARING PREPARED SUBMIT SUBMITTING", Status::Assigned),
            ("PENDING:ACCEPTED PENDING:PREPARING", Status::Assigned),
            ("INLRMS:Q QUEUING HELD", Status::Activated),
            ("INLRMS INLRMS:R INLRMS:S INLRMS:E INLRMS:O", Status::Running),
            ("RUNNING EXITINGLRMS OTHER nordugrid:INLRMS:R", Status::Running),
            ("EXECUTED FINISHING KILLING CANCELING", Status::Transferring),
            ("FINISHED", Status::Finished),
            ("FAILED", Status::Failed),
            ("KILLED", Status::Cancelled),
            ("DELETED WIPED", Status::Closed),
        ] {
            for word in words.split_whitespace() {
                assert_eq!(job(word).status(), status, "{word}");
            }
        }
        assert_eq!(job("INLRMS: Q").word, "INLRMS:Q");
    }

    #[test]
    fn a_job_is_known_by_the_id_that_rest_gives() {
        assert_eq!((job("ACCEPTED").id, job("ACCEPTED").key()), ("abc".into(), "ce:abc".into()));
        let mut entry = LdapEntry::new("");
        for (field, value) in [("globalid", "urn:idfe:17"), ("execqueue", "q"), ("status", "X")] {
            entry.add(&format!("nordugrid-job-{field}"), value);
        }
        assert_eq!(ArcJob::read("ce", 0, &entry).unwrap().id, "17");
        assert_eq!(ArcJob::read("ce", 0, &LdapEntry::new("")), None);
    }

    #[test]
    fn an_owner_is_a_subject_and_never_a_hash() {
        let owner = |text: &str| {
            let mut entry = LdapEntry::new("nordugrid-queue-name=q");
            entry.add("nordugrid-job-globalid", "1");
            entry.add("nordugrid-job-status", "ACCEPTED");
            entry.add("nordugrid-job-globalowner", text);
            ArcJob::read("ce", 0, &entry).unwrap().owner
        };
        assert_eq!(owner("/O=Grid/CN=Bob"), "/O=Grid/CN=Bob");
        assert_eq!(owner(&"04ced362".repeat(16)), "");
    }
}
