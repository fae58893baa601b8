//! Foreign topics as intake reads them, and its voice: what is said and the offsets of what it was
//! made of are one transaction.

use super::conf::{KafkaConf, Role};
use super::extent;
use super::queue::{Client, Event, Origin, Queue};
use super::reader::open;
use super::remedy::refusal;
use super::speaker::Mouth;
use crate::core::unit::Millis;
use crate::drive::intake::Words;
use crate::drive::port::LogError;
use rdkafka::consumer::Consumer;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::BaseRecord;
use rdkafka::{Offset, TopicPartitionList};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often it is looked whether the topics have changed, and how long one answer may take.
const COUNT: Duration = Duration::from_secs(10);
const COUNT_WAIT: Duration = Duration::from_secs(1);

/// A foreign message, borrowed from the client.
pub struct ForeignRecord<'a> {
    /// Number of its topic, in the order in which the topics were given.
    pub source: usize,
    /// Partition.
    pub partition: u32,
    /// Offset.
    pub offset: u64,
    /// The broker's stamp; ms since 1970.
    pub appended_at: Millis,
    /// Key.
    pub key: Option<&'a [u8]>,
    /// Value.
    pub value: Option<&'a [u8]>,
    /// What stood before it in its partition was gone before we read it.
    pub is_first_left: bool,
}

/// What a person should know of where the reading begins.
#[derive(Debug, Default)]
pub struct Begun {
    /// One sentence for each partition that does not reach back.
    pub notes: Vec<String>,
    /// Whether one of them holds nothing at all any more.
    pub is_all_gone: bool,
}

/// Where the reading of a partition begins.
struct Beginning {
    at: u64,
    /// Why not where it should: what was before is gone.
    gap: Option<String>,
    is_empty: bool,
}

/// The only one to read these topics for its group, and to speak of them: whoever did before is
/// fenced.
pub struct KafkaIntake {
    conf: KafkaConf,
    mouth: Mouth,
    client: Arc<Client>,
    queue: Queue,
    sources: Vec<Source>,
    /// What is not said yet to have been read.
    moved: BTreeMap<(usize, i32), u64>,
    lost: Option<LogError>,
    /// When the topics were last asked for by name.
    counted: Instant,
}

struct Source {
    text: String,
    name: CString,
    /// By partition, the next offset.
    next: BTreeMap<i32, u64>,
    /// Partitions of which the first message that is left did not come yet.
    gaps: BTreeSet<i32>,
}

impl KafkaIntake {
    /// Takes the place of whoever did this before. `conf` names the topics that are spoken on.
    ///
    /// Nothing is read yet: what was said must be read back first.
    pub fn lead(conf: &KafkaConf) -> Result<KafkaIntake, LogError> {
        let mouth = Mouth::lead(conf)?;
        let client = open(conf, Role::Reader)?;
        let queue = Queue::new(&client);
        Ok(KafkaIntake {
            conf: conf.clone(),
            mouth,
            client,
            queue,
            sources: Vec::new(),
            moved: BTreeMap::new(),
            lost: None,
            counted: Instant::now(),
        })
    }

    /// Begins to read topics where what was said ends, at their beginning if nothing was. With
    /// `skip_lost` a partition that no longer holds that place is read from where it begins.
    pub fn read(&mut self, topics: &[&str], skip_lost: bool) -> Result<Begun, LogError> {
        let wait = self.conf.patience;
        let mut assigned = TopicPartitionList::new();
        let mut begun = Begun::default();
        for topic in topics {
            let name = CString::new(*topic)
                .map_err(|_| LogError::Stop(format!("{topic:?} cannot be the name of a topic")))?;
            let count = extent::partitions(&self.client, topic, wait)
                .map_err(|error| missing(topic, error))?;
            let (mut next, mut gaps) = (BTreeMap::new(), BTreeSet::new());
            for partition in 0..count as i32 {
                let Beginning { at, gap, is_empty } = self.begin(topic, partition, skip_lost)?;
                if let Some(note) = gap {
                    begun.notes.push(note);
                    gaps.insert(partition);
                    if is_empty {
                        // Told of once: with the next words it counts as read up to there.
                        begun.is_all_gone = true;
                        gaps.remove(&partition);
                        self.moved.insert((self.sources.len(), partition), at);
                    }
                }
                self.queue.forward(&name, partition);
                let offset = Offset::Offset(i64::try_from(at).unwrap_or(i64::MAX));
                let added = assigned.add_partition_offset(topic, partition, offset);
                added.map_err(|error| LogError::Stop(format!("{topic}[{partition}]: {error}")))?;
                next.insert(partition, at);
            }
            self.sources.push(Source { text: (*topic).to_owned(), name, next, gaps });
        }
        let done = self.client.assign(&assigned);
        done.map_err(|error| extent::trouble(&self.client, &error))?;
        Ok(begun)
    }

    /// Where the reading of a partition goes on.
    fn begin(&self, topic: &str, partition: i32, skip_lost: bool) -> Result<Beginning, LogError> {
        let wait = self.conf.patience;
        let asked = |error| extent::trouble(&self.client, &error);
        let mut place = TopicPartitionList::new();
        place.add_partition(topic, partition);
        let said = self.client.committed_offsets(place, wait).map_err(|error| {
            let trouble = asked(error);
            // The broker tells the client, which goes on asking until the question times out.
            let group = RDKafkaErrorCode::GroupAuthorizationFailed;
            let what = format!("Read of group {}", self.conf.transactional_id);
            let is_refused = self.client.context().is_group_refused();
            is_refused.then(|| refusal(group, &what)).flatten().unwrap_or(trouble)
        })?;
        let said = said.find_partition(topic, partition).map(|it| it.offset());
        let (first, end) = self.client.fetch_watermarks(topic, partition, wait).map_err(asked)?;
        let (first, end) = (first.max(0) as u64, end.max(0) as u64);
        let place = format!("{topic}[{partition}]");
        let begins = |at, gap| Beginning { at, gap, is_empty: first == end };
        match said {
            Some(Offset::Offset(said)) => {
                let said = said.max(0) as u64;
                if (first..=end).contains(&said) {
                    return Ok(begins(said, None));
                }
                let lost = format!(
                    "{place} begins at {first} and ends at {end}, and was read up to {said}"
                );
                if skip_lost {
                    return Ok(begins(first, Some(format!("{lost}: reading goes on at {first}"))));
                }
                Err(LogError::Stop(format!(
                    "{lost}: messages between are lost to us; bring them in by `yardmaster import \
                     jobs`, keep the topic longer, and start with --skip-lost"
                )))
            }
            _ if first > 0 => {
                let note = format!(
                    "{place} begins at {first}: what is older is known by `yardmaster import jobs` alone"
                );
                Ok(begins(first, Some(note)))
            }
            _ => Ok(begins(first, None)),
        }
    }

    /// Hands over what there is, at most `max` messages, waiting at most `wait` for the first.
    pub fn take(
        &mut self,
        max: usize,
        wait: Duration,
        each: &mut dyn FnMut(ForeignRecord<'_>),
    ) -> Result<usize, LogError> {
        // The client's own events come this way; a record never does.
        let _ = self.client.poll(Duration::ZERO);
        self.count()?;
        let (sources, moved, lost) = (&mut self.sources, &mut self.moved, &mut self.lost);
        let mut count = 0;
        self.queue.take(max, wait, &mut |origin, event| {
            let Some(source) = number(sources, origin.topic) else { return };
            let Origin { partition, offset, .. } = *origin;
            let Some(next) = sources[source].next.get_mut(&partition) else { return };
            let offset = u64::try_from(offset).unwrap_or(0);
            match event {
                Event::Record { timestamp, key, value, .. } if offset >= *next => {
                    *next = offset + 1;
                    moved.insert((source, partition), *next);
                    count += 1;
                    let appended_at = timestamp;
                    each(ForeignRecord {
                        source,
                        partition: partition as u32,
                        offset,
                        appended_at,
                        key,
                        value,
                        is_first_left: sources[source].gaps.remove(&partition),
                    });
                }
                Event::Record { .. } | Event::End => {}
                Event::Trouble(code) => {
                    if lost.is_none() {
                        *lost = trouble(code, &sources[source].text, partition);
                    }
                }
            }
        });
        match self.lost.take() {
            Some(error) => Err(error),
            None => Ok(count),
        }
    }

    /// Looks now and then whether the topics are there, and as many partitions as are read.
    fn count(&mut self) -> Result<(), LogError> {
        if self.counted.elapsed() < COUNT {
            return Ok(());
        }
        self.counted = Instant::now();
        for Source { text, next, .. } in &self.sources {
            match extent::partitions(&self.client, text, COUNT_WAIT) {
                Ok(found) if found > next.len() => {
                    let known = next.len();
                    // A new life reads the new ones from their beginning.
                    return Err(LogError::Aborted(format!(
                        "topic {text} has {found} partitions, {known} are read"
                    )));
                }
                Err(error @ LogError::Stop(_)) => return Err(missing(text, error)),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Says words, and that everything taken was taken: all or nothing. Waits for it.
    pub fn say(&mut self, words: &Words) -> Result<(), LogError> {
        if words.is_empty() && self.moved.is_empty() {
            return Ok(());
        }
        let mut next = TopicPartitionList::new();
        for ((source, partition), offset) in &self.moved {
            let offset = Offset::Offset(i64::try_from(*offset).unwrap_or(i64::MAX));
            let name = &self.sources[*source].text;
            let added = next.add_partition_offset(name, *partition, offset);
            added.map_err(|error| LogError::Stop(format!("{name}[{partition}]: {error}")))?;
        }
        let reader = self.client.group_metadata();
        let reader = reader.ok_or_else(|| LogError::Stop("the client has no group".to_owned()))?;
        let conf = &self.conf;
        let send = |mouth: &Mouth| {
            for word in words.iter() {
                let topic = word.topic.name();
                let name = conf.name(word.topic).ok_or_else(|| {
                    LogError::Stop(format!("no topic for {topic}: name it in the topology"))
                })?;
                let mut record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(name);
                record = record.key(word.key).payload(word.value);
                if !word.headers.is_empty() {
                    let headers = word.headers.iter().fold(OwnedHeaders::new(), |all, it| {
                        all.insert(Header { key: it.0, value: Some(&it.1) })
                    });
                    record = record.headers(headers);
                }
                mouth.hand_over(record, &topic)?;
            }
            Ok(())
        };
        let offsets = (!self.moved.is_empty()).then_some((&next, &reader));
        self.mouth.transact(send, offsets)?;
        self.moved.clear();
        Ok(())
    }
}

fn number(sources: &[Source], topic: &CStr) -> Option<usize> {
    sources.iter().position(|source| source.name.as_c_str() == topic)
}

/// What an error of a partition means; `None`: it may mend itself.
fn trouble(code: RDKafkaErrorCode, topic: &str, partition: i32) -> Option<LogError> {
    use RDKafkaErrorCode::{AutoOffsetReset, OffsetOutOfRange};
    if let AutoOffsetReset | OffsetOutOfRange = code {
        // A new start finds out where the partition begins, and says it with the remedy.
        let why = format!("{topic}[{partition}] no longer holds what is to be read next");
        return Some(LogError::Aborted(why));
    }
    refusal(code, &format!("topic {topic}"))
}

/// A topic of somebody else's is not ours to make.
fn missing(topic: &str, error: LogError) -> LogError {
    match error {
        LogError::Stop(why) => LogError::Stop(format!(
            "intake source {topic:?}: {why}; or mend its name in [[intake.source]] of the topology"
        )),
        other => other,
    }
}
