//! Confluent framing: a zero byte, the number that a schema registry gave to the writer's schema,
//! and the datum. The number means nothing by itself: the caller asks the registry, and gives a
//! codec the answer as a [`Writer`].

use super::{HEADER_BYTES, MARKER};
use std::sync::Arc;
use yardmaster_core::cut::Topic;

/// Begins a record in Confluent framing.
pub const MAGIC: u8 = 0;

/// Magic byte and number together; the datum follows.
pub const NUMBERED_BYTES: usize = 5;

/// A registry's number with the schema that it stands for in records of a topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer {
    /// The topic whose records carry the number.
    pub topic: Topic,
    /// The number, as in the records; one for the whole registry.
    pub id: u32,
    /// The schema as text; `None`: the registry has none of this number. That is
    /// not remembered by number: it may come to know it, and garbage has any number.
    pub schema: Option<Arc<str>>,
}

/// The number in a record's header; `None` if it is not in Confluent framing.
#[inline]
pub fn number_of(value: &[u8]) -> Option<u32> {
    let rest = value.strip_prefix(&[MAGIC])?;
    Some(u32::from_be_bytes(*rest.first_chunk::<4>()?))
}

/// A record without its framing, whichever of the two it has; all of it if it has none.
pub fn unframed(value: &[u8]) -> &[u8] {
    let header = match value {
        [first, ..] if *first == MAGIC => NUMBERED_BYTES,
        _ if value.starts_with(&MARKER) => HEADER_BYTES,
        _ => 0,
    };
    value.get(header..).unwrap_or_default()
}

/// A record of ours, made in single-object encoding, in Confluent framing instead.
pub fn numbered(record: &[u8], id: u32) -> Vec<u8> {
    debug_assert!(record.starts_with(&MARKER), "records are made in single-object encoding");
    let datum = record.get(HEADER_BYTES..).unwrap_or_default();
    let mut framed = Vec::with_capacity(NUMBERED_BYTES + datum.len());
    framed.push(MAGIC);
    framed.extend_from_slice(&id.to_be_bytes());
    framed.extend_from_slice(datum);
    framed
}
