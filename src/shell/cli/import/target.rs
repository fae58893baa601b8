//! Where an import publishes: all of its rows, or only what changed since it was there last.

use super::fact::Fact;
use super::load::{Loaded, Row, encode};
use super::tail::{TailRecord, TopicTail};
use crate::cli::Usage;
use crate::cli::log_args::{LogArgs, Read, dir_topics, may_hold_log};
use crate::cli::progress::Bar;
use crate::clock;
use crate::dirlog::envelope::Envelope;
use crate::dirlog::{DirLog, DirOptions, Mode};
use crate::kafka::KafkaWriter;
use crate::registry::Ours;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::event::{Configuration, confirmed};
use yardmaster_core::id::hash;
use yardmaster_core::unit::Millis;
use yardmaster_wire::avro::{Arena, Codec};
use yardmaster_wire::import::SlotRow;

/// Header of a record with the name of the import that published it.
const IMPORT: &str = "yardmaster-import";
/// Header of such a record with the hash of what it states.
const CONTENT: &str = "yardmaster-content";
/// That hash where the record takes back what was published before.
const WITHDRAWN: &str = "withdrawn";

/// A record that is ready to be appended; no value: what has this key is gone.
pub struct Entry {
    /// Its topic.
    pub topic: Topic,
    /// Its key.
    pub key: String,
    /// Its bytes, in single-object encoding.
    pub value: Option<Vec<u8>>,
    /// Its headers.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// Counts of records that an import changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Records that were new or different.
    pub written: usize,
    /// Records that the source no longer has.
    pub removed: usize,
    /// Records that stay as they are although the source cannot be read there, or does not tell
    /// what is gone.
    pub kept: usize,
    /// Records that are as they were.
    pub unchanged: usize,
    /// Things of the source with a wrong value, which were left out.
    pub unreadable: usize,
}

impl Changes {
    /// Both together.
    pub fn add(self, other: Changes) -> Changes {
        Changes {
            written: self.written + other.written,
            removed: self.removed + other.removed,
            kept: self.kept + other.kept,
            unchanged: self.unchanged + other.unchanged,
            unreadable: self.unreadable + other.unreadable,
        }
    }

    /// The counts with their names, for metrics.
    pub fn outcomes(self) -> [(&'static str, usize); 5] {
        let Changes { written, removed, kept, unchanged, unreadable } = self;
        [
            ("written", written),
            ("removed", removed),
            ("kept", kept),
            ("unchanged", unchanged),
            ("unreadable", unreadable),
        ]
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changes { written, removed, kept, unchanged, unreadable } = self;
        write!(f, "{written} written, {removed} removed, {unchanged} unchanged")?;
        match (kept, unreadable) {
            (0, 0) => Ok(()),
            _ => write!(
                f,
                ", {kept} kept as they were; {unreadable} things of the source cannot be read"
            ),
        }
    }
}

/// The log that an import of a name publishes to, and what it holds of that import.
pub struct Target {
    log_args: LogArgs,
    read: Rc<Read>,
    topic: Topic,
    name: String,
    tail: TopicTail,
    codec: Codec,
    arena: Arena,
    /// The newest record of each key.
    newest: BTreeMap<String, Newest>,
}

/// The newest record of a key.
struct Newest {
    /// The hash of what it states, where this import published it; `None`: it was withdrawn, or is
    /// another's.
    content: Option<String>,
    /// When it was appended; ms since 1970.
    at: Millis,
    /// What the record states.
    stated: Option<Stated>,
    /// The record itself, where it is wanted again.
    fact: Option<Fact>,
}

/// The time that a record states, ms since 1970, and the hash of its other content.
#[derive(Clone, Copy)]
struct Stated {
    at: Millis,
    content: u64,
}

fn timeless(fact: &Fact) -> u64 {
    hash(&fact.as_of(0).bytes())
}

/// The record as it is read; `None`: no import publishes such.
fn fact(topic: Topic, codec: &Codec, arena: &mut Arena, key: &str, value: &[u8]) -> Option<Fact> {
    let fact = Fact::of(codec.read(topic, Some(key.as_bytes()), Some(value), arena));
    arena.clear();
    fact
}

impl Target {
    /// Of an import to a topic, under a name.
    ///
    /// # Errors
    /// A topology that cannot be read or does not have the topic, or no log.
    pub fn new(log_args: &LogArgs, topic: Topic, name: &str) -> anyhow::Result<Target> {
        let read = log_args.read()?;
        if !read.topology.topics.contains_key(&topic) {
            let word = topic.name();
            let why = format!("the topology has no [topics.{word}]; add it, or name one that has");
            return Err(Usage(why).into());
        }
        log_args.check()?;
        Ok(Target {
            log_args: log_args.clone(),
            read: Rc::new(read),
            topic,
            name: name.to_owned(),
            tail: TopicTail::default(),
            codec: Codec::default(),
            arena: Arena::default(),
            newest: BTreeMap::new(),
        })
    }

    /// Publishes rows, whatever the log holds; those that differ from it later than what is there.
    ///
    /// # Errors
    /// The log cannot be read, or the rows cannot be published; the text names the cause.
    pub fn publish(&mut self, loaded: &Loaded) -> anyhow::Result<()> {
        self.read_back()?;
        append(&self.log_args, &self.read, self.rows(loaded))
    }

    /// The records of rows, whatever the log holds.
    pub fn rows(&self, loaded: &Loaded) -> Vec<Entry> {
        loaded.rows.iter().map(|row| self.entry(row)).collect()
    }

    /// The changes that are needed for the log to hold these rows and no others of this import.
    ///
    /// # Errors
    /// The log cannot be read, or the rows are fewer than half of those that this import published
    /// before, unless `may_shrink`.
    pub fn compare(&mut self, loaded: &Loaded, may_shrink: bool) -> anyhow::Result<Changes> {
        self.read_back()?;
        self.changes(loaded, may_shrink)
    }

    /// The same as of what was read of the log last.
    ///
    /// # Errors
    /// The rows are fewer than half, as above.
    pub fn changes(&self, loaded: &Loaded, may_shrink: bool) -> anyhow::Result<Changes> {
        let (gone, kept) = self.missing(loaded);
        let (before, now) = (self.published().count(), loaded.rows.len() + kept);
        if now * 2 < before && !may_shrink {
            anyhow::bail!(
                "{now} records where {before} were published before: fewer than half, so nothing \
                 is changed; if that is right, give --may-shrink"
            );
        }
        let (removed, unreadable) = (gone.len(), loaded.unreadable);
        let mut changes = Changes { removed, kept, unreadable, ..Changes::default() };
        for row in &loaded.rows {
            match self.is_published(row) {
                true => changes.unchanged += 1,
                false => changes.written += 1,
            }
        }
        Ok(changes)
    }

    /// Publishes what [`Target::compare`] found to be different, and that all holds as of now.
    ///
    /// # Errors
    /// The rows cannot be published; those that were published before that stand.
    pub fn change(&mut self, loaded: &Loaded) -> anyhow::Result<()> {
        append(&self.log_args, &self.read, self.entries(loaded))
    }

    /// The records that make such a change.
    pub fn entries(&self, loaded: &Loaded) -> Vec<Entry> {
        let is_new = |row: &&Row| !self.is_published(row);
        let mut entries: Vec<Entry> =
            loaded.rows.iter().filter(is_new).map(|row| self.entry(row)).collect();
        entries.extend(self.missing(loaded).0.into_iter().map(|key| self.withdrawal(key)));
        if self.topic.is_configuration() {
            let domain = &self.read.topology.domain;
            let confirmed = Configuration::from(confirmed(domain, self.topic, loaded.as_of));
            let (topic, key, value) = encode(&confirmed);
            entries.push(Entry { topic, key, value: Some(value), headers: Vec::new() });
        }
        entries
    }

    /// Whether the log has a row as it is. Where data lies is forgotten some time after it was
    /// stated, and what asks by its record gives up: these are published again in good time.
    fn is_published(&self, row: &Row) -> bool {
        let limits = &self.read.topology.limits;
        let lasts = match self.topic {
            Topic::Replica => limits.replica_lifetime_ms / 2,
            Topic::DomainRecord => limits.request_lifetime_ms / 2,
            _ => Millis::MAX,
        };
        self.newest.get(&row.key).is_some_and(|newest| {
            newest.content.as_ref() == Some(&row.content)
                && clock::now().saturating_sub(newest.at) < lasts
        })
    }

    /// Keys that the log has of this import; on `job-state` those of jobs that are not over.
    pub fn published(&self) -> impl Iterator<Item = &String> {
        self.newest.iter().filter(|(_, newest)| newest.content.is_some()).map(|(key, _)| key)
    }

    /// Keys that this import published and that are not among the rows: those that the sources no
    /// longer name, and how many stay because these name them or do not tell. A good record is
    /// never taken away by one that cannot be read.
    fn missing(&self, loaded: &Loaded) -> (Vec<String>, usize) {
        let has = |key: &str| loaded.rows.binary_search_by(|row| row.key.as_str().cmp(key)).is_ok();
        let stays = |key: &String| loaded.unnamed > 0 || loaded.left_out.contains(key);
        let missing = self.published().filter(|key| !has(key)).cloned();
        let (kept, gone): (Vec<_>, Vec<_>) = missing.partition(stays);
        (gone, kept.len())
    }

    /// The record of a row, later than the one that it replaces if it differs from it.
    fn entry(&self, row: &Row) -> Entry {
        let (topic, key) = (self.topic, row.key.clone());
        let held = self.newest.get(&key).and_then(|newest| newest.stated);
        let later = held.and_then(|held| {
            let fact = fact(topic, &self.codec, &mut Arena::default(), &key, &row.value)?;
            let is_later = fact.at() > held.at || timeless(&fact) == held.content;
            (!is_later).then(|| fact.as_of(held.at.saturating_add(1)).bytes())
        });
        let value = later.unwrap_or_else(|| row.value.clone());
        Entry { topic, key, value: Some(value), headers: self.headers(&row.content) }
    }

    /// The record that takes a key back: a null, a slot figure that is ignored, or the end of a
    /// job, which would hold room for ever.
    fn withdrawal(&self, key: String) -> Entry {
        let held = self.newest.get(&key).and_then(|newest| newest.stated);
        let now = held.map_or(0, |held| held.at.saturating_add(1)).max(clock::now());
        let value = match (self.topic, self.held(&key)) {
            (Topic::Pilot, _) => SlotRow::withdrawn(&key, now).map(|slots| slots.record()),
            (Topic::JobState, Some(Fact::Job(job))) => Some(job.closed(now).record()),
            _ => None,
        };
        Entry { topic: self.topic, key, value, headers: self.headers(WITHDRAWN) }
    }

    fn headers(&self, content: &str) -> Vec<(String, Vec<u8>)> {
        vec![
            (IMPORT.to_owned(), self.name.as_bytes().to_vec()),
            (CONTENT.to_owned(), content.as_bytes().to_vec()),
        ]
    }

    /// Reads what was appended to the topic since the last time.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read_back(&mut self) -> anyhow::Result<()> {
        self.read_back_beside(&mut |_| {})
    }

    /// The same, and shows what it reads to another.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read_back_beside(
        &mut self,
        other: &mut dyn FnMut(TailRecord<'_>),
    ) -> anyhow::Result<()> {
        let mut tail = std::mem::take(&mut self.tail);
        let (log_args, read, topic) = (self.log_args.clone(), Rc::clone(&self.read), self.topic);
        let done = tail.read(&log_args, &read.topology, topic, &mut |found| match found {
            TailRecord::Record(record) => {
                self.meet(record);
                other(TailRecord::Record(record));
            }
            TailRecord::Again => {
                self.newest.clear();
                other(TailRecord::Again);
            }
        });
        self.tail = tail;
        done
    }

    /// The record of a key that this import published last, on the topics `site` and `job-state`;
    /// of `job-state` only while the job is not over.
    pub fn held(&self, key: &str) -> Option<&Fact> {
        self.newest.get(key).filter(|newest| newest.content.is_some())?.fact.as_ref()
    }

    fn meet(&mut self, record: &Envelope<'_>) {
        let Some(key) = record.key.and_then(|key| std::str::from_utf8(key).ok()) else {
            return;
        };
        let header = |name: &str| {
            let found = record.headers.iter().find(|(header, _)| header == name);
            found.and_then(|(_, value)| std::str::from_utf8(value).ok())
        };
        let is_own = header(IMPORT) == Some(self.name.as_str()) && record.value.is_some();
        if self.topic == Topic::JobState && !is_own {
            // Jobs of others are many, and none of them has a key of ours.
            return;
        }
        let content = header(CONTENT).filter(|content| is_own && *content != WITHDRAWN);
        let (topic, codec, arena) = (self.topic, &self.codec, &mut self.arena);
        let read = record.value.and_then(|value| fact(topic, codec, arena, key, value));
        if matches!(&read, Some(Fact::Job(job)) if job.is_ended()) {
            self.newest.remove(key);
            return;
        }
        let stated = read.as_ref().map(|it| Stated { at: it.at(), content: timeless(it) });
        let is_kept = matches!(topic, Topic::Site | Topic::JobState) && content.is_some();
        let newest = Newest {
            content: content.map(str::to_owned),
            at: record.timestamp,
            stated,
            fact: read.filter(|_| is_kept),
        };
        // A topic that got more partitions has older records of a key in another one.
        match self.newest.get_mut(key) {
            Some(held) if held.at > newest.at => {}
            Some(held) => *held = newest,
            None if newest.content.is_none() && newest.stated.is_none() => {}
            None => drop(self.newest.insert(key.to_owned(), newest)),
        }
    }
}

/// Appends records, in their topics' framing; they are durable when it returns.
///
/// # Errors
/// The records cannot be appended; the text names the cause.
pub fn append(log_args: &LogArgs, read: &Read, entries: Vec<Entry>) -> anyhow::Result<()> {
    log_args.check()?;
    let topology = &read.topology;
    let topics: Vec<Topic> = entries.iter().map(|entry| entry.topic).collect();
    let ours = Ours::find(topology, &topics)?;
    let mut bar = Bar::later("publishing", "records", entries.len() as u64);
    let framed = (1..).zip(entries).map(|(number, entry)| {
        bar.at(number);
        let value = entry.value.map(|value| ours.frame(entry.topic, value));
        Entry { value, ..entry }
    });
    if let Some(dir) = &log_args.dir {
        let topics = dir_topics(topology);
        may_hold_log(dir, &topics)?;
        let log = DirLog::open(dir, Mode::Write, &topics, DirOptions::default())?;
        let mut writer = log.writer()?;
        for Entry { topic, key, value, headers } in framed {
            let lane = lane(topic, &key, topology.topic(topic).partitions);
            let (key, value) = (Some(key.as_bytes()), value.as_deref());
            writer.append(lane, key, value, &headers, clock::now())?;
        }
        writer.flush()?;
        return Ok(());
    }
    let writer = KafkaWriter::open(&log_args.kafka(topology)?)?;
    for Entry { topic, key, value, headers } in framed {
        let name = &topology.topic(topic).name;
        writer.append(name, None, Some(key.as_bytes()), value.as_deref(), &headers, None)?;
    }
    Ok(writer.flush()?)
}

/// The lane of a key in a directory log.
pub fn lane(topic: Topic, key: &str, partitions: u32) -> Lane {
    let hash = yardmaster_core::id::hash(key.as_bytes());
    Lane::new(topic, (hash % u64::from(partitions.max(1))) as u32)
}
