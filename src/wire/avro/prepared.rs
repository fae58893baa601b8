//! Where a record lies once its schema is known, and records with the pseudonyms of users in them.

use super::{HEADER_BYTES, NUMBERED_BYTES, Scratch, Sink};
use crate::pseudonym::{KnownPseudonyms, Pseudonyms};
use std::ops::Range;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Garbled;

/// Where transcoded records lie until their batch is done. Reused: [`Arena::clear`] keeps the
/// memory.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    pub(super) bytes: Vec<u8>,
    pub(super) scratch: Scratch,
    names: KnownPseudonyms,
}

impl Arena {
    /// Forgets the content, keeps the memory and the pseudonyms that were made.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// A record of which it is known where a datum of our layout lies, if anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// In the record itself, after the header of single-object encoding.
    Direct,
    /// In the record itself, after the header of Confluent framing.
    Numbered,
    /// In the arena.
    Arena(Range<usize>),
    /// Nowhere: it is a null that removes a configuration record.
    Removed,
    /// The same; the name of what is removed is in the arena.
    RemovedAs(Range<usize>),
    /// Nowhere.
    Garbled(Garbled),
}

/// The bytes a prepared record is read from.
#[inline]
pub(super) fn datum<'a>(
    prepared: &Prepared,
    value: Option<&'a [u8]>,
    arena: &'a Arena,
) -> Result<&'a [u8], Garbled> {
    match prepared {
        Prepared::Direct => {
            value.and_then(|value| value.get(HEADER_BYTES..)).ok_or(Garbled::Framing)
        }
        Prepared::Numbered => {
            value.and_then(|value| value.get(NUMBERED_BYTES..)).ok_or(Garbled::Framing)
        }
        Prepared::Arena(range) => arena.bytes.get(range.clone()).ok_or(Garbled::Malformed),
        Prepared::Removed | Prepared::RemovedAs(_) => Err(Garbled::Null),
        Prepared::Garbled(garbled) => Err(*garbled),
    }
}

/// A prepared record with the pseudonym of the user that it names, if it names one.
pub(super) fn rename(
    pseudonyms: &Pseudonyms,
    prepared: Prepared,
    topic: Topic,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    arena: &mut Arena,
) -> Prepared {
    let start = arena.bytes.len();
    if prepared == Prepared::Removed {
        let key = key.and_then(|key| std::str::from_utf8(key).ok());
        let Arena { bytes, names, .. } = arena;
        return match key.is_some_and(|key| pseudonyms.rewrite_key(topic, key, names, bytes)) {
            true => Prepared::RemovedAs(start..bytes.len()),
            false => prepared,
        };
    }
    let mut names = std::mem::take(&mut arena.names);
    let found = datum(&prepared, value, arena)
        .ok()
        .and_then(|datum| pseudonyms.find(topic, datum, &mut names));
    arena.names = names;
    let Some(renamed) = found else { return prepared };
    let bytes = &mut arena.bytes;
    if let Prepared::Arena(range) = &prepared {
        bytes.extend_from_within(range.start..range.start + renamed.at.start);
        Sink { out: bytes }.string(renamed.pseudonym());
        bytes.extend_from_within(range.start + renamed.at.end..range.end);
    } else {
        let head = if prepared == Prepared::Direct { HEADER_BYTES } else { NUMBERED_BYTES };
        let datum = value.and_then(|value| value.get(head..)).unwrap_or_default();
        bytes.extend_from_slice(datum.get(..renamed.at.start).unwrap_or_default());
        Sink { out: bytes }.string(renamed.pseudonym());
        bytes.extend_from_slice(datum.get(renamed.at.end..).unwrap_or_default());
    }
    Prepared::Arena(start..arena.bytes.len())
}
