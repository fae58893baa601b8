//! Records given to a producer, those of one partition that follow one another together: so the
//! client looks up topic and partition once for all of them, and its requests are long.

use super::conf::KafkaConf;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{Producer, ProducerContext};
use rdkafka_sys as rdsys;
use rdsys::rd_kafka_resp_err_t as Code;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::ptr::{NonNull, null_mut};
use std::time::Duration;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_drive::port::{LogError, OutputRecord};

/// The topics of a producer. They go before it does.
pub(super) struct ProducedTopics(BTreeMap<Topic, TopicHandle>);

struct TopicHandle(NonNull<rdsys::rd_kafka_topic_t>);

// SAFETY: librdkafka's topics may be used from any thread.
unsafe impl Send for TopicHandle {}

impl Drop for TopicHandle {
    fn drop(&mut self) {
        // SAFETY: made by `ProducedTopics::of`, given back once, while the client lives.
        unsafe { rdsys::rd_kafka_topic_destroy(self.0.as_ptr()) }
    }
}

/// Why a record was not taken, and of which partition it is.
pub(super) struct NotTaken {
    pub lane: Lane,
    pub error: KafkaError,
}

impl ProducedTopics {
    /// The topics of a configuration that a leader publishes, for a producer that outlives this.
    pub fn of<C: ProducerContext>(
        conf: &KafkaConf,
        producer: &impl Producer<C>,
    ) -> Result<ProducedTopics, LogError> {
        let client = producer.client().native_ptr();
        let mut topics = BTreeMap::new();
        // A handle makes the client ask for all partitions of its topic, and know their leaders.
        for map in conf.topics.iter().filter(|map| map.topic.is_own()) {
            let name = CString::new(map.name.as_str());
            // SAFETY: the client is alive, the name ends with a zero, no configuration means that
            // of the client.
            let topic = name.ok().and_then(|name| unsafe {
                NonNull::new(rdsys::rd_kafka_topic_new(client, name.as_ptr(), null_mut()))
            });
            let topic = topic.ok_or_else(|| {
                LogError::Stop(format!("{:?} cannot be the name of a topic", map.name))
            })?;
            topics.insert(map.topic, TopicHandle(topic));
        }
        Ok(ProducedTopics(topics))
    }

    /// Gives records without headers to the client, those of each lane in the order given; waits
    /// for `nap` at a time while the client's queue is full.
    pub fn give<'a>(
        &self,
        outputs: impl Iterator<Item = &'a OutputRecord>,
        nap: Duration,
    ) -> Result<(), NotTaken> {
        let mut lane = None;
        let mut messages: Vec<rdsys::rd_kafka_message_t> = Vec::new();
        for output in outputs {
            let before = lane.replace(output.lane).filter(|before| *before != output.lane);
            if let Some(before) = before {
                // SAFETY: keys and values belong to `outputs`, which outlive this call.
                unsafe { self.give_to(before, &mut messages, nap) }?;
                messages.clear();
            }
            messages.push(message(output));
        }
        match lane {
            // SAFETY: as above.
            Some(lane) => unsafe { self.give_to(lane, &mut messages, nap) },
            None => Ok(()),
        }
    }

    /// Gives messages of one lane to the client, which copies them.
    ///
    /// # Safety
    /// Their keys and payloads are alive.
    unsafe fn give_to(
        &self,
        lane: Lane,
        messages: &mut [rdsys::rd_kafka_message_t],
        nap: Duration,
    ) -> Result<(), NotTaken> {
        let not_taken =
            |code: RDKafkaErrorCode| NotTaken { lane, error: KafkaError::MessageProduction(code) };
        let topic = self.0.get(&lane.topic).ok_or(not_taken(RDKafkaErrorCode::UnknownTopic))?;
        let (mut left, partition) = (messages, lane.partition as i32);
        while !left.is_empty() {
            let count = i32::try_from(left.len()).unwrap_or(i32::MAX);
            // SAFETY: topic and client are alive, the array holds so many messages, and what they
            // point to lives throughout the call, which copies it.
            unsafe {
                let (topic, first) = (topic.0.as_ptr(), left.as_mut_ptr());
                let flags = rdsys::RD_KAFKA_MSG_F_COPY;
                rdsys::rd_kafka_produce_batch(topic, partition, flags, first, count);
            }
            let Some(at) = left.iter().position(|it| it.err != Code::RD_KAFKA_RESP_ERR_NO_ERROR)
            else {
                return Ok(());
            };
            // A queue that is full takes none of those behind the first that it did not take.
            if left[at].err != Code::RD_KAFKA_RESP_ERR__QUEUE_FULL {
                return Err(not_taken(left[at].err.into()));
            }
            left = &mut left[at..];
            std::thread::sleep(nap);
        }
        Ok(())
    }
}

/// A message that points to a record's key and value.
fn message(output: &OutputRecord) -> rdsys::rd_kafka_message_t {
    let value = output.value.as_ref();
    rdsys::rd_kafka_message_t {
        err: Code::RD_KAFKA_RESP_ERR_NO_ERROR,
        rkt: null_mut(),
        partition: output.lane.partition as i32,
        payload: value.map_or(null_mut(), |value| value.as_ptr().cast_mut().cast()),
        len: value.map_or(0, |value| value.len()),
        key: output.key.as_ptr().cast_mut().cast(),
        key_len: output.key.len(),
        offset: 0,
        _private: null_mut(),
    }
}
