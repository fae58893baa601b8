//! How far lanes reach: partitions, first offsets, last stable offsets, high watermarks.

use super::conf::KafkaConf;
use super::queue::Client;
use crate::core::cut::Lane;
use crate::drive::port::{LaneSpan, LogError};
use rdkafka::Offset;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use std::collections::BTreeMap;
use std::time::Duration;

/// Every lane of every topic, with the topic's name on the bus.
pub(super) fn lanes(conf: &KafkaConf, client: &Client) -> Result<Vec<(Lane, String)>, LogError> {
    let mut lanes = Vec::new();
    for map in &conf.topics {
        let metadata = client.fetch_metadata(Some(&map.name), conf.patience);
        let metadata = metadata.map_err(|error| trouble(client, &error))?;
        let topic = metadata.topics().iter().find(|topic| topic.name() == map.name);
        let count = match topic.map(|topic| (topic.error(), topic.partitions().len())) {
            Some((None, count)) if count > 0 => count,
            Some((Some(error), _)) => return Err(topic_trouble(&map.name, error.into())),
            Some((None, _)) | None => return Err(missing(&map.name)),
        };
        let lane = |partition| (Lane::new(map.topic, partition as u32), map.name.clone());
        lanes.extend((0..count).map(lane));
    }
    Ok(lanes)
}

/// The extents of lanes. `reader` reads what is committed, `looker` everything.
pub(super) fn spans(
    conf: &KafkaConf,
    reader: &Client,
    looker: &Client,
    lanes: &[(Lane, String)],
) -> Result<Vec<LaneSpan>, LogError> {
    let ask = |client: &Client, place| {
        offsets(client, lanes, place, conf.patience).map_err(|error| trouble(client, &error))
    };
    let first = ask(reader, Offset::Beginning)?;
    // The stable ends are asked for first: what is committed in between is below both ends.
    let stable = ask(reader, Offset::End)?;
    let end = ask(looker, Offset::End)?;
    let mut spans = Vec::new();
    for (lane, name) in lanes {
        let find = |answers: &BTreeMap<Lane, u64>| {
            let text = || format!("{name}[{}] has no leader now", lane.partition);
            answers.get(lane).copied().ok_or_else(|| LogError::Unreachable(text()))
        };
        let (first, stable_end, end) = (find(&first)?, find(&stable)?, find(&end)?);
        spans.push(LaneSpan { lane: *lane, first, stable_end, end: end.max(stable_end) });
    }
    Ok(spans)
}

/// The last stable offsets of those lanes that answer. An error when none can be asked.
pub(super) fn stable_ends(
    client: &Client,
    lanes: &[(Lane, String)],
    wait: Duration,
) -> Result<BTreeMap<Lane, u64>, KafkaError> {
    offsets(client, lanes, Offset::End, wait)
}

/// The offsets at the beginning or the end of lanes, as the client's isolation level has them.
/// All are asked at once: a "time" of -1 or -2 stands for the end or the beginning.
fn offsets(
    client: &Client,
    lanes: &[(Lane, String)],
    place: Offset,
    wait: Duration,
) -> Result<BTreeMap<Lane, u64>, KafkaError> {
    if lanes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut asked = TopicPartitionList::with_capacity(lanes.len());
    for (lane, name) in lanes {
        asked.add_partition_offset(name, lane.partition as i32, place)?;
    }
    let answered = client.offsets_for_times(asked, wait)?;
    let mut offsets = BTreeMap::new();
    for (lane, name) in lanes {
        let element = answered.find_partition(name, lane.partition as i32);
        if let Some(element) = element.filter(|element| element.error().is_ok())
            && let Offset::Offset(offset) = element.offset()
        {
            offsets.insert(*lane, u64::try_from(offset).unwrap_or(0));
        }
    }
    Ok(offsets)
}

/// What a failed question means.
pub(super) fn trouble(client: &Client, error: &KafkaError) -> LogError {
    use RDKafkaErrorCode::{
        Authentication, ClusterAuthorizationFailed, GroupAuthorizationFailed, SSL,
        SaslAuthenticationFailed,
    };
    match error.rdkafka_error_code() {
        Some(
            code @ (Authentication
            | SaslAuthenticationFailed
            | ClusterAuthorizationFailed
            | GroupAuthorizationFailed
            | SSL),
        ) => {
            LogError::Stop(format!("the broker refuses us: {code}; look at the security settings"))
        }
        _ => LogError::Unreachable(format!("{error} ({})", client.context().last())),
    }
}

/// What is wrong with a topic.
fn topic_trouble(name: &str, code: RDKafkaErrorCode) -> LogError {
    match code {
        RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic => missing(name),
        RDKafkaErrorCode::TopicAuthorizationFailed => forbidden(name),
        RDKafkaErrorCode::InvalidTopic => {
            LogError::Stop(format!("{name:?} cannot be the name of a topic; mend the topology"))
        }
        other => LogError::Unreachable(format!("topic {name}: {other}")),
    }
}

pub(super) fn missing(name: &str) -> LogError {
    LogError::Stop(format!(
        "the broker has no topic {name}: make it with `yardmaster topology apply`"
    ))
}

pub(super) fn forbidden(name: &str) -> LogError {
    LogError::Stop(format!("we may not read topic {name}: give this user the right to Read it"))
}
