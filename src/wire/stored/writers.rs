//! The page of writers' schemas: what a registry's numbers were found to stand for, so that
//! starting again needs no registry.

use super::{FORMAT, count, text};
use crate::avro::{Cursor, Fault, Sink, Writer};
use std::sync::Arc;
use yardmaster_core::cut::Topic;

/// The number the page is kept under: beyond those of all kinds of records.
pub const WRITERS_PAGE: u64 = 0xFF << 32;

/// Writes the page. What a registry does not know is left out: it may come to know it.
pub fn write_writers(writers: &[Writer]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sink = Sink { out: &mut out };
    sink.count(FORMAT);
    let known = || writers.iter().filter_map(|it| Some((it.topic, it.id, it.schema.as_ref()?)));
    sink.index(known().count());
    for (topic, id, schema) in known() {
        sink.index(topic as usize);
        sink.count(id);
        sink.string(schema);
    }
    out
}

/// Reads it.
pub fn read_writers(page: &[u8]) -> Result<Vec<Writer>, Fault> {
    let mut at = Cursor::new(page);
    if count(&mut at)? != FORMAT {
        return Err(Fault::Malformed);
    }
    let mut writers = Vec::new();
    for _ in 0..at.index()? {
        let topic = u8::try_from(at.index()?).ok().and_then(Topic::from_number);
        let topic = topic.ok_or(Fault::Malformed)?;
        let (id, schema) = (count(&mut at)?, Some(Arc::from(text(&mut at)?)));
        writers.push(Writer { topic, id, schema });
    }
    at.end()?;
    Ok(writers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learnt_is_read_back_and_what_is_missing_is_asked_again() {
        let writer =
            |topic, id, schema: Option<&str>| Writer { topic, id, schema: schema.map(Arc::from) };
        let known = [
            writer(Topic::JobState, 7, Some("{}")),
            writer(Topic::JobState, u32::MAX, Some("\"int\"")),
            writer(Topic::Task, 8, None),
        ];
        let page = write_writers(&known);
        assert_eq!(read_writers(&page), Ok(known[..2].to_vec()));
        for cut in 0..page.len() {
            assert!(read_writers(&page[..cut]).is_err(), "cut at {cut}");
        }
    }
}
