//! Records of a Kafka with all that is known of them, headers included: for `archive` and
//! `dead-letters`, which read one lane after the other and follow nothing.

use super::conf::{KafkaConf, Role};
use super::queue::{Client, Queue, QueueEvent};
use super::remedy::refusal;
use super::renewed::Renewed;
use super::{extent, reader};
use crate::dirlog::envelope::{Envelope, Stamp};
use rdkafka::consumer::Consumer;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::Arc;
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_drive::port::{LaneSpan, LogError};

/// Records asked for at once.
const BATCH: usize = 4_096;
/// How long one look at the queue may wait.
const LOOK: Duration = Duration::from_millis(100);
/// A lane that should bring records and brings nothing for so long ends the reading.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A Kafka whose lanes are read one by one, committed records only.
pub struct KafkaScan {
    conf: KafkaConf,
    reader: Renewed<Client>,
    looker: Renewed<Client>,
    names: Vec<(Lane, String)>,
    absent: Vec<String>,
}

/// Names of the topics that a broker shows, in their order.
pub fn topic_names(conf: &KafkaConf) -> Result<Vec<String>, LogError> {
    let known = names(conf, &reader::renewed(conf, Role::Looker)?)?;
    Ok(known.into_iter().collect())
}

fn names(conf: &KafkaConf, client: &Renewed<Client>) -> Result<BTreeSet<String>, LogError> {
    let known = extent::patiently(conf.persistence, || {
        client.ask(|client| {
            let known = client.fetch_metadata(None, conf.patience);
            known.map_err(|error| extent::trouble(client, &error))
        })
    })?;
    Ok(known.topics().iter().map(|topic| topic.name().to_owned()).collect())
}

impl KafkaScan {
    /// Finds the lanes of every topic of `conf`. One that is not in `needed` may be missing.
    pub fn open(mut conf: KafkaConf, needed: &[Topic]) -> Result<KafkaScan, LogError> {
        let reader = reader::renewed(&conf, Role::Reader)?;
        let looker = reader::renewed(&conf, Role::Looker)?;
        let known = names(&conf, &reader)?;
        let mut absent = Vec::new();
        conf.topics.retain(|map| {
            let there = needed.contains(&map.topic) || known.contains(&map.name);
            if !there {
                absent.push(map.name.clone());
            }
            there
        });
        let names = extent::lanes(&conf, &reader)?;
        Ok(KafkaScan { conf, reader, looker, names, absent })
    }

    /// Names of the topics that the broker does not have.
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// Every lane with its extent now.
    pub fn spans(&self) -> Result<Vec<LaneSpan>, LogError> {
        extent::spans(&self.conf, &self.reader, &self.looker, &self.names)
    }

    /// Gives the committed records of a lane from offset `from` on and below `below`, in
    /// order; `below` is at most the lane's stable end. An error of `each` ends the reading.
    pub fn read(
        &self,
        lane: Lane,
        from: u64,
        below: u64,
        each: &mut dyn FnMut(&Envelope<'_>) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        if from >= below {
            return Ok(());
        }
        // A client that has read before would mix up old and new positions.
        let client = reader::open(&self.conf, Role::Reader)?;
        let mut queue = self.assign(&client, lane, from)?;
        let mut reading = Reading { next: from, below, outcome: Ok(()), each };
        let mut heard = Instant::now();
        while reading.next < below && reading.outcome.is_ok() {
            // The client's own events come this way; a record never does.
            let _ = client.poll(Duration::ZERO);
            let taken = queue.take(BATCH, LOOK, &mut |origin, event| {
                let offset = u64::try_from(origin.offset).unwrap_or(0);
                reading.meet(lane, offset, event);
                true
            });
            if taken.count > 0 {
                heard = Instant::now();
            } else if heard.elapsed() > SILENCE_MAX {
                return Err(LogError::Unreachable(format!(
                    "{lane} brings nothing at offset {}, though it reaches to {below} ({})",
                    reading.next,
                    client.context().last()
                )));
            }
        }
        match reading.outcome {
            Err(LogError::OutOfRange { wanted, .. }) => Err(self.out_of_range(lane, wanted)),
            outcome => outcome,
        }
    }

    fn assign(&self, client: &Arc<Client>, lane: Lane, from: u64) -> Result<Queue, LogError> {
        let name = self.names.iter().find(|(known, _)| *known == lane).map(|(_, name)| name);
        let name =
            name.ok_or_else(|| LogError::Stop(format!("the broker has no partition for {lane}")))?;
        let stop = |error: &dyn std::fmt::Display| LogError::Stop(format!("{lane}: {error}"));
        let text = CString::new(name.as_str()).map_err(|error| stop(&error))?;
        let queue = Queue::new(client);
        let partition = lane.partition as i32;
        queue.forward(&text, partition);
        let mut assigned = TopicPartitionList::new();
        let offset = Offset::Offset(i64::try_from(from).unwrap_or(i64::MAX));
        let added = assigned.add_partition_offset(name, partition, offset);
        added.map_err(|error| stop(&error))?;
        client.assign(&assigned).map_err(|error| extent::trouble(client, &error))?;
        Ok(queue)
    }

    /// The lane's beginning moved while it was read, or it is not the lane it was.
    fn out_of_range(&self, lane: Lane, wanted: u64) -> LogError {
        let found = self.spans().map(|spans| spans.into_iter().find(|span| span.lane == lane));
        match found {
            Err(error) => error,
            Ok(Some(span)) if span.first > wanted => {
                LogError::OutOfRange { lane, wanted, first: span.first }
            }
            Ok(_) => LogError::Stop(format!(
                "{lane} has no offset {wanted}: the topic was created again; use another directory"
            )),
        }
    }
}

/// How far the reading of a lane has come.
struct Reading<'a> {
    next: u64,
    below: u64,
    outcome: Result<(), LogError>,
    each: &'a mut dyn FnMut(&Envelope<'_>) -> Result<(), LogError>,
}

impl Reading<'_> {
    fn meet(&mut self, lane: Lane, offset: u64, event: QueueEvent<'_>) {
        use RDKafkaErrorCode::{AutoOffsetReset, OffsetOutOfRange};
        if self.outcome.is_err() || self.next >= self.below {
            return;
        }
        match event {
            QueueEvent::Record { timestamp, appended, key, value, headers } => {
                if offset < self.next {
                    return;
                }
                self.next = offset + 1;
                if offset < self.below {
                    let stamp = if appended { Stamp::Append } else { Stamp::Create };
                    let headers = &headers.read();
                    let whole = Envelope { offset, timestamp, stamp, key, value, headers };
                    self.outcome = (self.each)(&whole);
                }
            }
            QueueEvent::End => self.next = self.next.max(offset),
            QueueEvent::Trouble(OffsetOutOfRange | AutoOffsetReset) => {
                let wanted = self.next;
                self.outcome = Err(LogError::OutOfRange { lane, wanted, first: wanted });
            }
            // What may mend itself is waited out, as long as the silence may last.
            QueueEvent::Trouble(code) => {
                if let Some(error) = refusal(code, &lane.to_string()) {
                    self.outcome = Err(error);
                }
            }
        }
    }
}
