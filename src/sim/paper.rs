//! A log on paper: shared, in memory, with the semantics of a transactional broker.
//!
//! One [`Paper`] is the broker; each [`PaperLog`] made from it is a process that talks to it. As
//! on the real one a transaction leaves a marker behind it in every lane it touched, so offsets
//! have gaps; as there, the process that led last fences the others. Time is what the test sets,
//! and nothing ever waits.

pub mod faulty;
mod reader;
pub mod store;

pub use reader::PaperLog;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::{LaneSpan, LogError, OutputRecord};

/// The broker. Clones are the same broker.
#[derive(Clone, Default)]
pub struct Paper {
    sheet: Arc<Mutex<Sheet>>,
}

/// Content of the broker.
#[derive(Default)]
struct Sheet {
    lanes: BTreeMap<Lane, PaperLane>,
    /// The broker's clock.
    now: Millis,
    /// The epoch of each producer: raised by every `lead`.
    producer_epochs: BTreeMap<String, u64>,
    topic_ids: BTreeMap<Topic, String>,
}

/// One lane. An entry's index is its offset.
#[derive(Default)]
struct PaperLane {
    /// Below this nothing can be read any more.
    first: u64,
    entries: Vec<Entry>,
    /// Where an open transaction begins.
    open: Option<u64>,
    /// Reading it fails.
    unreadable: bool,
}

enum Entry {
    /// Committed.
    Record(Note),
    /// Part of a transaction that is still open.
    Pending(Note),
    /// A marker, an aborted record, or one that was compacted away.
    Gap,
}

/// One record on paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Offset in its lane.
    pub offset: u64,
    /// The log's time stamp; ms since 1970.
    pub appended_at: Millis,
    /// Key; `None` for a null.
    pub key: Option<Vec<u8>>,
    /// Value; `None` for a null.
    pub value: Option<Vec<u8>>,
    /// Headers: name and value.
    pub headers: Vec<(String, Vec<u8>)>,
}

impl Paper {
    /// A broker with these lanes, all empty, at time 0.
    pub fn new(lanes: &[Lane]) -> Paper {
        let paper = Paper::default();
        paper.sheet().lanes.extend(lanes.iter().map(|lane| (*lane, PaperLane::default())));
        paper
    }

    /// Somebody adds an empty lane.
    pub fn add(&self, lane: Lane) {
        self.sheet().lanes.entry(lane).or_default();
    }

    /// Deletes a lane; with `again` it is created again, empty.
    pub fn delete(&self, lane: Lane, again: bool) {
        let mut sheet = self.sheet();
        sheet.lanes.remove(&lane);
        if again {
            sheet.lanes.insert(lane, PaperLane::default());
        }
    }

    /// Gives each topic an id, this text with its name; `None`: topics have no ids.
    pub fn set_topic_ids(&self, text: Option<&str>) {
        let mut sheet = self.sheet();
        let topics = sheet.lanes.keys().map(|lane| lane.topic);
        let id = |topic: Topic| Some((topic, format!("{}-{}", text?, topic.name())));
        sheet.topic_ids = topics.filter_map(id).collect();
    }

    /// A process that talks to this broker. Of all with the same `producer` (the transactional id
    /// of a domain) only the one that led last can publish.
    pub fn log(&self, producer: &str) -> PaperLog {
        PaperLog::new(self.clone(), producer)
    }

    /// Sets the broker's clock, which stamps what is published.
    pub fn set_now(&self, now: Millis) {
        self.sheet().now = now;
    }

    /// Appends a record of some producer, outside of any transaction, and gives its offset. The
    /// stamp is `at`, or the broker's clock.
    ///
    /// # Panics
    /// When the broker has no such lane.
    pub fn append(
        &self,
        lane: Lane,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(String, Vec<u8>)],
        at: Option<Millis>,
    ) -> u64 {
        let mut sheet = self.sheet();
        let appended_at = at.unwrap_or(sheet.now);
        let paper_lane = sheet.paper_lane(lane);
        let note = Note {
            offset: paper_lane.end(),
            appended_at,
            key: key.map(<[u8]>::to_vec),
            value: value.map(<[u8]>::to_vec),
            headers: headers.to_vec(),
        };
        paper_lane.entries.push(Entry::Record(note));
        paper_lane.end() - 1
    }

    /// Somebody else opens a transaction on a lane and writes one record into it. Until
    /// [`Paper::close`] nothing from there on can be read by anybody.
    pub fn open(&self, lane: Lane, value: &[u8]) -> u64 {
        let mut sheet = self.sheet();
        let appended_at = sheet.now;
        let paper_lane = sheet.paper_lane(lane);
        let offset = paper_lane.end();
        let value = Some(value.to_vec());
        let note = Note { offset, appended_at, key: None, value, headers: Vec::new() };
        paper_lane.entries.push(Entry::Pending(note));
        paper_lane.open.get_or_insert(offset);
        offset
    }

    /// Ends the open transaction of a lane: its records become readable, or are gone.
    pub fn close(&self, lane: Lane, commit: bool) {
        let mut sheet = self.sheet();
        let paper_lane = sheet.paper_lane(lane);
        if paper_lane.open.take().is_none() {
            return;
        }
        for entry in &mut paper_lane.entries {
            *entry = match std::mem::replace(entry, Entry::Gap) {
                Entry::Pending(note) if commit => Entry::Record(note),
                Entry::Pending(_) | Entry::Gap => Entry::Gap,
                Entry::Record(note) => Entry::Record(note),
            };
        }
        paper_lane.entries.push(Entry::Gap);
    }

    /// Retention: what lies below `first` is gone.
    pub fn forget(&self, lane: Lane, first: u64) {
        let mut sheet = self.sheet();
        let paper_lane = sheet.paper_lane(lane);
        paper_lane.first = paper_lane.first.max(first.min(paper_lane.end()));
    }

    /// A lane loses its end, from `end` on: what was not flushed when its machine went down.
    pub fn cut_off(&self, lane: Lane, end: u64) {
        self.sheet().paper_lane(lane).entries.truncate(end as usize);
    }

    /// Takes one record away, as compaction does, or damage.
    pub fn remove(&self, lane: Lane, offset: u64) {
        if let Some(entry) = self.sheet().paper_lane(lane).entries.get_mut(offset as usize) {
            *entry = Entry::Gap;
        }
    }

    /// Writes another value over a record: for tests that must notice it.
    pub fn rewrite(&self, lane: Lane, offset: u64, value: Option<Vec<u8>>) {
        let mut sheet = self.sheet();
        if let Some(Entry::Record(note)) = sheet.paper_lane(lane).entries.get_mut(offset as usize) {
            note.value = value;
        }
    }

    /// Makes a lane fail to be read, or readable again.
    pub fn set_unreadable(&self, lane: Lane, unreadable: bool) {
        self.sheet().paper_lane(lane).unreadable = unreadable;
    }

    /// Every record of a lane that a committed reader sees, oldest first.
    pub fn records(&self, lane: Lane) -> Vec<Note> {
        let mut sheet = self.sheet();
        let paper_lane = sheet.paper_lane(lane);
        let stable = paper_lane.stable_end() as usize;
        let readable = paper_lane.entries[..stable].iter().skip(paper_lane.first as usize);
        readable.filter_map(Entry::note).cloned().collect()
    }

    /// The lanes with their extent.
    pub fn spans(&self) -> Vec<LaneSpan> {
        let sheet = self.sheet();
        sheet.lanes.iter().map(|(lane, paper_lane)| paper_lane.span(*lane)).collect()
    }

    /// A copy of the broker as it is now, with nothing shared: a test can let two futures begin
    /// at the same past.
    pub fn fork(&self) -> Paper {
        let sheet = self.sheet();
        let lanes =
            sheet.lanes.iter().map(|(lane, paper_lane)| (*lane, paper_lane.copy())).collect();
        let (producer_epochs, topic_ids) = (sheet.producer_epochs.clone(), sheet.topic_ids.clone());
        let copy = Sheet { lanes, now: sheet.now, producer_epochs, topic_ids };
        Paper { sheet: Arc::new(Mutex::new(copy)) }
    }

    /// Takes the lead for a producer: the epoch under which the caller may publish.
    fn lead(&self, producer: &str) -> u64 {
        let mut sheet = self.sheet();
        let term = sheet.producer_epochs.entry(producer.to_string()).or_insert(0);
        *term += 1;
        *term
    }

    /// Appends a whole transaction, or nothing.
    fn commit(
        &self,
        producer: &str,
        term: u64,
        records: Vec<OutputRecord>,
    ) -> Result<(), LogError> {
        let mut sheet = self.sheet();
        let current = sheet.producer_epochs.get(producer).copied().unwrap_or(0);
        if current != term {
            let text = format!("{producer} is in term {current}, this process led in term {term}");
            return Err(LogError::Fenced(text));
        }
        if let Some(stray) = records.iter().find(|record| !sheet.lanes.contains_key(&record.lane)) {
            return Err(missing(stray.lane));
        }
        let appended_at = sheet.now;
        let mut touched: Vec<Lane> = records.iter().map(|record| record.lane).collect();
        for OutputRecord { lane, key, value, headers } in records {
            let paper_lane = sheet.paper_lane(lane);
            let offset = paper_lane.end();
            let (key, value) = (Some(key.into()), value.map(Vec::from));
            let note = Note { offset, appended_at, key, value, headers };
            paper_lane.entries.push(Entry::Record(note));
        }
        touched.sort_unstable();
        touched.dedup();
        for lane in touched {
            sheet.paper_lane(lane).entries.push(Entry::Gap);
        }
        Ok(())
    }

    /// The content. A test that panicked elsewhere does not make it unusable.
    fn sheet(&self) -> MutexGuard<'_, Sheet> {
        self.sheet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sheet {
    fn paper_lane(&mut self, lane: Lane) -> &mut PaperLane {
        match self.lanes.get_mut(&lane) {
            Some(paper_lane) => paper_lane,
            None => panic!("the paper has no lane {lane}: name it in Paper::new"),
        }
    }
}

impl PaperLane {
    fn end(&self) -> u64 {
        self.entries.len() as u64
    }

    fn stable_end(&self) -> u64 {
        self.open.unwrap_or(self.end())
    }

    fn span(&self, lane: Lane) -> LaneSpan {
        LaneSpan { lane, first: self.first, stable_end: self.stable_end(), end: self.end() }
    }

    /// The stamp of the last record below the open transaction; 0 when there is none.
    fn last_readable_at(&self) -> Millis {
        let readable = &self.entries[..self.stable_end() as usize];
        readable.iter().rev().find_map(Entry::note).map_or(0, |note| note.appended_at)
    }

    fn copy(&self) -> PaperLane {
        let entries = self.entries.iter().map(|entry| match entry {
            Entry::Record(note) => Entry::Record(note.clone()),
            Entry::Pending(note) => Entry::Pending(note.clone()),
            Entry::Gap => Entry::Gap,
        });
        let entries = entries.collect();
        PaperLane { first: self.first, entries, open: self.open, unreadable: self.unreadable }
    }
}

impl Entry {
    /// The record that a committed reader sees here.
    fn note(&self) -> Option<&Note> {
        match self {
            Entry::Record(note) => Some(note),
            Entry::Pending(_) | Entry::Gap => None,
        }
    }
}

fn missing(lane: Lane) -> LogError {
    LogError::Stop(format!("the paper has no lane {lane}: name it in Paper::new"))
}
