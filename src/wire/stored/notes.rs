//! The page of counters that fell to 0 and were not published since: nothing else in a store leads
//! to them.

use super::{FORMAT, count, text};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::state::changed::{ChangeNote, NoteOf};

/// The number the page is kept under: beyond those of all kinds of records.
pub const NOTES_PAGE: u64 = 0xFE << 32;

const LOAD: u32 = 0;
const WHO: u32 = 1;
const NUCLEUS: u32 = 2;

/// Writes the page.
pub fn write_notes(notes: &[ChangeNote]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sink = Sink { out: &mut out };
    sink.count(FORMAT);
    sink.index(notes.len());
    for ChangeNote { of, figures } in notes {
        sink.count(u32::from(*figures));
        match of {
            NoteOf::Load(names) => {
                sink.count(LOAD);
                names.iter().for_each(|name| sink.string(name));
            }
            NoteOf::Who(names, kind) => {
                sink.count(WHO);
                names.iter().for_each(|name| sink.string(name));
                sink.count(*kind);
            }
            NoteOf::Nucleus(name) => {
                sink.count(NUCLEUS);
                sink.string(name);
            }
        }
    }
    out
}

/// Reads it.
pub fn read_notes(page: &[u8]) -> Result<Vec<ChangeNote>, Fault> {
    let mut at = Cursor::new(page);
    let at = &mut at;
    if count(at)? != FORMAT {
        return Err(Fault::Malformed);
    }
    let mut notes = Vec::new();
    for _ in 0..at.index()? {
        let figures = u16::try_from(count(at)?).map_err(|_| Fault::Malformed)?;
        let of = match count(at)? {
            LOAD => NoteOf::Load([text(at)?, text(at)?, text(at)?]),
            WHO => NoteOf::Who([text(at)?, text(at)?, text(at)?], count(at)?),
            NUCLEUS => NoteOf::Nucleus(text(at)?),
            _ => return Err(Fault::Malformed),
        };
        notes.push(ChangeNote { of, figures });
    }
    at.end()?;
    Ok(notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_back_and_a_cut_page_is_refused() {
        let names = || ["A".to_owned(), "ä/ö".to_owned(), String::new()];
        let note = |of, figures| ChangeNote { of, figures };
        let notes = [
            note(NoteOf::Load(names()), 1),
            note(NoteOf::Who(names(), u32::MAX), u16::MAX),
            note(NoteOf::Nucleus("CERN".to_owned()), 4),
        ];
        let page = write_notes(&notes);
        assert_eq!(read_notes(&page), Ok(notes.to_vec()));
        for cut in 0..page.len() {
            assert!(read_notes(&page[..cut]).is_err(), "cut at {cut}");
        }
    }
}
