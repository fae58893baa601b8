//! Foreign topics as intake reads them, and its producer: what is published and the offsets of what
//! it was made of are one transaction.

mod looks;

use super::conf::{KafkaConf, Role};
use super::extent;
use super::group::{CommittedOffset, Group, metadata};
use super::held::{Held, Lane};
use super::queue::{Client, EventOrigin, Queue, QueueEvent};
use super::reader::open;
use super::remedy::refusal;
use super::stall::Stall;
use super::topics::Described;
use super::txn::TxnProducer;
use rdkafka::consumer::Consumer;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::time::{Duration, Instant};
use yardmaster_core::limits::BATCH_BYTES;
use yardmaster_core::unit::Millis;
use yardmaster_drive::intake::{Reach, Records};
use yardmaster_drive::port::LogError;

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
    /// Whether records before it in its partition were gone before we read them.
    pub is_first_left: bool,
}

/// Notices for a person on where the reading begins.
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

/// The only process that reads these topics for its group and publishes of them: the one before is
/// fenced.
pub struct KafkaIntake {
    conf: KafkaConf,
    producer: TxnProducer,
    client: Arc<Client>,
    queue: Queue,
    sources: Vec<Source>,
    /// Offsets that were read to and are not committed yet.
    moved: BTreeMap<Lane, u64>,
    /// Partitions whose committed offset stays behind what was read.
    held: Held,
    /// When the offsets of all partitions were committed; `None`: not since the start.
    committed_all: Option<Instant>,
    /// Partitions that stopped.
    stopped: BTreeSet<(usize, i32)>,
    lost: Option<LogError>,
    /// When the topics were last asked for by name, and since when no broker answers that.
    counted: Instant,
    silent: Option<Instant>,
    /// How far each partition reached then that answered.
    ends: BTreeMap<Lane, u64>,
    stall: Stall<Lane>,
}

struct Source {
    text: String,
    name: CString,
    /// The topic's id, if the broker gives one.
    id: Option<String>,
    /// By partition, the next offset.
    next: BTreeMap<i32, u64>,
    /// Partitions of which the first message that is left did not come yet.
    gaps: BTreeSet<i32>,
    /// Partitions that were read to their end.
    ended: BTreeSet<i32>,
}

impl KafkaIntake {
    /// Takes the place of the process before. `conf` names the topics that are published to.
    ///
    /// Nothing is read yet: what was published must be read back first.
    pub fn lead(conf: &KafkaConf) -> Result<KafkaIntake, LogError> {
        let producer = TxnProducer::lead(conf)?;
        let client = open(conf, Role::Reader)?;
        let queue = Queue::new(&client);
        Ok(KafkaIntake {
            conf: conf.clone(),
            producer,
            client,
            queue,
            sources: Vec::new(),
            moved: BTreeMap::new(),
            held: Held::default(),
            committed_all: None,
            stopped: BTreeSet::new(),
            lost: None,
            counted: Instant::now(),
            silent: None,
            ends: BTreeMap::new(),
            stall: Stall::new(Instant::now()),
        })
    }

    /// Begins to read topics where what was published ends, at their beginning if nothing was. With
    /// `skip_lost` a partition that no longer holds that place, or whose offset is gone, is read
    /// from where it begins. `has_published`: records that intake published were read back. Beside
    /// each topic stands whether it may come later: a connector makes it with the first row.
    pub fn read(
        &mut self,
        topics: &[(&str, bool)],
        skip_lost: bool,
        has_published: bool,
    ) -> Result<Begun, LogError> {
        let mut there = Vec::new();
        for (topic, may_come) in topics {
            let found = extent::patiently(self.conf.persistence, || {
                extent::topic(&self.client, topic, self.conf.patience, extent::DENIAL)
            })?;
            let found = match found {
                None if *may_come => Described { id: None, partitions: 0 },
                found => found.ok_or_else(|| missing(topic))?,
            };
            there.push((*topic, found));
        }
        let group = self.committed(&there, has_published)?;
        let mut assigned = TopicPartitionList::new();
        let mut begun = Begun::default();
        for (topic, Described { id, partitions }) in there {
            let name = CString::new(topic)
                .map_err(|_| LogError::Stop(format!("{topic:?} cannot be the name of a topic")))?;
            let (mut next, mut gaps) = (BTreeMap::new(), BTreeSet::new());
            for partition in 0..partitions as i32 {
                let committed = group.committed_at(topic, partition, id.as_deref());
                let Beginning { at, gap, is_empty } =
                    self.begin(topic, partition, committed, skip_lost)?;
                if let Some(note) = gap {
                    begun.notes.push(note);
                    gaps.insert(partition);
                    if is_empty {
                        // Reported once: with the next commit it counts as read up to there.
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
            let ended = BTreeSet::new();
            let text = topic.to_owned();
            self.sources.push(Source { text, name, id, next, gaps, ended });
        }
        let done = self.client.assign(&assigned);
        done.map_err(|error| extent::trouble(&self.client, &error))?;
        Ok(begun)
    }

    /// The committed offsets of topics.
    fn committed(
        &self,
        topics: &[(&str, Described)],
        has_published: bool,
    ) -> Result<Group, LogError> {
        let mut asked = TopicPartitionList::new();
        for (topic, found) in topics {
            for partition in 0..found.partitions as i32 {
                asked.add_partition(topic, partition);
            }
        }
        let answer = extent::patiently(self.conf.persistence, || {
            let answer = self.client.committed_offsets(asked.clone(), self.conf.patience);
            answer.map_err(|error| {
                let trouble = extent::trouble(&self.client, &error);
                // The broker refuses the client, which goes on asking until the question times out.
                let group = RDKafkaErrorCode::GroupAuthorizationFailed;
                let what = format!("Read of group {}", self.conf.transactional_id);
                let is_refused = self.client.context().is_group_refused();
                is_refused.then(|| refusal(group, &what)).flatten().unwrap_or(trouble)
            })
        })?;
        Ok(Group::new(&answer, has_published))
    }

    /// Where the reading of a partition goes on.
    fn begin(
        &self,
        topic: &str,
        partition: i32,
        committed: CommittedOffset,
        skip_lost: bool,
    ) -> Result<Beginning, LogError> {
        let (first, end) = extent::patiently(self.conf.persistence, || {
            let marks = self.client.fetch_watermarks(topic, partition, self.conf.patience);
            marks.map_err(|error| extent::trouble(&self.client, &error))
        })?;
        let (first, end) = (first.max(0) as u64, end.max(0) as u64);
        let lane = format!("{topic}[{partition}]");
        let begins = |at, gap| Beginning { at, gap, is_empty: first == end };
        match committed {
            CommittedOffset::Elsewhere(id) => {
                let lost =
                    format!("the offset of {lane} is that of another topic, whose id was {id}");
                if skip_lost {
                    return Ok(begins(first, Some(format!("{lost}: reading begins at {first}"))));
                }
                Err(LogError::Stop(format!(
                    "{lost}: {topic} was deleted and created again. What we did not read of it is \
                     lost to us; bring it in by `yardmaster import jobs`, and start with \
                     --skip-lost, which reads the new topic from its beginning"
                )))
            }
            CommittedOffset::At(position) => {
                if (first..=end).contains(&position) {
                    return Ok(begins(position, None));
                }
                let lost = format!(
                    "{lane} begins at {first} and ends at {end}, and was read up to {position}"
                );
                if skip_lost {
                    return Ok(begins(first, Some(format!("{lost}: reading goes on at {first}"))));
                }
                Err(LogError::Stop(format!(
                    "{lost}: messages between are lost to us; bring them in by `yardmaster import \
                     jobs`, keep the topic longer, and start with --skip-lost"
                )))
            }
            // A partition that never held anything has lost nothing.
            CommittedOffset::Lost if end > 0 && !skip_lost => Err(LogError::Stop(format!(
                "{lane} was read before, and the offset of group {} is gone: the broker forgets \
                 offsets that are not committed for offsets.retention.minutes, and those of a \
                 topic that was deleted and created again. Start `yardmaster intake` with \
                 --skip-lost: it reads again what the topic holds, {first} to {end}; bring in what \
                 is older by `yardmaster import jobs`",
                self.conf.transactional_id
            ))),
            CommittedOffset::Lost | CommittedOffset::Never if first > 0 => {
                let note = format!(
                    "{lane} begins at {first}: what is older is known by `yardmaster import jobs` alone"
                );
                Ok(begins(first, Some(note)))
            }
            CommittedOffset::Lost | CommittedOffset::Never => Ok(begins(first, None)),
        }
    }

    /// Gives what there is, at most `max` messages and not many more once they have as many
    /// bytes as a batch takes, waiting at most `wait` for the first.
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
        let stopped = &self.stopped;
        let (mut count, mut bytes) = (0, 0);
        let taken = self.queue.take(max, wait, &mut |origin, event| {
            let Some(source) = number(sources, origin.topic) else { return true };
            let EventOrigin { partition, offset, .. } = *origin;
            let Some(next) = sources[source].next.get_mut(&partition) else { return true };
            let offset = u64::try_from(offset).unwrap_or(0);
            match event {
                // Fetched before it stopped: it comes again.
                QueueEvent::Record { .. } | QueueEvent::End
                    if stopped.contains(&(source, partition)) => {}
                QueueEvent::Record { timestamp, key, value, .. } if offset >= *next => {
                    *next = offset + 1;
                    sources[source].ended.remove(&partition);
                    let next = offset + 1;
                    moved.insert((source, partition), next);
                    count += 1;
                    bytes += key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len);
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
                QueueEvent::Record { .. } => {}
                QueueEvent::End => {
                    // What nobody is shown may lie between: records of a transaction, say.
                    *next = offset.max(*next);
                    sources[source].ended.insert(partition);
                }
                QueueEvent::Trouble(code) => {
                    if lost.is_none() {
                        *lost = trouble(code, &sources[source].text, partition);
                    }
                }
            }
            bytes < BATCH_BYTES
        });
        if let Some(error) = self.lost.take() {
            return Err(error);
        }
        self.check(taken)?;
        Ok(count)
    }

    /// Stops a partition: its next message, when it goes on, is that of `offset`.
    pub fn stop_at(&mut self, source: usize, partition: u32, offset: u64) -> Result<(), LogError> {
        let number = partition as i32;
        let Some(it) = self.sources.get_mut(source) else { return Ok(()) };
        it.next.insert(number, offset);
        it.ended.remove(&number);
        self.moved.insert((source, number), offset);
        self.stopped.insert((source, number));
        let mut list = TopicPartitionList::new();
        list.add_partition(&it.text, number);
        self.client.pause(&list).map_err(|error| extent::trouble(&self.client, &error))
    }

    /// Lets a partition that stopped go on.
    pub fn go_on(&mut self, source: usize, partition: u32) -> Result<(), LogError> {
        let number = partition as i32;
        let Some(it) = self.sources.get(source) else { return Ok(()) };
        let Some(next) = it.next.get(&number) else { return Ok(()) };
        let offset = Offset::Offset(i64::try_from(*next).unwrap_or(i64::MAX));
        let mut list = TopicPartitionList::new();
        let added = list.add_partition_offset(&it.text, number, offset);
        added.map_err(|error| LogError::Stop(format!("{}[{number}]: {error}", it.text)))?;
        let resumed = self.client.resume(&list);
        // What was fetched while it was paused was dropped, so it is given where to go on.
        let done = resumed
            .and_then(|()| self.client.seek_partitions(list, self.conf.patience).map(|_| ()));
        done.map_err(|error| extent::trouble(&self.client, &error))?;
        self.stopped.remove(&(source, number));
        Ok(())
    }

    /// Notes the places of all partitions as to be committed, but for those of which the first
    /// message that is left did not come yet: their gap is published with it.
    fn note_all(&mut self) {
        for (number, source) in self.sources.iter().enumerate() {
            let read = source.next.iter().filter(|(it, _)| !source.gaps.contains(it));
            self.moved.extend(read.map(|(partition, next)| ((number, *partition), *next)));
        }
    }

    /// Topics that are not there yet. Once one is, the next call to take messages fails, and
    /// another life reads it.
    pub fn absent(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().filter(|it| it.next.is_empty()).map(|it| it.text.as_str())
    }

    /// How far each partition was read.
    pub fn reach(&self) -> Vec<Reach<'_>> {
        let of = |source| {
            let Source { text, next, ended, .. }: &Source = source;
            next.keys().map(|number| Reach {
                topic: text.as_str(),
                partition: *number as u32,
                is_at_end: ended.contains(number),
            })
        };
        self.sources.iter().flat_map(of).collect()
    }

    /// Publishes records, and commits everything read as read, but for what `held` (of a topic and
    /// a partition) gives: an offset that the committed one must not pass. All or nothing. Waits
    /// for it.
    pub fn publish(
        &mut self,
        records: &Records,
        held: &dyn Fn(&str, u32) -> Option<u64>,
    ) -> Result<(), LogError> {
        let commits_all =
            self.committed_all.is_none_or(|at| at.elapsed() >= self.conf.commit_all_after);
        if commits_all {
            self.note_all();
        }
        let sources = &self.sources;
        let read = |(source, partition): Lane| sources.get(source)?.next.get(&partition).copied();
        let hold = |(source, partition): Lane| held(&sources.get(source)?.text, partition as u32);
        let commit = self.held.commit(&self.moved, read, hold, commits_all);
        let offsets = &commit.offsets;
        if records.is_empty() && offsets.is_empty() {
            self.moved.clear();
            return Ok(());
        }
        let is_whole = |it: &&Source| it.gaps.is_empty() && !it.next.is_empty();
        let whole = self.sources.iter().filter(is_whole);
        let whole = whole.map(|it| (it.text.as_str(), it.next.len()));
        let mut next = TopicPartitionList::new();
        for ((source, partition), offset) in offsets {
            let offset = Offset::Offset(i64::try_from(*offset).unwrap_or(i64::MAX));
            let Source { text: name, id, .. } = &self.sources[*source];
            let added = next.add_partition_offset(name, *partition, offset);
            added.map_err(|error| LogError::Stop(format!("{name}[{partition}]: {error}")))?;
            if let Some(mut element) = next.find_partition(name, *partition) {
                element.set_metadata(metadata(id.as_deref(), whole.clone()));
            }
        }
        let reader = self.client.group_metadata();
        let reader = reader.ok_or_else(|| LogError::Stop("the client has no group".to_owned()))?;
        let send = |producer: &TxnProducer| {
            records.iter().try_for_each(|entry| producer.send_entry(&entry))
        };
        let committed = (!offsets.is_empty()).then_some((&next, &reader));
        self.producer.transact(send, committed)?;
        self.moved.clear();
        self.held.committed(commit);
        if commits_all {
            self.committed_all = Some(Instant::now());
        }
        Ok(())
    }
}

fn number(sources: &[Source], topic: &CStr) -> Option<usize> {
    sources.iter().position(|source| source.name.as_c_str() == topic)
}

/// Error that an error code of a partition stands for; `None`: it may mend itself.
fn trouble(code: RDKafkaErrorCode, topic: &str, partition: i32) -> Option<LogError> {
    use RDKafkaErrorCode::{AutoOffsetReset, OffsetOutOfRange};
    if let AutoOffsetReset | OffsetOutOfRange = code {
        // A new start finds out where the partition begins, and reports it with the remedy.
        let why = format!("{topic}[{partition}] no longer holds what is to be read next");
        return Some(LogError::Aborted(why));
    }
    refusal(code, &format!("topic {topic}"))
}

/// A foreign topic is not ours to create.
fn missing(topic: &str) -> LogError {
    LogError::Stop(format!(
        "intake source {topic:?}: the broker has no topic of this name; create it with \
         kafka-topics.sh --create --topic {topic} (`topology apply` makes sources of dialect \
         panda-cdc alone), or correct its name in [[intake.source]] of the topology"
    ))
}
