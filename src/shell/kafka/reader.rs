//! Reads assigned lanes: what comes out of the queue, checked against where each lane stands.

use super::conf::{KafkaConf, Role, Turn};
use super::extent;
use super::health::{Probe, Width};
use super::lane::{KafkaLane, Lost};
use super::queue::{Client, Origin, Queue, high};
use super::watch::Watch;
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Cut, Lane};
use yardmaster_drive::port::{Batch, LaneSpan, LogError};

/// How often lanes at their end are compared with the high watermark when nothing comes.
const SWEEP: Duration = Duration::from_millis(10);
/// How often the group's offsets are set.
const COMMIT: Duration = Duration::from_secs(5);

/// A set of assigned lanes. Another assignment is another reader.
pub(super) struct Reader {
    queue: Queue,
    client: Arc<Client>,
    probe: Arc<Probe>,
    lanes: Lanes,
    turn: Option<Turn>,
    patience: Duration,
    unreadable_after: Duration,
    commits: bool,
    committed: Instant,
    swept: Instant,
}

/// How far the lanes of a reader reach, for other threads.
pub(super) struct Extent {
    client: Arc<Client>,
    probe: Arc<Probe>,
    lanes: Vec<(Lane, CString)>,
}

/// The lanes by name and number.
struct Lanes {
    topics: Vec<TopicLanes>,
    /// Which topic the last event came from: mostly the next one does too.
    last: usize,
}

/// The lanes of one topic.
struct TopicLanes {
    name: CString,
    text: String,
    lanes: BTreeMap<i32, KafkaLane>,
}

impl Reader {
    /// Begins to read each lane from its offset on, and to watch whether topics grow.
    pub fn start(
        conf: &KafkaConf,
        names: &[(Lane, String)],
        from: &Cut,
        widths: Vec<Width>,
    ) -> Result<Reader, LogError> {
        let client = open(conf, Role::Reader)?;
        let queue = Queue::new(&client);
        let mut lanes = Lanes { topics: Vec::new(), last: 0 };
        let mut assigned = TopicPartitionList::new();
        for (lane, name) in names {
            let Some(next) = from.next(*lane) else { continue };
            let topic = lanes.topic(name)?;
            let partition = lane.partition as i32;
            queue.forward(&topic.name, partition);
            let offset = Offset::Offset(i64::try_from(next).unwrap_or(i64::MAX));
            let added = assigned.add_partition_offset(name, partition, offset);
            added.map_err(|error| LogError::Stop(format!("{lane} at {next}: {error}")))?;
            topic.lanes.insert(partition, KafkaLane::new(*lane, next));
        }
        client.assign(&assigned).map_err(|error| extent::trouble(&client, &error))?;
        let asked = names.iter().filter(|(lane, _)| from.next(*lane).is_some());
        let probe = Probe::start(client.clone(), asked.cloned().collect(), widths).into();
        let now = Instant::now();
        Ok(Reader {
            queue,
            client,
            probe,
            lanes,
            turn: conf.turn,
            patience: conf.patience,
            unreadable_after: conf.unreadable_after,
            commits: conf.group.is_some(),
            committed: now,
            swept: now,
        })
    }

    /// How far the lanes reach.
    pub fn extent(&self) -> Extent {
        let of = |topic: &TopicLanes| -> Vec<(Lane, CString)> {
            topic.lanes.values().map(|kafka_lane| (kafka_lane.lane, topic.name.clone())).collect()
        };
        let lanes = self.lanes.topics.iter().flat_map(of).collect();
        Extent { client: self.client.clone(), probe: self.probe.clone(), lanes }
    }

    /// Takes what there is. `leads` is whether only this process can write own lanes.
    pub fn take(
        &mut self,
        batch: &mut Batch,
        max: usize,
        wait: Duration,
        leads: bool,
    ) -> Result<(), LogError> {
        // Before anything is taken: a caller that goes on after an error has lost nothing then.
        if let Some(error) = self.probe.lost() {
            return Err(error);
        }
        // The client's own events come this way; a record never does.
        let _ = self.client.poll(Duration::ZERO);
        let mut lost = None;
        let (lanes, turn) = (&mut self.lanes, self.turn);
        let mut came_at = None;
        let count = self.queue.take(max, wait, &mut |origin, event| {
            if let Some((topic, kafka_lane)) = lanes.find(origin) {
                // One look at the clock for all that came together.
                let now = *came_at.get_or_insert_with(Instant::now);
                lost = lost.take().or(kafka_lane.meet(topic, origin, event, now, turn, batch));
            }
            batch.has_room(usize::MAX)
        });
        match lost {
            Some(Lost::Range { lane, name, wanted }) => {
                return Err(self.out_of_range(lane, &name, wanted));
            }
            Some(Lost::Refused(error)) => return Err(error),
            None => {}
        }
        let now = Instant::now();
        if count > 0 || now.duration_since(self.swept) >= SWEEP {
            self.swept = now;
            self.sweep(batch, now, leads);
        }
        if self.commits && now.duration_since(self.committed) >= COMMIT {
            self.committed = now;
            self.commit();
        }
        Ok(())
    }

    /// Holds lanes back or lets them go on.
    pub fn set_paused(&mut self, wanted: &[Lane], paused: bool) -> Result<(), LogError> {
        let mut changed = TopicPartitionList::new();
        for topic in &mut self.lanes.topics {
            for (partition, kafka_lane) in &mut topic.lanes {
                if kafka_lane.paused == paused || !wanted.contains(&kafka_lane.lane) {
                    continue;
                }
                kafka_lane.paused = paused;
                (kafka_lane.ended, kafka_lane.heard) = (false, false);
                let offset = Offset::Offset(i64::try_from(kafka_lane.next).unwrap_or(i64::MAX));
                let added = changed.add_partition_offset(&topic.text, *partition, offset);
                added.map_err(|error| LogError::Stop(format!("{}: {error}", kafka_lane.lane)))?;
            }
        }
        if changed.count() == 0 {
            return Ok(());
        }
        let done = if paused {
            self.client.pause(&changed)
        } else {
            // A client that has met the end of a partition resumes one record too late, and what
            // was fetched while it was paused was dropped here: so it is given where to go on.
            let resumed = self.client.resume(&changed);
            resumed.and_then(|()| self.client.seek_partitions(changed, self.patience).map(|_| ()))
        };
        done.map_err(|error| extent::trouble(&self.client, &error))
    }

    /// Reports what is new of the lanes' ends.
    fn sweep(&mut self, batch: &mut Batch, now: Instant, leads: bool) {
        for topic in &mut self.lanes.topics {
            for (partition, kafka_lane) in &mut topic.lanes {
                if kafka_lane.paused {
                    continue;
                }
                let high = high(&self.client, &topic.name, *partition);
                let alone = leads && kafka_lane.lane.topic.is_own();
                let failing = self.probe.failing(kafka_lane.lane);
                let flags = kafka_lane.look(high, alone, failing, now, self.unreadable_after);
                kafka_lane.add_mark(flags, batch);
            }
        }
    }

    /// Sets the group's offsets, without waiting: only lag tools read them.
    fn commit(&self) {
        let mut offsets = TopicPartitionList::new();
        for topic in &self.lanes.topics {
            for (partition, kafka_lane) in &topic.lanes {
                let next = Offset::Offset(i64::try_from(kafka_lane.next).unwrap_or(i64::MAX));
                // A list that cannot take one more only makes a lag tool wrong.
                let _ = offsets.add_partition_offset(&topic.text, *partition, next);
            }
        }
        let _ = self.client.commit(&offsets, CommitMode::Async);
    }

    fn out_of_range(&self, lane: Lane, name: &str, wanted: u64) -> LogError {
        let marks = self.client.fetch_watermarks(name, lane.partition as i32, self.patience);
        match marks {
            Err(error) => extent::trouble(&self.client, &error),
            Ok((low, high)) => {
                let (first, end) = (low.max(0) as u64, high.max(0) as u64);
                let moved = || format!("{name}[{}] was moved while it was read", lane.partition);
                let admitted = LaneSpan { lane, first, stable_end: end, end }.admits(wanted);
                admitted.err().unwrap_or_else(|| LogError::Unreachable(moved()))
            }
        }
    }
}

impl Extent {
    /// Since when the broker does not answer.
    pub fn unreachable(&self) -> Option<Instant> {
        self.probe.unreachable()
    }

    /// Since when a lane has failed.
    pub fn failing(&self, lane: Lane) -> Option<Instant> {
        self.probe.failing(lane)
    }

    /// How far each lane reaches: what the client knows of its last fetch, or the probe of its last
    /// question. A lane that is paused is not fetched, so of that the probe knows more.
    pub fn ends(&self) -> Vec<(Lane, u64)> {
        let end = |(lane, name): &(Lane, CString)| {
            let fetched = high(&self.client, name, lane.partition as i32);
            fetched.max(self.probe.end(*lane)).map(|end| (*lane, end))
        };
        self.lanes.iter().filter_map(end).collect()
    }
}

impl Lanes {
    fn topic(&mut self, name: &str) -> Result<&mut TopicLanes, LogError> {
        let known = self.topics.iter().position(|topic| topic.text == name);
        let index = match known {
            Some(index) => index,
            None => {
                let text = name.to_string();
                let bad = |_| LogError::Stop(format!("{text:?} cannot be the name of a topic"));
                let name = CString::new(name).map_err(bad)?;
                self.topics.push(TopicLanes { name, text, lanes: BTreeMap::new() });
                self.topics.len() - 1
            }
        };
        Ok(&mut self.topics[index])
    }

    fn find(&mut self, origin: &Origin<'_>) -> Option<(&str, &mut KafkaLane)> {
        let is = |topic: &TopicLanes| -> bool {
            let name: &CStr = &topic.name;
            name == origin.topic
        };
        if !self.topics.get(self.last).is_some_and(is) {
            self.last = self.topics.iter().position(is)?;
        }
        let topic = self.topics.get_mut(self.last)?;
        Some((&topic.text, topic.lanes.get_mut(&origin.partition)?))
    }
}

/// A consumer.
pub(super) fn open(conf: &KafkaConf, role: Role) -> Result<Arc<Client>, LogError> {
    let client = conf.client(role)?.create_with_context::<Watch, Client>(Watch::default());
    client.map(Arc::new).map_err(|error| {
        LogError::Stop(format!("cannot make a Kafka client for {}: {error}", conf.bootstrap))
    })
}
