//! Appends blocks to one lane's file.

use super::envelope::{self, Envelope};
use super::file::{Edge, LaneFile, trouble};
use super::ocf;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use yardmaster_core::cut::Lane;
use yardmaster_drive::port::LogError;
use yardmaster_wire::avro::ENVELOPE;

/// A block is closed when its records reach so many bytes.
const BLOCK_BYTES: usize = 256 << 10;

/// The writing end of a lane's file.
pub struct Appender {
    file: LaneFile,
    /// The next offset.
    pub next: u64,
    /// Where the next block begins.
    length: u64,
    /// Records not yet in a block, and how many.
    data: Vec<u8>,
    count: u64,
    /// Blocks not yet written.
    blocks: Vec<u8>,
}

impl Appender {
    /// Opens a lane's file for appending behind its last whole block; makes it if need be. The
    /// second part is how many bytes of a torn block were cut off.
    pub fn open(
        path: &Path,
        topic: &str,
        lane: Lane,
        sync: bool,
    ) -> Result<(Appender, u64), LogError> {
        let file = open_or_make(path, topic, lane, sync)?;
        let tail = file.tail()?;
        if tail.torn > 0 {
            file.file().set_len(tail.end).map_err(|error| trouble(path, "cut", &error))?;
        }
        let (data, blocks) = (Vec::new(), Vec::new());
        let appender = Appender { file, next: tail.next, length: tail.end, data, count: 0, blocks };
        Ok((appender, tail.torn))
    }

    /// The file, for reading.
    pub fn file(&self) -> &LaneFile {
        &self.file
    }

    /// Takes back every record from `offset` on; how many offsets that were.
    pub fn cut_back(&mut self, offset: u64) -> Result<u64, LogError> {
        let gone = self.next.saturating_sub(offset);
        if gone == 0 {
            return Ok(0);
        }
        match self.file.edge(offset)? {
            Edge::Between(end) => self.truncate(end)?,
            Edge::Inside { start, end } => self.split_block(offset, start, end)?,
        }
        self.next = offset;
        Ok(gone)
    }

    /// Cuts the file off before a block that holds records on both sides of `offset`, and writes
    /// those below it again.
    fn split_block(&mut self, offset: u64, start: u64, end: u64) -> Result<(), LogError> {
        let (data, count) = (&mut self.data, &mut self.count);
        self.file.records(start, end, &mut |bytes, parts, _| {
            if parts.offset < offset {
                let headers = parts.headers(bytes);
                envelope::encode(data, &parts.envelope(bytes, &headers));
                *count += 1;
            }
        })?;
        self.truncate(start)?;
        self.write()
    }

    fn truncate(&mut self, length: u64) -> Result<(), LogError> {
        let cut = self.file.file().set_len(length);
        cut.map_err(|error| trouble(self.file.path(), "cut", &error))?;
        self.length = length;
        Ok(())
    }

    /// Adds a record; its offset is at least `next`.
    pub fn push(&mut self, envelope: &Envelope<'_>) {
        debug_assert!(envelope.offset >= self.next);
        envelope::encode(&mut self.data, envelope);
        self.count += 1;
        self.next = envelope.offset + 1;
        if self.data.len() >= BLOCK_BYTES {
            self.close_block();
        }
    }

    /// Bytes waiting to be written.
    pub fn waiting(&self) -> usize {
        self.data.len() + self.blocks.len()
    }

    /// Writes what was pushed to the file.
    pub fn write(&mut self) -> Result<(), LogError> {
        self.close_block();
        if self.blocks.is_empty() {
            return Ok(());
        }
        let written = self.file.file().write_all_at(&self.blocks, self.length);
        if let Err(error) = written {
            // Best effort: a torn block is cut back at the next opening all the same.
            let _ = self.file.file().set_len(self.length);
            return Err(trouble(self.file.path(), "appended to", &error));
        }
        self.length += self.blocks.len() as u64;
        self.blocks.clear();
        Ok(())
    }

    /// Makes what was written durable.
    pub fn sync(&self) -> Result<(), LogError> {
        self.file.file().sync_data().map_err(|e| trouble(self.file.path(), "made durable", &e))
    }

    fn close_block(&mut self) {
        if self.count > 0 {
            ocf::put_block(&mut self.blocks, self.count, &self.data, self.file.sync());
            self.data.clear();
            self.count = 0;
        }
    }
}

/// Opens a file for reading and writing, with a whole header.
fn open_or_make(path: &Path, topic: &str, lane: Lane, sync: bool) -> Result<LaneFile, LogError> {
    let open = || {
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        opened.map_err(|error| trouble(path, "opened for writing", &error))
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| trouble(parent, "made", &error))?;
    }
    let file = open()?;
    if let Some(found) = LaneFile::with(path, open()?)? {
        return Ok(found);
    }
    let header = ocf::header(ENVELOPE, &ocf::sync_of(topic, lane.partition));
    let made = file
        .set_len(0)
        .and_then(|()| file.write_all_at(&header, 0))
        .and_then(|()| if sync { sync_with_parents(&file, path) } else { Ok(()) });
    made.map_err(|error| trouble(path, "made", &error))?;
    match LaneFile::with(path, file)? {
        Some(found) => Ok(found),
        None => Err(LogError::Stop(format!("{}: changed while it was made", path.display()))),
    }
}

/// Makes a new file durable, with the names that lead to it.
fn sync_with_parents(file: &File, path: &Path) -> std::io::Result<()> {
    file.sync_all()?;
    for parent in path.ancestors().skip(1).take(2) {
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}
