//! Ends the jobs, requests and transfers that an earlier demo left open on a Kafka when it stopped:
//! no record would ever come of them again.

use super::publish::{DEMO, ours};
use crate::cli::log_args::LogArgs;
use crate::dirlog::envelope::Envelope;
use crate::registry::Ours;
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, JobState, Status, Task, TaskPhase, Transfer, TransferStatus};
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::LogError;
use yardmaster_sim::grid::Record;
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::record;
use yardmaster_wire::topology::Topology;

/// Topics of what has an end.
const TOPICS: [Topic; 3] = [Topic::JobState, Topic::Task, Topic::Transfer];
/// Bytes of the framing in which records are made: a mark and the fingerprint of the schema.
const FRAMING_BYTES: usize = 10;

/// Records that end what earlier demos left, as of a moment. The topics are read once, all of them.
///
/// # Errors
/// The topics cannot be read; the text names the cause.
pub(super) fn left(
    log_args: &LogArgs,
    topology: &Topology,
    now: Millis,
) -> anyhow::Result<Vec<Record>> {
    let ours = ours(topology)?;
    let mut ends = Vec::new();
    for topic in TOPICS {
        let mut scan = log_args.scan_of(topology, topic)?;
        let plain = Plain::of(&ours, topic);
        let mut left = Left { topic, plain, codec: Codec::default(), open: BTreeMap::new() };
        for span in scan.spans()? {
            scan.read(span.lane, span.first, span.stable_end, &mut |record| {
                left.take(record);
                Ok::<(), LogError>(())
            })?;
        }
        ends.extend(left.ends(now));
    }
    Ok(ends)
}

/// Open jobs, requests or transfers of a topic.
struct Left {
    topic: Topic,
    plain: Plain,
    codec: Codec,
    /// By name, the newest record.
    open: BTreeMap<String, Vec<u8>>,
}

impl Left {
    fn take(&mut self, record: &Envelope<'_>) {
        if !record.headers.iter().any(|(name, _)| name == DEMO) {
            return;
        }
        let Some(value) = record.value.and_then(|value| self.plain.record(value)) else { return };
        match about(&self.codec, self.topic, &value) {
            Some((name, true)) => drop(self.open.remove(&name)),
            Some((name, false)) => drop(self.open.insert(name, value)),
            None => {}
        }
    }

    fn ends(&self, now: Millis) -> impl Iterator<Item = Record> {
        self.open.values().filter_map(move |value| end(&self.codec, self.topic, value, now))
    }
}

/// Name of a record's subject, and whether the subject is over.
fn about(codec: &Codec, topic: Topic, value: &[u8]) -> Option<(String, bool)> {
    let mut arena = Arena::default();
    match codec.read(topic, None, Some(value), &mut arena) {
        Event::JobState(job) => Some((job.job.to_owned(), job.status.is_ended())),
        Event::Task(task) => Some((task.subject.clone(), task.phase == TaskPhase::Ended)),
        Event::Transfer(it) => Some((it.request.to_owned(), it.state.is_ended())),
        _ => None,
    }
}

/// The record that ends what another is about. It is newer than that, however wrong its clock was.
fn end(codec: &Codec, topic: Topic, value: &[u8], now: Millis) -> Option<Record> {
    let (mut arena, mut value_of_end) = (Arena::default(), Vec::new());
    let key = match codec.read(topic, None, Some(value), &mut arena) {
        Event::JobState(job) => {
            let changed_at = now.max(job.changed_at + 1);
            let ended_at = if job.started_at == 0 { 0 } else { now };
            let over = JobState { status: Status::Cancelled, changed_at, ended_at, ..job };
            record::write(&mut value_of_end, &over);
            job.job.to_owned()
        }
        Event::Task(task) => {
            let changed_at = now.max(task.changed_at + 1);
            let over = Task { phase: TaskPhase::Ended, changed_at, ..*task };
            record::write(&mut value_of_end, &over);
            over.task
        }
        Event::Transfer(transfer) => {
            let changed_at = now.max(transfer.changed_at + 1);
            let (state, error) = (TransferStatus::Failed, "the demo was over");
            record::write(&mut value_of_end, &Transfer { state, changed_at, error, ..transfer });
            transfer.request.to_owned()
        }
        _ => return None,
    };
    Some(Record { topic, key: key.into_bytes(), value: Some(value_of_end), at: now })
}

/// Records of a topic in the framing in which they are made, whatever framing the topic has.
struct Plain {
    /// First bytes of a record of ours, as it is made and as it is on the topic.
    made: Vec<u8>,
    framed: Vec<u8>,
}

impl Plain {
    fn of(ours: &Ours, topic: Topic) -> Plain {
        let mut made = Vec::new();
        match topic {
            Topic::JobState => record::write(&mut made, &JobState::default()),
            Topic::Task => record::write(&mut made, &Task::default()),
            _ => record::write(&mut made, &Transfer::default()),
        }
        let body = made.len() - FRAMING_BYTES;
        let mut framed = ours.frame(topic, made.clone());
        framed.truncate(framed.len() - body);
        made.truncate(FRAMING_BYTES);
        Plain { made, framed }
    }

    /// A record of our schema; `None` for any other.
    fn record(&self, value: &[u8]) -> Option<Vec<u8>> {
        let body = value.strip_prefix(self.framed.as_slice())?;
        Some([self.made.as_slice(), body].concat())
    }
}
