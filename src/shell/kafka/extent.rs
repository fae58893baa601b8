//! How far lanes reach: partitions, first offsets, last stable offsets, high watermarks.

use super::conf::KafkaConf;
use super::queue::Client;
use super::remedy::{refusal, turned_away};
use super::renewed::Renewed;
use super::topics::{self, Described};
use rdkafka::Offset;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use yardmaster_core::cut::Lane;
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::{LaneSpan, LogError};

/// How long a topic must be denied that is asked for at a start.
pub(super) const DENIAL: Duration = Duration::from_secs(2);
/// Between two questions for a topic that was denied.
const ASK_AGAIN: Duration = Duration::from_millis(200);

/// How many of a client's events are read when something failed: the newest matter, and a client
/// that is refused reports it every second or so.
const REPORTED_MAX: usize = 64;

/// Every lane of every topic, with the topic's name on the bus.
pub(super) fn lanes(
    conf: &KafkaConf,
    client: &Renewed<Client>,
) -> Result<Vec<(Lane, String)>, LogError> {
    let names: Vec<&str> = conf.topics.iter().map(|map| map.name.as_str()).collect();
    let found = patiently(conf.persistence, || {
        client.ask(|client| described(client, &names, conf.patience, DENIAL))
    })?;
    let mut lanes = Vec::new();
    for map in &conf.topics {
        let count = found.get(&map.name).ok_or_else(|| missing(&map.name))?.partitions;
        let lane = |partition| (Lane::new(map.topic, partition as u32), map.name.clone());
        lanes.extend((0..count).map(lane));
    }
    Ok(lanes)
}

/// Lanes whose partition has no leader now. While there is one, a question about all lanes gets no
/// answer at all.
pub(super) fn leaderless(
    client: &Client,
    lanes: &[(Lane, String)],
    wait: Duration,
) -> Result<BTreeSet<Lane>, KafkaError> {
    let mut found = BTreeSet::new();
    let names: BTreeSet<&String> = lanes.iter().map(|(_, name)| name).collect();
    for name in names {
        let metadata = client.fetch_metadata(Some(name), wait)?;
        let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == name) else {
            continue;
        };
        let without: BTreeSet<i32> =
            topic.partitions().iter().filter(|it| it.leader() < 0).map(|it| it.id()).collect();
        let is_without = |lane: &Lane| without.contains(&(lane.partition as i32));
        let of_topic = lanes.iter().filter(|(_, other)| other == name).map(|(lane, _)| *lane);
        found.extend(of_topic.filter(is_without));
    }
    Ok(found)
}

/// A topic with at least one partition; `None` when it is not there. A broker that starts may not
/// know its topics yet, so it has to deny one for `denial`, each time it is asked.
pub(super) fn topic(
    client: &Client,
    name: &str,
    wait: Duration,
    denial: Duration,
) -> Result<Option<Described>, LogError> {
    let mut found = described(client, &[name], wait, denial)?;
    Ok(found.remove(name))
}

/// The same of many topics at once; one that is not there is left out.
pub(super) fn described(
    client: &Client,
    names: &[&str],
    wait: Duration,
    denial: Duration,
) -> Result<BTreeMap<String, Described>, LogError> {
    let start = Instant::now();
    loop {
        let found = topics::describe(client.client(), names, wait);
        let found = there(found.map_err(|error| trouble(client, &error))?)?;
        if found.len() >= names.len() || start.elapsed() >= denial {
            return Ok(found);
        }
        std::thread::sleep(ASK_AGAIN);
    }
}

/// Those topics that are there.
fn there(found: topics::TopicAnswers) -> Result<BTreeMap<String, Described>, LogError> {
    use RDKafkaErrorCode::{UnknownTopic, UnknownTopicOrPartition};
    let mut there = BTreeMap::new();
    for (name, answer) in found {
        match answer {
            Ok(Described { partitions: 0, .. }) | Err(UnknownTopic | UnknownTopicOrPartition) => {}
            Ok(topic) => drop(there.insert(name, topic)),
            Err(code) => {
                let what = format!("Read or Write of topic {name}");
                let error = LogError::Unreachable(format!("{what}: {code}"));
                return Err(refusal(code, &what).unwrap_or(error));
            }
        }
    }
    Ok(there)
}

/// Asks what a broker cannot answer at once that is slow, has just made a topic, moves a partition
/// or starts: until it answers or `persistence` is over. A wait of seconds is logged.
pub(super) fn patiently<T>(
    persistence: Duration,
    mut ask: impl FnMut() -> Result<T, LogError>,
) -> Result<T, LogError> {
    let start = Instant::now();
    let mut warned = false;
    loop {
        match ask() {
            Err(LogError::Unreachable(why)) if start.elapsed() < persistence => {
                if !warned && start.elapsed() >= DENIAL {
                    let left = persistence.saturating_sub(start.elapsed()).as_secs();
                    tracing::warn!("the broker is asked again for {left} s: {why}");
                    warned = true;
                }
                std::thread::sleep(ASK_AGAIN);
            }
            answer => return answer,
        }
    }
}

/// The extents of lanes. `reader` reads what is committed, `looker` everything. A partition whose
/// leader is not known yet is asked for again.
pub(super) fn spans(
    conf: &KafkaConf,
    reader: &Renewed<Client>,
    looker: &Renewed<Client>,
    lanes: &[(Lane, String)],
) -> Result<Vec<LaneSpan>, LogError> {
    patiently(conf.persistence, || spans_now(conf, reader, looker, lanes))
}

fn spans_now(
    conf: &KafkaConf,
    reader: &Renewed<Client>,
    looker: &Renewed<Client>,
    lanes: &[(Lane, String)],
) -> Result<Vec<LaneSpan>, LogError> {
    let ask = |client: &Renewed<Client>, offset| asked(conf, client, lanes, offset);
    let first = ask(reader, Offset::Beginning)?;
    // The stable ends are asked for first: what is committed in between is below both ends.
    let stable = ask(reader, Offset::End)?;
    let end = ask(looker, Offset::End)?;
    let mut spans = Vec::new();
    for (lane, name) in lanes {
        let find = |answers| answered(answers, *lane, name);
        let (first, stable_end, end) = (find(&first)?, find(&stable)?, find(&end)?);
        spans.push(LaneSpan { lane: *lane, first, stable_end, end: end.max(stable_end) });
    }
    Ok(spans)
}

/// Of each lane the first offset of a record stamped at or after a moment, its stable end if there
/// is none.
pub(super) fn since(
    conf: &KafkaConf,
    client: &Renewed<Client>,
    lanes: &[(Lane, String)],
    at: Millis,
) -> Result<Vec<(Lane, u64)>, LogError> {
    patiently(conf.persistence, || since_now(conf, client, lanes, at))
}

fn since_now(
    conf: &KafkaConf,
    client: &Renewed<Client>,
    lanes: &[(Lane, String)],
    at: Millis,
) -> Result<Vec<(Lane, u64)>, LogError> {
    let ask = |offset| asked(conf, client, lanes, offset);
    let (found, ends) = (ask(Offset::Offset(at.max(0)))?, ask(Offset::End)?);
    let mut since = Vec::new();
    for (lane, name) in lanes {
        // Where no record is so new there is an end in place of an offset.
        let offset = match found.get(lane) {
            Some(Ok(offset)) => *offset,
            Some(Err(RDKafkaErrorCode::LeaderNotAvailable)) => answered(&ends, *lane, name)?,
            Some(Err(_)) | None => answered(&found, *lane, name)?,
        };
        since.push((*lane, offset));
    }
    Ok(since)
}

/// The last stable offsets of those lanes that answer. An error when none can be asked.
pub(super) fn stable_ends(
    client: &Client,
    lanes: &[(Lane, String)],
    wait: Duration,
) -> Result<BTreeMap<Lane, u64>, KafkaError> {
    let answers = offsets(client, lanes, Offset::End, wait)?;
    Ok(answers.into_iter().filter_map(|(lane, answer)| Some((lane, answer.ok()?))).collect())
}

fn asked(
    conf: &KafkaConf,
    client: &Renewed<Client>,
    lanes: &[(Lane, String)],
    offset: Offset,
) -> Result<Answers, LogError> {
    client.ask(|client| {
        offsets(client, lanes, offset, conf.patience).map_err(|error| trouble(client, &error))
    })
}

/// Answer for each lane.
type Answers = BTreeMap<Lane, Result<u64, RDKafkaErrorCode>>;

/// The offsets at the beginning or the end of lanes, as the client's isolation level has them.
/// All are asked at once: a "time" of -1 or -2 stands for the end or the beginning.
fn offsets(
    client: &Client,
    lanes: &[(Lane, String)],
    offset: Offset,
    wait: Duration,
) -> Result<Answers, KafkaError> {
    let asked = lanes.iter().map(|(lane, name)| (*lane, name.as_str(), lane.partition as i32));
    partition_offsets(client, asked.collect(), offset, wait)
}

/// The same of partitions by any key: each with the name of its topic and its number.
pub(super) fn partition_offsets<'n, K: Ord>(
    client: &Client,
    partitions: Vec<(K, &'n str, i32)>,
    offset: Offset,
    wait: Duration,
) -> Result<BTreeMap<K, Result<u64, RDKafkaErrorCode>>, KafkaError> {
    if partitions.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut asked = TopicPartitionList::with_capacity(partitions.len());
    for (_, name, number) in &partitions {
        asked.add_partition_offset(name, *number, offset)?;
    }
    let answered = client.offsets_for_times(asked, wait)?;
    let answer = |(key, name, number): (K, &'n str, i32)| {
        let element = answered.find_partition(name, number)?;
        let answer = match (element.error(), element.offset()) {
            (Ok(()), Offset::Offset(offset)) => Ok(u64::try_from(offset).unwrap_or(0)),
            (Ok(()), _) => Err(RDKafkaErrorCode::LeaderNotAvailable),
            (Err(error), _) => Err(error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Unknown)),
        };
        Some((key, name, answer))
    };
    let answers: Vec<_> = partitions.into_iter().filter_map(answer).collect();
    // The client's list of partitions may be older than the last one, and stays so for minutes: it
    // is asked for again, for the next question. Whether it came shows in the answer to that.
    let is_unknown = |answer: &Result<u64, _>| *answer == Err(RDKafkaErrorCode::UnknownPartition);
    let unknown = answers.iter().filter(|(_, _, answer)| is_unknown(answer));
    for name in unknown.map(|(_, name, _)| *name).collect::<BTreeSet<&str>>() {
        let _ = client.fetch_metadata(Some(name), wait);
    }
    Ok(answers.into_iter().map(|(key, _, answer)| (key, answer)).collect())
}

/// How far a lane reaches, from what was answered.
fn answered(answers: &Answers, lane: Lane, name: &str) -> Result<u64, LogError> {
    let code = match answers.get(&lane) {
        Some(Ok(offset)) => return Ok(*offset),
        Some(Err(code)) => *code,
        None => RDKafkaErrorCode::LeaderNotAvailable,
    };
    let what = format!("Read of topic {name}[{}]", lane.partition);
    Err(refusal(code, &what).unwrap_or(LogError::Unreachable(format!("{what}: {code}"))))
}

/// Error of a failed question.
pub(super) fn trouble(client: &Client, error: &KafkaError) -> LogError {
    // What the client has to report waits until it is polled; a record never comes this way.
    for _ in 0..REPORTED_MAX {
        let _ = client.poll(Duration::ZERO);
    }
    let refused = error.rdkafka_error_code().and_then(|code| refusal(code, "us"));
    let refused = refused.or_else(|| client.context().refused().map(turned_away));
    let last = client.context().last();
    match refused {
        Some(LogError::Stop(why)) => LogError::Stop(format!("{why} ({last})")),
        _ => {
            let cause = client.context().cause();
            LogError::Unreachable(cause.unwrap_or_else(|| format!("{error} ({last})")))
        }
    }
}

pub(super) fn missing(name: &str) -> LogError {
    LogError::Stop(format!(
        "the broker has no topic {name}: make it with `yardmaster topology apply`, or give the \
         --topology of the log that is there"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_is_denied_is_left_out_and_a_refusal_is_named() {
        use RDKafkaErrorCode::{TopicAuthorizationFailed, UnknownTopicOrPartition};
        let of = |partitions| Ok(Described { id: None, partitions });
        let all = |last| {
            [("a", of(3)), ("b", Err(UnknownTopicOrPartition)), ("c", of(0)), ("d", last)]
                .map(|(name, answer)| (name.to_owned(), answer))
                .into()
        };
        let found = there(all(of(1))).unwrap();
        let found: Vec<_> = found.iter().map(|(name, it)| (&name[..], it.partitions)).collect();
        assert_eq!(found, [("a", 3), ("d", 1)]);
        let refused = there(all(Err(TopicAuthorizationFailed)));
        let Err(LogError::Stop(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("topic d"), "{why}");
        let passing = there(all(Err(RDKafkaErrorCode::LeaderNotAvailable)));
        assert!(matches!(passing, Err(LogError::Unreachable(_))), "{passing:?}");
    }

    #[test]
    fn what_a_broker_cannot_answer_at_once_is_asked_again_and_a_refusal_is_not() {
        let minute = Duration::from_secs(60);
        let mut left = 2;
        let answer = patiently(minute, || {
            left -= 1;
            if left > 0 { Err(LogError::Unreachable("no leader".into())) } else { Ok(7) }
        });
        assert_eq!((answer.unwrap(), left), (7, 0));
        let mut asked = 0;
        let refused = patiently(minute, || {
            asked += 1;
            Err::<(), _>(LogError::Stop("no right".into()))
        });
        assert!(refused.is_err() && asked == 1, "{asked}");
        let over = patiently(Duration::ZERO, || Err::<(), _>(LogError::Unreachable("no".into())));
        assert!(matches!(over, Err(LogError::Unreachable(_))));
    }
}
