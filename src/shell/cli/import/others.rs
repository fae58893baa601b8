//! Jobs at clusters that others publish under names of their own: their submitters. Such a job is
//! published once. The importer carries it on only where its submitter does no more.

use super::Entry;
use super::tail::TailRecord;
use crate::dirlog::envelope::Envelope;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, JobState, Status};
use yardmaster_core::unit::{MINUTE, Millis};
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::import::arc::ArcJob;
use yardmaster_wire::record;

/// So long a submitter has to state what a cluster already shows: it asks every 30 s.
const SUBMITTER_HAS: Millis = 2 * MINUTE;

/// Jobs of others that are not over.
#[derive(Default)]
pub struct OthersJobs {
    codec: Codec,
    arena: Arena,
    /// By their names.
    jobs: BTreeMap<String, OthersJob>,
    /// Names by cluster and the id that it gave.
    names: BTreeMap<(String, String), String>,
}

struct OthersJob {
    /// Cluster, and the id that it gave.
    at: (String, String),
    status: Status,
    changed_at: Millis,
    /// The record as it was published.
    value: Vec<u8>,
    /// Since when the cluster shows a later status; ms since 1970.
    behind_since: Option<Millis>,
}

impl OthersJobs {
    /// Takes a record of the topic `job-state`.
    pub fn meet(&mut self, found: TailRecord<'_>) {
        match found {
            TailRecord::Again => {
                self.jobs.clear();
                self.names.clear();
            }
            TailRecord::Record(record) => self.read(record),
        }
    }

    fn read(&mut self, record: &Envelope<'_>) {
        let event = self.codec.read(Topic::JobState, record.key, record.value, &mut self.arena);
        let Event::JobState(state) = event else { return };
        let before = self.jobs.remove(state.job);
        if let Some(before) = &before {
            self.names.remove(&before.at);
        }
        let cluster = state.queue.split_once('/').map_or("", |(cluster, _)| cluster);
        let at = (cluster.to_owned(), state.cluster_job.to_owned());
        let is_of_an_import = ArcJob::of(&state).is_some();
        if at.0.is_empty() || at.1.is_empty() || is_of_an_import || state.status.is_ended() {
            return;
        }
        self.names.insert(at.clone(), state.job.to_owned());
        let job = OthersJob {
            at,
            status: state.status,
            changed_at: state.changed_at,
            value: record.value.unwrap_or_default().to_vec(),
            behind_since: before
                .filter(|it| it.status == state.status)
                .and_then(|it| it.behind_since),
        };
        self.jobs.insert(state.job.to_owned(), job);
    }

    /// Clusters and the ids that they gave.
    pub fn ids(&self) -> impl Iterator<Item = &(String, String)> {
        self.names.keys()
    }

    /// Whether a job is one of these.
    pub fn has(&self, job: &ArcJob) -> bool {
        self.names.contains_key(&(job.cluster.clone(), job.id.clone()))
    }

    /// The records of jobs, as clusters show them now, of which their submitters have stated
    /// nothing for too long: under the same names, with all that their submitters stated.
    pub fn carried_on<'j>(
        &mut self,
        jobs: impl Iterator<Item = &'j ArcJob>,
        now: Millis,
    ) -> Vec<Entry> {
        let mut entries = Vec::new();
        for job in jobs {
            let Some(name) = self.names.get(&(job.cluster.clone(), job.id.clone())) else {
                continue;
            };
            let Some(known) = self.jobs.get_mut(name) else { continue };
            if rank(job.status()) <= rank(known.status) {
                known.behind_since = None;
                continue;
            }
            let since = *known.behind_since.get_or_insert(now);
            if now.saturating_sub(since) < SUBMITTER_HAS {
                continue;
            }
            let (key, stated) = (Some(name.as_bytes()), Some(known.value.as_slice()));
            let event = self.codec.read(Topic::JobState, key, stated, &mut self.arena);
            if let Event::JobState(stated) = event {
                let state = JobState {
                    status: job.status(),
                    sub_status: &job.word,
                    changed_at: job.changed_at.max(known.changed_at.saturating_add(1)),
                    activated_at: match stated.activated_at {
                        0 => job.activated_at,
                        at => at,
                    },
                    ended_at: job.ended_at,
                    ..stated
                };
                let mut value = Vec::new();
                record::write(&mut value, &state);
                let key = name.clone();
                let (topic, headers) = (Topic::JobState, Vec::new());
                entries.push(Entry { topic, key, value: Some(value), headers });
            }
        }
        entries
    }
}

/// How far a job is: only a later status is carried on, since what a cluster publishes is a minute
/// old.
fn rank(status: Status) -> u8 {
    match status {
        _ if status.is_ended() => 4,
        Status::Running => 2,
        Status::Holding | Status::Merging | Status::Transferring => 3,
        Status::Activated | Status::Sent | Status::Starting => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dirlog::envelope::Stamp;

    /// As its submitter states it.
    fn stated(status: Status, cluster_job: &str) -> JobState<'_> {
        JobState {
            job: "ng-1",
            status,
            changed_at: 1_000,
            queue: "ce/q",
            user: "ann",
            cores: 4,
            cluster_job,
            ..JobState::default()
        }
    }

    fn tell(others: &mut OthersJobs, state: &JobState<'_>) {
        let mut value = Vec::new();
        record::write(&mut value, state);
        let (key, value) = (Some(state.job.as_bytes()), Some(value.as_slice()));
        let stamp = Stamp::Create;
        let record = Envelope { offset: 0, timestamp: 0, stamp, key, value, headers: &[] };
        others.meet(TailRecord::Record(&record));
    }

    /// As its cluster shows it.
    fn shown(word: &str) -> ArcJob {
        ArcJob {
            cluster: "ce".to_owned(),
            id: "17".to_owned(),
            queue: "q".to_owned(),
            word: word.to_owned(),
            ended_at: 900,
            changed_at: 900,
            ..ArcJob::default()
        }
    }

    #[test]
    fn a_job_that_its_submitter_publishes_is_known_until_it_is_over() {
        let mut others = OthersJobs::default();
        let job = shown("INLRMS:R");
        tell(&mut others, &stated(Status::Activated, ""));
        assert!(!others.has(&job), "no id is stated");
        tell(&mut others, &stated(Status::Activated, "17"));
        assert!(others.has(&job) && !others.has(&ArcJob { id: "18".to_owned(), ..job.clone() }));
        assert_eq!(others.ids().count(), 1);
        tell(&mut others, &stated(Status::Finished, "17"));
        assert!(!others.has(&job));
        // A record of an import is named by cluster and id.
        tell(&mut others, &JobState { job: "ce:17", ..stated(Status::Activated, "17") });
        assert!(!others.has(&job));
        tell(&mut others, &stated(Status::Activated, "17"));
        others.meet(TailRecord::Again);
        assert!(!others.has(&job));
    }

    #[test]
    fn what_its_submitter_states_no_more_is_carried_on_and_nothing_goes_back() {
        let mut others = OthersJobs::default();
        tell(&mut others, &stated(Status::Running, "17"));
        let none = |others: &mut OthersJobs, word: &str, now| {
            assert!(others.carried_on([shown(word)].iter(), now).is_empty(), "{word} {now}");
        };
        none(&mut others, "INLRMS:Q", 10 * MINUTE);
        none(&mut others, "FINISHED", 20 * MINUTE);
        none(&mut others, "FINISHED", 22 * MINUTE - 1);
        let entries = others.carried_on([shown("FINISHED")].iter(), 22 * MINUTE);
        let [entry] = entries.as_slice() else { panic!("{} records", entries.len()) };
        assert_eq!((entry.key.as_str(), entry.topic), ("ng-1", Topic::JobState));
        let (codec, mut arena) = (Codec::default(), Arena::default());
        let event = codec.read(Topic::JobState, None, entry.value.as_deref(), &mut arena);
        let wanted = JobState {
            sub_status: "FINISHED",
            changed_at: 1_001,
            ended_at: 900,
            ..stated(Status::Finished, "17")
        };
        assert_eq!(event, Event::JobState(wanted));
        // It is over then, as soon as the record is read.
        tell(&mut others, &JobState { changed_at: 1_001, ..stated(Status::Finished, "17") });
        none(&mut others, "FINISHED", 30 * MINUTE);
    }
}
