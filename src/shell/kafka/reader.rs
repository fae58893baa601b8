//! Reads assigned lanes: what comes out of the queue, checked against where each lane stands. A
//! client that is stuck is made again.

use super::conf::{KafkaConf, Role};
use super::extent;
use super::health::{Probe, Width, are_as_before};
use super::lane::{KafkaLane, Lost};
use super::queue::{Client, EventOrigin, Queue, Taken, high};
use super::renewed::{Renewed, SILENT_MAX};
use super::stall::{STUCK_MAX, Stall, Stand};
use super::watch::Watch;
use crate::thread;
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Cut, Lane};
use yardmaster_drive::port::{Batch, LaneSpan, LogError};

/// How often lanes at their end are compared with the high watermark when nothing comes.
const SWEEP: Duration = Duration::from_millis(10);
/// How often the group's offsets are set.
const COMMIT: Duration = Duration::from_secs(5);

/// A set of assigned lanes. Another assignment is another reader.
pub(super) struct Reader {
    conf: KafkaConf,
    names: Vec<(Lane, String)>,
    widths: Vec<Width>,
    queue: Queue,
    live: Arc<Mutex<Live>>,
    lanes: Lanes,
    stall: Stall<Lane>,
    taken: Taken,
    /// When the client was made.
    made: Instant,
    committed: Instant,
    swept: Instant,
}

/// A client, and what asks through it whether the broker answers.
#[derive(Clone)]
struct Live {
    client: Arc<Client>,
    probe: Arc<Probe>,
}

/// How far the lanes of a reader reach, for other threads.
pub(super) struct Extent {
    live: Arc<Mutex<Live>>,
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
        let mut lanes = Lanes { topics: Vec::new(), last: 0 };
        for (lane, name) in names {
            let Some(next) = from.next(*lane) else { continue };
            let topic = lanes.topic(name)?;
            topic.lanes.insert(lane.partition as i32, KafkaLane::new(*lane, next));
        }
        let asked = names.iter().filter(|(lane, _)| from.next(*lane).is_some());
        let names: Vec<(Lane, String)> = asked.cloned().collect();
        let (queue, live) = read_on(conf, &lanes, &names, &widths, None)?;
        let (conf, live, now) = (conf.clone(), Arc::new(Mutex::new(live)), Instant::now());
        let (stall, taken) = (Stall::new(now), Taken::default());
        let (made, committed, swept) = (now, now, now);
        Ok(Reader { conf, names, widths, queue, live, lanes, stall, taken, made, committed, swept })
    }

    /// How far the lanes reach.
    pub fn extent(&self) -> Extent {
        let of = |topic: &TopicLanes| -> Vec<(Lane, CString)> {
            topic.lanes.values().map(|kafka_lane| (kafka_lane.lane, topic.name.clone())).collect()
        };
        let lanes = self.lanes.topics.iter().flat_map(of).collect();
        Extent { live: self.live.clone(), lanes }
    }

    /// Goes on with another client where this one stands, if this one is stuck.
    fn renew(&mut self, now: Instant) -> Result<(), LogError> {
        let Live { client, probe } = lock(&self.live).clone();
        let silent = probe.unreachable().map(|since| now.duration_since(since.max(self.made)));
        let why = match (silent, self.stall.look(self.lanes.stands(&probe), now)) {
            (Some(silent), _) if silent >= SILENT_MAX => format!(
                "no broker answered for {} s ({})",
                silent.as_secs(),
                client.context().last()
            ),
            (None, Some(lane)) => format!("nothing of {lane} came for {} s", STUCK_MAX.as_secs()),
            _ => return Ok(()),
        };
        self.make_again(&why, now)
    }

    /// Goes on with another client where this one stands.
    fn make_again(&mut self, why: &str, now: Instant) -> Result<(), LogError> {
        tracing::warn!("{why}: the Kafka client that reads is made again");
        let Live { client, probe } = lock(&self.live).clone();
        let before = Some(&*probe);
        let (queue, live) = read_on(&self.conf, &self.lanes, &self.names, &self.widths, before)?;
        let queue = std::mem::replace(&mut self.queue, queue);
        let live = std::mem::replace(&mut *lock(&self.live), live);
        self.lanes.each(KafkaLane::begin_again);
        (self.stall, self.made) = (Stall::new(now), now);
        // One that is stuck may take its time to end.
        let end = move || drop((queue, live, client, probe));
        // Without a thread it ends here.
        let _ = thread::spawn("kafka-end", end);
        Ok(())
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
        let (lost, now) = (lock(&self.live).probe.lost(), Instant::now());
        if let Some(error) = lost {
            return Err(error);
        }
        if self.stall.is_due(self.taken, now) {
            self.renew(now)?;
        }
        // The client's own events come this way; a record never does.
        let client = lock(&self.live).client.clone();
        let _ = client.poll(Duration::ZERO);
        let mut lost = None;
        let (lanes, turn) = (&mut self.lanes, self.conf.turn);
        let mut came_at = None;
        let taken = self.queue.take(max, wait, &mut |origin, event| {
            if let Some((topic, kafka_lane)) = lanes.find(origin) {
                // One look at the clock for all that came together.
                let now = *came_at.get_or_insert_with(Instant::now);
                lost = lost.take().or(kafka_lane.meet(topic, origin, event, now, turn, batch));
            }
            batch.has_room(usize::MAX)
        });
        match lost {
            Some(Lost::Range { lane, name, wanted, from }) => {
                let error = self.out_of_range(lane, &name, wanted);
                if from == wanted || !matches!(error, LogError::Unreachable(_)) {
                    return Err(error);
                }
                // The last record that was read is gone: the lane cannot be known again by it.
                self.lanes.each(|it| {
                    if it.lane == lane {
                        it.forget_last();
                    }
                });
                let why = format!("{name}[{}] begins behind what was read", lane.partition);
                return self.make_again(&why, Instant::now());
            }
            Some(Lost::Refused(error)) => return Err(error),
            None => {}
        }
        let now = Instant::now();
        if taken.count > 0 || now.duration_since(self.swept) >= SWEEP {
            self.swept = now;
            self.sweep(batch, now, leads);
        }
        self.taken = taken;
        if self.conf.group.is_some() && now.duration_since(self.committed) >= COMMIT {
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
        let client = lock(&self.live).client.clone();
        let done = if paused {
            client.pause(&changed)
        } else {
            // A client that has met the end of a partition resumes one record too late, and what
            // was fetched while it was paused was dropped here: so it is given where to go on.
            let (resumed, patience) = (client.resume(&changed), self.conf.patience);
            resumed.and_then(|()| client.seek_partitions(changed, patience).map(|_| ()))
        };
        done.map_err(|error| extent::trouble(&client, &error))
    }

    /// Whether a lane is held back.
    pub fn is_any_paused(&self) -> bool {
        self.lanes.topics.iter().any(|topic| topic.lanes.values().any(|it| it.paused))
    }

    /// Reports what is new of the lanes' ends.
    fn sweep(&mut self, batch: &mut Batch, now: Instant, leads: bool) {
        let Live { client, probe } = lock(&self.live).clone();
        for topic in &mut self.lanes.topics {
            for (partition, kafka_lane) in &mut topic.lanes {
                if kafka_lane.paused {
                    continue;
                }
                let high = high(&client, &topic.name, *partition);
                let alone = leads && kafka_lane.lane.topic.is_own();
                let failing = probe.failing(kafka_lane.lane);
                let patience = self.conf.unreadable_after;
                let flags = kafka_lane.look(high, alone, failing, now, patience);
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
        let _ = lock(&self.live).client.commit(&offsets, CommitMode::Async);
    }

    fn out_of_range(&self, lane: Lane, name: &str, wanted: u64) -> LogError {
        let client = lock(&self.live).client.clone();
        let of_topic: Vec<&Width> =
            self.widths.iter().filter(|width| width.topic == lane.topic).collect();
        if let Err(error @ LogError::Stop(_)) = are_as_before(&client, &of_topic) {
            return error;
        }
        let marks = client.fetch_watermarks(name, lane.partition as i32, self.conf.patience);
        match marks {
            Err(error) => extent::trouble(&client, &error),
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
        lock(&self.live).probe.unreachable()
    }

    /// Since when a lane has failed.
    pub fn failing(&self, lane: Lane) -> Option<Instant> {
        lock(&self.live).probe.failing(lane)
    }

    /// How far each lane reaches: what the client knows of its last fetch, or the probe of its last
    /// question. A lane that is paused is not fetched, so of that the probe knows more.
    pub fn ends(&self) -> Vec<(Lane, u64)> {
        let Live { client, probe } = lock(&self.live).clone();
        let end = |(lane, name): &(Lane, CString)| {
            let fetched = high(&client, name, lane.partition as i32);
            fetched.max(probe.end(*lane)).map(|end| (*lane, end))
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

    /// Where the lanes stand that are not paused.
    fn stands(&self, probe: &Probe) -> impl Iterator<Item = Stand<Lane>> {
        let all = self.topics.iter().flat_map(|topic| topic.lanes.values());
        all.filter(|it| !it.paused).map(|it| {
            let end = probe.end(it.lane).filter(|_| probe.failing(it.lane).is_none());
            Stand { lane: it.lane, next: it.next, end }
        })
    }

    fn each(&mut self, act: impl FnMut(&mut KafkaLane)) {
        self.topics.iter_mut().flat_map(|topic| topic.lanes.values_mut()).for_each(act);
    }

    fn find(&mut self, origin: &EventOrigin<'_>) -> Option<(&str, &mut KafkaLane)> {
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

/// A client that reads lanes on from where each stands, but for those that are paused.
fn read_on(
    conf: &KafkaConf,
    lanes: &Lanes,
    names: &[(Lane, String)],
    widths: &[Width],
    before: Option<&Probe>,
) -> Result<(Queue, Live), LogError> {
    let client = open(conf, Role::Reader)?;
    let queue = Queue::new(&client);
    let (mut assigned, mut paused) = (TopicPartitionList::new(), TopicPartitionList::new());
    for topic in &lanes.topics {
        for (partition, kafka_lane) in &topic.lanes {
            queue.forward(&topic.name, *partition);
            let (lane, from) = (kafka_lane.lane, kafka_lane.again_from());
            let offset = Offset::Offset(i64::try_from(from).unwrap_or(i64::MAX));
            let added = assigned.add_partition_offset(&topic.text, *partition, offset);
            added.map_err(|error| LogError::Stop(format!("{lane} at {from}: {error}")))?;
            if kafka_lane.paused {
                paused.add_partition(&topic.text, *partition);
            }
        }
    }
    let trouble = |error| extent::trouble(&client, &error);
    client.assign(&assigned).map_err(trouble)?;
    if paused.count() > 0 {
        client.pause(&paused).map_err(trouble)?;
    }
    let probe = Probe::start(client.clone(), names.to_vec(), widths.to_vec(), before).into();
    Ok((queue, Live { client, probe }))
}

fn lock(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A consumer.
pub(super) fn open(conf: &KafkaConf, role: Role) -> Result<Arc<Client>, LogError> {
    make(conf, role).map(Arc::new)
}

/// A consumer that is asked only.
pub(super) fn renewed(conf: &KafkaConf, role: Role) -> Result<Renewed<Client>, LogError> {
    let conf = conf.clone();
    Renewed::new(move || make(&conf, role))
}

fn make(conf: &KafkaConf, role: Role) -> Result<Client, LogError> {
    let client = conf.client(role)?.create_with_context::<Watch, Client>(Watch::default());
    client.map_err(|error| {
        LogError::Stop(format!("cannot make a Kafka client for {}: {error}", conf.bootstrap))
    })
}
