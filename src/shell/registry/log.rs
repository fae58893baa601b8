//! A log of which some topics are in Confluent framing.
//!
//! What comes by the log goes on as it is, with what its numbers stand for. A record whose number
//! is not known yet is held back, with all that comes after it in its lane; other lanes go on, and
//! the lane counts as not read to its end, and after a time as unreadable.

use super::client::{Client, RegistryError};
use super::fetch::{Answer, Desk};
use super::folder::Folder;
use super::ours::{Ours, number, subjects};
use crate::core::cut::{Cut, Lane, Topic};
use crate::core::progress::LaneFlags;
use crate::drive::port::{Batch, LaneSpan, Log, LogError, Mark, Output};
use crate::wire::avro::{Writer, canonical_form, fingerprint, number_of, rabin, schema_text};
use crate::wire::topology::Topology;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often held records are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Which topics are in Confluent framing, and who tells what their numbers stand for.
pub struct Framing {
    client: Arc<Client>,
    subjects: BTreeMap<Topic, String>,
    unreadable_after: Duration,
    longest_pause: Duration,
    folder: Option<Folder>,
}

impl Framing {
    /// By the topology; `None` when no topic is in Confluent framing.
    pub fn of(topology: &Topology) -> Result<Option<Framing>, RegistryError> {
        let subjects = subjects(topology);
        let Some(registry) = topology.registry.as_ref().filter(|_| !subjects.is_empty()) else {
            return Ok(None);
        };
        let span = |ms: i64| Duration::from_millis(ms.max(0) as u64);
        Ok(Some(Framing {
            client: Arc::new(Client::new(registry)?),
            subjects,
            unreadable_after: span(topology.limits.lane_unreadable_ms),
            longest_pause: span(topology.limits.backoff_max_ms),
            folder: None,
        }))
    }

    /// With the schemas that lie beside a directory log; for writing, further ones are kept there.
    pub fn beside(self, log: &Path, may_write: bool) -> Framing {
        Framing { folder: Some(Folder::of(log, may_write)), ..self }
    }
}

/// The log; see the module.
pub struct FramedLog<L: Log> {
    log: L,
    framing: Framing,
    desk: Desk,
    /// What lies beside the log, and what the store knew.
    known: BTreeMap<u32, Arc<str>>,
    stored: BTreeMap<u32, Arc<str>>,
    /// What was handed on since the last `assign`.
    told: BTreeMap<(Topic, u32), Option<Arc<str>>>,
    waiting: BTreeMap<Lane, Waiting>,
    /// Flags as the log told them last.
    flags: BTreeMap<Lane, LaneFlags>,
    /// Lanes that the caller wants held.
    held: BTreeSet<Lane>,
    ours: Ours,
}

/// Records of a lane that are held back.
struct Waiting {
    since: Instant,
    is_unreadable: bool,
    batch: Batch,
    /// How many of them went on.
    gone: usize,
    /// The last the log said of the lane.
    mark: Option<Mark>,
}

impl<L: Log> FramedLog<L> {
    /// Reads and says some of a log's topics in Confluent framing.
    pub fn new(log: L, framing: Framing) -> Result<FramedLog<L>, LogError> {
        let desk = Desk::open(Arc::clone(&framing.client), framing.longest_pause);
        let desk = desk.map_err(|error| LogError::Stop(error.to_string()))?;
        let known = framing.folder.as_ref().map_or(Ok(Vec::new()), Folder::load)?;
        Ok(FramedLog {
            log,
            framing,
            desk,
            known: known.into_iter().collect(),
            stored: BTreeMap::new(),
            told: BTreeMap::new(),
            waiting: BTreeMap::new(),
            flags: BTreeMap::new(),
            held: BTreeSet::new(),
            ours: Ours::default(),
        })
    }

    /// The log within.
    pub fn inner(&self) -> &L {
        &self.log
    }

    /// How many records are held back, and why; `None` when none is.
    pub fn held_back(&self) -> Option<(u64, String)> {
        let lane = self.waiting.keys().next()?;
        let count = self.waiting.values().map(|it| it.batch.records.len() - it.gone).sum::<usize>();
        let why =
            self.desk.trouble().unwrap_or_else(|| "the schema registry is being asked".into());
        let others = match self.waiting.len() {
            1 => String::new(),
            lanes => format!(" and {} other lanes", lanes - 1),
        };
        Some((count as u64, format!("{count} records of {lane}{others} wait: {why}")))
    }

    /// Whether it is known what a number stands for; if so that goes to `writers`, once.
    fn settle_number(
        &mut self,
        topic: Topic,
        id: u32,
        writers: &mut Vec<Writer>,
    ) -> Result<bool, LogError> {
        let told = self.told.get(&(topic, id));
        if matches!(told, Some(Some(_))) {
            return Ok(true);
        }
        let known = self.known.get(&id).or_else(|| self.stored.get(&id)).cloned();
        let schema = match known.map(Answer::Known).or_else(|| self.desk.find(id)) {
            None => return Ok(false),
            Some(Answer::Known(text)) => Some(text),
            Some(Answer::Missing) => None,
        };
        if told != Some(&schema) {
            if let (Some(folder), Some(text)) = (&self.framing.folder, &schema) {
                folder.keep(id, text)?;
            }
            writers.push(Writer { topic, id, schema: schema.clone() });
            self.told.insert((topic, id), schema);
        }
        Ok(true)
    }

    /// Whether a record may go on.
    fn may_pass(
        &mut self,
        topic: Topic,
        value: Option<&[u8]>,
        writers: &mut Vec<Writer>,
    ) -> Result<bool, LogError> {
        match value.and_then(number_of) {
            Some(id) if self.framing.subjects.contains_key(&topic) => {
                self.settle_number(topic, id, writers)
            }
            _ => Ok(true),
        }
    }

    /// Lets go on what was held back and is known by now; gives how many records went.
    fn release(&mut self, out: &mut Batch, max: usize) -> Result<usize, LogError> {
        let mut count = 0;
        let mut free = Vec::new();
        for (lane, mut waiting) in std::mem::take(&mut self.waiting) {
            while let Some(raw) = waiting.batch.records.get(waiting.gone).filter(|_| count < max) {
                let value = waiting.batch.value(raw);
                if !self.may_pass(lane.topic, value, &mut out.writers)? {
                    break;
                }
                out.push(lane, raw.offset, raw.appended_at, waiting.batch.key(raw), value);
                waiting.gone += 1;
                count += 1;
            }
            if waiting.gone < waiting.batch.records.len() {
                self.waiting.insert(lane, waiting);
                continue;
            }
            let last = waiting.batch.records.last().map_or(0, |raw| raw.offset + 1);
            let flags = self.flags.get(&lane).copied().unwrap_or_default();
            let plain = Mark { lane, position: last, flags: LaneFlags { at_end: false, ..flags } };
            out.marks.push(waiting.mark.unwrap_or(plain));
            if !self.held.contains(&lane) {
                free.push(lane);
            }
        }
        if !free.is_empty() {
            self.log.hold(&free, false)?;
        }
        Ok(count)
    }

    /// Takes out of a batch what has to wait, from the given places on.
    fn hold_back(&mut self, batch: &mut Batch, from: usize, marks: usize) -> Result<(), LogError> {
        let mut hold = Vec::new();
        for raw in batch.records.split_off(from) {
            let lane = raw.lane;
            let value = raw.value.clone().map(|span| &batch.bytes[span]);
            let waits = self.waiting.contains_key(&lane)
                || !self.may_pass(lane.topic, value, &mut batch.writers)?;
            if !waits {
                batch.records.push(raw);
                continue;
            }
            let waiting = self.waiting.entry(lane).or_insert_with(|| {
                hold.push(Mark { lane, position: raw.offset, flags: LaneFlags::default() });
                Waiting::begin()
            });
            let key = raw.key.clone().map(|span| &batch.bytes[span]);
            waiting.batch.push(lane, raw.offset, raw.appended_at, key, value);
        }
        for mark in batch.marks.split_off(marks) {
            self.flags.insert(mark.lane, mark.flags);
            match self.waiting.get_mut(&mark.lane) {
                Some(waiting) => waiting.mark = Some(mark),
                None => batch.marks.push(mark),
            }
        }
        let lanes: Vec<Lane> = hold.iter().map(|mark| mark.lane).collect();
        batch.marks.append(&mut hold);
        if lanes.is_empty() { Ok(()) } else { self.log.hold(&lanes, true) }
    }

    /// Lanes that have waited for long are told to be unreadable.
    fn tell_unreadable(&mut self, batch: &mut Batch) {
        for (lane, waiting) in &mut self.waiting {
            if waiting.is_unreadable || waiting.since.elapsed() < self.framing.unreadable_after {
                continue;
            }
            waiting.is_unreadable = true;
            if let Some(raw) = waiting.batch.records.get(waiting.gone) {
                let flags = LaneFlags { unreadable: true, ..LaneFlags::default() };
                batch.marks.push(Mark { lane: *lane, position: raw.offset, flags });
            }
        }
    }

    /// Finds the numbers that our own records are said with. While the registry does not answer,
    /// those found earlier do.
    fn find_ours(&mut self) -> Result<(), LogError> {
        let mut unanswered = None;
        for (topic, subject) in self.framing.subjects.iter().filter(|(it, _)| it.is_own()) {
            let asked = match &unanswered {
                None => number(&self.framing.client, *topic, subject),
                Some(why) => Err(RegistryError::Unanswered(String::clone(why))),
            };
            let id = match asked {
                Ok(id) => id,
                Err(RegistryError::Unanswered(why)) => match self.known_number(*topic) {
                    Some(id) => {
                        unanswered = Some(why);
                        id
                    }
                    None => return Err(LogError::Unanswered(why)),
                },
                Err(error) => return Err(LogError::Stop(error.to_string())),
            };
            self.desk.put(id, Arc::from(schema_text(*topic)));
            self.ours.note(*topic, id);
        }
        if let Some(why) = unanswered {
            tracing::warn!("the schema registry cannot be asked ({why}); going by known numbers");
        }
        Ok(())
    }

    /// A number known to stand for our schema of a topic: the newest.
    fn known_number(&self, topic: Topic) -> Option<u32> {
        let ours = fingerprint(topic);
        let is_ours = |text: &str| {
            let schema = apache_avro::Schema::parse_str(text);
            schema.is_ok_and(|schema| rabin(canonical_form(&schema).as_bytes()) == ours)
        };
        let mut known = self.stored.iter().chain(&self.known).collect::<Vec<_>>();
        known.sort();
        known.into_iter().rev().find(|(_, text)| is_ours(text)).map(|(id, _)| *id)
    }

    fn frame(&self, output: Output) -> Output {
        let topic = output.lane.topic;
        Output { value: output.value.map(|value| self.ours.frame(topic, value)), ..output }
    }
}

impl Waiting {
    fn begin() -> Waiting {
        let (since, batch) = (Instant::now(), Batch::default());
        Waiting { since, is_unreadable: false, batch, gone: 0, mark: None }
    }
}

impl<L: Log> Log for FramedLog<L> {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        self.log.lanes()
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        self.told.clear();
        self.waiting.clear();
        self.flags.clear();
        self.held.clear();
        self.log.assign(from)
    }

    fn hold(&mut self, lanes: &[Lane], held: bool) -> Result<(), LogError> {
        for lane in lanes {
            if held {
                self.held.insert(*lane)
            } else {
                self.held.remove(lane)
            };
        }
        let free = |lane: &&Lane| !self.waiting.contains_key(*lane);
        let lanes: Vec<Lane> = lanes.iter().filter(free).copied().collect();
        if lanes.is_empty() { Ok(()) } else { self.log.hold(&lanes, held) }
    }

    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        let (began, before) = (Instant::now(), (batch.records.len(), batch.marks.len()));
        loop {
            let released = self.release(batch, max)?;
            if released >= max {
                return Ok(());
            }
            let left = wait.saturating_sub(began.elapsed());
            let look = match (released, self.waiting.is_empty()) {
                (0, true) => left,
                (0, false) => left.min(LOOK),
                _ => Duration::ZERO,
            };
            let (from, marks) = (batch.records.len(), batch.marks.len());
            let taken = self.log.take(batch, max - released, look);
            self.hold_back(batch, from, marks)?;
            self.tell_unreadable(batch);
            taken?;
            let is_idle = (batch.records.len(), batch.marks.len()) == before;
            if !is_idle || self.waiting.is_empty() || began.elapsed() >= wait {
                return Ok(());
            }
            // Some logs never wait.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn know(&mut self, writers: &[Writer]) {
        let known = |it: &Writer| it.schema.as_ref().map(|text| (it.id, Arc::clone(text)));
        self.stored = writers.iter().filter_map(known).collect();
    }

    fn ends(&mut self) -> Vec<(Lane, u64)> {
        self.log.ends()
    }

    fn lead(&mut self) -> Result<(), LogError> {
        self.find_ours()?;
        self.log.lead()
    }

    fn say(&mut self, outputs: Vec<Output>, progress: Output) -> Result<(), LogError> {
        let outputs = outputs.into_iter().map(|output| self.frame(output)).collect();
        let progress = self.frame(progress);
        self.log.say(outputs, progress)
    }

    fn is_settled(&mut self) -> bool {
        self.log.is_settled()
    }

    fn settle(&mut self) -> Result<(), LogError> {
        self.log.settle()
    }
}
