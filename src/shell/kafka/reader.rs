//! Reads assigned lanes: what comes out of the queue, checked against where each lane stands.

use super::conf::{KafkaConf, Role};
use super::extent;
use super::health::{Probe, Watch};
use super::queue::{Client, Event, Origin, Queue};
use crate::core::cut::{Cut, Lane};
use crate::core::progress::LaneFlags;
use crate::core::unit::Millis;
use crate::drive::port::{Batch, LogError, Mark};
use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often lanes at their end are compared with the high watermark when nothing comes.
const SWEEP: Duration = Duration::from_millis(10);
/// A lane that is read to its committed end, with more behind it for so long, is blocked by an
/// open transaction; for a shorter time the rest may be on its way.
const BLOCKED_AFTER: Duration = Duration::from_millis(200);
/// How often the group's offsets are set.
const COMMIT: Duration = Duration::from_secs(5);

/// A set of assigned lanes. Another assignment is another reader.
pub(super) struct Reader {
    queue: Queue,
    client: Arc<Client>,
    probe: Probe,
    lanes: Lanes,
    patience: Duration,
    unreadable_after: Duration,
    commits: bool,
    committed: Instant,
    swept: Instant,
}

/// The lanes by name and number.
struct Lanes {
    strands: Vec<Strand>,
    /// Which topic the last event came from: mostly the next one does too.
    last: usize,
}

/// The lanes of one topic.
struct Strand {
    name: CString,
    text: String,
    lanes: BTreeMap<i32, Place>,
}

/// Where the reading of a lane stands.
struct Place {
    lane: Lane,
    /// The next offset to deliver.
    next: u64,
    held: bool,
    /// It gave a sign since it was assigned or let go, so its high watermark is not an old one.
    heard: bool,
    /// The end of the committed part was met at `next`.
    ended: bool,
    /// Since when there is more behind that end.
    ahead: Option<Instant>,
    /// Time stamp of the last record read; 0 before the first.
    last_at: Millis,
    /// Since when the broker refuses to give us the lane.
    trouble: Option<Instant>,
    /// When the lane last gave a sign.
    sign: Instant,
    told: LaneFlags,
    told_position: Option<u64>,
}

impl Reader {
    /// Begins to read each lane from its offset on.
    pub fn start(
        conf: &KafkaConf,
        names: &[(Lane, String)],
        from: &Cut,
    ) -> Result<Reader, LogError> {
        let client = open(conf, Role::Reader)?;
        let queue = Queue::new(&client);
        let mut lanes = Lanes { strands: Vec::new(), last: 0 };
        let mut assigned = TopicPartitionList::new();
        for (lane, name) in names {
            let Some(next) = from.next(*lane) else { continue };
            let strand = lanes.strand(name)?;
            let partition = lane.partition as i32;
            queue.forward(&strand.name, partition);
            let offset = Offset::Offset(i64::try_from(next).unwrap_or(i64::MAX));
            let added = assigned.add_partition_offset(name, partition, offset);
            added.map_err(|error| LogError::Stop(format!("{lane} at {next}: {error}")))?;
            strand.lanes.insert(partition, Place::new(*lane, next));
        }
        client.assign(&assigned).map_err(|error| extent::trouble(&client, &error))?;
        let asked = names.iter().filter(|(lane, _)| from.next(*lane).is_some());
        let probe = Probe::start(client.clone(), asked.cloned().collect());
        let now = Instant::now();
        Ok(Reader {
            queue,
            client,
            probe,
            lanes,
            patience: conf.patience,
            unreadable_after: conf.unreadable_after,
            commits: conf.group.is_some(),
            committed: now,
            swept: now,
        })
    }

    /// Since when the broker does not answer.
    pub fn unreachable(&self) -> Option<Instant> {
        self.probe.unreachable()
    }

    /// Takes what there is. `leads` is whether nobody but this process can write own lanes.
    pub fn take(
        &mut self,
        batch: &mut Batch,
        max: usize,
        wait: Duration,
        leads: bool,
    ) -> Result<(), LogError> {
        // The client's own events come this way; a record never does.
        let _ = self.client.poll(Duration::ZERO);
        let mut lost = None;
        let lanes = &mut self.lanes;
        let count = self.queue.take(max, wait, &mut |origin, event| {
            if let Some((strand, place)) = lanes.find(origin) {
                lost = lost.take().or(place.meet(strand, origin, event, batch));
            }
        });
        match lost {
            Some(Lost::Range { lane, name, wanted }) => {
                return Err(self.out_of_range(lane, &name, wanted));
            }
            Some(Lost::Forbidden { name }) => return Err(extent::forbidden(&name)),
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
    pub fn hold(&mut self, wanted: &[Lane], held: bool) -> Result<(), LogError> {
        let mut changed = TopicPartitionList::new();
        for strand in &mut self.lanes.strands {
            for (partition, place) in &mut strand.lanes {
                if place.held == held || !wanted.contains(&place.lane) {
                    continue;
                }
                place.held = held;
                (place.ended, place.heard) = (false, false);
                let offset = Offset::Offset(i64::try_from(place.next).unwrap_or(i64::MAX));
                let added = changed.add_partition_offset(&strand.text, *partition, offset);
                added.map_err(|error| LogError::Stop(format!("{}: {error}", place.lane)))?;
            }
        }
        if changed.count() == 0 {
            return Ok(());
        }
        let done = if held {
            self.client.pause(&changed)
        } else {
            // A client that has met the end of a partition resumes one record too late, and what
            // was fetched while it was held was dropped here: so it is told where to go on.
            let resumed = self.client.resume(&changed);
            resumed.and_then(|()| self.client.seek_partitions(changed, self.patience).map(|_| ()))
        };
        done.map_err(|error| extent::trouble(&self.client, &error))
    }

    /// Tells what is new of the lanes' ends.
    fn sweep(&mut self, batch: &mut Batch, now: Instant, leads: bool) {
        for strand in &mut self.lanes.strands {
            for (partition, place) in &mut strand.lanes {
                if place.held {
                    continue;
                }
                let high = self.queue.high(&strand.name, *partition);
                let alone = leads && place.lane.topic.is_own();
                let failing = self.probe.failing(place.lane);
                let flags = place.look(high, alone, failing, now, self.unreadable_after);
                place.tell(flags, batch);
            }
        }
    }

    /// Sets the group's offsets, without waiting: only lag tools read them.
    fn commit(&self) {
        let mut offsets = TopicPartitionList::new();
        for strand in &self.lanes.strands {
            for (partition, place) in &strand.lanes {
                let next = Offset::Offset(i64::try_from(place.next).unwrap_or(i64::MAX));
                // A list that cannot take one more only makes a lag tool wrong.
                let _ = offsets.add_partition_offset(&strand.text, *partition, next);
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
                if wanted < first {
                    LogError::OutOfRange { lane, wanted, first }
                } else {
                    beyond(lane, wanted, end)
                }
            }
        }
    }
}

/// What ends the reading.
enum Lost {
    Range { lane: Lane, name: String, wanted: u64 },
    Forbidden { name: String },
}

impl Lanes {
    fn strand(&mut self, name: &str) -> Result<&mut Strand, LogError> {
        let known = self.strands.iter().position(|strand| strand.text == name);
        let index = match known {
            Some(index) => index,
            None => {
                let text = name.to_string();
                let bad = |_| LogError::Stop(format!("{text:?} cannot be the name of a topic"));
                let name = CString::new(name).map_err(bad)?;
                self.strands.push(Strand { name, text, lanes: BTreeMap::new() });
                self.strands.len() - 1
            }
        };
        Ok(&mut self.strands[index])
    }

    fn find(&mut self, origin: &Origin<'_>) -> Option<(&str, &mut Place)> {
        let is = |strand: &Strand| -> bool {
            let name: &CStr = &strand.name;
            name == origin.topic
        };
        if !self.strands.get(self.last).is_some_and(is) {
            self.last = self.strands.iter().position(is)?;
        }
        let strand = self.strands.get_mut(self.last)?;
        Some((&strand.text, strand.lanes.get_mut(&origin.partition)?))
    }
}

impl Place {
    fn new(lane: Lane, next: u64) -> Place {
        Place {
            lane,
            next,
            held: false,
            heard: false,
            ended: false,
            ahead: None,
            last_at: 0,
            trouble: None,
            sign: Instant::now(),
            told: LaneFlags::default(),
            told_position: None,
        }
    }

    /// Takes in one event.
    fn meet(
        &mut self,
        name: &str,
        origin: &Origin<'_>,
        event: Event<'_>,
        batch: &mut Batch,
    ) -> Option<Lost> {
        use RDKafkaErrorCode::{AutoOffsetReset, OffsetOutOfRange, TopicAuthorizationFailed};
        let offset = u64::try_from(origin.offset).unwrap_or(0);
        // What was fetched before the lane was held is fetched again when it is let go.
        if self.held {
            return None;
        }
        match event {
            Event::Record { timestamp, key, value } => {
                if offset < self.next {
                    return None;
                }
                batch.push(self.lane, offset, timestamp, key, value);
                self.next = offset + 1;
                self.last_at = timestamp;
                self.ended = false;
                self.fine();
            }
            Event::End => {
                if offset >= self.next {
                    self.next = offset;
                    self.ended = true;
                }
                self.fine();
            }
            Event::Trouble(OffsetOutOfRange | AutoOffsetReset) => {
                let name = name.to_string();
                return Some(Lost::Range { lane: self.lane, name, wanted: self.next });
            }
            Event::Trouble(TopicAuthorizationFailed) => {
                return Some(Lost::Forbidden { name: name.to_string() });
            }
            Event::Trouble(_) => {
                self.trouble.get_or_insert_with(Instant::now);
            }
        }
        None
    }

    fn fine(&mut self) {
        self.trouble = None;
        self.heard = true;
        self.sign = Instant::now();
    }

    /// Compares what was read with what there is.
    fn look(
        &mut self,
        high: Option<u64>,
        alone: bool,
        failing: Option<Instant>,
        now: Instant,
        patience: Duration,
    ) -> LaneFlags {
        let more = high.is_none_or(|high| high > self.next);
        let reached = self.ended || (self.heard && !more);
        let mut flags = LaneFlags::default();
        if alone {
            // What lies behind the end of an own lane are our own words, not yet committed.
            flags.at_end = reached || self.told.at_end;
        } else if reached && !more {
            flags.at_end = true;
        } else if reached {
            let since = *self.ahead.get_or_insert(now);
            if now.duration_since(since) >= BLOCKED_AFTER {
                flags.blocked_at = Some(self.last_at);
            }
        }
        if !reached || !more {
            self.ahead = None;
        }
        // A lane that gave a sign since is readable, whatever a question about all lanes met.
        let failing = failing.map(|since| since.max(self.sign));
        let since = [self.trouble, failing].into_iter().flatten().min();
        flags.unreadable = since.is_some_and(|since| now.duration_since(since) >= patience);
        flags.at_end &= !flags.unreadable;
        flags
    }

    /// Gives a mark when the lane was read to its end anew, or when its flags changed.
    fn tell(&mut self, flags: LaneFlags, batch: &mut Batch) {
        let moved = flags.at_end && self.told_position != Some(self.next);
        if flags != self.told || moved {
            self.told = flags;
            self.told_position = Some(self.next);
            batch.marks.push(Mark { lane: self.lane, position: self.next, flags });
        }
    }
}

/// A consumer.
pub(super) fn open(conf: &KafkaConf, role: Role) -> Result<Arc<Client>, LogError> {
    let client = conf.client(role)?.create_with_context::<Watch, Client>(Watch::default());
    client.map(Arc::new).map_err(|error| {
        LogError::Stop(format!("cannot make a Kafka client for {}: {error}", conf.bootstrap))
    })
}

/// The error for an offset that the log has not reached.
pub(super) fn beyond(lane: Lane, wanted: u64, end: u64) -> LogError {
    LogError::Stop(format!(
        "{lane} ends at offset {end}, but reading was to go on at {wanted}: the store is newer \
         than the log; delete the store"
    ))
}
