//! The marker file: marks a directory as a store of ours, and is mended if it is damaged.

use super::files::stop;
use super::frame::FORMAT_MAGIC;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use yardmaster_drive::port::StoreError;

/// Name of the marker. Persisted, as the text is.
pub(super) const MARKER: &str = "yardmaster.store";
const TEXT: &[u8] = b"yardmaster: a cache of the log; deleting this directory loses nothing\n";
/// So much of a database is read at a time when the format record is looked for.
const PART_BYTES: usize = 1 << 20;

/// State of the marker file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// Nothing, and no database either.
    New,
    /// The marker as it was written.
    Whole,
    /// Something that was the marker: cut, emptied, or with a few other bytes.
    Damaged,
    /// Nothing, beside a database.
    Missing,
    /// Other bytes.
    Unlike,
}

impl Marker {
    /// Reads the marker.
    pub(super) fn read(path: &Path) -> Result<Marker, StoreError> {
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(4 * TEXT.len() as u64).read_to_end(&mut bytes))
            .map_err(|error| stop(path, "read", &error))?;
        Ok(Marker::of(&bytes))
    }

    /// At least half of the bytes are those of the text, or lost to zeroes.
    fn of(bytes: &[u8]) -> Marker {
        if bytes == TEXT {
            return Marker::Whole;
        }
        let same = bytes.iter().zip(TEXT).filter(|(found, written)| found == written).count();
        let lost = bytes.iter().filter(|byte| **byte == 0).count();
        if (same + lost) * 2 >= bytes.len() { Marker::Damaged } else { Marker::Unlike }
    }
}

/// Whether the database in a directory holds the record that marks it as ours.
pub(super) fn has_format_record(dir: &Path) -> Result<bool, StoreError> {
    let path = dir.join("db");
    match search(&path, FORMAT_MAGIC) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => found.map_err(|error| stop(&path, "read", &error)),
    }
}

fn search(path: &Path, wanted: &[u8]) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut part = Vec::new();
    loop {
        // What is wanted may lie across the border of two parts.
        part.drain(..part.len().saturating_sub(wanted.len()));
        if (&mut file).take(PART_BYTES as u64).read_to_end(&mut part)? == 0 {
            return Ok(false);
        }
        if part.windows(wanted.len()).any(|bytes| bytes == wanted) {
            return Ok(true);
        }
    }
}

/// Writes the marker again unless it is whole; returns a text for the operator if one was damaged.
/// The caller holds the lock.
pub(super) fn restore(
    dir: &Path,
    file: &mut File,
    marker: Marker,
) -> Result<Option<String>, StoreError> {
    if marker == Marker::Whole {
        return Ok(None);
    }
    let path = dir.join(MARKER);
    let write = |file: &mut File| -> io::Result<()> {
        file.set_len(0)?;
        file.write_all(TEXT)?;
        file.sync_all()
    };
    write(file).map_err(|error| stop(&path, "write", &error))?;
    let path = path.display();
    Ok((marker != Marker::New).then(|| {
        format!("store: {path} was damaged or missing; rewritten, the data beside it is checked")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_the_marker_is_distinguished_from_other_texts() {
        assert_eq!(Marker::of(TEXT), Marker::Whole);
        let zeroes = [0; 70];
        let half = [&TEXT[..40], &zeroes[..30]].concat();
        for damaged in [&b""[..], b"y", b"yardmaster", &TEXT[..69], &zeroes, &half] {
            assert_eq!(Marker::of(damaged), Marker::Damaged, "{damaged:?}");
        }
        for other in [&b"somebody else's notes"[..], b"\xff\xff", b"a cache of the log"] {
            assert_eq!(Marker::of(other), Marker::Unlike, "{other:?}");
        }
    }
}
