//! Which writers' schemas are known, and what to do with the bytes of each.

use super::lenient;
use super::prepared::{Arena, Prepared, datum, rename};
use super::{
    Bounds, HEADER_BYTES, MARKER, Mismatch, NUMBERED_BYTES, Plan, Writer, canonical_form, compile,
    fingerprint, number_of, rabin, released, schema, schema_text, transcode,
};
use crate::pseudonym::Pseudonyms;
use crate::record;
use apache_avro::Schema;
use std::sync::{Arc, OnceLock};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Event, Garbled, Oversize};
use yardmaster_core::id::Key;
use yardmaster_core::limits::Limits;
use yardmaster_core::output::Output;
use yardmaster_core::record::{Decode, Published};

/// Deepest nesting in a writer's record. Ours go four deep.
const DEPTH: u32 = 64;

/// Why a writer's schema was not taken up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LearnError {
    /// It is no schema.
    #[error("schema for topic {topic}: {why}; give an Avro schema as JSON")]
    Text {
        /// The topic it was given for.
        topic: &'static str,
        /// The parser's message.
        why: String,
    },
    /// It is one, but cannot be resolved against ours. Its records are garbled from now on.
    #[error("schema {name} for topic {topic} cannot be read with ours: {mismatch}")]
    Incompatible {
        /// The topic it was given for.
        topic: &'static str,
        /// Its name.
        name: String,
        /// Where and why.
        mismatch: Mismatch,
    },
    /// The registry knows no schema of that number.
    #[error(
        "the registry has no schema {id}, which records of topic {topic} name: their writer used \
         another registry, or it was removed; put it back and publish the records again"
    )]
    Missing {
        /// The topic it was asked for.
        topic: &'static str,
        /// The number.
        id: u32,
    },
}

fn parse(topic: Topic, text: &str) -> Result<Schema, LearnError> {
    lenient::parse(text)
        .map_err(|error| LearnError::Text { topic: topic.name(), why: error.to_string() })
}

/// Keeps a value under its key in a list that is in order of keys.
fn put<K: Copy + Ord>(list: &mut Vec<(K, Way)>, key: K, way: Way) {
    match list.binary_search_by_key(&key, |(key, _)| *key) {
        Ok(at) => list[at].1 = way,
        Err(at) => list.insert(at, (key, way)),
    }
}

/// Way in which a writer's records are read.
#[derive(Clone, Debug)]
enum Way {
    /// Laid out as ours: read as they lie.
    Direct,
    /// Turned into ours.
    Transcode(Plan),
    /// Cannot be read.
    Never,
}

/// Reads records of every writer whose schema is known: ours, every released one of ours, and what
/// was learnt.
#[derive(Clone, Debug)]
pub struct Codec {
    /// Per topic, the fingerprint of our schema.
    ours: Vec<u64>,
    /// Per topic, the other writers' schemas by fingerprint, in order.
    others: Vec<Vec<(u64, Way)>>,
    /// Per topic, writers' schemas by a registry's number, in order. None for a topic that is not
    /// in Confluent framing.
    numbered: Vec<Vec<(u32, Way)>>,
    /// Per topic, whether it is in Confluent framing.
    is_framed: Vec<bool>,
    max_record_bytes: usize,
    /// By which users are named in what is read, if they are.
    pseudonyms: Option<Arc<Pseudonyms>>,
}

/// With the limit that holds when a topology file says nothing.
impl Default for Codec {
    fn default() -> Self {
        Codec::new(Limits::default().max_record_bytes)
    }
}

impl Codec {
    /// Knows our schemas, current and released. A record longer than the limit, as it lies or
    /// turned into ours, is [`Garbled::Oversized`].
    pub fn new(max_record_bytes: usize) -> Codec {
        static BUILT_IN: OnceLock<Codec> = OnceLock::new();
        Codec { max_record_bytes, ..BUILT_IN.get_or_init(Codec::built_in).clone() }
    }

    /// Names users by pseudonyms in what it reads, or by their names.
    #[must_use]
    pub fn with_pseudonyms(self, pseudonyms: Option<Arc<Pseudonyms>>) -> Codec {
        Codec { pseudonyms, ..self }
    }

    fn built_in() -> Codec {
        let mut codec = Codec {
            ours: Topic::ALL.iter().map(|topic| fingerprint(*topic)).collect(),
            others: Topic::ALL.iter().map(|_| Vec::new()).collect(),
            numbered: Topic::ALL.iter().map(|_| Vec::new()).collect(),
            is_framed: vec![false; Topic::ALL.len()],
            max_record_bytes: 0,
            pseudonyms: None,
        };
        for topic in Topic::ALL {
            for text in released(*topic).iter().chain([&schema_text(*topic)]) {
                // A test shows that every released schema can be read; were one not, its records
                // would be garbled and counted so.
                let _ = codec.learn(*topic, text);
            }
        }
        codec
    }

    /// Takes up a writer's schema for a topic; gives its fingerprint. A schema that cannot be
    /// resolved is kept too, so that its records are [`Garbled::WrongSchema`].
    ///
    /// The fingerprint that the Rust library apache-avro sends for a schema with logical types
    /// differs from the specification's; both lead here.
    pub fn learn(&mut self, topic: Topic, text: &str) -> Result<u64, LearnError> {
        let writer = parse(topic, text)?;
        let mark = rabin(canonical_form(&writer).as_bytes());
        let way = self.find_way(topic, &writer);
        let kept = way.as_ref().map_or(Way::Never, Clone::clone);
        for mark in [mark, rabin(writer.canonical_form().as_bytes())] {
            put(&mut self.others[topic as usize], mark, kept.clone());
        }
        way.map(|_| mark)
    }

    /// Takes up what a registry's number stands for: from now on records of that topic may carry
    /// it. A schema that is none, or cannot be resolved, is kept too, so that its records are
    /// [`Garbled::WrongSchema`]. A number without a schema is not kept: its records are
    /// [`Garbled::UnknownSchema`], as those of every number that is not known.
    pub fn learn_number(&mut self, writer: &Writer) -> Result<(), LearnError> {
        let Writer { topic, id, schema } = writer;
        self.is_framed[*topic as usize] = true;
        let Some(text) = schema else {
            return Err(LearnError::Missing { topic: topic.name(), id: *id });
        };
        let way = parse(*topic, text).and_then(|schema| self.find_way(*topic, &schema));
        let kept = way.as_ref().map_or(Way::Never, Clone::clone);
        put(&mut self.numbered[*topic as usize], *id, kept);
        way.map(|_| ())
    }

    fn find_way(&self, topic: Topic, writer: &Schema) -> Result<Way, LearnError> {
        if rabin(canonical_form(writer).as_bytes()) == self.ours[topic as usize] {
            return Ok(Way::Direct);
        }
        compile(writer, schema(topic)).map(Way::Transcode).map_err(|mismatch| {
            let name = writer.name().map_or_else(String::new, |name| name.fullname(None));
            LearnError::Incompatible { topic: topic.name(), name, mismatch }
        })
    }

    /// Whether a fingerprint is known for a topic: if not, a registry may be asked for its schema.
    pub fn knows(&self, topic: Topic, mark: u64) -> bool {
        mark == self.ours[topic as usize] || self.way(topic, mark).is_some()
    }

    fn way(&self, topic: Topic, mark: u64) -> Option<&Way> {
        let known = &self.others[topic as usize];
        let index = known.binary_search_by_key(&mark, |(mark, _)| *mark).ok()?;
        Some(&known[index].1)
    }

    /// First of two steps of reading: finds the record's schema and, if it is not ours, turns the
    /// record into ours at the end of the arena. With all records of a batch prepared, the arena
    /// stands still and [`Codec::read_prepared`] borrows from it and from the batch. A record that
    /// names a user is turned into one that has the pseudonym, if users are to have any; so is the
    /// `key` of one that is removed.
    #[inline]
    pub fn prepare(
        &self,
        topic: Topic,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        arena: &mut Arena,
    ) -> Prepared {
        let prepared = self.prepare_named(topic, value, arena);
        match &self.pseudonyms {
            None => prepared,
            Some(pseudonyms) => rename(pseudonyms, prepared, topic, key, value, arena),
        }
    }

    #[inline]
    fn prepare_named(&self, topic: Topic, value: Option<&[u8]>, arena: &mut Arena) -> Prepared {
        let Some(value) = value else {
            return if topic.is_configuration() {
                Prepared::Removed
            } else {
                Prepared::Garbled(Garbled::Null)
            };
        };
        if Oversize::of_record(value.len(), self.max_record_bytes).is_some() {
            return Prepared::Garbled(Garbled::Oversized);
        }
        match mark_of(value) {
            Some(mark) if mark == self.ours[topic as usize] => Prepared::Direct,
            Some(mark) => self.prepare_other(topic, mark, &value[HEADER_BYTES..], arena),
            None => self.prepare_numbered(topic, value, arena),
        }
    }

    fn prepare_other(&self, topic: Topic, mark: u64, datum: &[u8], arena: &mut Arena) -> Prepared {
        match self.way(topic, mark) {
            Some(way) => self.go(way, Prepared::Direct, datum, arena),
            None if Topic::ALL.iter().any(|other| self.knows(*other, mark)) => {
                Prepared::Garbled(Garbled::WrongSchema)
            }
            None => Prepared::Garbled(Garbled::UnknownSchema),
        }
    }

    /// A topic for which no number was ever asked is not in Confluent framing.
    fn prepare_numbered(&self, topic: Topic, value: &[u8], arena: &mut Arena) -> Prepared {
        let known = &self.numbered[topic as usize];
        let Some(id) = number_of(value).filter(|_| self.is_framed[topic as usize]) else {
            return Prepared::Garbled(Garbled::Framing);
        };
        match known.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => self.go(&known[at].1, Prepared::Numbered, &value[NUMBERED_BYTES..], arena),
            Err(_) => Prepared::Garbled(Garbled::UnknownSchema),
        }
    }

    /// `direct` is where the datum lies if it is of our layout.
    fn go(&self, way: &Way, direct: Prepared, datum: &[u8], arena: &mut Arena) -> Prepared {
        match way {
            Way::Direct => direct,
            Way::Transcode(plan) => {
                let start = arena.bytes.len();
                let bounds = Bounds { output_bytes: self.max_record_bytes, depth: DEPTH };
                match transcode(plan, datum, bounds, &mut arena.scratch, &mut arena.bytes) {
                    Ok(()) => Prepared::Arena(start..arena.bytes.len()),
                    Err(fault) => Prepared::Garbled(fault.into()),
                }
            }
            Way::Never => Prepared::Garbled(Garbled::WrongSchema),
        }
    }

    /// Second step: the event of a prepared record, borrowing from its bytes or from the arena.
    /// Never fails: what cannot be read is an event too. `corrected` is whether a
    /// figure that cannot be was read as the nearest that can.
    #[inline]
    pub fn read_prepared<'a>(
        &self,
        prepared: &Prepared,
        topic: Topic,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
        arena: &'a Arena,
        corrected: &mut bool,
    ) -> Event<'a> {
        *corrected = false;
        if *prepared == Prepared::Removed {
            return match key.map(std::str::from_utf8) {
                Some(Ok(name)) => Event::Removed { topic, name },
                Some(Err(_)) => Event::Garbled(Garbled::Malformed),
                None => Event::Garbled(Garbled::Null),
            };
        }
        if let Prepared::RemovedAs(range) = prepared {
            let name = arena.bytes.get(range.clone()).map(std::str::from_utf8);
            return match name {
                Some(Ok(name)) => Event::Removed { topic, name },
                Some(Err(_)) | None => Event::Garbled(Garbled::Malformed),
            };
        }
        match datum(prepared, value, arena) {
            Ok(datum) => record::event(topic, datum, corrected),
            Err(garbled) => Event::Garbled(garbled),
        }
    }

    /// Number of the thing that a prepared record is about, read ahead of the record; see
    /// [`record::sought`].
    #[inline]
    pub fn sought(
        &self,
        prepared: &Prepared,
        topic: Topic,
        value: Option<&[u8]>,
        arena: &Arena,
    ) -> Key {
        datum(prepared, value, arena).map_or(Key::NONE, |datum| record::sought(topic, datum))
    }

    /// Reads one record by itself; what the arena held is forgotten. Topics whose records are not
    /// events of the core (`progress`, `counter`, `command` ...) give [`Garbled::WrongSchema`].
    pub fn read<'a>(
        &self,
        topic: Topic,
        key: Option<&'a [u8]>,
        value: Option<&'a [u8]>,
        arena: &'a mut Arena,
    ) -> Event<'a> {
        arena.clear();
        let prepared = self.prepare(topic, key, value, arena);
        self.read_prepared(&prepared, topic, key, value, arena, &mut false)
    }

    /// An output in single-object encoding, whichever framing it was published in; `None` if it
    /// cannot be read.
    pub fn in_own_framing(&self, topic: Topic, value: Vec<u8>) -> Option<Vec<u8>> {
        if value.starts_with(&MARKER) {
            return Some(value);
        }
        let mut arena = Arena::default();
        let Event::Output(output) = self.read(topic, None, Some(&value), &mut arena) else {
            return None;
        };
        let mut written = Vec::with_capacity(value.len() + 8);
        record::write_output(&mut written, &output);
        Some(written)
    }

    /// Reads what folding needs of an output: of a final decision the fates are left out.
    pub fn read_output(&self, topic: Topic, value: &[u8]) -> Result<Output, Garbled> {
        let mut arena = Arena::default();
        if topic == Topic::Decision {
            let prepared = self.prepare(topic, None, Some(value), &mut arena);
            let datum = datum(&prepared, Some(value), &arena)?;
            return Ok(record::read_answer(datum)?.into());
        }
        self.read_whole_output(topic, value)
    }

    /// Reads all of an output, the fates of a final decision too.
    pub fn read_whole_output(&self, topic: Topic, value: &[u8]) -> Result<Output, Garbled> {
        match self.read(topic, None, Some(value), &mut Arena::default()) {
            Event::Output(output) => Ok(output),
            Event::Garbled(why) => Err(why),
            _ => Err(Garbled::WrongSchema),
        }
    }

    /// Reads a record of ours, for callers that take an unreadable one as an error.
    pub fn read_record<T: Published + for<'a> Decode<'a>>(
        &self,
        value: &[u8],
    ) -> Result<T, Garbled> {
        let mut arena = Arena::default();
        let prepared = self.prepare(T::TOPIC, None, Some(value), &mut arena);
        Ok(record::read(datum(&prepared, Some(value), &arena)?)?)
    }
}

/// The fingerprint of a record's schema; `None` if it is not framed as single-object encoding.
#[inline]
fn mark_of(value: &[u8]) -> Option<u64> {
    let rest = value.strip_prefix(&MARKER)?;
    Some(u64::from_le_bytes(*rest.first_chunk::<8>()?))
}
