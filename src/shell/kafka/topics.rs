//! Topics as the broker has them: their ids, which the Rust interface of the client does not show,
//! and how many partitions they have.

use rdkafka::ClientContext;
use rdkafka::client::Client;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka_sys as rdsys;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::ptr::null_mut;
use std::time::Duration;

const NO_ERROR: rdsys::rd_kafka_resp_err_t = rdsys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR;

/// A topic that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Described {
    /// Another topic of the same name has another; `None` of a broker that gives none.
    pub id: Option<String>,
    pub partitions: usize,
}

/// Answer for each topic that was asked for.
pub(super) type TopicAnswers = BTreeMap<String, Result<Described, RDKafkaErrorCode>>;

/// Asks for topics by name, all at once.
pub(super) fn describe<C: ClientContext>(
    client: &Client<C>,
    names: &[&str],
    wait: Duration,
) -> Result<TopicAnswers, KafkaError> {
    if names.is_empty() {
        return Ok(TopicAnswers::new());
    }
    let texts: Vec<CString> = names.iter().filter_map(|name| CString::new(*name).ok()).collect();
    let mut asked: Vec<*const std::ffi::c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    let handle = client.native_ptr();
    let wait = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: the client and the texts outlive every call; collection, options, queue and event are
    // ours, each is destroyed once after its last use, and what is read of the event is copied
    // before.
    unsafe {
        let kind = rdsys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let options = rdsys::rd_kafka_AdminOptions_new(handle, kind);
        rdsys::rd_kafka_AdminOptions_set_request_timeout(options, wait, null_mut(), 0);
        let topics =
            rdsys::rd_kafka_TopicCollection_of_topic_names(asked.as_mut_ptr(), asked.len());
        let queue = rdsys::rd_kafka_queue_new(handle);
        rdsys::rd_kafka_DescribeTopics(handle, topics, options, queue);
        // The client answers when the time is over; this is for one that does not.
        let event = rdsys::rd_kafka_queue_poll(queue, wait.saturating_add(1_000));
        let found = match event.is_null() {
            true => Err(KafkaError::AdminOp(RDKafkaErrorCode::OperationTimedOut)),
            false => match rdsys::rd_kafka_event_error(event) {
                NO_ERROR => Ok(read(event)),
                error => Err(KafkaError::AdminOp(error.into())),
            },
        };
        if !event.is_null() {
            rdsys::rd_kafka_event_destroy(event);
        }
        rdsys::rd_kafka_queue_destroy(queue);
        rdsys::rd_kafka_TopicCollection_destroy(topics);
        rdsys::rd_kafka_AdminOptions_destroy(options);
        found
    }
}

/// The topics of an answer.
///
/// # Safety
/// The event is the answer to a question for topics, without an error, and is alive.
unsafe fn read(event: *mut rdsys::rd_kafka_event_t) -> TopicAnswers {
    let mut found = BTreeMap::new();
    // SAFETY: as the caller guarantees; everything that the client gives here lives as long as the
    // event.
    unsafe {
        let mut count = 0;
        let result = rdsys::rd_kafka_event_DescribeTopics_result(event);
        let topics = rdsys::rd_kafka_DescribeTopics_result_topics(result, &mut count);
        for at in 0..count {
            let topic = *topics.add(at);
            let name = CStr::from_ptr(rdsys::rd_kafka_TopicDescription_name(topic));
            let name = name.to_string_lossy().into_owned();
            let error = rdsys::rd_kafka_TopicDescription_error(topic);
            if !error.is_null() && rdsys::rd_kafka_error_code(error) != NO_ERROR {
                found.insert(name, Err(rdsys::rd_kafka_error_code(error).into()));
                continue;
            }
            let mut partitions = 0;
            rdsys::rd_kafka_TopicDescription_partitions(topic, &mut partitions);
            let id = rdsys::rd_kafka_TopicDescription_topic_id(topic);
            let is_zero = rdsys::rd_kafka_Uuid_most_significant_bits(id) == 0
                && rdsys::rd_kafka_Uuid_least_significant_bits(id) == 0;
            let id = (!is_zero).then(|| {
                let text = CStr::from_ptr(rdsys::rd_kafka_Uuid_base64str(id));
                text.to_string_lossy().into_owned()
            });
            found.insert(name, Ok(Described { id, partitions }));
        }
    }
    found
}
