//! A log of which some topics are in Confluent framing.
//!
//! Records that the log gives go on as they are, with the schemas behind their numbers. A record
//! whose number is not known yet waits, with all that comes after it in its lane; other lanes go
//! on, and the lane counts as not read to its end, and after a time as unreadable.

use super::client::RegistryError;
use super::fetch::Desk;
use super::folder::Folder;
use super::framing::Framing;
use super::ours::{Ours, number};
use super::questions::RegistryAnswer;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, Mark, OutputRecord};
use yardmaster_wire::avro::{Writer, canonical_form, fingerprint, number_of, rabin, schema_text};

/// How often waiting records are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// Of how many records behind the first one of a lane that waits the numbers are asked for ahead.
const FORESEEN: usize = 1_024;
/// How often a number without a schema is reported, per topic: dead letters name each of them.
const REPORT: Duration = Duration::from_secs(30);

/// The log; see the module.
pub struct FramedLog<L: Log> {
    log: L,
    framing: Framing,
    desk: Desk,
    /// Schemas beside the log, and those of the store, by number.
    known: BTreeMap<u32, Arc<str>>,
    stored: BTreeMap<u32, Arc<str>>,
    /// Numbers whose schemas were handed on since the last `assign`.
    given: BTreeSet<(Topic, u32)>,
    /// When it was last reported of a topic that a number of its records has no schema.
    reported: BTreeMap<Topic, Instant>,
    /// Records that a cycle in `progress` counts as unreadable: the registry is not asked for them.
    unreadable: BTreeMap<Lane, BTreeSet<u64>>,
    waiting: BTreeMap<Lane, Waiting>,
    /// Flags as the log gave them last.
    flags: BTreeMap<Lane, LaneFlags>,
    /// Lanes that the caller wants paused.
    paused: BTreeSet<Lane>,
    ours: Ours,
    /// Schemas of ours that the next batch has, so that they are stored.
    found: Vec<Writer>,
}

/// Records of a lane that wait.
struct Waiting {
    since: Instant,
    is_unreadable: bool,
    batch: Batch,
    /// How many of them went on.
    gone: usize,
    /// Of how many of them the numbers were asked for.
    foreseen: usize,
    /// The newest state of the lane in the log.
    mark: Option<Mark>,
}

impl<L: Log> FramedLog<L> {
    /// Reads and publishes some of a log's topics in Confluent framing.
    pub fn new(log: L, framing: Framing) -> Result<FramedLog<L>, LogError> {
        let desk =
            Desk::open(Arc::clone(&framing.client), framing.longest_pause, framing.missing_max);
        let desk = desk.map_err(|error| LogError::Stop(error.to_string()))?;
        let known = framing.folder.as_ref().map_or(Ok(Vec::new()), Folder::load)?;
        Ok(FramedLog {
            log,
            framing,
            desk,
            known: known.into_iter().collect(),
            stored: BTreeMap::new(),
            given: BTreeSet::new(),
            reported: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            waiting: BTreeMap::new(),
            flags: BTreeMap::new(),
            paused: BTreeSet::new(),
            ours: Ours::default(),
            found: Vec::new(),
        })
    }

    /// The log within.
    pub fn inner(&self) -> &L {
        &self.log
    }

    /// Whether it is known what a number stands for; if so that goes to `writers`, once. That it
    /// stands for nothing goes there now and then, and is not remembered here.
    fn settle_number(
        &mut self,
        topic: Topic,
        id: u32,
        writers: &mut Vec<Writer>,
    ) -> Result<bool, LogError> {
        if self.given.contains(&(topic, id)) {
            return Ok(true);
        }
        let known = self.known.get(&id).or_else(|| self.stored.get(&id)).cloned();
        match known.map(RegistryAnswer::Known).or_else(|| self.desk.find(id)) {
            None => return Ok(false),
            Some(RegistryAnswer::Known(text)) => {
                if let Some(folder) = &self.framing.folder {
                    folder.keep(id, &text)?;
                }
                writers.push(Writer { topic, id, schema: Some(text) });
                self.given.insert((topic, id));
            }
            Some(RegistryAnswer::Missing) => {
                if self.reported.get(&topic).is_none_or(|at| at.elapsed() >= REPORT) {
                    writers.push(Writer { topic, id, schema: None });
                    self.reported.insert(topic, Instant::now());
                }
            }
        }
        Ok(true)
    }

    /// The number that a record of a topic in Confluent framing carries.
    fn number(&self, topic: Topic, value: Option<&[u8]>) -> Option<u32> {
        value.and_then(number_of).filter(|_| self.framing.subjects.contains_key(&topic))
    }

    /// Asks for the numbers of records behind the first one that waits.
    fn foresee(&self, lane: Lane, waiting: &mut Waiting) {
        let until = waiting.batch.records.len().min(waiting.gone + 1 + FORESEEN);
        let fresh = waiting.foreseen.max(waiting.gone + 1)..until;
        let Some(records) = waiting.batch.records.get(fresh).filter(|it| !it.is_empty()) else {
            return;
        };
        let is_unknown = |id: &u32| {
            let is_given = self.given.contains(&(lane.topic, *id));
            !is_given && !self.known.contains_key(id) && !self.stored.contains_key(id)
        };
        let numbers = records
            .iter()
            .filter_map(|raw| self.number(lane.topic, waiting.batch.value(raw)).filter(is_unknown));
        self.desk.foresee(numbers);
        waiting.foreseen = until;
    }

    /// Whether a record may go on.
    fn may_pass(
        &mut self,
        lane: Lane,
        offset: u64,
        value: Option<&[u8]>,
        writers: &mut Vec<Writer>,
    ) -> Result<bool, LogError> {
        let Some(id) = self.number(lane.topic, value) else { return Ok(true) };
        let mut is_unreadable = false;
        if let Some(offsets) = self.unreadable.get_mut(&lane) {
            *offsets = offsets.split_off(&offset);
            is_unreadable = offsets.contains(&offset);
            if offsets.is_empty() {
                self.unreadable.remove(&lane);
            }
        }
        if is_unreadable { Ok(true) } else { self.settle_number(lane.topic, id, writers) }
    }

    /// Hands on what waited and is known by now; gives how many records went.
    fn release(&mut self, out: &mut Batch, max: usize) -> Result<usize, LogError> {
        let mut count = 0;
        let mut free = Vec::new();
        for (lane, mut waiting) in std::mem::take(&mut self.waiting) {
            while let Some(raw) = waiting
                .batch
                .records
                .get(waiting.gone)
                .filter(|_| count < max && out.has_room(usize::MAX))
            {
                let value = waiting.batch.value(raw);
                if !self.may_pass(lane, raw.offset, value, &mut out.writers)? {
                    break;
                }
                out.push(lane, raw.offset, raw.appended_at, waiting.batch.key(raw), value);
                waiting.gone += 1;
                count += 1;
            }
            if waiting.gone < waiting.batch.records.len() {
                self.foresee(lane, &mut waiting);
                self.waiting.insert(lane, waiting);
                continue;
            }
            let last = waiting.batch.records.last().map_or(0, |raw| raw.offset + 1);
            let flags = self.flags.get(&lane).copied().unwrap_or_default();
            let plain = Mark { lane, position: last, flags: LaneFlags { at_end: false, ..flags } };
            out.marks.push(waiting.mark.unwrap_or(plain));
            if !self.paused.contains(&lane) {
                free.push(lane);
            }
        }
        if !free.is_empty() {
            self.log.set_paused(&free, false)?;
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
                || !self.may_pass(lane, raw.offset, value, &mut batch.writers)?;
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
        if lanes.is_empty() { Ok(()) } else { self.log.set_paused(&lanes, true) }
    }

    /// Lanes that have waited for long are reported as unreadable.
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

    /// Finds the numbers that our own records are published with. While the registry does not
    /// answer, those found earlier do.
    fn find_ours(&mut self) -> Result<(), LogError> {
        let mut unanswered = None;
        for (topic, subject) in self.framing.subjects.iter().filter(|(it, _)| it.is_own()) {
            let asked = match &unanswered {
                None => number(&self.framing.client, *topic, subject),
                Some(why) => Err(RegistryError::Unanswered(String::clone(why))),
            };
            let id = match asked {
                Ok(id) => {
                    let schema = Some(Arc::from(schema_text(*topic)));
                    self.found.push(Writer { topic: *topic, id, schema });
                    id
                }
                Err(RegistryError::Unanswered(why) | RegistryError::Lacking(why)) => {
                    match self.known_number(*topic) {
                        Some(id) => {
                            unanswered = Some(why);
                            id
                        }
                        None => return Err(LogError::Unanswered(why)),
                    }
                }
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

    fn frame(&self, output: OutputRecord) -> OutputRecord {
        let topic = output.lane.topic;
        let frame = |value: Bytes| self.ours.frame(topic, value.into()).into();
        OutputRecord { value: output.value.map(frame), ..output }
    }
}

impl Waiting {
    fn begin() -> Waiting {
        let (since, batch) = (Instant::now(), Batch::default());
        Waiting { since, is_unreadable: false, batch, gone: 0, foreseen: 0, mark: None }
    }
}

impl<L: Log> Log for FramedLog<L> {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        self.log.lanes()
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        self.given.clear();
        self.reported.clear();
        self.unreadable.clear();
        self.waiting.clear();
        self.flags.clear();
        self.paused.clear();
        self.log.assign(from)
    }

    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        for lane in lanes {
            if paused {
                self.paused.insert(*lane)
            } else {
                self.paused.remove(lane)
            };
        }
        let free = |lane: &&Lane| !self.waiting.contains_key(*lane);
        let lanes: Vec<Lane> = lanes.iter().filter(free).copied().collect();
        if lanes.is_empty() { Ok(()) } else { self.log.set_paused(&lanes, paused) }
    }

    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        batch.writers.append(&mut self.found);
        let (began, before) = (Instant::now(), (batch.records.len(), batch.marks.len()));
        loop {
            let released = self.release(batch, max)?;
            if released >= max || !batch.has_room(usize::MAX) {
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

    fn waiting_for_registry(&self) -> Option<(u64, String)> {
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

    fn pass_unreadable(&mut self, records: &[(Lane, u64)]) {
        let framed = records.iter().filter(|it| self.framing.subjects.contains_key(&it.0.topic));
        for (lane, offset) in framed {
            self.unreadable.entry(*lane).or_default().insert(*offset);
        }
    }

    fn id(&mut self) -> Option<String> {
        self.log.id()
    }

    fn topic_ids(&mut self) -> Result<BTreeMap<Topic, String>, LogError> {
        self.log.topic_ids()
    }

    fn offsets_since(&mut self, at: Millis) -> Result<Option<Vec<(Lane, u64)>>, LogError> {
        self.log.offsets_since(at)
    }

    fn ends(&mut self) -> Vec<(Lane, u64)> {
        self.log.ends()
    }

    fn lead(&mut self) -> Result<(), LogError> {
        self.find_ours()?;
        self.log.lead()
    }

    fn let_go(&mut self) {
        self.log.let_go();
    }

    fn publish(
        &mut self,
        outputs: Vec<OutputRecord>,
        progress: OutputRecord,
    ) -> Result<(), LogError> {
        let outputs = outputs.into_iter().map(|output| self.frame(output)).collect();
        let progress = self.frame(progress);
        self.log.publish(outputs, progress)
    }

    fn is_settled(&mut self) -> bool {
        self.log.is_settled()
    }

    fn settle(&mut self) -> Result<(), LogError> {
        self.log.settle()
    }
}
