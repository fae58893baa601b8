//! One queue for all assigned partitions, emptied many messages at a time: through it a record
//! costs half of what it costs through the Rust interface of the client.

use super::watch::Watch;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka_sys as rdsys;
use std::ffi::CStr;
use std::sync::Arc;
use std::time::Duration;

const NO_ERROR: rdsys::rd_kafka_resp_err_t = rdsys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;
/// The type that the client gives a time stamp that the broker set.
const APPENDED: rdsys::rd_kafka_timestamp_type_t =
    rdsys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME;

/// So many events at most are taken before it is asked whether there is room for more. It begins
/// with one and doubles, so that large records exceed the room by about as much again.
const SLICE_MAX: usize = 1_024;

/// A consumer that reports its errors.
pub(super) type Client = BaseConsumer<Watch>;

/// An event that comes out of the queue.
pub(super) enum QueueEvent<'a> {
    /// A record.
    Record {
        /// ms since 1970; 0 when the broker gives none.
        timestamp: i64,
        /// Whether the broker set it, when it appended the record.
        appended: bool,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
        headers: Headers<'a>,
    },
    /// The end of the partition, as far as it is committed.
    End,
    /// The partition cannot be read.
    Trouble(RDKafkaErrorCode),
}

/// Number of events that were taken out of the queue at once.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    pub count: usize,
    /// Whether that was all there was.
    pub is_all: bool,
}

/// The headers of a record, read only if they are asked for.
pub(super) struct Headers<'a>(&'a rdsys::rd_kafka_message_t);

impl Headers<'_> {
    /// Name and value of each, in order; a null value is an empty one. A name that is not UTF-8 is
    /// shown with marks in it.
    pub fn read(&self) -> Vec<(String, Vec<u8>)> {
        let mut list = std::ptr::null_mut();
        // SAFETY: the message is alive, and `list` is ours; what it is set to belongs to the
        // message.
        let found = unsafe { rdsys::rd_kafka_message_headers(self.0, &mut list) };
        let mut headers = Vec::new();
        if found != NO_ERROR {
            return headers;
        }
        loop {
            let (mut name, mut value, mut length) = (std::ptr::null(), std::ptr::null(), 0);
            let at = headers.len();
            // SAFETY: the list lives as long as the message, the three places are ours; what they
            // are set to lives as long as the list.
            unsafe {
                let got =
                    rdsys::rd_kafka_header_get_all(list, at, &mut name, &mut value, &mut length);
                if got != NO_ERROR {
                    return headers;
                }
                let name = CStr::from_ptr(name).to_string_lossy().into_owned();
                headers.push((name, bytes(value, length).unwrap_or_default().to_vec()));
            }
        }
    }
}

/// Where an event belongs.
pub(super) struct EventOrigin<'a> {
    pub topic: &'a CStr,
    pub partition: i32,
    pub offset: i64,
}

/// The queue. It goes before its client does.
pub(super) struct Queue {
    queue: *mut rdsys::rd_kafka_queue_t,
    messages: Vec<*mut rdsys::rd_kafka_message_t>,
    client: Arc<Client>,
}

// SAFETY: librdkafka's queues may be used from any thread, and `messages` holds nothing between
// two calls of `take`.
unsafe impl Send for Queue {}

impl Queue {
    /// A queue of a client.
    pub fn new(client: &Arc<Client>) -> Queue {
        // SAFETY: the handle is that of a live client, kept alive by `client` below.
        let queue = unsafe { rdsys::rd_kafka_queue_new(client.client().native_ptr()) };
        Queue { queue, messages: Vec::new(), client: client.clone() }
    }

    /// Leads a partition into the queue. Has to come before the partition is assigned, else its
    /// first messages go elsewhere.
    pub fn forward(&self, topic: &CStr, partition: i32) {
        let handle = self.client.client().native_ptr();
        // SAFETY: the client and this queue are alive, the name ends with a zero; the reference
        // to the partition's queue is given back at once, the forwarding holds its own.
        unsafe {
            let from = rdsys::rd_kafka_queue_get_partition(handle, topic.as_ptr(), partition);
            if !from.is_null() {
                rdsys::rd_kafka_queue_forward(from, self.queue);
                rdsys::rd_kafka_queue_destroy(from);
            }
        }
    }

    /// Gives at most `max` events, waiting at most `wait` for the first, and stops soon after
    /// one after which `each` has no room for more.
    pub fn take(
        &mut self,
        max: usize,
        wait: Duration,
        each: &mut dyn FnMut(&EventOrigin<'_>, QueueEvent<'_>) -> bool,
    ) -> Taken {
        // The client waits until it has as many as it is asked for, so it is asked for one first.
        let (mut taken, mut wanted, mut wait) = (Taken::default(), 1.min(max), wait);
        while wanted > 0 {
            let mut has_room = true;
            let fetched = self.fetch(wanted, wait, &mut |origin, event| {
                has_room &= each(origin, event);
            });
            taken.count += fetched;
            taken.is_all = fetched < wanted;
            let goes_on = has_room && !taken.is_all;
            wanted = if goes_on { (2 * wanted).min(SLICE_MAX).min(max - taken.count) } else { 0 };
            wait = Duration::ZERO;
        }
        taken
    }

    fn fetch(
        &mut self,
        max: usize,
        wait: Duration,
        each: &mut dyn FnMut(&EventOrigin<'_>, QueueEvent<'_>),
    ) -> usize {
        if max == 0 {
            return 0;
        }
        self.messages.resize(max, std::ptr::null_mut());
        let wait = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the queue is alive and the array has room for `max` messages.
        let count = unsafe {
            let room = self.messages.as_mut_ptr();
            rdsys::rd_kafka_consume_batch_queue(self.queue, wait, room, max)
        };
        let count = usize::try_from(count).unwrap_or(0);
        for message in &self.messages[..count] {
            // SAFETY: the client gave us this message; it is read here and destroyed once below.
            unsafe {
                let (origin, event) = read(&**message);
                each(&origin, event);
                rdsys::rd_kafka_message_destroy(*message);
            }
        }
        count
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once, and the client it belongs to is still alive.
        unsafe { rdsys::rd_kafka_queue_destroy(self.queue) }
    }
}

/// A client's own knowledge of a partition's high watermark, as of its last fetch.
pub(super) fn high(client: &Client, topic: &CStr, partition: i32) -> Option<u64> {
    let (mut low, mut high) = (-1, -1);
    let handle = client.client().native_ptr();
    // SAFETY: the client is alive, the name ends with a zero, both numbers are ours.
    unsafe {
        let name = topic.as_ptr();
        rdsys::rd_kafka_get_watermark_offsets(handle, name, partition, &mut low, &mut high);
    }
    u64::try_from(high).ok()
}

/// Reads a message without copying it.
///
/// # Safety
/// The message is one that the client gave and that was not destroyed; what is returned lives no
/// longer than it does.
unsafe fn read(message: &rdsys::rd_kafka_message_t) -> (EventOrigin<'_>, QueueEvent<'_>) {
    let topic = match message.rkt.is_null() {
        // An error that is of no partition.
        true => c"",
        // SAFETY: the topic is there; its name lives as long as it, and the message holds on to it.
        false => unsafe { CStr::from_ptr(rdsys::rd_kafka_topic_name(message.rkt)) },
    };
    let origin = EventOrigin { topic, partition: message.partition, offset: message.offset };
    let event = match message.err {
        NO_ERROR => {
            let mut kind = rdsys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
            // SAFETY: the message is alive and `kind` is ours.
            let timestamp = unsafe { rdsys::rd_kafka_message_timestamp(message, &mut kind) };
            // SAFETY: the message has where its key and payload lie and how long they are.
            let (key, value) = unsafe {
                (bytes(message.key, message.key_len), bytes(message.payload, message.len))
            };
            let (timestamp, appended) = (timestamp.max(0), kind == APPENDED);
            QueueEvent::Record { timestamp, appended, key, value, headers: Headers(message) }
        }
        rdsys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__PARTITION_EOF => QueueEvent::End,
        error => QueueEvent::Trouble(error.into()),
    };
    (origin, event)
}

/// The bytes at a place; `None` for a null.
///
/// # Safety
/// A place that is not null holds `length` bytes that live as long as `'a`.
unsafe fn bytes<'a>(place: *const std::ffi::c_void, length: usize) -> Option<&'a [u8]> {
    if place.is_null() {
        return None;
    }
    // SAFETY: what the caller guarantees, as stated above.
    Some(unsafe { std::slice::from_raw_parts(place.cast(), length) })
}
