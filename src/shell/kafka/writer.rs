//! A plain producer, for `import`, the simulated grid and the tests. Idempotent, so a retry of
//! the client appends nothing twice; no transactions.

use super::conf::{KafkaConf, Role};
use super::polled::PolledProducer;
use super::remedy::refusal;
use rdkafka::ClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::LogError;

/// Between two looks at a full queue.
const NAP: Duration = Duration::from_micros(200);
/// How long one wait for what is on its way takes at most.
const FLUSH: Duration = Duration::from_secs(1);

/// Appends records. What was appended is durable once `flush` has returned.
pub struct KafkaWriter {
    producer: PolledProducer<Failures>,
    failures: Failures,
}

/// The first record that did not get through.
#[derive(Clone, Default)]
struct Failures {
    first: Arc<Mutex<Option<(String, LogError)>>>,
}

impl ClientContext for Failures {}

impl ProducerContext for Failures {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        use rdkafka::Message;
        if let Err((error, message)) = result {
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            let topic = message.topic();
            first.get_or_insert_with(|| (topic.to_owned(), refused(error, topic)));
        }
    }
}

impl KafkaWriter {
    /// Makes the producer. Nothing is asked of the broker yet.
    pub fn open(conf: &KafkaConf) -> Result<KafkaWriter, LogError> {
        let failures = Failures::default();
        let producer = PolledProducer::create(&conf.client(Role::Writer)?, failures.clone());
        let producer = producer.map_err(|error| {
            LogError::Stop(format!("cannot make a Kafka producer for {}: {error}", conf.bootstrap))
        })?;
        Ok(KafkaWriter { producer, failures })
    }

    /// Appends a record; waits while the client's queue is full. Without a partition the key
    /// decides, as it does for Kafka's Java client; without a time stamp the clock does.
    pub fn append(
        &self,
        topic: &str,
        partition: Option<u32>,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(String, Vec<u8>)],
        timestamp: Option<Millis>,
    ) -> Result<(), LogError> {
        let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(topic);
        record.partition = partition.map(|partition| partition as i32);
        record.key = key;
        record.payload = value;
        record.timestamp = timestamp;
        if !headers.is_empty() {
            let mut owned = OwnedHeaders::new();
            for (key, value) in headers {
                owned = owned.insert(Header { key, value: Some(value) });
            }
            record.headers = Some(owned);
        }
        loop {
            match self.producer.send(record) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), same)) => {
                    record = same;
                    std::thread::sleep(NAP);
                }
                Err((error, _)) => {
                    return Err(self.fatal(topic).unwrap_or_else(|| refused(&error, topic)));
                }
            }
        }
    }

    /// Waits until everything is durable, or returns what did not get through.
    pub fn flush(&self) -> Result<(), LogError> {
        while !self.producer.is_flushed_within(FLUSH) {}
        let first = self.failures.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((topic, error)) = first else { return Ok(()) };
        Err(self.fatal(&topic).unwrap_or(error))
    }

    /// Why the client takes no record any more, if so: after that each one has the same error,
    /// which names no cause.
    fn fatal(&self, topic: &str) -> Option<LogError> {
        let (code, text) = self.producer.client().fatal_error()?;
        let what = format!("Write of topic {topic}");
        Some(refusal(code, &what).unwrap_or(LogError::Aborted(format!("{what}: {text}"))))
    }
}

/// Why a record did not get through.
fn refused(error: &KafkaError, topic: &str) -> LogError {
    use RDKafkaErrorCode::{
        MessageTimedOut, UnknownPartition, UnknownTopic, UnknownTopicOrPartition,
    };
    let what = format!("Write of topic {topic}");
    match error.rdkafka_error_code() {
        Some(UnknownTopic | UnknownTopicOrPartition | UnknownPartition) => {
            super::extent::missing(topic)
        }
        Some(MessageTimedOut) => LogError::Unreachable(format!("{what}: {error}")),
        code => code
            .and_then(|code| refusal(code, &what))
            .unwrap_or(LogError::Aborted(format!("{what}: {error}"))),
    }
}
