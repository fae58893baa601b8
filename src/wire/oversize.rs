//! Records that were written and that the engine would not read, for their length or a name's.

use crate::avro::{Arena, Codec};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Oversize;
use yardmaster_core::id::cut;
use yardmaster_core::limits::Limits;

/// Why the engine would not read a record in single-object encoding by these limits. It is asked of
/// the record as the engine reads it.
pub fn oversize(topic: Topic, value: &[u8], limits: &Limits) -> Option<String> {
    let Limits { max_record_bytes, name_bytes, .. } = *limits;
    if let Some(why) = Oversize::of_record(value.len(), max_record_bytes) {
        return Some(why.to_string());
    }
    // No name is longer than its record.
    if value.len() <= name_bytes {
        return None;
    }
    let (codec, mut arena) = (Codec::new(max_record_bytes), Arena::default());
    let event = codec.read(topic, None, Some(value), &mut arena);
    Oversize::of_event(&event, value.len(), name_bytes).map(|why| why.to_string())
}

/// How much of a key is shown; bytes.
const SHOWN: usize = 60;

/// The complaint that a record is left out for such a reason: what was published under its key
/// before still holds.
pub fn left_out(topic: Topic, key: &str, why: &str) -> String {
    let (topic, key) = (topic.name(), cut(key, SHOWN));
    format!(
        "{topic} {key}: {why}: no record that is read may have that; shorten it at its source, or \
         raise the limit in the topology; left out"
    )
}
