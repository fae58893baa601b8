//! Publishes in transactions.

use super::conf::{KafkaConf, Role};
use super::polled::PolledProducer;
use super::produce::{NotTaken, ProducedTopics};
use super::remedy::{refusal, remedy, turned_away};
use super::watch::Watch;
use crate::commit::Committed;
use crate::thread;
use rdkafka::consumer::ConsumerGroupMetadata;
use rdkafka::error::{KafkaError, RDKafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::{ClientContext, TopicPartitionList};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use yardmaster_core::cut::Topic;
use yardmaster_drive::intake::Entry;
use yardmaster_drive::port::{LogError, OutputRecord};

/// Between two looks at a full queue.
const NAP: Duration = Duration::from_micros(200);
/// How long one wait for what is still on its way takes at most.
const FLUSH: Duration = Duration::from_millis(100);
/// How long something that may be tried again is tried again. The broker ends a transaction by
/// itself after `transaction.timeout.ms`, so much longer is of no use.
const TRIES: Duration = Duration::from_secs(60);
/// A transaction whose records take longer to be confirmed is reported. A client that waits for
/// longer for anything is looked at.
const SLOW: Duration = Duration::from_secs(5);
/// How often the client is looked at then, and how long a broker has to answer it.
const LOOK: Duration = Duration::from_secs(2);
/// A client that finds no broker so often, one look after the other, does not find them again: one
/// that only lost its connection has made another by then.
const FORGOTTEN: u32 = 2;
/// How long a client that reaches no broker tries to end its transaction.
const ABORT_ALONE: Duration = Duration::from_secs(1);
/// The longest pause between two tries.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Remembers the first record that did not get through, and whether the client was turned away.
#[derive(Clone, Default)]
struct Deliveries {
    watch: Watch,
    failed: Arc<Mutex<Option<(KafkaError, String)>>>,
    /// Topics of records that were thrown away before they were sent.
    purged: Arc<Mutex<BTreeSet<String>>>,
}

impl Deliveries {
    fn purged(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.purged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Deliveries {
    fn error(&self, error: KafkaError, reason: &str) {
        self.watch.error(error, reason);
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        use rdkafka::Message;
        if let Err((error, message)) = result {
            let location = format!("{}[{}]", message.topic(), message.partition());
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert((error.clone(), location));
            drop(failed);
            if error.rdkafka_error_code() == Some(RDKafkaErrorCode::PurgeQueue) {
                self.purged().insert(message.topic().to_owned());
            }
        }
    }
}

/// Publishes records in transactions, and waits for them.
pub(super) struct TxnProducer {
    topics: ProducedTopics,
    producer: PolledProducer<Deliveries>,
    deliveries: Deliveries,
    conf: KafkaConf,
}

impl TxnProducer {
    /// Another process with the same transactional id is fenced from here on, and what it left
    /// unfinished is ended.
    pub fn lead(conf: &KafkaConf) -> Result<TxnProducer, LogError> {
        let deliveries = Deliveries::default();
        let config = conf.client(Role::TxnProducer)?;
        let made = PolledProducer::create(&config, deliveries.clone());
        let producer = made.map_err(|error| {
            LogError::Stop(format!("cannot make a Kafka producer for {}: {error}", conf.bootstrap))
        })?;
        let topics = ProducedTopics::of(conf, &*producer)?;
        let mut producer = TxnProducer { topics, producer, deliveries, conf: conf.clone() };
        producer.retry(|producer, wait| producer.init_transactions(wait))?;
        Ok(producer)
    }

    /// Publishes a cycle in one transaction.
    pub fn publish(&mut self, outputs: &[OutputRecord], progress: &OutputRecord) -> Committed {
        self.transact(|producer| producer.send_all(outputs, progress), None)
    }

    /// Gives the records of a cycle to the client. Those of a lane have headers, all or none.
    fn send_all(&self, outputs: &[OutputRecord], progress: &OutputRecord) -> Committed {
        let all = || outputs.iter().chain([progress]);
        all().filter(|output| !output.headers.is_empty()).try_for_each(|it| self.send(it))?;
        let plain = all().filter(|output| output.headers.is_empty());
        self.topics.give(plain, NAP).map_err(|NotTaken { lane, error }| match &error {
            KafkaError::MessageProduction(RDKafkaErrorCode::UnknownTopic)
                if self.conf.name(lane.topic).is_none() =>
            {
                self.unnamed(&lane.to_string())
            }
            error => {
                let name = self.conf.name(lane.topic).unwrap_or_default();
                self.refused(error, &format!("{name}[{}]", lane.partition))
            }
        })
    }

    fn unnamed(&self, what: &str) -> LogError {
        LogError::Stop(format!("no topic for {what}: name it in the topology"))
    }

    /// One transaction: what `send` gives, and the next offsets of a reader if there is one.
    pub fn transact(
        &mut self,
        send: impl FnOnce(&TxnProducer) -> Committed,
        offsets: Option<(&TopicPartitionList, &ConsumerGroupMetadata)>,
    ) -> Committed {
        self.retry(|producer, _| producer.begin_transaction())?;
        let began = Instant::now();
        let sent = send(self).and_then(|()| self.drain()).and_then(|()| match offsets {
            Some((next, reader)) => self
                .retry(|producer, wait| producer.send_offsets_to_transaction(next, reader, wait)),
            None => Ok(()),
        });
        let committed = match sent {
            Ok(()) => self.retry(|producer, wait| producer.commit_transaction(wait)),
            Err(error) => Err(self.cause().unwrap_or(error)),
        };
        let error = match committed {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        let error = timed_out(error, began.elapsed(), self.conf.transaction_timeout());
        // The transaction goes either way; ended by us it goes at once. Who finds no broker cannot.
        let is_alone = matches!(error, LogError::Unreachable(_));
        let patience = if is_alone { ABORT_ALONE } else { self.conf.patience };
        let _ = self.producer.abort_transaction(patience);
        Err(error)
    }

    /// Why the broker did not take a topic into the transaction. Of that the records' errors only
    /// show that they were thrown away; the transaction itself knows, and cannot be committed any
    /// more.
    fn cause(&mut self) -> Option<LogError> {
        let purged = std::mem::take(&mut *self.deliveries.purged());
        let was_purged = !purged.is_empty();
        let commit = was_purged.then(|| self.producer.commit_transaction(self.conf.patience))?;
        let Err(KafkaError::Transaction(error)) = commit else { return None };
        let names = purged.into_iter().collect::<Vec<String>>().join(" or ");
        refusal(error.code(), &format!("Write of topic {names} ({})", error.string()))
    }

    /// Gives one record to the client.
    fn send(&self, output: &OutputRecord) -> Committed {
        let name = self.conf.name(output.lane.topic);
        let name = name.ok_or_else(|| self.unnamed(&output.lane.to_string()))?;
        let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(name);
        record = record.key(&output.key[..]);
        if !output.headers.is_empty() {
            let insert = |headers: OwnedHeaders, (key, value): &(String, Vec<u8>)| {
                headers.insert(Header { key, value: Some(value) })
            };
            let headers = output.headers.iter().fold(OwnedHeaders::new(), insert);
            record = record.headers(headers);
        }
        record.partition = Some(output.lane.partition as i32);
        record.payload = output.value.as_deref();
        self.send_record(record)
    }

    /// Gives one record of intake to the client, which chooses the partition by its key.
    pub fn send_entry(&self, entry: &Entry<'_>) -> Committed {
        let name = self.conf.name(entry.topic);
        let name = name.ok_or_else(|| self.unnamed(entry.topic.name()))?;
        let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(name);
        record = record.key(entry.key);
        if let Some(value) = payload(entry) {
            record = record.payload(value);
        }
        if !entry.headers.is_empty() {
            let headers = entry.headers.iter().fold(OwnedHeaders::new(), |all, it| {
                all.insert(Header { key: it.0, value: Some(&it.1) })
            });
            record = record.headers(headers);
        }
        self.send_record(record)
    }

    /// Gives one record to the client; waits while the client's queue is full.
    pub fn send_record(&self, mut record: BaseRecord<'_, [u8], [u8]>) -> Committed {
        loop {
            match self.producer.send(record) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), same)) => {
                    record = same;
                    std::thread::sleep(NAP);
                }
                Err((error, record)) => {
                    let location = match record.partition {
                        Some(partition) => format!("{}[{partition}]", record.topic),
                        None => record.topic.to_owned(),
                    };
                    return Err(self.refused(&error, &location));
                }
            }
        }
    }

    /// Waits until every record has got to the broker, or the client has given it up when the
    /// transaction's time is over. A client that will never send it is not waited for.
    fn drain(&self) -> Committed {
        let began = Instant::now();
        let (mut is_slow, mut looks_at) = (false, began + SLOW);
        while !self.producer.is_flushed_within(FLUSH) {
            if Instant::now() >= looks_at {
                if !is_slow {
                    tracing::warn!(
                        "the broker has not confirmed {} records for {} s; transaction.timeout.ms \
                         is {} s",
                        self.producer.in_flight_count(),
                        SLOW.as_secs(),
                        self.conf.transaction_timeout().as_secs()
                    );
                }
                is_slow = true;
                if let Some(error) = self.forgotten(began)
                    && self.producer.in_flight_count() > 0
                {
                    return Err(error);
                }
                looks_at = Instant::now() + LOOK;
            }
        }
        let failed = self.deliveries.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        failed.map_or(Ok(()), |(error, location)| Err(self.refused(&error, &location)))
    }

    /// Error if this client has found no broker again since it began to wait.
    fn forgotten(&self, began: Instant) -> Option<LogError> {
        (0..FORGOTTEN).all(|_| self.finds_no_broker()).then(|| {
            LogError::Unreachable(format!(
                "the Kafka client that publishes got no answer for {} s and knows no broker any \
                 more, and another client finds them",
                began.elapsed().as_secs()
            ))
        })
    }

    /// Whether this client is connected to no broker where another finds them. A metadata answer
    /// without brokers, as one gives that was paused for longer than its session, has a client
    /// forget them all, and one that has a transaction coordinator never asks its bootstrap servers
    /// again ([`client`](super::client)). A broker that is slow answers in another way.
    fn finds_no_broker(&self) -> bool {
        let Some(topic) = self.conf.topics.first() else { return false };
        // The other one first: a broker that comes back between both is none that was forgotten.
        let other = self.conf.client(Role::Admin).map(|it| it.create::<BaseProducer>());
        let Ok(Ok(other)) = other else { return false };
        let found = other.client().fetch_metadata(Some(&topic.name), LOOK);
        // Its end waits for what it was doing; without a thread it ends here.
        let _ = thread::spawn("kafka-end", move || drop(other));
        if !found.is_ok_and(|found| !found.brokers().is_empty()) {
            return false;
        }
        let own = self.producer.client().fetch_metadata(Some(&topic.name), LOOK);
        let code = own.err().and_then(|error| error.rdkafka_error_code());
        code == Some(RDKafkaErrorCode::BrokerTransportFailure)
    }

    /// Why a record did not get through.
    fn refused(&self, error: &KafkaError, location: &str) -> LogError {
        if let Some((code, text)) = self.producer.client().fatal_error() {
            return self.fatal(code, &text);
        }
        let what = format!("Write of a record to topic {location}");
        let refused = error.rdkafka_error_code().and_then(|code| refusal(code, &what));
        refused.unwrap_or(LogError::Aborted(format!("{what}: {error}")))
    }

    /// Does one step of a transaction, again and again while that may help.
    fn retry(
        &mut self,
        step: impl Fn(&BaseProducer<Deliveries>, Duration) -> Result<(), KafkaError>,
    ) -> Committed {
        let start = Instant::now();
        let mut pause = Duration::from_millis(20);
        loop {
            let error = match step(&self.producer, self.conf.patience.min(SLOW)) {
                Ok(()) => return Ok(()),
                Err(KafkaError::Transaction(error)) => error,
                Err(other) => return Err(self.refused(&other, "the transaction")),
            };
            // A step waits for a broker, and finds none in time, or a connection that was lost.
            if let Some(code) = self.deliveries.watch.refused() {
                return Err(turned_away(code));
            }
            if !error.is_retriable() || start.elapsed() > TRIES {
                return Err(self.ended(&error));
            }
            if start.elapsed() >= SLOW
                && let Some(error) = self.forgotten(start)
            {
                return Err(error);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Error that an error which ends a transaction stands for.
    fn ended(&self, error: &RDKafkaError) -> LogError {
        let text = error.string();
        if error.is_fatal() || remedy(error.code()).is_some() {
            return self.fatal(error.code(), &text);
        }
        if error.is_retriable() {
            let seconds = TRIES.as_secs();
            return LogError::Unreachable(format!("tried for {seconds} s: {text}"));
        }
        LogError::Aborted(text)
    }

    /// An error after which this producer can do no more.
    fn fatal(&self, code: RDKafkaErrorCode, text: &str) -> LogError {
        use RDKafkaErrorCode as Code;
        let what = match code {
            Code::Fenced | Code::InvalidProducerEpoch | Code::ProducerFenced => {
                return LogError::Fenced(text.to_string());
            }
            Code::TransactionalIdAuthorizationFailed => {
                format!("Write of transactional id {} ({text})", self.conf.transactional_id)
            }
            _ => format!("what is published ({text})"),
        };
        refusal(code, &what).unwrap_or(LogError::Aborted(format!("{code}: {text}")))
    }
}

/// Error that an error of a transaction stands for which was open for `span`. A producer whose
/// transaction the broker ended by itself is turned away with the same error as one that another
/// replaced.
fn timed_out(error: LogError, span: Duration, limit: Duration) -> LogError {
    match error {
        LogError::Fenced(text) if span >= limit => LogError::Aborted(format!(
            "the transaction was open for {} s, so the broker ended it (transaction.timeout.ms is \
             {} s): {text}",
            span.as_secs(),
            limit.as_secs()
        )),
        error => error,
    }
}

/// The value of a record of intake. No bytes stand for a null, which removes a configuration
/// record; a dead letter of a message without bytes has none either, and is no removal.
fn payload<'a>(entry: &Entry<'a>) -> Option<&'a [u8]> {
    let is_value = !entry.value.is_empty() || entry.topic == Topic::DeadLetter;
    is_value.then_some(entry.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_that_the_broker_ended_by_itself_is_no_other_leader() {
        let fenced = || LogError::Fenced("epoch".to_owned());
        let limit = Duration::from_secs(30);
        let ended = timed_out(fenced(), Duration::from_secs(31), limit);
        assert!(matches!(&ended, LogError::Aborted(text) if text.contains("31 s")), "{ended}");
        let replaced = timed_out(fenced(), Duration::from_secs(29), limit);
        assert!(matches!(replaced, LogError::Fenced(_)), "{replaced}");
        let stop = timed_out(LogError::Stop("no right".to_owned()), 2 * limit, limit);
        assert!(matches!(stop, LogError::Stop(_)), "{stop}");
    }

    #[test]
    fn no_bytes_remove_a_record_but_for_a_dead_letter() {
        let of = |topic, value| payload(&Entry { topic, key: b"k", value, headers: &[] });
        assert_eq!(of(Topic::Queue, b"".as_slice()), None);
        assert_eq!(of(Topic::Queue, b"v".as_slice()), Some(b"v".as_slice()));
        assert_eq!(of(Topic::DeadLetter, b"".as_slice()), Some(b"".as_slice()));
    }
}
