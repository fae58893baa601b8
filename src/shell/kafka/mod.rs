//! Kafka as a log, through librdkafka.
//!
//! Partitions are assigned, never subscribed to: the caller states what is read. All of
//! them come through one queue, many records at a time, by a thread that reads ahead. Outputs
//! go out in transactions, by another; a process that takes the lead fences the others by the
//! transactional id.

mod admin;
mod cause;
mod client;
mod conf;
mod extent;
mod group;
mod health;
mod held;
mod lane;
mod leaders;
mod polled;
mod produce;
mod queue;
mod reader;
mod reading;
mod remedy;
mod renewed;
mod scan;
mod source;
mod stall;
mod topics;
mod txn;
mod watch;
mod writer;

pub use admin::{Created, KafkaAdmin, NewTopicSpec, TopicFound};
pub use conf::{KafkaConf, TopicMap, ValueConversion, is_secret};
pub use scan::{KafkaScan, topic_names};
pub use source::{ForeignRecord, KafkaIntake};
pub use writer::KafkaWriter;

use crate::commit::CommitThread;
use conf::Role;
use health::Width;
use leaders::Leaders;
use queue::Client;
use rdkafka::consumer::Consumer;
use reader::Reader;
use reading::Reading;
use renewed::Renewed;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use txn::TxnProducer;
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, OutputRecord};

/// A Kafka as a log.
pub struct KafkaLog {
    conf: KafkaConf,
    /// Asks how far lanes reach: once as a committed reader, once with open transactions.
    reader: Renewed<Client>,
    looker: Renewed<Client>,
    reading: Option<Reading>,
    commits: Option<CommitThread>,
    leaders: Leaders,
    /// Whether this process leads.
    leads: Arc<AtomicBool>,
}

impl KafkaLog {
    /// Makes the clients. Nothing is asked of the broker yet, so it may be away.
    pub fn open(conf: KafkaConf) -> Result<KafkaLog, LogError> {
        let reader = reader::renewed(&conf, Role::Reader)?;
        let looker = reader::renewed(&conf, Role::Looker)?;
        let leads = Arc::default();
        let leaders = Leaders::default();
        Ok(KafkaLog { conf, reader, looker, reading: None, commits: None, leaders, leads })
    }

    /// For how long the broker has not answered; `None` while it does, or before anything is
    /// read. A `take` meanwhile is empty: the client goes on by itself once the broker is back.
    pub fn unreachable(&self) -> Option<Duration> {
        let reading = self.reading.as_ref();
        let since: Option<Instant> = reading.and_then(|it| it.extent().unreachable());
        since.map(|since| since.elapsed())
    }

    fn silence(&mut self) {
        self.leads.store(false, Ordering::Relaxed);
        self.commits = None;
    }

    fn names(&self) -> Result<Vec<(Lane, String)>, LogError> {
        extent::lanes(&self.conf, &self.reader)
    }

    fn spans(&mut self, lanes: &[(Lane, String)]) -> Result<Vec<LaneSpan>, LogError> {
        // These clients are asked only, so their events would pile up unseen.
        for client in [&self.reader, &self.looker] {
            let _ = client.client()?.poll(Duration::ZERO);
        }
        let failing = |lane| self.reading.as_ref().and_then(|it| it.extent().failing(lane));
        let without = self.leaders.wait(&self.reader, lanes, failing, &self.conf)?;
        if without.is_empty() {
            return extent::spans(&self.conf, &self.reader, &self.looker, lanes);
        }
        let mut led = lanes.to_vec();
        led.retain(|(lane, _)| !without.contains(lane));
        let mut spans = extent::spans(&self.conf, &self.reader, &self.looker, &led)?;
        spans.extend(without.into_iter().map(leaders::unknown));
        spans.sort_by_key(|span| span.lane);
        Ok(spans)
    }
}

/// How many partitions each topic has of which some lane is read, and its id.
fn widths(names: &[(Lane, String)], from: &Cut, ids: &BTreeMap<Topic, String>) -> Vec<Width> {
    let mut widths: Vec<Width> = Vec::new();
    for (lane, name) in names {
        match widths.last_mut() {
            Some(width) if width.topic == lane.topic => width.partitions += 1,
            _ => {
                let (topic, name, id) = (lane.topic, name.clone(), ids.get(&lane.topic).cloned());
                widths.push(Width { topic, name, partitions: 1, id });
            }
        }
    }
    widths.retain(|width| from.0.keys().any(|lane| lane.topic == width.topic));
    widths
}

impl Log for KafkaLog {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        let names = self.names()?;
        self.spans(&names)
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        let mut names = self.names()?;
        let widths = widths(&names, from, &self.topic_ids()?);
        names.retain(|(lane, _)| from.next(*lane).is_some());
        for lane in from.0.keys() {
            if !names.iter().any(|(known, _)| known == lane) {
                return Err(LogError::Stop(format!(
                    "the broker has no partition for {lane}, which the store has read: bring the \
                     topic back as it was, or delete the store"
                )));
            }
        }
        for span in self.spans(&names)? {
            span.admits(from.next(span.lane).unwrap_or(0))?;
        }
        // A client that has read before would mix up old and new positions, so each assignment
        // has one of its own.
        self.reading = None;
        let reader = Reader::start(&self.conf, &names, from, widths)?;
        self.reading = Some(Reading::start(reader, self.leads.clone())?);
        Ok(())
    }

    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        self.reading.as_mut().map_or(Ok(()), |reading| reading.set_paused(lanes, paused))
    }

    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        match &mut self.reading {
            Some(reading) => reading.take(batch, max, wait),
            None => Ok(()),
        }
    }

    fn topic_ids(&mut self) -> Result<BTreeMap<Topic, String>, LogError> {
        let names: Vec<&str> = self.conf.topics.iter().map(|map| map.name.as_str()).collect();
        let found = extent::patiently(self.conf.persistence, || {
            self.reader.ask(|client| {
                let found = topics::describe(client.client(), &names, self.conf.patience);
                found.map_err(|error| extent::trouble(client, &error))
            })
        })?;
        let id = |map: &TopicMap| {
            let found = found.get(&map.name)?.as_ref().ok()?;
            Some((map.topic, found.id.clone()?))
        };
        Ok(self.conf.topics.iter().filter_map(id).collect())
    }

    fn offsets_since(&mut self, at: Millis) -> Result<Option<Vec<(Lane, u64)>>, LogError> {
        let names = self.names()?;
        extent::since(&self.conf, &self.reader, &names, at).map(Some)
    }

    fn ends(&mut self) -> Vec<(Lane, u64)> {
        self.reading.as_ref().map(|reading| reading.extent().ends()).unwrap_or_default()
    }

    fn lead(&mut self) -> Result<(), LogError> {
        self.silence();
        let mut producer = TxnProducer::lead(&self.conf)?;
        self.commits = Some(CommitThread::start("kafka-commit", move |outputs, progress| {
            producer.publish(&outputs, &progress)
        })?);
        self.leads.store(true, Ordering::Relaxed);
        // A leader asks nothing until something fails.
        [&self.reader, &self.looker].into_iter().for_each(Renewed::rest);
        Ok(())
    }

    fn let_go(&mut self) {
        self.silence();
    }

    fn publish(
        &mut self,
        outputs: Vec<OutputRecord>,
        progress: OutputRecord,
    ) -> Result<(), LogError> {
        match &mut self.commits {
            Some(commits) => commits.publish(outputs, progress),
            None => Err(LogError::Stop("publish came before lead".into())),
        }
    }

    fn is_settled(&mut self) -> bool {
        self.commits.as_mut().is_none_or(CommitThread::is_settled)
    }

    fn settle(&mut self) -> Result<(), LogError> {
        let settled = self.commits.as_mut().map_or(Ok(()), CommitThread::settle);
        if settled.is_err() {
            // After an indefinite result nothing this producer reports can be trusted.
            self.silence();
        }
        settled
    }
}
