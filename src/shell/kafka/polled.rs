//! A producer whose events are taken by a thread of its own. The client's own such thread spins for
//! the last part of a millisecond of each wait.

use crate::thread;
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::producer::{BaseProducer, Producer, ProducerContext};
use rdkafka_sys as rdsys;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often events are taken: reports of what failed, errors, log-ins that are to be renewed.
const PERIOD: Duration = Duration::from_millis(200);
/// How often they are taken while it is flushed.
const SLICE: Duration = Duration::from_millis(20);

/// The producer. Dropping it waits for the thread.
pub(super) struct PolledProducer<C: ProducerContext + 'static> {
    producer: Arc<BaseProducer<C>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl<C: ProducerContext + 'static> PolledProducer<C> {
    /// Makes it.
    pub fn create(config: &ClientConfig, context: C) -> KafkaResult<PolledProducer<C>> {
        let producer: Arc<BaseProducer<C>> = Arc::new(config.create_with_context(context)?);
        let (stop, stopped) = channel::<()>();
        let polled = Arc::clone(&producer);
        let work = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PERIOD) {
                take_events(&polled);
            }
        };
        let thread = thread::spawn("kafka-events", work);
        let thread = thread.map_err(|error| KafkaError::ClientCreation(error.to_string()))?;
        Ok(PolledProducer { producer, stop: Some(stop), thread: Some(thread) })
    }

    /// Waits until nothing is on its way any more, for so long at most; whether that is so. What
    /// waits for company is sent now.
    pub fn is_flushed_within(&self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        loop {
            // What failed counts as on its way until it is reported.
            take_events(&self.producer);
            let left = until.saturating_duration_since(Instant::now());
            let wait = i32::try_from(left.min(SLICE).as_millis()).unwrap_or(i32::MAX);
            // SAFETY: the client is alive.
            let flushed = unsafe { rdsys::rd_kafka_flush(self.client().native_ptr(), wait) };
            if flushed == rdsys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                return true;
            }
            if left.is_zero() {
                return false;
            }
        }
    }
}

/// Takes all events that have come: a poll takes one.
fn take_events<C: ProducerContext + 'static>(producer: &BaseProducer<C>) {
    // SAFETY: the client is alive. The queue is given back below, and used by nobody after that.
    let queue = unsafe { rdsys::rd_kafka_queue_get_main(producer.client().native_ptr()) };
    // SAFETY: see above. Those that come meanwhile are left to the next look.
    let count = unsafe { rdsys::rd_kafka_queue_length(queue) };
    (0..count.max(1)).for_each(|_| producer.poll(Duration::ZERO));
    // SAFETY: see above.
    unsafe { rdsys::rd_kafka_queue_destroy(queue) }
}

impl<C: ProducerContext + 'static> Deref for PolledProducer<C> {
    type Target = BaseProducer<C>;

    fn deref(&self) -> &BaseProducer<C> {
        &self.producer
    }
}

impl<C: ProducerContext + 'static> Drop for PolledProducer<C> {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}
