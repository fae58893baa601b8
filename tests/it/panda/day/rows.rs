//! Jobs of the simulated grid as rows of PanDA's database: what the grid publishes of jobs, heartbeats
//! and workers becomes the statements of PanDA's server.

use crate::kill::bus::now;
use crate::panda::writer::{NewJob, Writer};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, Heartbeat, JobState, Pilot, Status};
use yardmaster::sim::grid::Record;
use yardmaster::wire::avro::{Arena, Codec};

/// Topics of what the tables hold.
const TABLES: [Topic; 3] = [Topic::JobState, Topic::Heartbeat, Topic::Pilot];
/// States that a row passes through, in order.
const PATH: [Status; 9] = [
    Status::Pending,
    Status::Defined,
    Status::Assigned,
    Status::Activated,
    Status::Sent,
    Status::Starting,
    Status::Running,
    Status::Holding,
    Status::Transferring,
];
/// Where the row stands in jobsactive4, and later.
const ACTIVATED: usize = 3;
const RUNNING: usize = 6;
const HOLDING: usize = 7;

/// A job whose row is not archived.
struct Row {
    /// Index in `PATH`.
    at: usize,
    /// Try, as the grid counts.
    attempt: u32,
    queue: String,
    /// Whether it failed and may be tried again.
    failed: bool,
}

/// Workers by resource type: submitted, running.
type Workers = BTreeMap<String, [i64; 2]>;

/// Writes the grid's records to PanDA's tables.
pub struct Rows {
    writer: Writer,
    codec: Codec,
    jobs: BTreeMap<i64, Row>,
    /// Jobs that were archived.
    over: BTreeSet<i64>,
    /// By queue and harvester.
    workers: BTreeMap<(String, String), Workers>,
    /// Jobs that were inserted.
    pub inserted: u64,
    /// Job states, heartbeats and reports of workers that became statements.
    pub written: u64,
}

impl Rows {
    pub fn new(writer: Writer) -> Rows {
        Rows {
            writer,
            codec: Codec::default(),
            jobs: BTreeMap::new(),
            over: BTreeSet::new(),
            workers: BTreeMap::new(),
            inserted: 0,
            written: 0,
        }
    }

    /// Writes what the tables hold of these records. Returns the others, which go to Kafka: also
    /// who asks for jobs and what slots are free, since no table that is captured has them.
    pub fn write(&mut self, records: Vec<Record>) -> Vec<Record> {
        let (rows, mut others): (Vec<Record>, Vec<Record>) =
            records.into_iter().partition(|it| TABLES.contains(&it.topic));
        let (mut failed, mut reported) = (BTreeSet::new(), BTreeSet::new());
        let codec = std::mem::take(&mut self.codec);
        for record in rows {
            let Record { topic, value, .. } = &record;
            let mut arena = Arena::default();
            match codec.read(*topic, None, value.as_deref(), &mut arena) {
                Event::JobState(job) => {
                    let id = self.job(&job);
                    failed.extend(id);
                }
                Event::Heartbeat(heartbeat) => self.heartbeat(&heartbeat),
                Event::Pilot(Pilot::Workers {
                    queue,
                    harvester,
                    resource_type,
                    submitted,
                    running,
                    ..
                }) => {
                    let whose = (queue.to_owned(), harvester.to_owned());
                    let workers = self.workers.entry(whose.clone()).or_default();
                    let numbers = [i64::from(submitted), i64::from(running)];
                    workers.insert(resource_type.to_owned(), numbers);
                    reported.insert(whose);
                }
                // A job's node is in its row.
                Event::Pilot(Pilot::UpdatedJob { .. }) => {}
                Event::Pilot(_) => others.push(record.clone()),
                other => panic!("not of a job: {other:?}"),
            }
        }
        self.codec = codec;
        failed.into_iter().for_each(|job| self.archive_failed(job));
        reported.iter().for_each(|whose| self.report(whose));
        others
    }

    /// A job's state; the job if it failed, and what follows is not known yet.
    fn job(&mut self, job: &JobState<'_>) -> Option<i64> {
        let id: i64 = job.job.parse().unwrap();
        if self.over.contains(&id) {
            return None;
        }
        self.written += 1;
        if !self.jobs.contains_key(&id) {
            self.insert(id, job);
        }
        let (writer, row) = (&mut self.writer, self.jobs.get_mut(&id)?);
        if job.attempt > row.attempt {
            // In place of the failure that was published before: the same row, tried again.
            if row.at >= ACTIVATED {
                writer.retry(id, now());
                row.at = ACTIVATED;
            }
            (row.attempt, row.failed) = (job.attempt, false);
        }
        match job.status {
            Status::Failed => {
                row.failed = true;
                return Some(id);
            }
            Status::Finished | Status::Cancelled | Status::Closed => self.archive(id, job.status),
            status => {
                let to = PATH.iter().position(|it| *it == status).unwrap();
                self.go_to(id, to);
            }
        }
        None
    }

    fn insert(&mut self, id: i64, job: &JobState<'_>) {
        let text = ToOwned::to_owned;
        self.writer.insert(
            &NewJob {
                id,
                task: job.task.parse().unwrap(),
                queue: text(job.queue),
                user: text(job.user),
                group: text(job.group),
                gshare: text(job.gshare),
                resource_type: text(job.resource_type),
                label: text(job.label),
                processing_type: text(job.processing_type),
                cores: i64::from(job.cores),
                priority: i64::from(job.priority),
            },
            now(),
        );
        self.inserted += 1;
        let row = Row { at: 0, attempt: job.attempt, queue: text(job.queue), failed: false };
        self.jobs.insert(id, row);
    }

    /// All steps up to a state; none back, which the grid publishes late.
    fn go_to(&mut self, id: i64, to: usize) {
        let Some(row) = self.jobs.get_mut(&id) else { return };
        let (writer, node) = (&mut self.writer, format!("wn{}.{}", id % 20, row.queue));
        while row.at < to {
            row.at += 1;
            match PATH[row.at] {
                Status::Defined => writer.define(id, now()),
                Status::Assigned => writer.assign(id, now()),
                Status::Activated => writer.activate(id, now()),
                Status::Sent => writer.send(id, &node, now()),
                Status::Starting => writer.starting(id, &node, now()),
                Status::Running => writer.running(id, now()),
                Status::Holding => writer.holding(id, now()),
                _ => writer.transferring(id, now()),
            }
        }
    }

    fn archive(&mut self, id: i64, end: Status) {
        if end == Status::Finished {
            self.go_to(id, HOLDING);
        }
        let Some(row) = self.jobs.remove(&id) else { return };
        match row.at {
            ACTIVATED.. => self.writer.archive(id, end.name(), now()),
            _ => self.writer.archive_defined(id, end.name(), now()),
        }
        self.over.insert(id);
    }

    fn archive_failed(&mut self, id: i64) {
        if self.jobs.get(&id).is_some_and(|row| row.failed) {
            self.archive(id, Status::Failed);
        }
    }

    fn heartbeat(&mut self, heartbeat: &Heartbeat<'_>) {
        let id: i64 = heartbeat.job.parse().unwrap();
        if self.jobs.get(&id).is_some_and(|row| row.at == RUNNING) {
            self.written += 1;
            self.writer.heartbeat(id, i64::from(heartbeat.cpu_s), now());
        }
    }

    fn report(&mut self, whose: &(String, String)) {
        let (queue, harvester) = whose;
        let Some(workers) = self.workers.get(whose) else { return };
        let mut rows = Vec::new();
        for (resource_type, [submitted, running]) in workers {
            rows.push((resource_type.as_str(), "submitted", *submitted));
            rows.push((resource_type.as_str(), "running", *running));
        }
        self.writer.report_workers(harvester, queue, &rows, now());
        self.written += 1;
    }
}
